# expect: raised SyntaxError
# generate: "(" + "9" * 100000 + ").bit_length()"
# tries: a literal of a hundred thousand digits
