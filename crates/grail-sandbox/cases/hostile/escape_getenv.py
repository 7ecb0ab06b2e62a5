# expect: value "fallback"
# tries: to read the environment of the host
import os

os.getenv("HOME", "fallback")
