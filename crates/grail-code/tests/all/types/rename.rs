//! Renames that ask the oracle: methods, attributes and parameters of methods, across files.

use grail_code::rename::{RenameOptions, RenamePlan, rename_named};
use grail_code::types::TypeOracle;
use grail_code::{ModuleName, Project, ProjectFile, Source, edit, parse_module};

use super::split_files;

/// Renames in a project of `# file: PATH` sections and gives back its text, then the places it was unsure of.
#[track_caller]
fn check(before: &str, name: &str, new: &str, after: &str, unsure: &[&str]) {
    let files = split_files(before);
    let project = Project { files: files.iter().map(|(path, text)| project_file(path, text)).collect() };
    let oracle = TypeOracle::new(files, &[""], (3, 14)).expect("the fixture's paths are plain");
    let plan = rename_named(&project, name, new, &RenameOptions::default(), Some(&oracle))
        .expect("it can be renamed");
    assert_eq!(render(&project, &plan), after);
    let places: Vec<String> = plan
        .unsure
        .iter()
        .map(|place| format!("{}:{}:{}", place.path, place.at.line, place.at.column))
        .collect();
    assert_eq!(places, unsure);
}

fn project_file(path: &str, text: &str) -> ProjectFile {
    let module = ModuleName::module(path.trim_end_matches(".py").replace('/', "."));
    ProjectFile { path: path.to_owned(), module, parsed: parse_module(Source::from_text(text)) }
}

fn render(project: &Project, plan: &RenamePlan) -> String {
    let mut result = String::new();
    for file in &project.files {
        let edits = plan.files.iter().find(|edits| edits.path == file.path);
        let edits = edits.map(|edits| edits.edits.clone()).unwrap_or_default();
        let text = edit::apply(file.parsed.text(), edits).expect("no conflict");
        result += &format!("# file: {}\n{text}", file.path);
    }
    result
}

#[test]
fn a_method_is_renamed_with_its_overrides_and_callers() {
    check(
        r#"# file: base.py
class Base:
    def run(self): ...
    go = run
class Other:
    def run(self): ...
# file: main.py
from base import Base, Other
class Child(Base):
    def run(self):
        return super().run()
def use(base: Base, other: Other, anything):
    base.run()
    other.run()
    anything.run()
    Child().run()
"#,
        "base.Base.run",
        "start",
        r#"# file: base.py
class Base:
    def start(self): ...
    go = start
class Other:
    def run(self): ...
# file: main.py
from base import Base, Other
class Child(Base):
    def start(self):
        return super().start()
def use(base: Base, other: Other, anything):
    base.start()
    other.run()
    anything.run()
    Child().start()
"#,
        &["main.py:8:14"],
    );
}

#[test]
fn a_field_is_renamed_with_the_keywords_of_its_constructor() {
    check(
        r#"# file: point.py
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int = 0
# file: main.py
from point import Point
point = Point(x=1)
print(point.x, dict(x=2))
"#,
        "point.Point.x",
        "left",
        r#"# file: point.py
from dataclasses import dataclass
@dataclass
class Point:
    left: int
    y: int = 0
# file: main.py
from point import Point
point = Point(left=1)
print(point.left, dict(x=2))
"#,
        &[],
    );
}

#[test]
fn a_parameter_of_a_method_is_renamed_with_its_keywords() {
    check(
        r#"# file: base.py
class Base:
    def scale(self, factor):
        return factor
class Child(Base):
    def scale(self, factor):
        return super().scale(factor=factor)
# file: main.py
from base import Base, Child
Base().scale(factor=1)
Child().scale(factor=2)
"#,
        "base.Base.scale.factor",
        "by",
        r#"# file: base.py
class Base:
    def scale(self, by):
        return by
class Child(Base):
    def scale(self, by):
        return super().scale(by=by)
# file: main.py
from base import Base, Child
Base().scale(by=1)
Child().scale(by=2)
"#,
        &[],
    );
}

#[test]
fn what_a_file_too_deep_to_analyse_spells_is_unsure() {
    let deep = format!("a.run({}1)\n", "-".repeat(5_000));
    let before = format!("# file: a.py\nclass A:\n    def run(self): ...\n# file: deep.py\n{deep}");
    let after = before.replacen("run", "start", 1);
    check(&before, "a.A.run", "start", &after, &["deep.py:1:3"]);
}
