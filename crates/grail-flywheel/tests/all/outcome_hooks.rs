//! Hooks beside those of others: what they note, and that nothing of others is lost.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use grail_flywheel::outcome::{HooksReport, hook_lines, hooks_status, install_hooks, remove_hooks};

use crate::git_scratch::Scratch;

/// Each hook with its state.
fn told(report: &HooksReport) -> String {
    let line = |entry: &grail_flywheel::outcome::HookEntry| format!("{} {:?}", entry.hook, entry.state);
    report.hooks.iter().map(line).collect::<Vec<_>>().join(", ")
}

fn hook(scratch: &Scratch, name: &str, text: &[u8], mode: u32) {
    let path = scratch.root().join(".git/hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Everything in a folder: names, kinds, modes, contents.
fn everything(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let metadata = fs::symlink_metadata(entry.path()).unwrap();
        let content = match metadata.is_symlink() {
            true => fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes(),
            false if metadata.is_dir() => Vec::new(),
            false => fs::read(entry.path()).unwrap(),
        };
        all.push((entry.file_name().into_string().unwrap(), metadata.permissions().mode(), content));
    }
    all.sort();
    all
}

/// The notes with the heads as subjects.
fn notes(scratch: &Scratch) -> String {
    let text = fs::read_to_string(scratch.root().join(".git/grail-notes")).unwrap_or_default();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let subject = scratch.git(&["log", "-1", "--format=%s", fields[2]]);
        format!("{} {} `{subject}` {}\n", fields[0], fields[1], fields[3])
    };
    text.lines().map(line).collect()
}

#[test]
fn what_git_does_is_noted() {
    let scratch = Scratch::new();
    insta::assert_snapshot!(told(&install_hooks(scratch.root()).unwrap()), @"post-commit Own, post-merge Own, post-checkout Own, post-rewrite Own");
    scratch.git(&["checkout", "-q", "-b", "cards/über"]);
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    scratch.git(&["commit", "-q", "--amend", "-m", "amended"]);
    scratch.git(&["checkout", "-q", "--", "card.py"]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["merge", "-q", "--no-ff", "-m", "merged", "cards/über"]);
    scratch.git(&["checkout", "-q", "--detach"]);
    insta::assert_snapshot!(notes(&scratch), @"
    1 post-checkout `base` refs/heads/cards/über
    1 post-commit `card` refs/heads/cards/über
    1 post-commit `amended` refs/heads/cards/über
    1 post-rewrite `amended` refs/heads/cards/über
    1 post-checkout `base` refs/heads/main
    1 post-merge `merged` refs/heads/main
    1 post-checkout `merged` HEAD
    ");
}

#[test]
fn installing_twice_and_removing_leaves_everything_as_it_was() {
    let scratch = Scratch::new();
    let folder = scratch.root().join(".git/hooks");
    hook(
        &scratch,
        "post-commit",
        b"#!/usr/bin/env bash\nset -euo pipefail\ntouch committed\nexit 0\n",
        0o755,
    );
    hook(&scratch, "post-merge", b"#!/usr/bin/env python3\nopen('merged', 'w').write(__file__)\n", 0o750);
    hook(&scratch, "post-rewrite", b"#!/bin/sh\nexit 1\n", 0o644);
    fs::create_dir_all(scratch.root().join("tools")).unwrap();
    symlink("../../tools/checkout.sh", folder.join("post-checkout")).unwrap();
    let before = everything(&folder);

    insta::assert_snapshot!(told(&install_hooks(scratch.root()).unwrap()), @"post-commit Beside, post-merge Around, post-checkout Around, post-rewrite Around");
    let installed = everything(&folder);
    install_hooks(scratch.root()).unwrap();
    assert_eq!(everything(&folder), installed, "installing again changes nothing");

    fs::write(scratch.root().join("tools/checkout.sh"), "#!/bin/sh\ntouch checked-out\n").unwrap();
    fs::set_permissions(scratch.root().join("tools/checkout.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    scratch.git(&["checkout", "-q", "-b", "cards"]);
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["merge", "-q", "--ff-only", "cards"]);
    scratch.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "again"]);
    let left = |name: &str| scratch.root().join(name).exists();
    assert!(left("committed") && left("merged") && left("checked-out"), "the hooks of others still run");
    insta::assert_snapshot!(notes(&scratch), @"
    1 post-checkout `base` refs/heads/cards
    1 post-commit `card` refs/heads/cards
    1 post-checkout `base` refs/heads/main
    1 post-merge `card` refs/heads/main
    1 post-commit `again` refs/heads/main
    1 post-rewrite `again` refs/heads/main
    ");

    insta::assert_snapshot!(told(&remove_hooks(scratch.root()).unwrap()), @"post-commit Missing, post-merge Missing, post-checkout Missing, post-rewrite Missing");
    assert_eq!(everything(&folder), before);
    remove_hooks(scratch.root()).unwrap();
    assert_eq!(everything(&folder), before);
}

#[test]
fn lines_of_another_version_are_replaced() {
    let scratch = Scratch::new();
    let old = hook_lines("post-commit").replace("few milliseconds", "some milliseconds");
    hook(&scratch, "post-commit", format!("#!/bin/sh\n{old}echo mine\n").as_bytes(), 0o755);
    insta::assert_snapshot!(told(&hooks_status(scratch.root()).unwrap()), @"post-commit Outdated, post-merge Missing, post-checkout Missing, post-rewrite Missing");
    install_hooks(scratch.root()).unwrap();
    let text = fs::read_to_string(scratch.root().join(".git/hooks/post-commit")).unwrap();
    assert_eq!(text, format!("#!/bin/sh\n{}echo mine\n", hook_lines("post-commit")));
}

#[test]
fn a_folder_of_hooks_in_the_project_is_used_and_said_to_be_shared() {
    let scratch = Scratch::new();
    scratch.git(&["config", "core.hooksPath", "git hooks"]);
    let report = install_hooks(scratch.root()).unwrap();
    assert!(report.is_shared && report.advice.is_none());
    assert!(scratch.root().join("git hooks/post-commit").is_file());
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    insta::assert_snapshot!(notes(&scratch), @"1 post-commit `card` refs/heads/main");
}

#[test]
fn folders_of_other_managers_are_left_alone() {
    let scratch = Scratch::new();
    scratch.git(&["config", "core.hooksPath", ".husky/_"]);
    let report = install_hooks(scratch.root()).unwrap();
    insta::assert_snapshot!(told(&report), @"post-commit Missing, post-merge Missing, post-checkout Missing, post-rewrite Missing");
    let advice = report.advice.unwrap();
    assert_eq!(advice.owner, "husky");
    insta::assert_snapshot!(advice.text.split("in `.husky/post-merge`").next().unwrap(), @r#"
    in `.husky/post-commit`:

    # >>> grail hooks >>>
    # Notes for Grail what git did: a few milliseconds, and never a failure. `grail hooks remove` takes these lines out.
    {
      grail_git=${GIT_DIR:-.git} grail_head='' grail_branch=''
      grail_common=$grail_git
      if [ -f "$grail_git/HEAD" ]; then
        if [ -f "$grail_git/commondir" ]; then
          IFS= read -r grail_common <"$grail_git/commondir"
          case $grail_common in /*) ;; *) grail_common=$grail_git/$grail_common ;; esac
        fi
        IFS= read -r grail_branch <"$grail_git/HEAD"
        case $grail_branch in
          'ref: '*)
            grail_branch=${grail_branch#ref: }
            [ -f "$grail_common/$grail_branch" ] && read -r grail_head <"$grail_common/$grail_branch" ;;
          *) grail_head=$grail_branch grail_branch=HEAD ;;
        esac
      fi
      if [ -z "$grail_head" ]; then
        { IFS= read -r grail_common && read -r grail_head && read -r grail_branch; } <<GRAIL
    $(git rev-parse --git-common-dir HEAD --symbolic-full-name HEAD)
    GRAIL
      fi
      [ -z "$grail_head" ] || printf '1\t%s\t%s\t%s\n' post-commit "$grail_head" "$grail_branch" >>"$grail_common/grail-notes"
    } </dev/null >/dev/null 2>&1 || :
    # <<< grail hooks <<<
    "#);

    let elsewhere = scratch.outside("everybody");
    fs::create_dir(&elsewhere).unwrap();
    scratch.git(&["config", "core.hooksPath", elsewhere.to_str().unwrap()]);
    let advice = install_hooks(scratch.root()).unwrap().advice.unwrap();
    assert_eq!(advice.owner, "`core.hooksPath` outside of this repository");
    assert_eq!(everything(&elsewhere), []);

    scratch.git(&["config", "--unset", "core.hooksPath"]);
    hook(&scratch, "post-merge", b"#!/bin/sh\nlefthook run \"post-merge\" \"$@\"\n", 0o755);
    let advice = install_hooks(scratch.root()).unwrap().advice.unwrap();
    assert_eq!(advice.owner, "lefthook");
}

#[test]
fn a_working_tree_beside_the_first_shares_hooks_and_notes() {
    let mut scratch = Scratch::new();
    let tree = scratch.outside("tree");
    scratch.git(&["worktree", "add", "-q", "-b", "cards", tree.to_str().unwrap()]);
    let first = scratch.root().to_owned();
    install_hooks(&tree).unwrap();
    scratch.move_to(tree);
    scratch.commit("in the tree", &[("card.py", "x = 1\n")]);
    scratch.move_to(first);
    insta::assert_snapshot!(notes(&scratch), @"1 post-commit `in the tree` refs/heads/cards");
}

#[test]
fn a_commit_succeeds_whatever_becomes_of_the_notes() {
    let scratch = Scratch::new();
    install_hooks(scratch.root()).unwrap();
    fs::create_dir(scratch.root().join(".git/grail-notes")).unwrap();
    scratch.commit("card", &[("card.py", "x = 1\n")]);
    assert_eq!(scratch.git(&["log", "-1", "--format=%s"]), "card");
}

#[test]
fn where_there_is_no_repository_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let problem = install_hooks(folder.path()).unwrap_err();
    insta::assert_snapshot!(format!("{problem}\n{}", problem.hint().unwrap()), @"
    there is no git repository here, or no git
    run `git init` first; if git says that somebody else owns the folder, see `safe.directory`
    ");
}
