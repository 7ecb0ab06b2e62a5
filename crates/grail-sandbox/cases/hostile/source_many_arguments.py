# expect: raised SyntaxError
# generate: "count(" + "1," * 20000 + ")"
# tries: a call with twenty thousand arguments
def count(*arguments):
    return len(arguments)
