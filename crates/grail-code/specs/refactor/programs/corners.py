"""Partial assignments, late reads, shadowed names."""

from contextlib import suppress

total = 0
history = []


def note(value):
    history.append((value, total))
    return value


def guarded(text):
    value = "none"
    stage = 0
    with suppress(ValueError):
        stage = 1
        value = int(text)
        stage = 2
    return value, stage


def cleaned(items):
    done = 0
    state = "new"
    try:
        state = "open"
        for item in items:
            done += 10 // item
        state = "closed"
    except ZeroDivisionError:
        state = state + "!"
    finally:
        done = -done
        history.append(state)
    return done, state


def returns(items):
    try:
        first = items[0]
        if first:
            return first
        second = items[1]
        return second
    except IndexError:
        return "empty"
    finally:
        history.append(len(items))


def late(numbers):
    actions = []
    step = 1
    for number in numbers:
        actions.append(lambda: number * step)
        step += 1
    step = 100
    return [action() for action in actions]


def shadow(list, max=3):
    len = 0
    for sum in list:
        len += 1
        if len >= max:
            break
    list = [len, sum]
    return list


def walk(lines):
    result = []
    lines = iter(lines)
    while (line := next(lines, None)) is not None:
        if not (text := line.strip()):
            continue
        key, found, value = text.partition("=")
        if found and (number := value.strip()).isdigit():
            result.append((key, int(number)))
        else:
            result.append(key)
        last = key
    return result, last


def drop(mapping):
    temporary = dict(mapping)
    copy = temporary
    del temporary
    for key in sorted(copy):
        kept = copy.pop(key)
        if kept:
            del copy
            break
    else:
        kept = None
    return kept


def counted():
    calls = 0

    def inner(step):
        nonlocal calls
        calls += step
        return calls

    before = calls
    inner(2)
    after = calls
    inner(3)
    return before, after, calls


def make(name, *bases, **members):
    prefix = name[0]
    label = f"{prefix}{name!s}"

    class Made(*bases):
        title = label.upper()
        letters = [letter for letter in label]

        def show(self, mark="!"):
            head = self.title + mark
            return head, len(self.letters)

    for key, value in members.items():
        setattr(Made, key, value)
    return Made


def loop_else(rows):
    found = None
    for row in rows:
        for cell in row:
            if cell == "x":
                found = row
                break
        else:
            continue
        break
    else:
        found = "nothing"
    return found


def both(flag):
    if flag:
        left = 1
        right = 2
    else:
        left = 3
    if flag:
        left += right
    return left


def spread(*args, key=None, **options):
    first, *rest = args
    merged = {**options, "key": key}
    pairs = sorted(merged.items(), key=lambda pair: (pair[0], str(pair[1])))
    return first, rest, pairs


print(guarded("7"), guarded("x"))
print(cleaned([1, 2]), cleaned([1, 0]))
print(returns([3]), returns([0, 4]), returns([0]), returns([]))
print(late([1, 2, 3]), shadow([5, 6, 7, 8]))
print(walk(["a = 1", "", "b=x", "c"]))
print(drop({"a": 0, "b": 2}), drop({}))
print(counted())
total = total + 5
note("total")
total += 1
made = make("thing", extra=3)()
print(made.show(), made.extra)
print(loop_else(["ab", "xc"]), loop_else(["ab"]), both(True), both(False))
print(spread(1, 2, 3, key=4, other=5))
doubled = [note(value) * 2 for value in range(2)]
print(doubled, history)
