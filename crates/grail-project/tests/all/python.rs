//! Interpreters are found by looking at folders.

#[cfg(unix)]
#[test]
fn the_standard_library_of_a_virtual_environment_is_its_base() {
    use crate::scratch::Scratch;
    use std::os::unix::fs::symlink;

    let scratch = Scratch::new(&[
        ("base/bin/python3.14", ""),
        ("base/bin/python3.14-config", ""),
        ("base/lib/python3.14/os.py", ""),
        ("project/.venv/pyvenv.cfg", ""),
        ("project/.venv/bin/activate", ""),
    ]);
    symlink("python3.14", scratch.path("base/bin/python3")).unwrap();
    symlink(scratch.path("base/bin/python3"), scratch.path("project/.venv/bin/python")).unwrap();

    let found = grail_project::find_interpreters(Some(&scratch.path("project")));
    let interpreter = found.iter().find(|found| found.executable.starts_with(scratch.root())).unwrap();
    assert_eq!(interpreter.executable, scratch.path("project/.venv/bin/python"));
    assert_eq!(interpreter.version, (3, 14));
    assert_eq!(interpreter.stdlib, std::fs::canonicalize(scratch.path("base/lib/python3.14")).unwrap());
}
