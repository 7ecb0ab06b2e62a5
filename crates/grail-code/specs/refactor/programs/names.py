"""Classes, closures, generators and asynchronous code."""

import asyncio
from contextlib import contextmanager

counter = 0


def bump(step=1):
    global counter
    counter += step
    double = counter * 2
    return double


class Account:
    rate = 0.5

    def __init__(self, owner, amount=0):
        self.owner = owner
        self.__amount = amount
        self.log = []

    def deposit(self, amount, note=""):
        before = self.__amount
        self.__amount += amount
        difference = self.__amount - before
        entry = (note or "deposit", difference)
        self.log.append(entry)
        return self

    @property
    def interest(self):
        base = self.__amount
        value = base * self.rate
        return value

    @classmethod
    def joint(cls, *owners):
        name = " & ".join(owners)
        account = cls(name, len(owners))
        return account

    @staticmethod
    def describe(account):
        text = f"{account.owner}: {account.interest}"
        return text.title()


class Savings(Account):
    rate = 2

    def deposit(self, amount, note="saved"):
        amount = amount + 1
        result = super().deposit(amount, note)
        label = [word for word in note.split() if word != "x"]
        self.log.append(label)
        return result


def adders(numbers):
    functions = []
    for number in numbers:
        bonus = number * 10
        functions.append(lambda value, number=number: value + number)
        functions.append(lambda value, bonus=bonus: value + bonus)
    return functions


def running():
    total = 0

    def add(value):
        nonlocal total
        previous = total
        total = previous + value
        return previous, total

    return add


def chunks(items, size):
    batch = []
    for item in items:
        batch.append(item)
        full = len(batch) == size
        if full:
            yield batch
            batch = []
    if batch:
        rest = batch
        yield rest


@contextmanager
def tagged(name):
    opening = f"<{name}>"
    print(opening)
    yield name.upper()
    print("</" + name + ">")


async def fetch(value, delay=0):
    await asyncio.sleep(delay)
    result = value * 2
    return result


async def gather(values):
    first = await fetch(values[0])
    rest = [await fetch(value) for value in values[1:]]
    total = first + sum(rest)
    return total, rest


print(bump(), bump(3), counter)
account = Account.joint("ann", "bob")
print(account.deposit(5).deposit(2, "gift").log, Account.describe(account))
savings = Savings("eve")
print(savings.deposit(1, "x for y").log, savings.interest)
print([function(1) for function in adders([1, 2])])
add = running()
print(add(2), add(5))
print(list(chunks(range(5), 2)), sorted({len(chunk): chunk for chunk in chunks("abc", 2)}))
with tagged("p") as upper:
    shout = upper + "!"
    print(shout)
print(asyncio.run(gather([1, 2, 3])))
