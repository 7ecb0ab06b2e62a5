# expect: rejected import-module
# tries: to reach the builtins
import builtins

builtins.open("/etc/passwd")
