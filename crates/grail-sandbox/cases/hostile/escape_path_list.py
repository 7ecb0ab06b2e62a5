# expect: raised PermissionError
# tries: to list the root
from pathlib import Path

[str(path) for path in Path("/").iterdir()]
