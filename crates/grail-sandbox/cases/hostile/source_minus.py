# expect: rejected syntax-error
# generate: "-" * 20000 + "1"
# tries: twenty thousand signs
