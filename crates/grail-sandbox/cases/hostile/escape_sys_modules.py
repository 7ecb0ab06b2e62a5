# expect: rejected module-attribute
# tries: to reach other modules
import sys

sys.modules["os"]
