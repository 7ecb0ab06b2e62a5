"""Loops, exceptions and jumps."""

LIMIT = 3
seen = []


def collatz(number, steps=0):
    while number != 1:
        if number % 2 == 0:
            number //= 2
        else:
            number = 3 * number + 1
        steps += 1
        if steps > 50:
            break
    else:
        steps = steps + 0
    return steps


def parse(words):
    good, bad = [], 0
    last = None
    for index, word in enumerate(words):
        try:
            value = int(word)
            last = value * 2
        except ValueError as error:
            bad += 1
            message = str(error)
            print(index, message[:7])
            continue
        finally:
            seen.append(word)
        good.append(value)
        if value > 90:
            break
    else:
        good.append(-1)
    return good, bad, last


def classify(value):
    match value:
        case 0 | 1:
            kind = "small"
        case int(number) if number > LIMIT:
            kind = f"big {number}"
        case [first, *rest]:
            kind = f"list of {first} and {len(rest)}"
        case {"name": name, **others}:
            kind = name + str(sorted(others))
        case _:
            kind = "other"
    return kind.upper()


def find(items, wanted):
    position = -1
    for position, item in enumerate(items):
        if item == wanted:
            return position
    if (count := len(items)) > 2:
        position = count
    return -position


def nested(table):
    total = 0
    best = None
    for row in table:
        subtotal = 0
        for cell in row:
            if cell < 0:
                continue
            subtotal += cell
            total += cell
        if best is None or subtotal > best:
            best = subtotal
    average = total / sum(1 for row in table for _ in row)
    return best, round(average, 2)


def swap(pair):
    left, right = pair
    if left > right:
        left, right = right, left
    text = f"{left!r:>4}|{right:<4}|{left + right=}"
    return text


for start in range(1, 8):
    print(start, collatz(start))
print(parse(["1", "x", "7", "99", "5"]), parse(["3"]))
for thing in (0, 2, 9, [1, 2, 3], {"name": "n", "a": 1}, None):
    print(classify(thing))
result = find([1, 2, 3], 3)
print(result, find([1, 2, 3], 4), find([], 1))
print(nested([[1, 2, -3], [4, 5]]))
print(swap((3, 1)), swap((1, 3)))
print(seen)
