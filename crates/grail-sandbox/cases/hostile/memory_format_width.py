# expect: limit-hit memory
# tries: a format with an enormous width
len("{:>2000000000}".format("a"))
