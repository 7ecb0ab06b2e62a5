# expect: raised PermissionError
# tries: to read its own memory
open("/proc/self/mem", "rb").read(1)
