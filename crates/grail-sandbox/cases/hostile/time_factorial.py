# expect: raised OverflowError
# tries: a factorial of a million
import math

math.factorial(1_000_000) % 10
