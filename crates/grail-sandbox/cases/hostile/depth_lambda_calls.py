# expect: limit-hit recursion
# tries: a lambda that calls itself
call = lambda function: function(function)
call(call)
