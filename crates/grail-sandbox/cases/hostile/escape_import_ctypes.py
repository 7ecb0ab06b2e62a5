# expect: rejected import-module
# tries: to reach memory
import ctypes

ctypes.string_at(0)
