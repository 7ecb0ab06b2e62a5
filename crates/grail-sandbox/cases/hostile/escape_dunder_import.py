# expect: rejected builtin
# tries: to import behind the statement
__import__("os").system("id")
