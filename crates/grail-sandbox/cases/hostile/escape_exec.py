# expect: rejected builtin
# tries: to make code from text
exec("import os")
