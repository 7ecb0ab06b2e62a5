#!/usr/bin/env python
"""A module that holds every shape of list and block."""

import os, sys
from typing import (
    Any,  # everything
    Optional
)

LIMIT = 3; STEP = 1; print(LIMIT, STEP);


@os.register(  # the registry
    'name',
    *sys.argv,  # all of them
    key=(1), other=[x for x in range(LIMIT)],
)
class Shop(dict, metaclass=type):
    """Sells things."""

    open = True

    def price(self, item, /, *, tax=0.2):
        # The first guess.
        guess = self.get(item,
                         None)  # aligned

        if guess: return guess; print("never")
        elif tax: pass
        else:
            guess = sum(x * tax for x in self.values())
        try:
            guess = max(guess, 0.0,)
        except (TypeError, ValueError) as error:
            raise RuntimeError("bad", error) from error
        finally:
            print(
                guess
            )
        return guess


async def main(*arguments, **options):
    async with os.scandir('.') as entries:
        for entry in entries:
            await visit(entry, arguments,
                        # the rest
                        **options)
        else:
            del entries
    text = f"""
    {options!r}
    """
    match text:
        case str(): print('a', 'b')
        case _: ...
