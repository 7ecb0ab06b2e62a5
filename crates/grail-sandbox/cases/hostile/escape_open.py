# expect: raised PermissionError
# tries: to read a file of the host
open("/etc/passwd").read()
