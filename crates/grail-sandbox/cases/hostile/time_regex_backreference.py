# expect: raised re.PatternError
# tries: a pattern with a look back that tries everything
import re

re.match(r"(a|aa)+\1$", "a" * 60 + "b")
