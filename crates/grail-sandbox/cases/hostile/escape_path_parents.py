# expect: raised PermissionError
# tries: to climb out of where it is
from pathlib import Path

Path("../../../../../../etc/passwd").read_text()
