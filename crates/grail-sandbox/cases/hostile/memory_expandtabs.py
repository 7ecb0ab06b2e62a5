# expect: limit-hit memory
# tries: a tab as wide as a gigabyte
len("\t".expandtabs(1_000_000_000))
