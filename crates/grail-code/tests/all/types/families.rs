//! Members that belong together through inheritance.

use super::check;
use grail_code::types::Outside;

#[test]
fn overrides_are_one_family_in_both_directions() {
    let outside = check(
        r#"# file: base.py
class Base:
    def «run»(self):
        pass

class Unrelated:
    def run(self):
        pass
# file: middle.py
import base

class Middle(base.Base):
    pass
# file: leaf.py
from middle import Middle
from base import Base, Unrelated

class Leaf(Middle):
    def «run»(self):
        super().«run»()
        return super(Leaf, self).«run»

class Sibling(Base):
    «run» = None

def use(base: Base, middle: Middle, leaf: Leaf, unrelated: Unrelated):
    base.«run»()
    middle.«run»()
    leaf.«run»()
    unrelated.run()
"#,
    );
    assert_eq!(outside, Outside::No);
}

#[test]
fn a_class_that_joins_two_bases_joins_their_members() {
    check(
        r#"# file: a.py
class Left:
    def «run»(self): ...
class Right:
    def «run»(self): ...
class Alone:
    def run(self): ...
# file: b.py
from a import Left, Right
class Both(Left, Right): ...
Both().«run»()
"#,
    );
}

#[test]
fn a_family_that_reaches_outside_says_so() {
    let overriding = r#"# file: a.py
from threading import Thread
class Worker(Thread):
    def «run»(self): ...
Worker().«run»()
def start(thread: Thread):
    thread.run()
"#;
    assert_eq!(check(overriding), Outside::Yes);
    let unknown = r#"# file: a.py
from missing import View
class Page(View):
    def «get»(self): ...
Page().«get»()
"#;
    assert_eq!(check(unknown), Outside::Maybe);
}

#[test]
fn generic_bases_belong_to_the_family() {
    check(
        r#"# file: a.py
class Repository[T]:
    def «find»(self, key: str) -> T: ...

class User: ...

class Users(Repository[User]):
    def «find»(self, key: str) -> User:
        return super().«find»(key)

Users().«find»("a")
Repository[User].«find»
"#,
    );
}

#[test]
fn abstract_members_and_their_implementations_are_one_family() {
    check(
        r#"# file: a.py
from abc import ABC, abstractmethod

class Shape(ABC):
    @property
    @abstractmethod
    def «area»(self) -> float: ...

class Square(Shape):
    @property
    def «area»(self) -> float:
        return 1.0

class Field(Shape):
    def __init__(self):
        self.«area» = 2.0

class Attribute(Shape):
    «area»: float = 3.0

def total(shapes: list[Shape], square: Square, field: Field):
    return sum(shape.«area» for shape in shapes) + square.«area» + field.«area»
"#,
    );
}

#[test]
fn a_protocol_is_a_family_only_for_classes_that_name_it() {
    check(
        r#"# file: a.py
from typing import Protocol

class Runner(Protocol):
    def «run»(self): ...

class Explicit(Runner):
    def «run»(self): ...

class Implicit:
    def run(self): ...

def start(runner: Runner, implicit: Implicit):
    runner.«run»()
    implicit.run()

start(Explicit(), Implicit())
"#,
    );
}
