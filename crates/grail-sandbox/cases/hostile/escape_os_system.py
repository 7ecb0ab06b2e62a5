# expect: rejected module-attribute
# tries: to start programs
import os

os.system("id")
