//! Files and the modules they are.

use grail_code::ModuleName;
use grail_project::SourceRoots;

use crate::scratch::Scratch;

fn roots(scratch: &Scratch) -> SourceRoots {
    SourceRoots::new(scratch.root(), &["src".to_owned(), ".".to_owned()])
}

#[test]
fn a_file_is_named_from_its_innermost_root() {
    let scratch =
        Scratch::new(&[("src/pkg/__init__.py", ""), ("src/pkg/sub/a.py", ""), ("tests/test_a.py", "")]);
    let name = |path: &str| roots(&scratch).module_of(&scratch.path(path)).map(|module| module.name);
    assert_eq!(name("src/pkg/__init__.py").as_deref(), Some("pkg"));
    assert_eq!(name("src/pkg/sub/a.py").as_deref(), Some("pkg.sub.a"));
    assert_eq!(name("tests/test_a.py").as_deref(), Some("tests.test_a"));
    assert_eq!(name("src/pkg/not_yet_written.py").as_deref(), Some("pkg.not_yet_written"));
    assert_eq!(name("src/pkg/sub/../sub/a.py").as_deref(), Some("pkg.sub.a"));
    assert_eq!(name("src/pkg-stubs/a.pyi").as_deref(), Some("pkg.a"));
    assert_eq!(name("bin/my-script.py"), None);
    assert_eq!(name("src/__init__.py"), None);
    assert_eq!(name("src/pkg/data.txt"), None);
    assert_eq!(name("../elsewhere.py"), None);
}

#[test]
fn a_source_folder_that_is_a_package_is_no_root() {
    let scratch = Scratch::new(&[("src/__init__.py", ""), ("src/a.py", "")]);
    assert_eq!(roots(&scratch).module_of(&scratch.path("src/a.py")), Some(ModuleName::module("src.a")));
    assert_eq!(roots(&scratch).module_of(&scratch.path("src/__init__.py")), Some(ModuleName::package("src")));
}

#[test]
fn a_module_is_found_as_python_would() {
    let scratch = Scratch::new(&[
        ("src/a.py", ""),
        ("src/a/__init__.py", ""),
        ("src/b.pyi", ""),
        ("src/b.py", ""),
        ("src/c.pyi", ""),
        ("b.py", ""),
        ("tests/d.py", ""),
    ]);
    let file = |module: &str| {
        let found = roots(&scratch).file_of(module)?;
        let real = std::fs::canonicalize(scratch.root()).unwrap();
        Some(found.strip_prefix(real).unwrap().to_str().unwrap().to_owned())
    };
    assert_eq!(file("a").as_deref(), Some("src/a/__init__.py"));
    assert_eq!(file("b").as_deref(), Some("src/b.py"));
    assert_eq!(file("c").as_deref(), Some("src/c.pyi"));
    assert_eq!(file("tests.d").as_deref(), Some("tests/d.py"));
    assert_eq!(file("nowhere"), None);
    assert_eq!(file("../a"), None);
}
