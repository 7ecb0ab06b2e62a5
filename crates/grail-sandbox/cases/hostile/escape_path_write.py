# expect: raised PermissionError
# tries: to write a file of the host
from pathlib import Path

Path("/tmp/owned").write_text("x")
