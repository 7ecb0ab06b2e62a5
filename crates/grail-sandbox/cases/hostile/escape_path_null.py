# expect: raised PermissionError
# tries: a path with a null byte in it
from pathlib import Path

Path("/etc/passwd\x00.txt").read_text()
