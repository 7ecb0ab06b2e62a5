# expect: value null
# tries: a pattern that tries everything
import re

re.match(r"(a+)+$", "a" * 40 + "b")
