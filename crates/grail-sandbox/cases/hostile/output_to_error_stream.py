# expect: rejected print-file
# tries: printing without an end, elsewhere
import sys

while True:
    print("a" * 1000, file=sys.stderr)
