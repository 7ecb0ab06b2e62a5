# expect: rejected import-star
# tries: to take everything
from os import *

system("id")
