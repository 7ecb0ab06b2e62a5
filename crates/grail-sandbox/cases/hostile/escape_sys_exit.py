# expect: rejected module-attribute
# tries: to end the worker
import sys

sys.exit(0)
