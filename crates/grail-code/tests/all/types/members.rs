//! Methods and attributes: receivers and certainty.

use super::check;

#[test]
fn methods_are_found_through_every_kind_of_receiver() {
    check(
        r#"# file: pkg/service.py
class Service:
    def «run»(self, times: int = 1) -> "Service":
        return self

    def twice(self):
        self.«run»().«run»()
        Service.«run»(self)

    @classmethod
    def make(cls) -> "Service":
        cls.«run»
        return cls()

    @staticmethod
    def build() -> "Service":
        return Service()

    def unannotated():
        return Service()

class Other:
    def run(self):
        self.run()

def run():
    pass
# file: pkg/__init__.py
from .service import Service as Worker
# file: main.py
import pkg
from pkg import Worker
from pkg.service import Service, Other, run

def use(service: Service, maybe: Service | None, other: Other, anything, services: list[Service]):
    service.«run»()
    if maybe:
        maybe.«run»()
    other.run()
    anything.‹run›()
    run()
    services[0].«run»()
    for each in services:
        each.«run»()
    [item.«run»() for item in services]

Worker().«run»()
pkg.Worker.make().«run»().twice()
Service.build().«run»(times=2)
Service.unannotated().‹run›()
getattr(Service(), "‹run›")
method = Service().«run»
"#,
    );
}

#[test]
fn instance_attributes_are_found_wherever_they_are_assigned() {
    check(
        r#"# file: a.py
class Counter:
    «total»: int

    def __init__(self, total):
        self.«total» = total
        self.other = self

    def add(self, amount):
        self.«total» += amount
        total = self.«total»
        del self.«total»
        return total

    @classmethod
    def reset(cls):
        cls.«total» = 0

class Child(Counter):
    def show(self):
        return f"{self.«total»:>{self.«total»}}"

counter = Counter(total=1)
counter.«total» = 3
counter.other.«total»
Child(2).«total»
"#,
    );
}

#[test]
fn an_attribute_without_a_declaration_is_inferred_from_its_assignments() {
    check(
        r#"# file: a.py
class Engine:
    def «start»(self): ...

class Car:
    def __init__(self, spare):
        self.engine = Engine()
        self.spare = spare

    def drive(self):
        self.engine.«start»()
        self.spare.‹start›()
"#,
    );
}

#[test]
fn properties_are_members_with_several_definitions() {
    check(
        r#"# file: a.py
from functools import cached_property

class Circle:
    @property
    def «radius»(self) -> float:
        return self._radius

    @«radius».setter
    def «radius»(self, radius):
        self._radius = radius

    @«radius».deleter
    def «radius»(self): ...

    @cached_property
    def area(self):
        return self.«radius» ** 2

circle = Circle()
circle.«radius» = 2
circle.«radius»
"#,
    );
}

#[test]
fn unions_are_certain_if_all_that_have_it_agree() {
    check(
        r#"# file: a.py
from typing import Any

class Cat:
    def «speak»(self): ...
class Kitten(Cat): ...
class Dog:
    def speak(self): ...
class Stone: ...

def use(a: Cat | None, b: Cat | Kitten, c: Cat | Dog, d: Cat | Any, e: Stone, f: object, g: Dog | None, h: Cat | Stone):
    a.«speak»()
    b.«speak»()
    c.‹speak›()
    d.‹speak›()
    e.‹speak›()
    f.‹speak›()
    g.speak()
    h.«speak»()
    if isinstance(f, Cat):
        f.«speak»()
"#,
    );
}

#[test]
fn generic_receivers_resolve_to_their_bounds() {
    check(
        r#"# file: a.py
from typing import TypeVar, Generic, Self

class Node:
    def «name»(self) -> Self:
        return self

class Box[T]:
    def __init__(self, value: T):
        self.value = value
    def get(self) -> T:
        return self.value

class Named[T](Box[T]):
    pass

def bounded[N: Node](node: N) -> N:
    node.«name»().«name»()
    return node

bounded(Node()).«name»()
Box(Node()).get().«name»()
Named(Node()).get().«name»()
Box(Node()).value.«name»()
"#,
    );
}

#[test]
fn nested_receivers_context_managers_and_awaits_are_followed() {
    check(
        r#"# file: a.py
from typing import Iterator

class Connection:
    def «send»(self): ...
    def __enter__(self) -> "Connection":
        return self
    def __exit__(self, *args): ...

async def connect() -> Connection:
    return Connection()

def stream() -> Iterator[Connection]:
    yield Connection()

async def main(table: dict[str, tuple[int, Connection]]):
    with Connection() as connection:
        connection.«send»()
    (await connect()).«send»()
    for each in stream():
        each.«send»()
    table["a"][1].«send»()
    _, pair = table["b"]
    pair.«send»()
    if (found := next(stream(), None)) is not None:
        found.«send»()
    (lambda c=Connection(): c.«send»())()
"#,
    );
}

#[test]
fn enum_members_are_class_members() {
    check(
        r#"# file: a.py
from enum import Enum

class Color(Enum):
    «RED» = 1
    BLUE = 2

def show(color: Color):
    match color:
        case Color.«RED»:
            return color.name
    return Color.BLUE is not Color.«RED»
"#,
    );
}

#[test]
fn code_for_other_python_versions_still_knows_self() {
    check(
        r#"# file: a.py
import sys

class Base:
    def «run»(self): ...

class Child(Base):
    if sys.version_info < (3, 8):
        def «run»(self):
            self.«run»()

    def go(self, other: Base):
        if sys.version_info < (3, 8):
            self.«run»()
            other.‹run›()

    @staticmethod
    def still(self):
        self.‹run›()
"#,
    );
}

#[test]
fn attributes_of_modules_are_not_members() {
    check(
        r#"# file: a.py
import urllib.request
import xml

class Client:
    def «request»(self): ...

urllib.request.urlopen
xml.request
Client().«request»()
"#,
    );
}

#[test]
fn class_objects_metaclasses_and_nested_classes_are_receivers() {
    check(
        r#"# file: a.py
class Meta(type):
    def register(cls): ...

class Outer(metaclass=Meta):
    «limit» = 1

    class Inner:
        limit = 2

        def show(self, outer: "Outer"):
            return self.limit, outer.«limit», Outer.Inner.limit

    def show(self):
        type(self).«limit»
        self.__class__.«limit»
        return Outer.«limit»

Alias = Outer
Alias.«limit» = 2
Outer.register()

def make(kind: type[Outer]):
    return kind.«limit», kind().«limit»
"#,
    );
}

#[test]
fn a_metaclass_method_is_found_on_its_classes() {
    check(
        r#"# file: a.py
class Meta(type):
    def «register»(cls): ...

class Model(metaclass=Meta): ...

Model.«register»()
"#,
    );
}

#[test]
fn private_names_are_attributes_like_others() {
    check(
        r#"# file: a.py
class Vault:
    def __init__(self):
        self.«__secret» = 1

    def open(self):
        return self.«__secret»

class Other:
    def __init__(self):
        self.__secret = 2
"#,
    );
}

#[test]
fn aliases_of_types_are_followed_where_ty_follows_them() {
    check(
        r#"# file: a.py
from typing import TypeAlias, NewType, TypeVar

class Cat:
    def «speak»(self): ...

class Dog:
    def speak(self): ...

Pet: TypeAlias = Cat
type Modern = Cat
type Either = Cat | Dog
Stray = NewType("Stray", Cat)
C = TypeVar("C", bound=Cat)

def use(pet: Pet, modern: Modern, either: Either, stray: Stray, bound: C, callback: "Cat"):
    pet.«speak»()
    modern.«speak»()
    either.‹speak›()
    stray.«speak»()
    bound.«speak»()
    callback.«speak»()
"#,
    );
}

#[test]
fn decorated_classes_stay_classes() {
    check(
        r#"# file: a.py
from functools import total_ordering
from missing import register

@total_ordering
class Known:
    def «run»(self):
        self.«run»()

Known().«run»()
"#,
    );
    check(
        r#"# file: a.py
from missing import register

@register
class Unknown:
    def «run»(self):
        self.«run»()

Unknown().‹run›()
"#,
    );
}

#[test]
fn slots_name_attributes_and_reflection_is_unsure() {
    check(
        r#"# file: a.py
from unittest.mock import patch

class Point:
    __slots__ = ("«x»", "y")
    __match_args__ = ("«x»", "y")

    def __init__(self):
        self.«x» = self.y = 0

class Other:
    __slots__ = ["x"]
    x: int

def use(point: Point, other: Other, unknown):
    getattr(point, "‹x›")
    setattr(unknown, "‹x›", 1)
    getattr(other, "x")
    patch.object(Point, "‹x›")
    unknown.get(other, "x")
    print("x", "x")
"#,
    );
}
