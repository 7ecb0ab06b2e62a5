# expect: rejected type-subscript
# check: types
# tries: a type that is made of itself
from typing import Union

Nested = Union[int, list["Nested"]]

def first(value: Nested) -> Nested:
    return first(value)

1
