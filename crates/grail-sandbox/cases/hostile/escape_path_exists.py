# expect: raised PermissionError
# tries: to learn which files the host has
from pathlib import Path

Path("/etc/passwd").exists()
