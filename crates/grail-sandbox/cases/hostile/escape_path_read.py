# expect: raised PermissionError
# tries: to read a file of the host
from pathlib import Path

Path("/etc/passwd").read_text()
