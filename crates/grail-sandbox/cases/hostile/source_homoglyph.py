# expect: raised NameError
# tries: a name that only looks like another
prіnt("hello")
