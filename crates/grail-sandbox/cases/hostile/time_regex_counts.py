# expect: raised re.PatternError
# tries: a pattern whose program is huge
import re

re.match(r"((a{1000}){1000}){1000}", "a" * 1000)
