//! `grail init`

use crate::scratch::{Scratch, render};

#[test]
fn sets_a_project_up_and_leaves_it_alone_the_second_time() {
    let scratch = Scratch::new(&[]);
    assert_eq!(
        scratch.run(&["init"]),
        "\
created grail.toml
created .grail/.gitignore
created .agents/skills/README.md
exit 0
"
    );
    let written = scratch.read("grail.toml");
    assert_eq!(
        scratch.run(&["init", "."]),
        "\
exists  grail.toml
exists  .grail/.gitignore
exists  .agents/skills/README.md
exit 0
"
    );
    assert_eq!(scratch.read("grail.toml"), written);
}

#[test]
fn makes_the_folder_it_is_given() {
    let scratch = Scratch::new(&[]);
    assert_eq!(
        scratch.run(&["init", "new/project"]),
        "\
created new/project/grail.toml
created new/project/.grail/.gitignore
created new/project/.agents/skills/README.md
exit 0
"
    );
}

#[test]
fn speaks_json() {
    let scratch = Scratch::new(&[("grail.toml", "")]);
    assert_eq!(
        scratch.run(&["init", "--format", "json"]),
        r#"{
  "root": ".",
  "entries": [
    {
      "path": "grail.toml",
      "status": "exists"
    },
    {
      "path": ".grail/.gitignore",
      "status": "created"
    },
    {
      "path": ".agents/skills/README.md",
      "status": "created"
    }
  ]
}
exit 0
"#
    );
}

#[test]
fn refuses_a_file() {
    let scratch = Scratch::new(&[("main.py", "")]);
    assert_eq!(
        scratch.run(&["init", "main.py"]),
        "! error: `main.py` is not a directory\n! hint: give a directory\nexit 2\n"
    );
}

#[cfg(unix)]
#[test]
fn a_folder_whose_name_is_not_utf8_is_no_obstacle() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let scratch = Scratch::new(&[]);
    let name = OsStr::from_bytes(b"caf\xe9");
    let output = scratch.command(&["init", "--format", "json"]).arg(name).output().unwrap();
    assert!(render(&output).starts_with("{\n  \"root\": \"caf\u{fffd}\",\n"), "{}", render(&output));
    assert!(scratch.root().join(name).join("grail.toml").exists());
}
