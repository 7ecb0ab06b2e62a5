//! Which files a command works on.

use std::path::PathBuf;

use grail_project::{ProjectError, WalkOptions, Walked, walk_python_files};

use crate::scratch::Scratch;

fn walk(scratch: &Scratch, paths: &[&str], exclude: &[&str]) -> Result<Walked, ProjectError> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| scratch.path(path)).collect();
    let root = std::fs::canonicalize(scratch.root()).unwrap();
    let exclude = exclude.iter().map(|&glob| glob.to_owned()).collect();
    walk_python_files(&paths, &WalkOptions { root, exclude })
}

/// The files found, relative to the project; those the user named carry a `!`.
fn found(scratch: &Scratch, paths: &[&str], exclude: &[&str]) -> Vec<String> {
    let walked = walk(scratch, paths, exclude).unwrap();
    assert!(walked.problems.is_empty(), "{:?}", walked.problems);
    let name = |file: &grail_project::PythonFile| {
        let relative = file.path.strip_prefix(scratch.root()).unwrap().display();
        format!("{}{relative}", if file.explicit { "!" } else { "" })
    };
    walked.files.iter().map(name).collect()
}

fn refused(scratch: &Scratch, paths: &[&str], exclude: &[&str]) -> String {
    scratch.report(&walk(scratch, paths, exclude).expect_err("this cannot be walked"))
}

#[test]
fn python_and_stub_files_sorted_by_path() {
    let scratch =
        Scratch::new(&[("b.py", ""), ("a/z.pyi", ""), ("a/b/c.py", ""), ("notes.md", ""), ("script", "")]);
    assert_eq!(found(&scratch, &["."], &[]), ["a/b/c.py", "a/z.pyi", "b.py"]);
}

#[test]
fn ignored_hidden_and_installed_files_are_left_out() {
    let scratch = Scratch::new(&[
        (".gitignore", "build/\n"),
        (".ignore", "*_pb2.py\n"),
        ("a.py", ""),
        ("a_pb2.py", ""),
        ("build/b.py", ""),
        (".hidden/c.py", ""),
        ("env/pyvenv.cfg", ""),
        ("env/lib/d.py", ""),
        ("vendored/.gitignore", "*\n"),
        ("vendored/e.py", ""),
    ]);
    assert_eq!(found(&scratch, &["."], &[]), ["a.py"]);
}

#[test]
fn a_named_file_is_always_taken() {
    let scratch = Scratch::new(&[(".gitignore", "build/\n"), ("a.py", ""), ("build/b.py", ""), ("tool", "")]);
    assert_eq!(found(&scratch, &[".", "build/b.py", "tool"], &["b.py"]), ["a.py", "!build/b.py", "!tool"]);
}

#[test]
fn a_named_folder_is_searched_though_it_is_ignored() {
    let scratch = Scratch::new(&[(".gitignore", "/build\n"), ("build/b.py", "")]);
    assert_eq!(found(&scratch, &["build"], &[]), ["build/b.py"]);
}

#[test]
fn exclude_patterns_are_relative_to_the_project() {
    let scratch =
        Scratch::new(&[("gen/a.py", ""), ("src/gen/b.py", ""), ("src/c.py", ""), ("src/keep_gen.py", "")]);
    assert_eq!(found(&scratch, &["."], &["/gen"]), ["src/c.py", "src/gen/b.py", "src/keep_gen.py"]);
    assert_eq!(found(&scratch, &["src"], &["/src/gen"]), ["src/c.py", "src/keep_gen.py"]);
    assert_eq!(found(&scratch, &["src"], &["*.py", "!c.py"]), ["src/c.py"]);
}

#[test]
fn overlapping_paths_name_a_file_once() {
    let scratch = Scratch::new(&[("src/a.py", ""), ("b.py", "")]);
    assert_eq!(found(&scratch, &[".", "src", "src/../src/a.py"], &[]).len(), 2);
    assert_eq!(found(&scratch, &["src/a.py", "."], &[]), ["b.py", "!src/a.py"]);
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_not_entered_and_links_to_files_name_new_files_only() {
    use std::os::unix::fs::symlink;
    let outside = Scratch::new(&[("shared.py", "")]);
    let scratch = Scratch::new(&[("pkg/a.py", "")]);
    symlink("..", scratch.path("pkg/cycle")).unwrap();
    symlink("a.py", scratch.path("pkg/alias.py")).unwrap();
    symlink(outside.path("shared.py"), scratch.path("pkg/shared.py")).unwrap();
    symlink("gone.py", scratch.path("pkg/dangling.py")).unwrap();
    assert_eq!(found(&scratch, &["."], &[]), ["pkg/a.py", "pkg/shared.py"]);
}

#[test]
fn each_way_to_find_nothing_has_its_own_words() {
    let scratch = Scratch::new(&[("docs/notes.md", "")]);
    assert_eq!(refused(&scratch, &["nope.py"], &[]), "error: `ROOT/nope.py` does not exist\n");
    assert_eq!(
        refused(&scratch, &["docs"], &[]),
        "error: no Python files found in `ROOT/docs`\nhint: files ignored by `.gitignore`, `.ignore` or `exclude` in \
         `grail.toml` are skipped; name a file to include it\n"
    );
    assert_eq!(
        refused(&scratch, &["docs"], &["a{b"]),
        "error: the exclude pattern `a{b` is not valid: unclosed alternate group; missing '}' (maybe escape '{' with \
         '[{]'?)\nhint: exclude patterns are written as in `.gitignore`\n"
    );
}
