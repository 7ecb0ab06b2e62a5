# expect: rejected syntax-error
# generate: "[" * 5000 + "]" * 5000
# tries: brackets five thousand deep
