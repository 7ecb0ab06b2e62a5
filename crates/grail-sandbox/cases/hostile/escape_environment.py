# expect: value null
# tries: to read the environment of the host
import os

os.environ.get("PATH")
