# expect: rejected syntax-error
# generate: "{" * 100000
# tries: brackets that never close
