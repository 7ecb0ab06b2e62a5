#!/usr/bin/env python
# The header of a file.

"""Every kind of node, with comments where they hurt. A line with `# ---` starts the next snippet."""

import os, sys as system  # both

# about the next one
from . import (  # opening
    a,  # first
    # about b
    b as c,

    # detached

    d,  # last
)
from ..pkg.mod import *
# ---
@first
@second(1)  # why
# about the function
async def f[T: int = str, *Ts, **P](a, /, b: int = 1, *args: *Ts, k, j=2, **kwargs) -> str:  # noqa
    """Docstring."""

    # about x
    x = 1; y = 2;  # both
    z = 3
    # the end of f

# about g
def g(): pass
def h(): ...; return 1  # one line
# ---
class Empty(): pass
class Bases(A, metaclass=M): # why

    def method(self) : return self
    # deeper

    # same


class Plain:
	x: int
	y: str = ""	# tab
# ---
x = y = (1)  # value
x = a, b
x = (a, b,)
x = (a,)
x = ()
x += 1
(x): int = 1
x.y: str
x[0]: list[int] = []
del a, (b), c[0]
global p, q
# ---
for a, b in (1, 2), (3, 4):
    break
else:  # no break
    continue
while a: b
else: c
async def loops():
    async for x in y:
        async with a as b, c:
            await d
    return [x async for x in y if x if not x]
# ---
if a:
    b
    # tail of b
elif c:  # middle
    d
# about else
elif e: f; g
else:
    h
# ---
try:
    a
except A: b
except (B, C) as d:
    raise
except D :
    raise E from F
else:
    raise G
finally:
    assert h, "message"
try: a
except* A as b: c
try: a
finally: b
# ---
with a: pass
with (a as b, c as d,): pass
with (
    a as b,  # first
    # about c
    c,
):
    pass
with (a), (b): pass
# ---
match command.split():
    # about the first
    case [action]: pass
    case [action, *rest] if rest: pass
    case Point(x=0, y=(0 | 1) as y): pass
    case Point(1, 2): pass
    case {"a": 1, "b": [_, *_], **others}: pass
    case {}: pass
    case (1 | 2) | (-3) | None | "a" "b" | a.b: pass
    case (a, b): pass
    case a, b: pass
    case Empty(): pass
    case _:
        pass
# ---
def outer():
    x = 1

    def inner(a, *, b):
        nonlocal x
# ---
type Alias[T] = list[T]
type Plain = int
x = lambda: 0
x = lambda a, *b, c=1, **d: (a, b)
x = a if b else c
x = (yield)
y = (yield a)
z = (yield from b)
x = (a := 1)
# ---
x = a and b or not c and (d or e)
x = a < b <= c != d is not e not in f
x = -a ** -b + ~c * (d - e) @ f // g % h << i >> j & k ^ l | m
x = (
    a  # first
    + b
    # about c
    + c
)
x = a and\
    b
# ---
x = [1, 2,
     3]
x = {1, 2}
x = {'a': 1, **b, 'c': (2)}
x = [
]
x = {
    # nothing
}
x = {
    'a': 1,  # one

    # two
    'b' : 2
    , 'c': 3
}
x = [a for b in c for d in e if f if g]
x = {a for b in c}
x = {a: b for c in d}
x = (a for b in c)
f(a for b in c)
f((a for b in c))
# ---
f()
f( )
f(a, *b, c=1, **d)
f(
    a,  # first
    b
    # end
)
f(
    # only
    a
)(b)[c].d
f(a)(
    b)
x[1:2, ::3, ..., *a]
x[:]
x[1:]
x[:2]
x[::]
x[a:b:c]
x[a,]
x[*a]
1 .real
1.0.real
# ---
x = 'a' "b" \
    'c'
x = b'a' b'b'
x = f"a{b}c{d!r}e{f:>{width}}g{h=}{i = !s:4}{{}}"
x = f'{a["b"]}' "plain" rf'{c}'
x = t"a{b}"
x = 1, 1.5, 1j, 0xff, True, None, ...
x = '''multi
  line'''
# ---
if a:
    if b:

        # about c
        c

    # about d

    d = [
        1,
    ]

e
