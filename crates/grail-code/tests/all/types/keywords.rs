//! Keyword arguments: parameters, and fields where the constructor is made from them.

use super::check;

#[test]
fn dataclass_fields_are_keywords_of_the_constructor() {
    check(
        r#"# file: a.py
from dataclasses import dataclass, replace
import dataclasses

@dataclass
class Point:
    «x»: int
    y: int = 0

@dataclass
class Point3(Point):
    z: int = 0

point = Point(«x»=1, y=2)
Point3(«x»=1, z=2).«x»
replace(point, «x»=2)
dataclasses.replace(point, «x»=3)
print(point.«x», dict(x=1))

match point:
    case Point(«x»=0, y=x):
        pass
"#,
    );
    check(
        r#"# file: a.py
from typing import NamedTuple

class Point(NamedTuple):
    «x»: int
    y: int

Point(«x»=1, y=2)._replace(«x»=2).«x»
"#,
    );
}

#[test]
fn a_keyword_of_an_own_constructor_is_not_the_field() {
    check(
        r#"# file: a.py
class Point:
    «x»: int

    def __init__(self, x):
        self.«x» = x

Point(x=1).«x»
"#,
    );
}

#[test]
fn parameters_are_found_as_keywords_at_call_sites() {
    check(
        r#"# file: lib.py
def connect(host: str, «port»: int = 1):
    def inner():
        return «port»
    «port» = «port» + 1
    return host, [«port» for _ in range(«port»)]

def other(port): ...
# file: main.py
import lib
from lib import connect as open_connection, other
from functools import partial

port = 1
lib.connect("a", «port»=port)
open_connection(host="a", «port»=2)
other(port=1)
dict(port=3)
partial(open_connection, ‹port›=3)
"#,
    );
}

#[test]
fn parameters_follow_overrides_and_overloads_but_not_constructors() {
    check(
        r#"# file: a.py
class Base:
    def __init__(self, size): ...
    def scale(self, «factor»):
        return «factor»

class Child(Base):
    def __init__(self, size, factor):
        super().__init__(size=size)
    def scale(self, «factor»):
        return super().scale(«factor»=«factor»)

Base(1).scale(«factor»=2)
Child(size=1, factor=2).scale(«factor»=3)
"#,
    );
    check(
        r#"# file: a.py
class Base:
    def __init__(self, «size»):
        self.size = «size»

class Child(Base):
    def __init__(self, size):
        super().__init__(«size»=size)

class Heir(Base): ...

Base(«size»=1)
Child(size=1)
Heir(«size»=1)
"#,
    );
    check(
        r#"# file: a.py
from typing import overload

@overload
def read(«name»: str) -> str: ...
@overload
def read(«name»: int) -> int: ...
def read(«name»):
    return «name»

read(«name»="a")
read(«name»=1)
"#,
    );
}

#[test]
fn decorated_functions_keep_their_keywords() {
    check(
        r#"# file: a.py
import functools
from missing import untyped

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper

@logged
def greet(«name»):
    return «name»

@functools.lru_cache
def cached(name): ...

greet(«name»="a")
cached(name="a")
"#,
    );
    check(
        r#"# file: a.py
from missing import untyped

@untyped
def greet(«name»):
    return «name»

greet(«name»="a")
"#,
    );
}

#[test]
fn callables_of_several_kinds_share_a_keyword() {
    check(
        r#"# file: a.py
import random

def first(«size»): ...
def second(size): ...

either = first if random.random() else second
either(‹size›=1)

class Maker:
    def make(self, size): ...
    def call(self, maker):
        self.make(size=1)
        maker.first(‹size›=2)
        maker.other(size=3)

base = Maker().make if random.random() else Maker.make
base(size=1)

first(«size»=1)
(lambda size: size)(size=2)
"#,
    );
}

#[test]
fn constructors_take_keywords_through_every_way_to_the_class() {
    check(
        r#"# file: a.py
from typing import Self

class Box:
    def __init__(self, «width»: int, height: int = 1):
        self.width = «width»

    @classmethod
    def square(cls, width: int) -> Self:
        return cls(«width»=width, height=width)

    def copy(self):
        return type(self)(«width»=self.width)

class Crate(Box): ...

def build(kind: type[Box]):
    return kind(«width»=1)

Crate(«width»=1)
Box.square(width=2)
"#,
    );
}

#[test]
fn fields_of_generated_constructors_follow_inheritance() {
    check(
        r#"# file: a.py
from dataclasses import dataclass, field

@dataclass(kw_only=True)
class Base:
    «name»: str = field(default="")

@dataclass
class Child(Base):
    age: int = 0

    def rename(self, name: str):
        self.«name» = name

class Plain(Child): ...

Child(«name»="a", age=1)
Plain(«name»="b").«name»
Base(«name»="c").name2
"#,
    );
}

#[test]
fn fields_under_an_unknown_base_are_unsure_keywords() {
    check(
        r#"# file: a.py
from missing import BaseModel

class User(BaseModel):
    «name»: str

user = User(‹name›="a")
user.«name»
"#,
    );
}

#[test]
fn a_union_of_one_family_is_certain() {
    check(
        r#"# file: a.py
class Base:
    def run(self, «times»): ...

class Child(Base):
    def run(self, «times», extra=1): ...

def start(either: Base | Child, base: Base, child: Child, flag: bool):
    either.run(«times»=1)
    (base.run if flag else child.run)(«times»=2)
"#,
    );
}

#[test]
fn keywords_of_a_class_statement_are_parameters_of_its_hook() {
    check(
        r#"# file: a.py
class Plugin:
    def __init_subclass__(cls, «name»: str, **kwargs):
        cls.registry = «name»

class Child(Plugin, «name»="child"): ...
class Other(metaclass=type, name="other"): ...
"#,
    );
}
