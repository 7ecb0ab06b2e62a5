//! What holds for every command: help, mistakes, colour, closed pipes.

use std::process::Stdio;

use crate::scratch::{Scratch, render};

#[test]
fn an_unknown_command_is_an_error_with_a_suggestion() {
    let scratch = Scratch::new(&[]);
    assert_eq!(
        scratch.run(&["ini"]),
        "\
! error: unrecognized subcommand 'ini'
!
!   tip: a similar subcommand exists: 'init'
!
! Usage: grail [OPTIONS] <COMMAND>
!
! For more information, try '--help'.
exit 2
"
    );
}

#[test]
fn help_is_not_a_failure() {
    let seen = Scratch::new(&[]).run(&["init", "--help"]);
    assert!(seen.starts_with("Set a project up: grail.toml, .grail/ and .agents/skills/\n"), "{seen}");
    assert!(seen.contains("Examples:\n  grail init\n"), "{seen}");
    assert!(seen.ends_with("exit 0\n"), "{seen}");
}

#[test]
fn a_closed_pipe_is_not_a_panic() {
    let scratch = Scratch::new(&[]);
    for arguments in [&["init"][..], &["init", "--format", "json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = scratch.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(render(&output), "exit 0\n", "{arguments:?}");
    }
}

#[test]
fn colour_comes_when_asked_for() {
    let scratch = Scratch::new(&[("main.py", "")]);
    let plain = "! error: `main.py` is not a directory\n! hint: give a directory\nexit 2\n";
    let coloured = "! \u{1b}[1m\u{1b}[31merror:\u{1b}[0m `main.py` is not a directory\n! \
                    \u{1b}[1m\u{1b}[36mhint:\u{1b}[0m give a directory\nexit 2\n";
    assert_eq!(scratch.run(&["init", "main.py"]), plain);
    assert_eq!(scratch.run(&["init", "main.py", "--color", "always"]), coloured);
    assert_eq!(scratch.run(&["init", "main.py", "--color", "never"]), plain);
}
