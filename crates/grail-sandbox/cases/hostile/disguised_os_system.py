# expect: raised AttributeError
# tries: past the check of the source: to start programs
import os

getattr(os, "sys" + "tem")("id")
