//! Reading: what is refused, and in which words.

use grail_project::{DEFAULT_MAX_BYTES, read_source};

use crate::scratch::Scratch;

fn check_refused(bytes: &[u8], expected: &str) {
    let scratch = Scratch::new(&[]);
    scratch.write("a.py", bytes);
    let error = read_source(&scratch.path("a.py"), 100).expect_err("this cannot be read");
    assert_eq!(scratch.report(&error), expected);
}

#[test]
fn text_is_decoded_as_declared() {
    let scratch = Scratch::new(&[]);
    scratch.write("a.py", b"# -*- coding: latin-1 -*-\nname = '\xe9'\r\n");
    let file = read_source(&scratch.path("a.py"), DEFAULT_MAX_BYTES).unwrap();
    assert_eq!(file.source.text(), "# -*- coding: latin-1 -*-\nname = 'é'\r\n");
}

#[test]
fn binary_files_are_refused() {
    check_refused(
        b"\x7fELF\x02\x00\x00",
        "error: `ROOT/a.py` is a binary file (null byte at offset 5)\nhint: only Python source can be read\n",
    );
}

#[test]
fn large_files_are_refused() {
    check_refused(
        &[b'#'; 101],
        "error: `ROOT/a.py` is 101 bytes large; the limit is 100\nhint: exclude generated files with `exclude` in \
         `grail.toml`\n",
    );
}

#[test]
fn undeclared_encodings_are_refused() {
    check_refused(
        b"a = 1\nb = '\xe9'\n",
        "error: cannot decode `ROOT/a.py`: the file is not valid UTF-8 at line 2 (byte offset 11) and declares no \
         other encoding\nhint: declare the encoding in the first line, for example `# -*- coding: latin-1 -*-`\n",
    );
}

#[test]
fn a_folder_or_a_missing_file_is_refused() {
    let scratch = Scratch::new(&[("pkg/a.py", "")]);
    let refused =
        |path: &str| scratch.report(&read_source(&scratch.path(path), 100).expect_err("not a file"));
    assert_eq!(
        refused("pkg"),
        "error: `ROOT/pkg` is not a regular file\nhint: give a file with Python source\n"
    );
    assert_eq!(refused("gone.py"), "error: `ROOT/gone.py` does not exist\n");
}
