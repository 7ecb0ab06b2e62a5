//! Writing: all or nothing, and nothing but the text.

use std::fs;
use std::path::Path;

use grail_project::{ChangeSet, FileChange, SourceFile, read_source, write_changes};

use crate::scratch::Scratch;

fn file(scratch: &Scratch, path: &str) -> SourceFile {
    read_source(&scratch.path(path), 1000).unwrap()
}

fn replace(scratch: &Scratch, path: &str, text: &str) -> FileChange {
    FileChange::replace(file(scratch, path), false, text.to_owned()).unwrap().unwrap()
}

fn write(scratch: &Scratch, changes: Vec<FileChange>) -> Result<(), String> {
    write_changes(&ChangeSet::new(changes), scratch.root()).map(drop).map_err(|error| scratch.report(&error))
}

#[test]
fn encoding_byte_order_mark_and_line_endings_stay() {
    let scratch = Scratch::new(&[]);
    scratch.write("latin.py", b"# coding: latin-1\r\na = '\xe9'\r\n");
    scratch.write("bom.py", b"\xef\xbb\xbfa = 1\r\n");
    let latin = replace(&scratch, "latin.py", "# coding: latin-1\r\na = 'éà'\r\n");
    write(&scratch, vec![latin, replace(&scratch, "bom.py", "a = 2\r\n")]).unwrap();
    assert_eq!(fs::read(scratch.path("latin.py")).unwrap(), b"# coding: latin-1\r\na = '\xe9\xe0'\r\n");
    assert_eq!(fs::read(scratch.path("bom.py")).unwrap(), b"\xef\xbb\xbfa = 2\r\n");
    assert_eq!(scratch.files(), ["bom.py", "latin.py"]);
}

#[test]
fn text_that_the_encoding_cannot_hold_is_refused() {
    let scratch = Scratch::new(&[("a.py", "# coding: ascii\n"), ("b.py", "b = 1\n")]);
    let changes =
        vec![replace(&scratch, "a.py", "# coding: ascii\n# é\n"), replace(&scratch, "b.py", "b = 2\n")];
    assert_eq!(
        write(&scratch, changes),
        Err("error: cannot encode the changed `ROOT/a.py`: the character `é` cannot be written in the file's encoding \
             `ascii`\n"
            .to_owned())
    );
    assert_eq!(scratch.read("b.py"), "b = 1\n");
    assert_eq!(scratch.files(), ["a.py", "b.py"]);
}

#[test]
fn a_file_that_changed_meanwhile_stops_everything() {
    let scratch = Scratch::new(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
    let changes = vec![replace(&scratch, "a.py", "a = 2\n"), replace(&scratch, "b.py", "b = 2\n")];
    scratch.write("b.py", b"b = 9\n");
    assert_eq!(
        write(&scratch, changes),
        Err("error: `ROOT/b.py` changed on disk since it was read\nhint: nothing was written; run the command again\n"
            .to_owned())
    );
    assert_eq!(scratch.read("a.py"), "a = 1\n");
    assert_eq!(scratch.read("b.py"), "b = 9\n");
    assert_eq!(scratch.files(), ["a.py", "b.py"]);
}

#[test]
fn a_failure_half_way_is_undone() {
    // Each passes its own checks, but `pkg` cannot be a file and a folder: the renames of `a.py` and `new.py` come first.
    let scratch = Scratch::new(&[("a.py", "a = 1\n"), ("old.py", "o = 1\n")]);
    let moved =
        FileChange::relocate(file(&scratch, "old.py"), false, scratch.path("new.py"), "o = 2\n".to_owned());
    let changes = vec![
        replace(&scratch, "a.py", "a = 2\n"),
        moved.unwrap(),
        FileChange::create(scratch.path("pkg"), String::new(), false).unwrap(),
        FileChange::create(scratch.path("pkg/b.py"), String::new(), false).unwrap(),
    ];
    assert_eq!(
        write(&scratch, changes),
        Err("error: `ROOT/pkg` already exists\nhint: nothing was written; move the file away first\n"
            .to_owned())
    );
    assert_eq!(scratch.files(), ["a.py", "old.py"]);
    assert_eq!(scratch.read("a.py") + &scratch.read("old.py"), "a = 1\no = 1\n");
    assert!(!scratch.path("pkg").exists());
}

#[test]
fn files_are_created_moved_and_removed() {
    let scratch = Scratch::new(&[("pkg/a.py", "a = 1\n"), ("old/b.py", "b = 1\n"), ("gone/c.py", "c = 1\n")]);
    let changes = vec![
        FileChange::create(scratch.path("new/deep/d.py"), "d = 1\n".to_owned(), false).unwrap(),
        FileChange::relocate(
            file(&scratch, "old/b.py"),
            false,
            scratch.path("pkg/b.py"),
            "b = 2\n".to_owned(),
        )
        .unwrap(),
        FileChange::remove(file(&scratch, "gone/c.py"), false),
    ];
    write(&scratch, changes).unwrap();
    assert_eq!(scratch.files(), ["new/deep/d.py", "pkg/a.py", "pkg/b.py"]);
    assert_eq!(scratch.read("pkg/b.py"), "b = 2\n");
    assert!(!scratch.path("old").exists() && !scratch.path("gone").exists());
}

#[test]
fn an_existing_file_is_never_overwritten_by_a_new_one() {
    let scratch = Scratch::new(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
    let changes = vec![
        FileChange::create(scratch.path("deep/new.py"), String::new(), false).unwrap(),
        FileChange::relocate(file(&scratch, "a.py"), false, scratch.path("b.py"), "a = 1\n".to_owned())
            .unwrap(),
    ];
    assert_eq!(
        write(&scratch, changes),
        Err("error: `ROOT/b.py` already exists\nhint: nothing was written; move the file away first\n"
            .to_owned())
    );
    assert_eq!(scratch.files(), ["a.py", "b.py"]);
    assert!(!scratch.path("deep").exists());
}

#[test]
fn one_file_changes_once() {
    let scratch = Scratch::new(&[("a.py", "a = 1\n")]);
    let changes = vec![replace(&scratch, "a.py", "a = 2\n"), replace(&scratch, "a.py", "a = 3\n")];
    assert_eq!(
        write(&scratch, changes),
        Err("error: two changes name the same file `ROOT/a.py`\n".to_owned())
    );
    assert_eq!(scratch.read("a.py"), "a = 1\n");
}

#[test]
fn outside_the_project_only_named_files_change() {
    let outside = Scratch::new(&[("a.py", "a = 1\n")]);
    let scratch = Scratch::new(&[]);
    let source = file(&outside, "a.py");
    let mut change = FileChange::replace(source, false, "a = 2\n".to_owned()).unwrap().unwrap();
    let error = write_changes(&ChangeSet::new(vec![change.clone()]), scratch.root()).expect_err("outside");
    assert!(scratch.report(&error).ends_with(
        "a.py` is outside the project `ROOT`\nhint: nothing was written; name the file on the command line to change it \
         anyway\n"
    ));
    change.explicit = true;
    write(&scratch, vec![change]).unwrap();
    assert_eq!(outside.read("a.py"), "a = 2\n");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_mode_stays() {
        let scratch = Scratch::new(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
        set_mode(&scratch.path("a.py"), 0o750);
        set_mode(&scratch.path("b.py"), 0o711);
        let moved =
            FileChange::relocate(file(&scratch, "b.py"), false, scratch.path("c.py"), "b = 2\n".to_owned());
        write(&scratch, vec![replace(&scratch, "a.py", "a = 2\n"), moved.unwrap()]).unwrap();
        assert_eq!(mode(&scratch.path("a.py")), 0o750);
        assert_eq!(mode(&scratch.path("c.py")), 0o711);
    }

    #[test]
    fn a_read_only_file_is_refused() {
        let scratch = Scratch::new(&[("a.py", "a = 1\n")]);
        set_mode(&scratch.path("a.py"), 0o444);
        assert_eq!(
            write(&scratch, vec![replace(&scratch, "a.py", "a = 2\n")]),
            Err("error: cannot write `ROOT/a.py`: permission denied\nhint: check the permissions of the file and its \
                 directory\n"
                .to_owned())
        );
        assert_eq!(scratch.read("a.py"), "a = 1\n");
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_changes() {
        let scratch = Scratch::new(&[("real/a.py", "a = 1\n")]);
        symlink("real/a.py", scratch.path("link.py")).unwrap();
        write(&scratch, vec![replace(&scratch, "link.py", "a = 2\n")]).unwrap();
        assert!(scratch.path("link.py").is_symlink());
        assert_eq!(scratch.read("real/a.py"), "a = 2\n");
    }

    #[test]
    fn a_link_that_leads_out_of_the_project_is_refused() {
        let outside = Scratch::new(&[("a.py", "a = 1\n")]);
        let scratch = Scratch::new(&[]);
        symlink(outside.path("a.py"), scratch.path("a.py")).unwrap();
        symlink(outside.root(), scratch.path("folder")).unwrap();
        let error = write(&scratch, vec![replace(&scratch, "a.py", "a = 2\n")]).unwrap_err();
        assert!(error.starts_with("error: `ROOT/a.py` is outside the project `ROOT`\n"), "{error}");
        let create = FileChange::create(scratch.path("folder/deep/new.py"), String::new(), false).unwrap();
        let error = write(&scratch, vec![create]).unwrap_err();
        assert!(
            error.starts_with("error: `ROOT/folder/deep/new.py` is outside the project `ROOT`\n"),
            "{error}"
        );
        assert_eq!(outside.files(), ["a.py"]);
    }
}
