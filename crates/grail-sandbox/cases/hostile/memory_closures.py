# expect: limit-hit memory
# tries: functions that hold on to each other
def wrap(inner):
    def outer():
        return inner
    return outer

function = None
while True:
    function = wrap(function)
