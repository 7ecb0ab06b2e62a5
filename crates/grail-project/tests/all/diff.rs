//! Unified diffs, to the byte.

use std::path::PathBuf;

use grail_project::{FileChange, Fingerprint, NewFile, SourceFile, unified_diff};

fn file(path: &str, text: &str) -> SourceFile {
    let source = grail_code::Source::from_text(text);
    SourceFile { path: PathBuf::from(path), source, fingerprint: Fingerprint::of(text.as_bytes()) }
}

fn check(before: Option<(&str, &str)>, after: Option<(&str, &str)>, expected: &str) {
    let before = before.map(|(path, text)| file(path, text));
    let after = after.map(|(path, text)| NewFile { path: PathBuf::from(path), text: text.to_owned() });
    assert_eq!(unified_diff(&FileChange { before, after, explicit: false }), expected);
}

fn check_text(before: &str, after: &str, expected: &str) {
    check(Some(("a.py", before)), Some(("a.py", after)), expected);
}

#[test]
fn three_lines_of_context() {
    check_text(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
        "\
--- a/a.py
+++ b/a.py
@@ -2,7 +2,7 @@
 2
 3
 4
-5
+five
 6
 7
 8
",
    );
}

#[test]
fn a_missing_last_newline_is_marked() {
    check_text(
        "a\nb",
        "a\nb\n",
        "\
--- a/a.py
+++ b/a.py
@@ -1,2 +1,2 @@
 a
-b
\\ No newline at end of file
+b
",
    );
}

#[test]
fn carriage_returns_stay() {
    check_text("a\r\nb\r\n", "a\r\nc\r\n", "--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n");
    check_text(
        "a\rb\r",
        "a\rc\r",
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\rb\r\n\\ No newline at end of file\n+a\rc\r\n\\ No newline at end of \
         file\n",
    );
}

#[test]
fn created_removed_and_moved_files_are_said_so() {
    check(
        None,
        Some(("pkg/new.py", "a\n")),
        "diff --git a/pkg/new.py b/pkg/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/pkg/new.py\n@@ -0,0 +1 @@\n+a\n",
    );
    check(
        None,
        Some(("pkg/__init__.py", "")),
        "diff --git a/pkg/__init__.py b/pkg/__init__.py\nnew file mode 100644\n",
    );
    check(
        Some(("old.py", "a\n")),
        None,
        "diff --git a/old.py b/old.py\ndeleted file mode 100644\n--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    );
    check(
        Some(("old.py", "a\n")),
        Some(("new.py", "a\n")),
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n",
    );
}

#[test]
fn odd_paths_are_written_as_git_does() {
    check(
        Some(("my file.py", "a\n")),
        Some(("my file.py", "b\n")),
        "--- a/my file.py\t\n+++ b/my file.py\t\n@@ -1 +1 @@\n-a\n+b\n",
    );
    check(
        Some(("/abs/a.py", "a\n")),
        Some(("/abs/a.py", "b\n")),
        "--- a/abs/a.py\n+++ b/abs/a.py\n@@ -1 +1 @@\n-a\n+b\n",
    );
    check(
        Some(("tab\t\".py", "a\n")),
        Some(("tab\t\".py", "b\n")),
        "--- \"a/tab\\t\\\".py\"\n+++ \"b/tab\\t\\\".py\"\n@@ -1 +1 @@\n-a\n+b\n",
    );
}

#[test]
fn no_change_is_no_diff() {
    check_text("a\n", "a\n", "");
}
