# expect: rejected builtin
# tries: to read what the host types
input("password: ")
