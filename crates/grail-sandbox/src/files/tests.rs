//! File calls answered directly: what code could send, also what the interpreter would never let it send.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use monty_types::{
    FileMode, MkdirCallArgs, MontyObject, OpenCallArgs, OsFunctionCall as Call, PathBytesDataArgs,
    PathStringDataArgs, RenameCallArgs,
};

use super::*;

/// What the code sees: the value's `repr`, or the exception.
fn ask(system: &mut FileSystem, call: Call) -> String {
    match system.answer(call) {
        FileAnswer::Return(object) => object.py_repr(),
        FileAnswer::Raise(exception) => {
            format!("{}: {}", exception.exc_type(), exception.message().unwrap_or_default())
        }
        FileAnswer::NotHandled => "not handled".to_owned(),
    }
}

fn read(system: &mut FileSystem, path: &str) -> String {
    ask(system, Call::ReadText(path.into()))
}

fn write(system: &mut FileSystem, path: &str, text: &str) -> String {
    ask(system, Call::WriteText(PathStringDataArgs { path: path.into(), data: text.to_owned() }))
}

fn append(system: &mut FileSystem, path: &str, text: &str) -> String {
    ask(system, Call::AppendText(PathStringDataArgs { path: path.into(), data: text.to_owned() }))
}

fn rename(system: &mut FileSystem, source: &str, destination: &str) -> String {
    ask(system, Call::Rename(RenameCallArgs { src: source.into(), dst: destination.into() }))
}

fn mkdir(system: &mut FileSystem, path: &str, parents: bool, exist_ok: bool) -> String {
    ask(system, Call::Mkdir(MkdirCallArgs { path: path.into(), parents, exist_ok }))
}

fn open(system: &mut FileSystem, path: &str, mode: &str) -> String {
    let mode: FileMode = mode.parse().expect("a mode");
    ask(system, Call::Open(OpenCallArgs { path: path.into(), mode }))
}

fn exists(system: &mut FileSystem, path: &str) -> String {
    ask(system, Call::Exists(path.into()))
}

fn list(system: &mut FileSystem, path: &str) -> String {
    match system.answer(Call::Iterdir(path.into())) {
        FileAnswer::Return(MontyObject::List(entries)) => {
            let mut names: Vec<String> = entries
                .into_iter()
                .map(|entry| match entry {
                    MontyObject::Path(path) => path,
                    other => other.py_repr(),
                })
                .collect();
            names.sort();
            names.join(" ")
        }
        FileAnswer::Raise(exception) => {
            format!("{}: {}", exception.exc_type(), exception.message().unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

fn run(files: &Files) -> FileSystem {
    FileSystem::new(files, FileAccess::Write)
}

fn data() -> Files {
    Files::none().with_file("/data/a.csv", "x,y\n1,2\n").expect("a file")
}

/// A host folder `inside` to mount, beside a folder `outside` that must stay out of reach.
fn host() -> tempfile::TempDir {
    let host = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (host.path().join("inside"), host.path().join("outside"));
    fs::create_dir_all(inside.join("sub")).expect("a folder");
    fs::create_dir_all(&outside).expect("a folder");
    fs::write(inside.join("note.txt"), "note").expect("a file");
    fs::write(inside.join("sub/deep.txt"), "deep").expect("a file");
    fs::write(outside.join("secret.txt"), "secret").expect("a file");
    host
}

fn project(host: &Path, access: Access) -> Files {
    Files::none().mount(Mount::new("/project", host.join("inside"), access)).expect("a mount")
}

#[test]
fn without_files_every_call_is_refused() {
    for (files, access) in [(Files::none(), FileAccess::Write), (data(), FileAccess::None)] {
        let mut system = FileSystem::new(&files, access);
        let refusal = "PermissionError: [Errno 13] Permission denied: '/data/a.csv'";
        assert_eq!(read(&mut system, "/data/a.csv"), refusal);
        assert_eq!(exists(&mut system, "/data/a.csv"), refusal);
        assert_eq!(write(&mut system, "/data/a.csv", ""), refusal);
        assert_eq!(ask(&mut system, Call::DateToday), "not handled");
    }
}

#[test]
fn files_in_memory_are_read_and_written() {
    let mut system = run(&data());
    assert_eq!(read(&mut system, "/data/a.csv"), r"'x,y\n1,2\n'");
    assert_eq!(read(&mut system, "data/../data/./a.csv"), r"'x,y\n1,2\n'");
    assert_eq!(write(&mut system, "/data/b.txt", "häuser"), "6");
    assert_eq!(append(&mut system, "/data/b.txt", "!"), "1");
    assert_eq!(read(&mut system, "/data/b.txt"), "'häuser!'");
    assert_eq!(ask(&mut system, Call::ReadBytes("/data/b.txt".into())), r"b'h\xc3\xa4user!'");
    assert_eq!(list(&mut system, "/data"), "/data/a.csv /data/b.txt");
    assert_eq!(list(&mut system, "/"), "/data");
    assert_eq!(ask(&mut system, Call::Unlink("/data/b.txt".into())), "None");
    assert_eq!(exists(&mut system, "/data/b.txt"), "False");
    assert_eq!(ask(&mut system, Call::Resolve("/data/../x/./y".into())), "PosixPath('/x/y')");
    let FileAnswer::Return(MontyObject::NamedTuple { values, .. }) =
        system.answer(Call::Stat("/data/a.csv".into()))
    else {
        panic!("no stat")
    };
    assert_eq!((&values[0], &values[6]), (&MontyObject::Int(0o100_644), &MontyObject::Int(8)));
}

#[test]
fn faults_are_cpythons() {
    let mut system = run(&data());
    for (answer, expected) in [
        (read(&mut system, "/data/b"), "FileNotFoundError: [Errno 2] No such file or directory: '/data/b'"),
        (read(&mut system, "/data"), "IsADirectoryError: [Errno 21] Is a directory: '/data'"),
        (
            read(&mut system, "/data/a.csv/b"),
            "NotADirectoryError: [Errno 20] Not a directory: '/data/a.csv/b'",
        ),
        (
            write(&mut system, "/none/b", ""),
            "FileNotFoundError: [Errno 2] No such file or directory: '/none/b'",
        ),
        (list(&mut system, "/data/a.csv"), "NotADirectoryError: [Errno 20] Not a directory: '/data/a.csv'"),
        (mkdir(&mut system, "/data", false, false), "FileExistsError: [Errno 17] File exists: '/data'"),
        (
            mkdir(&mut system, "/data/a.csv", true, true),
            "FileExistsError: [Errno 17] File exists: '/data/a.csv'",
        ),
        (
            mkdir(&mut system, "/x/y", false, false),
            "FileNotFoundError: [Errno 2] No such file or directory: '/x/y'",
        ),
        (
            mkdir(&mut system, "/data/a.csv/y", true, false),
            "NotADirectoryError: [Errno 20] Not a directory: '/data/a.csv/y'",
        ),
        (ask(&mut system, Call::Rmdir("/data".into())), "OSError: [Errno 39] Directory not empty: '/data'"),
        (
            ask(&mut system, Call::Unlink("/data".into())),
            "IsADirectoryError: [Errno 21] Is a directory: '/data'",
        ),
        (
            rename(&mut system, "/no", "/data/b"),
            "FileNotFoundError: [Errno 2] No such file or directory: '/no' -> '/data/b'",
        ),
        (
            open(&mut system, "/data/b", "r"),
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/b'",
        ),
    ] {
        assert_eq!(answer, expected);
    }
    ask(
        &mut system,
        Call::WriteBytes(PathBytesDataArgs { path: "/data/raw".into(), data: vec![b'a', 0xff] }),
    );
    assert_eq!(
        read(&mut system, "/data/raw"),
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"
    );
}

#[test]
fn opening_truncates_creates_or_checks() {
    let mut system = run(&data());
    open(&mut system, "/data/a.csv", "a");
    assert_eq!(read(&mut system, "/data/a.csv"), r"'x,y\n1,2\n'");
    open(&mut system, "/data/a.csv", "w");
    assert_eq!(read(&mut system, "/data/a.csv"), "''");
    open(&mut system, "/data/new", "a");
    assert_eq!(read(&mut system, "/data/new"), "''");
    assert_eq!(open(&mut system, "/data", "r"), "IsADirectoryError: [Errno 21] Is a directory: '/data'");
}

#[test]
fn folders_move_with_their_content() {
    let mut system = run(&data());
    assert_eq!(mkdir(&mut system, "/data/deep/er", true, false), "None");
    write(&mut system, "/data/deep/er/f", "1");
    assert_eq!(rename(&mut system, "/data/deep", "/moved"), "None");
    assert_eq!(read(&mut system, "/moved/er/f"), "'1'");
    assert_eq!(exists(&mut system, "/data/deep"), "False");
    assert_eq!(
        rename(&mut system, "/moved", "/moved/er/x"),
        "OSError: [Errno 22] Invalid argument: '/moved' -> '/moved/er/x'"
    );
    assert_eq!(
        rename(&mut system, "/moved", "/data"),
        "OSError: [Errno 39] Directory not empty: '/moved' -> '/data'"
    );
    assert_eq!(rename(&mut system, "/", "/x"), "PermissionError: [Errno 13] Permission denied: '/' -> '/x'");
}

#[test]
fn a_run_sees_nothing_of_another() {
    let host = host();
    let files = project(host.path(), Access::CopyOnWrite).with_file("/data/a.csv", "given").expect("a file");
    let mut first = run(&files);
    write(&mut first, "/data/a.csv", "changed");
    write(&mut first, "/project/note.txt", "changed");
    write(&mut first, "/project/new.txt", "new");
    assert_eq!(read(&mut first, "/project/note.txt"), "'changed'");
    let mut second = run(&files);
    assert_eq!(read(&mut second, "/data/a.csv"), "'given'");
    assert_eq!(read(&mut second, "/project/note.txt"), "'note'");
    assert_eq!(exists(&mut second, "/project/new.txt"), "False");
    assert_eq!(fs::read_to_string(host.path().join("inside/note.txt")).expect("a file"), "note");
}

#[test]
fn the_policy_takes_away_what_a_mount_allows() {
    let host = host();
    let files = project(host.path(), Access::ReadWrite).with_file("/data/a", "a").expect("a file");
    let mut reading = FileSystem::new(&files, FileAccess::Read);
    assert_eq!(read(&mut reading, "/project/note.txt"), "'note'");
    for path in ["/project/note.txt", "/data/a", "/data/new"] {
        let expected = format!("PermissionError: [Errno 30] Read-only file system: '{path}'");
        assert_eq!(write(&mut reading, path, "x"), expected);
    }
    let mut overlay = FileSystem::new(&files, FileAccess::Overlay);
    assert_eq!(write(&mut overlay, "/project/note.txt", "overlay"), "7");
    assert_eq!(read(&mut overlay, "/project/note.txt"), "'overlay'");
    assert_eq!(fs::read_to_string(host.path().join("inside/note.txt")).expect("a file"), "note");
    let mut writing = FileSystem::new(&files, FileAccess::Write);
    assert_eq!(write(&mut writing, "/project/note.txt", "written"), "7");
    assert_eq!(fs::read_to_string(host.path().join("inside/note.txt")).expect("a file"), "written");
}

#[test]
fn the_nearest_ancestor_decides() {
    let files = data()
        .with_file("/data/private/key", "k")
        .and_then(|files| files.with_file("/data/private/public/readme", "r"))
        .and_then(|files| files.permission("/data", Permission::Read))
        .and_then(|files| files.permission("/data/private", Permission::None))
        .and_then(|files| files.permission("/data/private/public", Permission::Write))
        .expect("files");
    let mut system = run(&files);
    assert_eq!(read(&mut system, "/data/a.csv"), r"'x,y\n1,2\n'");
    assert_eq!(
        write(&mut system, "/data/a.csv", ""),
        "PermissionError: [Errno 13] Permission denied: '/data/a.csv'"
    );
    assert_eq!(
        read(&mut system, "/data/private/key"),
        "PermissionError: [Errno 13] Permission denied: '/data/private/key'"
    );
    assert_eq!(exists(&mut system, "/data/private/key"), "False");
    assert_eq!(list(&mut system, "/data"), "/data/a.csv");
    assert_eq!(write(&mut system, "/data/private/public/readme", "w"), "1");
    assert_eq!(
        open(&mut system, "/data/a.csv", "a"),
        "PermissionError: [Errno 13] Permission denied: '/data/a.csv'"
    );
    // No folder carries what lies below it out from under its permission.
    assert_eq!(
        rename(&mut system, "/data", "/free"),
        "PermissionError: [Errno 13] Permission denied: '/data' -> '/free'"
    );
}

#[test]
fn permissions_hold_inside_of_mounts_and_behind_links() {
    let host = host();
    let inside = host.path().join("inside");
    fs::create_dir_all(inside.join("box/private")).expect("a folder");
    fs::write(inside.join("box/private/key"), "k").expect("a file");
    symlink("box/private", inside.join("door")).expect("a link");
    for access in [Access::ReadOnly, Access::ReadWrite, Access::CopyOnWrite] {
        let files =
            project(host.path(), access).permission("/project/box/private", Permission::None).expect("files");
        let mut system = run(&files);
        for path in ["/project/box/private/key", "/project/door/key", "/project/sub/../door/key"] {
            assert_eq!(
                read(&mut system, path),
                format!("PermissionError: [Errno 13] Permission denied: '{path}'")
            );
            assert_eq!(exists(&mut system, path), "False");
        }
        assert_eq!(list(&mut system, "/project/box"), "");
        assert_eq!(
            rename(&mut system, "/project/box", "/project/open"),
            "PermissionError: [Errno 13] Permission denied: '/project/box' -> '/project/open'"
        );
    }
}

#[test]
fn callbacks_are_asked_and_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let file = CallbackFile::new(|| Ok(b"token".to_vec())).writable(move |content| {
        heard.lock().expect("a lock").push(String::from_utf8_lossy(content).into_owned());
        Ok(())
    });
    let files = Files::none()
        .with_callback("/secrets/token", file)
        .and_then(|files| files.with_callback("/secrets/fixed", CallbackFile::new(|| Ok(vec![b'f']))))
        .and_then(|files| {
            files.with_callback("/secrets/broken", CallbackFile::new(|| Err("vault is sealed".to_owned())))
        })
        .and_then(|files| files.with_callback("/secrets/panics", CallbackFile::new(|| panic!("no"))))
        .expect("files");
    let mut system = run(&files);
    assert_eq!(read(&mut system, "/secrets/token"), "'token'");
    assert_eq!(append(&mut system, "/secrets/token", "+1"), "2");
    open(&mut system, "/secrets/token", "w");
    append(&mut system, "/secrets/token", "new");
    append(&mut system, "/secrets/token", "er");
    assert_eq!(*told.lock().expect("a lock"), ["token+1", "new", "newer"]);
    assert_eq!(
        write(&mut system, "/secrets/fixed", "x"),
        "PermissionError: [Errno 13] Permission denied: '/secrets/fixed'"
    );
    assert_eq!(read(&mut system, "/secrets/broken"), "OSError: [Errno 5] vault is sealed: '/secrets/broken'");
    assert_eq!(
        read(&mut system, "/secrets/panics"),
        "OSError: [Errno 5] the file's handler panicked: '/secrets/panics'"
    );
    assert_eq!(
        rename(&mut system, "/secrets", "/mine"),
        "PermissionError: [Errno 13] Permission denied: '/secrets' -> '/mine'"
    );
    let mut overlay = FileSystem::new(&files, FileAccess::Overlay);
    assert_eq!(
        write(&mut overlay, "/secrets/token", "x"),
        "PermissionError: [Errno 30] Read-only file system: '/secrets/token'"
    );
}

#[test]
fn nothing_leads_out_of_a_mount() {
    let host = host();
    let inside = host.path().join("inside");
    let secret = host.path().join("outside/secret.txt");
    symlink(&secret, inside.join("absolute")).expect("a link");
    symlink("../outside/secret.txt", inside.join("relative")).expect("a link");
    symlink("../outside", inside.join("folder")).expect("a link");
    symlink("/proc/self/root", inside.join("proc")).expect("a link");
    let through_proc = format!("/project/proc{}", secret.display());
    for access in [Access::ReadOnly, Access::ReadWrite, Access::CopyOnWrite] {
        let mut system = run(&project(host.path(), access));
        assert_eq!(read(&mut system, "/project/sub/deep.txt"), "'deep'");
        let outside = format!("/project{}", secret.display());
        for path in [
            "/project/absolute",
            "/project/relative",
            "/project/folder/secret.txt",
            "/project/../outside/secret.txt",
            "/project/sub/../../outside/secret.txt",
            "/../../../../../etc/passwd",
            "/etc/passwd",
            "/proc/self/root/etc/passwd",
            "/proc/self/environ",
            &through_proc,
            &outside,
            &secret.display().to_string(),
        ] {
            let answer = read(&mut system, path);
            let refused = answer.starts_with("PermissionError: [Errno 13]")
                || answer.starts_with("FileNotFoundError: [Errno 2]");
            assert!(refused, "{path}: {answer}");
            assert_eq!(exists(&mut system, path), "False", "{path}");
            write(&mut system, path, "overwritten");
            append(&mut system, path, "overwritten");
            rename(&mut system, path, "/project/stolen");
            ask(&mut system, Call::Unlink(path.into()));
        }
        assert_eq!(fs::read_to_string(&secret).expect("a file"), "secret");
        for link in ["absolute", "relative", "folder", "proc"] {
            let target = match link {
                "absolute" => secret.clone(),
                "relative" => "../outside/secret.txt".into(),
                "folder" => "../outside".into(),
                _ => "/proc/self/root".into(),
            };
            // A read-write mount may have lost the link itself; never what it pointed to.
            let _ = fs::remove_file(inside.join(link));
            let _ = fs::remove_file(inside.join("stolen"));
            symlink(target, inside.join(link)).expect("a link");
        }
    }
}

#[test]
fn a_link_swapped_in_during_a_run_leads_nowhere() {
    let host = host();
    let inside = host.path().join("inside");
    for access in [Access::ReadOnly, Access::ReadWrite, Access::CopyOnWrite] {
        let mut system = run(&project(host.path(), access));
        assert_eq!(read(&mut system, "/project/sub/deep.txt"), "'deep'");
        fs::rename(inside.join("sub"), inside.join("old")).expect("a rename");
        symlink("../outside", inside.join("sub")).expect("a link");
        assert_eq!(
            read(&mut system, "/project/sub/secret.txt"),
            "PermissionError: [Errno 13] Permission denied: '/project/sub/secret.txt'"
        );
        fs::remove_file(inside.join("sub")).expect("a link");
        fs::rename(inside.join("old"), inside.join("sub")).expect("a rename");
    }
}

#[test]
fn a_mount_stays_with_the_folder_that_was_opened() {
    let host = host();
    let files = project(host.path(), Access::ReadOnly);
    fs::rename(host.path().join("inside"), host.path().join("moved")).expect("a rename");
    symlink(host.path().join("outside"), host.path().join("inside")).expect("a link");
    let mut system = run(&files);
    assert_eq!(read(&mut system, "/project/note.txt"), "'note'");
    assert_eq!(exists(&mut system, "/project/secret.txt"), "False");
}

#[test]
fn a_mount_point_cannot_be_moved_or_removed() {
    let host = host();
    let files = Files::none()
        .mount(Mount::new("/a/project", host.path().join("inside"), Access::ReadWrite))
        .expect("files");
    let mut system = run(&files);
    assert_eq!(
        rename(&mut system, "/a/project", "/a/other"),
        "OSError: [Errno 18] Invalid cross-device link: '/a/project' -> '/a/other'"
    );
    assert_eq!(
        rename(&mut system, "/a", "/b"),
        "PermissionError: [Errno 13] Permission denied: '/a' -> '/b'"
    );
    assert_eq!(
        rename(&mut system, "/a/project", "/a/project/sub/x"),
        "PermissionError: [Errno 13] Permission denied: '/a/project'"
    );
    assert_eq!(
        ask(&mut system, Call::Rmdir("/a/project".into())),
        "PermissionError: [Errno 13] Permission denied: '/a/project'"
    );
    assert_eq!(ask(&mut system, Call::Rmdir("/a".into())), "OSError: [Errno 39] Directory not empty: '/a'");
    assert_eq!(list(&mut system, "/"), "/a");
    assert_eq!(list(&mut system, "/a"), "/a/project");
    assert_eq!(
        rename(&mut system, "/a/project/note.txt", "/a/note.txt"),
        "OSError: [Errno 18] Invalid cross-device link: '/a/project/note.txt' -> '/a/note.txt'"
    );
}

#[test]
fn impossible_names_are_refused() {
    let host = host();
    let files = project(host.path(), Access::ReadWrite).with_file("/data/a", "").expect("a file");
    let mut system = run(&files);
    for folder in ["/data", "/project"] {
        let null = format!("{folder}/a\0b");
        assert_eq!(read(&mut system, &null), "ValueError: embedded null byte");
        assert_eq!(exists(&mut system, &null), "False");
        assert_eq!(
            rename(&mut system, "/data/a", &null),
            "ValueError: rename: embedded null character in dst"
        );
        for long in [
            format!("{folder}/{}", "a".repeat(256)),
            format!("{folder}{}", "/a".repeat(3000)),
            "/x".repeat(70),
        ] {
            let expected = format!("OSError: [Errno 36] File name too long: '{}'", path::elide(&long));
            assert_eq!(write(&mut system, &long, ""), expected);
            assert_eq!(exists(&mut system, &long), "False");
        }
    }
}

#[test]
fn memory_is_bounded_in_bytes_and_files() {
    let files = data().budget(FileBudget { bytes: 4000, files: 5 });
    let mut system = run(&files);
    let full = "OSError: [Errno 28] No space left on device";
    assert_eq!(write(&mut system, "/data/big", &"x".repeat(4000)), format!("{full}: '/data/big'"));
    assert_eq!(write(&mut system, "/data/one", &"x".repeat(2000)), "2000");
    assert_eq!(append(&mut system, "/data/one", &"x".repeat(2000)), format!("{full}: '/data/one'"));
    assert_eq!(write(&mut system, "/data/one", ""), "0");
    assert_eq!(write(&mut system, "/data/two", ""), "0");
    assert_eq!(write(&mut system, "/data/three", ""), format!("{full}: '/data/three'"));
}

#[test]
fn unclear_files_are_refused_when_given() {
    let host = host();
    let inside = host.path().join("inside");
    let missing = host.path().join("missing");
    let mount = |path: &str| Mount::new(path, &inside, Access::ReadOnly);
    let refusal = |result: Result<Files, SandboxError>| result.expect_err("a refusal").to_string();
    assert_eq!(
        refusal(Files::none().with_file("a.csv", "")),
        "`a.csv` cannot be given to a run: a virtual path is absolute: begin it with `/`"
    );
    assert_eq!(
        refusal(Files::none().with_file("/data/../a.csv", "")),
        "`/data/../a.csv` cannot be given to a run: a virtual path may not contain `..`"
    );
    assert_eq!(
        refusal(data().with_file("/data/a.csv/b", "")),
        "`/data/a.csv/b` cannot be given to a run: it overlaps the file `/data/a.csv`"
    );
    assert_eq!(
        refusal(data().mount(mount("/data"))),
        "`/data` cannot be given to a run: it overlaps the file `/data/a.csv`"
    );
    assert_eq!(
        refusal(Files::none().mount(mount("/p")).and_then(|files| files.mount(mount("/p/q")))),
        "`/p/q` cannot be given to a run: it overlaps the mount `/p`"
    );
    assert_eq!(
        refusal(Files::none().mount(mount("/p")).and_then(|files| files.with_file("/p/q", ""))),
        "`/p/q` cannot be given to a run: it overlaps the mount `/p`"
    );
    assert_eq!(
        refusal(Files::none().mount(Mount::new("/p", &missing, Access::ReadOnly))),
        format!("`/p` cannot be given to a run: the host folder `{}` cannot be opened", missing.display())
    );
    assert_eq!(
        refusal(Files::none().permission("data", Permission::Read)),
        "`data` cannot be given to a run: a virtual path is absolute: begin it with `/`"
    );
}

#[test]
fn what_a_run_changed_survives_a_snapshot() {
    let host = host();
    let files = project(host.path(), Access::CopyOnWrite).with_file("/data/a.csv", "given").expect("a file");
    let mut before = run(&files);
    write(&mut before, "/data/a.csv", "changed");
    mkdir(&mut before, "/scratch", false, false);
    write(&mut before, "/scratch/s", "1");
    write(&mut before, "/project/note.txt", "changed");
    mkdir(&mut before, "/project/made", false, false);
    write(&mut before, "/project/made/new.txt", "new");
    rename(&mut before, "/project/sub", "/project/renamed");
    let state = before.save().expect("a state");
    let json = serde_json::to_string(&state).expect("json");
    let state: FilesState = serde_json::from_str(&json).expect("a state");
    let mut after = run(&files);
    after.restore(state.clone()).expect("restored");
    assert_eq!(read(&mut after, "/data/a.csv"), "'changed'");
    assert_eq!(read(&mut after, "/scratch/s"), "'1'");
    assert_eq!(read(&mut after, "/project/note.txt"), "'changed'");
    assert_eq!(read(&mut after, "/project/made/new.txt"), "'new'");
    assert_eq!(read(&mut after, "/project/renamed/deep.txt"), "'deep'");
    assert_eq!(exists(&mut after, "/project/sub"), "False");
    assert_eq!(after.save().expect("a state"), state);

    let elsewhere = data();
    assert_eq!(
        run(&elsewhere).restore(state.clone()).expect_err("a refusal").to_string(),
        "`/project` cannot be given to a run: the paused run had a mount of this name; give it again"
    );
    let writable = project(host.path(), Access::ReadWrite);
    assert_eq!(
        run(&writable).restore(state).expect_err("a refusal").to_string(),
        "`/project` cannot be given to a run: the paused run had this mount with another access"
    );
}
