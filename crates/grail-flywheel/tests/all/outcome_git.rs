//! What became of branches, as git shows it: each test is a way in which people end their work.

use std::fs;

use crate::git_scratch::Scratch;

const CARD: &str =
    "class Card:\n    title: str\n    price: int\n    count: int\n    shown: bool\n    sold: bool\n";

/// A branch `cards` with two commits, one session, back on `main`.
fn with_cards() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    scratch.commit("card", &[("card.py", CARD)]);
    scratch.commit("list", &[("list.py", "class List:\n    cards: list\n")]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch
}

#[test]
fn a_merge_commit() {
    let mut scratch = with_cards();
    scratch.commit("meanwhile", &[("other.py", "x = 1\n")]);
    scratch.git(&["merge", "-q", "--no-ff", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into main by merge at `list` for ["s1"]
    "#);
    assert_eq!(scratch.look(), "", "looking twice tells nothing twice");
}

#[test]
fn a_fast_forward_and_the_branch_is_deleted() {
    let mut scratch = with_cards();
    scratch.git(&["merge", "-q", "--ff-only", "cards"]);
    scratch.git(&["branch", "-q", "-d", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into main by fast-forward at `list` for ["s1"]
    "#);
    assert_eq!(scratch.look(), "");
}

#[test]
fn a_squash() {
    let mut scratch = with_cards();
    scratch.commit("meanwhile", &[("other.py", "x = 1\n")]);
    scratch.git(&["merge", "-q", "--squash", "cards"]);
    scratch.git(&["commit", "-q", "-m", "cards in one"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into main by squash at `list` for ["s1"]
    "#);
    assert_eq!(scratch.look(), "");
}

#[test]
fn a_squash_whose_conflict_was_resolved_by_hand() {
    let mut scratch = with_cards();
    scratch.commit("conflict", &[("card.py", "class Card:\n    name: str\n")]);
    let merge = scratch.command(scratch.root(), &["merge", "-q", "--squash", "cards"]);
    assert!(!merge.status.success(), "there is a conflict");
    scratch.commit("cards, resolved", &[("card.py", &CARD.replace("    title: str\n", "    name: str\n"))]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into main by squash at `list` for ["s1"]
    "#);
}

#[test]
fn a_rebase() {
    let mut scratch = with_cards();
    scratch.look();
    scratch.commit("meanwhile", &[("other.py", "x = 1\n")]);
    // As a forge does it: the commits are copied, the branch stays behind.
    scratch.git(&["cherry-pick", "main..cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"cards merged into main by rebase at `list` for ["s1"]"#);
    assert_eq!(scratch.look(), "");
}

#[test]
fn a_branch_that_was_rebased_and_then_merged() {
    let mut scratch = with_cards();
    scratch.look();
    scratch.commit("meanwhile", &[("other.py", "x = 1\n")]);
    scratch.git(&["checkout", "-q", "cards"]);
    scratch.git(&["rebase", "-q", "main"]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["merge", "-q", "--ff-only", "cards"]);
    scratch.git(&["branch", "-q", "-d", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"cards merged into main by rebase at `list` for ["s1"]"#);
}

#[test]
fn a_branch_that_is_given_up_and_merged_after_all() {
    let mut scratch = with_cards();
    let tip = scratch.git(&["rev-parse", "cards"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards closed at `list` for ["s1"]
    "#);
    assert_eq!(scratch.look(), "");
    scratch.git(&["merge", "-q", "--no-ff", "-m", "after all", &tip]);
    insta::assert_snapshot!(scratch.look(), @r#"cards merged into main by merge at `list` for ["s1"]"#);
    assert_eq!(scratch.look(), "");
}

#[test]
fn work_in_progress_is_open() {
    let mut scratch = with_cards();
    scratch.branch("begun", "s2");
    scratch.git(&["checkout", "-q", "main"]);
    scratch.work("main", "s3");
    scratch.commit("on main", &[("other.py", "x = 1\n")]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `base` on main: ["readme.md"]
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    commit `on main` on main: ["other.py"]
    "#);
    assert_eq!(scratch.look(), "");
}

#[test]
fn a_renamed_branch_keeps_its_outcome() {
    let mut scratch = with_cards();
    scratch.look();
    scratch.git(&["branch", "-m", "cards", "product-cards"]);
    assert_eq!(scratch.look(), "", "renamed is not given up");
    scratch.git(&["merge", "-q", "--no-ff", "product-cards"]);
    scratch.git(&["branch", "-q", "-d", "product-cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"cards merged into main by merge at `list` for ["s1"]"#);
}

#[test]
fn a_name_that_is_used_again_is_another_branch() {
    let mut scratch = with_cards();
    scratch.git(&["merge", "-q", "--ff-only", "cards"]);
    scratch.git(&["branch", "-q", "-d", "cards"]);
    scratch.look();
    scratch.branch("cards", "s2");
    assert_eq!(scratch.look(), "", "nothing was committed on it yet");
    scratch.commit("more", &[("more.py", "x = 1\n")]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `more` on cards: ["more.py"]
    cards closed at `more` for ["s2"]
    "#);
}

#[test]
fn main_may_have_another_name() {
    let mut scratch = with_cards();
    scratch.git(&["branch", "-m", "main", "trunk"]);
    scratch.git(&["merge", "-q", "--no-ff", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into trunk by merge at `list` for ["s1"]
    "#);
}

#[test]
fn what_was_merged_elsewhere_is_seen_when_it_is_fetched() {
    let mut scratch = with_cards();
    let forge = scratch.outside("forge.git");
    scratch.git(&["init", "-q", "--bare", "-b", "main", forge.to_str().unwrap()]);
    scratch.git(&["remote", "add", "origin", forge.to_str().unwrap()]);
    scratch.git(&["push", "-q", "origin", "main", "cards"]);
    let elsewhere = scratch.outside("elsewhere");
    scratch.git_in(&forge, &["clone", "-q", ".", elsewhere.to_str().unwrap()]);
    scratch.git_in(&elsewhere, &["merge", "-q", "--squash", "origin/cards"]);
    scratch.git_in(&elsewhere, &["commit", "-q", "-m", "cards (#12)"]);
    scratch.git_in(&elsewhere, &["push", "-q", "origin", "main", ":cards"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    "#);
    scratch.git(&["fetch", "-q", "--prune"]);
    insta::assert_snapshot!(scratch.look(), @r#"cards merged into main by squash at `list` for ["s1"]"#);
}

#[test]
fn a_detached_head() {
    let mut scratch = with_cards();
    scratch.git(&["checkout", "-q", "--detach", "cards"]);
    scratch.commit("detached", &[("other.py", "x = 1\n")]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    commit `detached` on no branch: ["other.py"]
    "#);
}

#[test]
fn a_repository_without_commits_and_a_folder_without_repository() {
    let mut scratch = Scratch::empty();
    scratch.work("main", "s1");
    assert_eq!(scratch.look(), "");
    scratch.move_to(scratch.outside("."));
    assert_eq!(scratch.look(), "");
}

#[test]
fn a_bare_repository_and_one_that_was_cut_off() {
    let mut scratch = with_cards();
    let (bare, shallow) = (scratch.outside("bare.git"), scratch.outside("shallow"));
    let from = format!("file://{}", scratch.root().display());
    scratch.git(&["clone", "-q", "--bare", &from, bare.to_str().unwrap()]);
    scratch.git(&["clone", "-q", "--depth=1", "--branch=cards", &from, shallow.to_str().unwrap()]);
    scratch.move_to(bare);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    "#);
    scratch.events.truncate(1);
    scratch.move_to(shallow);
    scratch.git(&["checkout", "-q", "--detach"]);
    scratch.git(&["branch", "-q", "-D", "cards"]);
    scratch.git(&["remote", "remove", "origin"]);
    insta::assert_snapshot!(scratch.look(), @"");
}

#[test]
fn a_working_tree_beside_the_first_and_a_submodule() {
    let mut scratch = with_cards();
    let tree = scratch.outside("tree");
    scratch.git(&["worktree", "add", "-q", "-b", "lists", tree.to_str().unwrap()]);
    scratch.work("lists", "s2");
    let first = scratch.root().to_owned();
    scratch.move_to(tree);
    scratch.commit("in the tree", &[("tree.py", "x = 1\n")]);
    scratch.git_in(&first, &["merge", "-q", "--no-ff", "lists"]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `in the tree` on lists: ["tree.py"]
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    lists merged into main by merge at `in the tree` for ["s2"]
    "#);

    let mut outer = Scratch::new();
    let from = first.to_str().unwrap().to_owned();
    outer.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", &from, "inner"]);
    outer.move_to(outer.root().join("inner"));
    outer.branch("more", "s1");
    outer.commit("in the submodule", &[("more.py", "x = 1\n")]);
    outer.git(&["checkout", "-q", "main"]);
    outer.git(&["merge", "-q", "--no-ff", "more"]);
    insta::assert_snapshot!(outer.look(), @r#"
    commit `in the submodule` on more: ["more.py"]
    more merged into main by merge at `in the submodule` for ["s1"]
    "#);
}

#[test]
fn a_project_below_the_top_with_odd_names() {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    scratch.write("shop/über\nuns \"x\".py", "x = 1\n");
    scratch.commit("odd", &[("elsewhere.py", "x = 1\n")]);
    scratch.commit("not ours", &[("elsewhere.py", "x = 2\n")]);
    scratch.move_to(scratch.root().join("shop"));
    insta::assert_snapshot!(scratch.look(), @r#"commit `odd` on cards: ["über\nuns \"x\".py"]"#);
}

#[test]
fn comments_that_silence_rules_are_told() {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    scratch.commit("one", &[("a.py", "x = 1  # grail: ignore[no-globals] needed\n")]);
    scratch.commit("two", &[("a.py", "x = 1  # grail: ignore[no-globals] needed\ny = \"grail: ignore[b]\"\n# grail: ignore-file[c, d]\n")]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `one` on cards: ["a.py"] silences ["no-globals"]
    commit `two` on cards: ["a.py"] silences ["c", "d"]
    "#);
}

#[test]
fn settings_of_a_hostile_repository_start_nothing() {
    let mut scratch = with_cards();
    scratch.git(&["merge", "-q", "--no-ff", "cards"]);
    let mark = scratch.outside("mark");
    let command = format!("touch '{}'; false", mark.display());
    let hooks = scratch.outside("hooks");
    fs::create_dir(&hooks).unwrap();
    let settings = format!(
        "[core]\n\tfsmonitor = \"{command}\"\n\tpager = \"{command}\"\n\thooksPath = {}\n\tsshCommand = \"{command}\"\n\
         [diff]\n\texternal = \"{command}\"\n[diff \"evil\"]\n\tcommand = \"{command}\"\n\ttextconv = \"{command}\"\n\
         [log]\n\tshowSignature = true\n[gpg]\n\tprogram = \"{command}\"\n[filter \"evil\"]\n\tsmudge = \"{command}\"\n\tclean = \"{command}\"\n\
         [remote \"far\"]\n\turl = ext::sh -c touch% {}\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\
         [alias]\n\trev-list = \"!{command}\"\n",
        hooks.display(),
        mark.display()
    );
    let config = scratch.root().join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before + &settings).unwrap();
    fs::write(scratch.root().join(".gitattributes"), "* diff=evil filter=evil\n").unwrap();
    // An object that is not there, and would be fetched.
    scratch.happen(
        "s1",
        Some("cards"),
        grail_flywheel::EventKind::Commit {
            commit: "1".repeat(40),
            patch: None,
            paths: Vec::new(),
            suppressed: Vec::new(),
        },
    );
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["card.py"]
    commit `list` on cards: ["list.py"]
    cards merged into main by merge at `list` for ["s1"]
    "#);
    assert!(!mark.exists(), "a setting of the repository was run");
}
