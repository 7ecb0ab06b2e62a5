//! Type-aware references. A fixture is a small project whose files start with `# file: PATH`; `«name»` marks the
//! references that are certain, `‹name›` those that are unsure. Asking at any certain one must find exactly these.

mod families;
mod keywords;
mod members;
mod rename;

use grail_code::types::{Location, Outside, References, TypeOracle};

const CERTAIN: [char; 2] = ['«', '»'];
const UNSURE: [char; 2] = ['‹', '›'];

/// Checks the references from every certain mark and returns how far the family reaches.
#[track_caller]
fn check(fixture: &str) -> Outside {
    let files = split_files(fixture);
    let plain: Vec<(String, String)> = files
        .iter()
        .map(|(path, text)| (path.clone(), text.replace([CERTAIN[0], CERTAIN[1], UNSURE[0], UNSURE[1]], "")))
        .collect();
    let oracle =
        TypeOracle::new(plain.clone(), &["", "src"], (3, 14)).expect("the fixture's paths are plain");
    let mut outside = Outside::No;
    let starts = certain_marks(&files);
    assert!(!starts.is_empty(), "the fixture marks no reference");
    for (path, offset) in starts {
        let references = oracle.references(&path, offset);
        assert_eq!(references.skipped, Vec::<String>::new());
        let actual = render(&plain, &references);
        let expected: String = files.iter().map(|(path, text)| format!("# file: {path}\n{text}")).collect();
        assert_eq!(
            actual, expected,
            "asked at {path}:{offset}\n--- actual ---\n{actual}\n--- expected ---\n{expected}"
        );
        outside = references.outside;
    }
    outside
}

fn split_files(fixture: &str) -> Vec<(String, String)> {
    fixture
        .split("# file: ")
        .skip(1)
        .map(|file| {
            let (path, text) = file.split_once('\n').expect("a path ends its line");
            (path.trim().to_owned(), text.to_owned())
        })
        .collect()
}

fn certain_marks(files: &[(String, String)]) -> Vec<(String, u32)> {
    let mut marks = Vec::new();
    for (path, text) in files {
        let mut offset = 0;
        for character in text.chars() {
            if character == CERTAIN[0] {
                marks.push((path.clone(), offset));
            }
            if !CERTAIN.contains(&character) && !UNSURE.contains(&character) {
                offset += character.len_utf8() as u32;
            }
        }
    }
    marks
}

fn render(files: &[(String, String)], references: &References) -> String {
    let mut output = String::new();
    for (path, text) in files {
        let mut marks: Vec<(u32, u8, char)> = Vec::new();
        for (locations, [open, close]) in [(&references.certain, CERTAIN), (&references.unsure, UNSURE)] {
            for location in locations.iter().filter(|location| location.path == *path) {
                marks.push((location.span.start, 1, open));
                marks.push((location.span.end, 0, close));
            }
        }
        marks.sort_unstable();
        output.push_str(&format!("# file: {path}\n"));
        let mut last = 0;
        for (offset, _, mark) in marks {
            output.push_str(&text[last..offset as usize]);
            output.push(mark);
            last = offset as usize;
        }
        output.push_str(&text[last..]);
    }
    output
}

#[test]
fn classes_and_functions_are_found_through_imports_aliases_and_annotations() {
    check(
        r#"# file: src/shapes.py
class «Shape»:
    def copy(self) -> "«Shape»":
        return «Shape»()

def area(shape: "list[«Shape»]"): ...
# file: src/api.py
from shapes import «Shape», area
from shapes import «Shape» as Form
import shapes as s
import shapes

class Square(«Shape»): ...
class Round(s.«Shape»): ...
Form()
shapes.«Shape»
def local():
    Shape = 1
    return Shape
# file: src/client.py
from api import «Shape»
import api
api.«Shape»()
isinstance(1, «Shape»)
"#,
    );
}

#[test]
fn globals_are_one_name_with_many_bindings() {
    check(
        r#"# file: a.py
«count» = 0

def increment():
    global «count»
    «count» += 1

def shadow(count):
    return count
# file: b.py
import a
a.«count» = 3
"#,
    );
}

#[test]
fn definitions_are_answered_for_names_attributes_keywords_and_imports() {
    let a = "class A:\n    def run(self, x): ...\n\ndef f(a: A):\n    a.run(x=1)\n";
    let b = "from a import f as g, A\nimport a\ng(A())\na.f\nlen\n";
    let files = [("a.py".to_owned(), a.to_owned()), ("b.py".to_owned(), b.to_owned())];
    let oracle = TypeOracle::new(files, &[""], (3, 12)).unwrap();
    let at = |path: &str, text: &str, needle: &str| {
        let offset = text.find(needle).unwrap() as u32;
        let show = |Location { path, span }: Location| format!("{path}:{}..{}", span.start, span.end);
        oracle.definitions(path, offset).into_iter().map(show).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(at("a.py", a, "run(x=1)"), "a.py:17..20");
    assert_eq!(at("a.py", a, "x=1"), "a.py:27..28");
    assert_eq!(at("a.py", a, "A):"), "a.py:6..7");
    assert_eq!(at("b.py", b, "f as"), "a.py:40..41");
    assert_eq!(at("b.py", b, "g(A"), "b.py:19..20");
    assert_eq!(at("b.py", b, "f\nlen"), "a.py:40..41");
    assert_eq!(at("b.py", b, "a.f"), "a.py:0..0");
    assert_eq!(at("b.py", b, "len"), "");
    assert_eq!(at("b.py", b, "(A()"), "");
    assert_eq!(oracle.definitions("missing.py", 0), []);
    assert_eq!(oracle.definitions("a.py", 1_000), []);
}

#[test]
fn broken_files_still_answer() {
    check(
        r#"# file: a.py
class A:
    def «run»(self):
        x = = 1
        return self.«run»

def use(a: A):
    a.«run»(
"#,
    );
}

#[test]
fn spans_are_bytes_of_the_given_text() {
    check(
        "# file: a.py\n\u{feff}class A:\r\n    é = 'ü'\r\n    def «größe»(self): ...\r\n\r\nA().«größe»()  # größe\r\n",
    );
    // Identifiers are compared in NFKC: the ligature is the same name.
    check(
        "# file: a.py\nclass A:\n    def «ﬁnd»(self): ...\nA().«find»()\n# file: b.py\nfrom a import A\nA().«ﬁnd»()\n",
    );
}

#[test]
fn hostile_nesting_is_skipped_and_reported() {
    let deep = [
        format!("run = {}1", "-".repeat(100_000)),
        format!("run = {}{}", "[".repeat(50_000), "]".repeat(50_000)),
        format!("run = a{}", "+a".repeat(10_000)),
        format!("run = a{}", ".run()".repeat(10_000)),
        format!("run = {}1", "lambda: ".repeat(10_000)),
        (0..2_000).map(|depth| format!("{}if run:\n", " ".repeat(depth))).collect(),
    ];
    let mut files = vec![("a.py".to_owned(), "class A:\n    def run(self): ...\n".to_owned())];
    for (index, text) in deep.into_iter().enumerate() {
        files.push((format!("deep{index}.py"), text));
    }
    files.push(("wide.py".to_owned(), format!("run = [{}]\n", "-1, ".repeat(50_000))));
    let oracle = TypeOracle::new(files, &[""], (3, 14)).expect("the fixture's paths are plain");
    let references = oracle.references("a.py", 17);
    assert_eq!(references.certain.len(), 1);
    assert_eq!(references.skipped, ["deep0.py", "deep1.py", "deep2.py", "deep3.py", "deep4.py", "deep5.py"]);
}

#[test]
fn brackets_left_open_do_not_count_as_nesting() {
    let methods: String =
        (0..2_000).map(|index| format!("    def m{index}(self): return {index}\n")).collect();
    let open = format!("class A:\n    def run(self): ...\n{methods}    def open(self): f(\n{methods}");
    let mut files = vec![("a.py".to_owned(), open.clone())];
    for (index, piece) in
        ["(def ", "[class A: ", "{return ", "(while ", "(lambda: try: ", "f(import ", "(with "]
            .iter()
            .enumerate()
    {
        files.push((format!("b{index}.py"), format!("run\n{}", piece.repeat(3_000))));
    }
    let oracle = TypeOracle::new(files, &[""], (3, 14)).expect("the fixture's paths are plain");
    let references = oracle.references("a.py", open.find("run").unwrap() as u32);
    assert_eq!(references.skipped, Vec::<String>::new());
    assert_eq!(references.certain.len(), 1);
}

#[test]
fn the_deepest_nesting_allowed_fits_the_stack() {
    let texts = [
        format!("run = {}1\n", "-".repeat(3_900)),
        format!("run = a{}\n", "+a".repeat(1_900)),
        format!("class A:\n    def run(self) -> 'A': ...\nA(){}\n", ".run()".repeat(900)),
        format!("run = {}1{}\n", "[".repeat(1_900), "]".repeat(1_900)),
        format!("run = {}1\n", "lambda: ".repeat(1_900)),
        format!("run = {}1\n", "1 if a else ".repeat(900)),
        (0..190).map(|depth| format!("{}if run:\n", " ".repeat(depth))).collect::<String>()
            + &" ".repeat(190)
            + "run = 1\n",
    ];
    for text in texts {
        let offset = text.find("run").unwrap() as u32;
        let oracle = TypeOracle::new([("a.py".to_owned(), text)], &[""], (3, 14))
            .expect("the fixture's paths are plain");
        let references = oracle.references("a.py", offset);
        assert_eq!(references.skipped, Vec::<String>::new());
        assert!(!references.certain.is_empty());
    }
}

#[test]
fn paths_must_be_plain_and_relative() {
    for path in ["/a.py", "../a.py", "a/../b.py", "./a.py", "", "a//b.py"] {
        let error = TypeOracle::new([(path.to_owned(), String::new())], &[""], (3, 14)).err().unwrap();
        assert_eq!(
            error.to_string(),
            format!("`{path}` cannot be a file of the project: not a plain relative path")
        );
    }
    let clash = [("a".to_owned(), String::new()), ("a/b.py".to_owned(), String::new())];
    assert_eq!(
        TypeOracle::new(clash, &[""], (3, 14)).err().unwrap().to_string(),
        "`a/b.py` cannot be a file of the project: not a directory"
    );
}

#[test]
fn a_name_with_a_fallback_is_unsure() {
    check(
        r#"# file: fast.py
def «parse»(): ...
# file: a.py
try:
    from fast import «parse»
except ImportError:
    def parse(): ...

‹parse›()
"#,
    );
}

#[test]
fn a_name_that_cannot_be_imported_is_defined_by_its_import() {
    check(
        r#"# file: a.py
from missing import «thing», other as renamed
«thing»()
# file: b.py
import a
a.«thing»
from missing import thing as unrelated
"#,
    );
}

#[test]
fn local_names_stay_in_their_scope() {
    check(
        r#"# file: a.py
value = 1

def outer():
    «value» = 2
    def inner():
        nonlocal «value»
        «value» = 3
        return [«value» for _ in ()]
    return «value»

class Holder:
    value = value
    def get(self):
        return self.value

print(value)
"#,
    );
}

#[test]
fn a_project_that_makes_ty_panic_answers_for_the_rest() {
    // Shadowing the modules that ty's own knowledge of Python rests on sends it into cycles.
    let files = [
        (
            "enum.py",
            "from types import DynamicClassAttribute\nclass EnumMeta(type): ...\nclass Enum(metaclass=EnumMeta): ...\n",
        ),
        (
            "types.py",
            "import enum\nclass DynamicClassAttribute: ...\nclass A(enum.Enum):\n    run = 1\nA.run\n",
        ),
        ("a.py", "class B:\n    def run(self): ...\nB().run()\n"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let oracle = TypeOracle::new(files, &[""], (3, 14)).expect("the fixture's paths are plain");
    assert_eq!(oracle.references("a.py", 17).certain.len(), 2);
}
