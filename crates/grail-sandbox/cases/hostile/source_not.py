# expect: rejected syntax-error
# generate: "not " * 20000 + "1"
# tries: twenty thousand times not
