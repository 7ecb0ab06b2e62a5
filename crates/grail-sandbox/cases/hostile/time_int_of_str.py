# expect: raised ValueError
# tries: an enormous integer from its digits
int("7" * 1_000_000) % 10
