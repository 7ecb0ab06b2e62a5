# expect: raised AttributeError
# tries: past the check of the source: to reach other modules
import sys

getattr(sys, "mod" + "ules")["os"]
