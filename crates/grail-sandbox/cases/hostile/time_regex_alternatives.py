# expect: value null
# tries: nested optional groups
import re

re.match("(a?){500}" + "a{500}$", "a" * 499 + "b")
