//! Kept artifacts that a person changes: what was generated beside what was committed.

use grail_flywheel::event::{EventKind, ProposalDecision};

use crate::git_scratch::Scratch;

const CARD: &str = "class Card:\n    title: str\n    price: int\n\n    def total(self, rate):\n        return self.price + rate\n";

fn with_card() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.branch("cards", "s1");
    scratch.keep("s1", "cards", "p1", "shop/card.py", CARD);
    scratch
}

#[test]
fn an_edit_before_the_first_commit_and_one_after_it() {
    let mut scratch = with_card();
    scratch.commit("card", &[("shop/card.py", &CARD.replace("price: int", "price: Decimal"))]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["shop/card.py"]
    correction of shop/card.py in s1:
      - class Card:
      -     title: str
      -     price: int
      - 
      -     def total(self, rate):
      -         return self.price + rate
      + class Card:
      +     title: str
      +     price: Decimal
      + 
      +     def total(self, rate):
      +         return self.price + rate
    "#);
    assert_eq!(scratch.look(), "");
    let later = CARD.replace("price: int", "price: Decimal").replace("rate", "share");
    scratch.commit("rename", &[("shop/card.py", &later)]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `rename` on cards: ["shop/card.py"]
    correction of shop/card.py in s1:
      - class Card:
      -     title: str
      -     price: int
      - 
      -     def total(self, rate):
      -         return self.price + rate
      + class Card:
      +     title: str
      +     price: Decimal
      + 
      +     def total(self, share):
      +         return self.price + share
    "#);
    // The same content under another name of a commit is the same edit.
    scratch.git(&["commit", "-q", "--amend", "-m", "renamed"]);
    insta::assert_snapshot!(scratch.look(), @r#"commit `renamed` on cards: ["shop/card.py"]"#);
}

#[test]
fn layout_and_comments_are_no_edit() {
    let mut scratch = with_card();
    scratch.commit("card", &[("shop/card.py", CARD)]);
    let formatted = CARD
        .replace("(self, rate)", "(\n        self,\n        rate,\n    )")
        .replace("int\n", "int  # cents\n");
    scratch.commit("format", &[("shop/card.py", &formatted)]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["shop/card.py"]
    commit `format` on cards: ["shop/card.py"]
    "#);
}

#[test]
fn a_file_that_grail_wrote_again_is_no_edit() {
    let mut scratch = with_card();
    scratch.commit("card", &[]);
    let second = CARD.replace("rate", "share");
    scratch.keep("s2", "cards", "p2", "shop/card.py", &second);
    scratch.commit("again", &[]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["shop/card.py"]
    commit `again` on cards: ["shop/card.py"]
    "#);
    scratch.commit("by hand", &[("shop/card.py", &second.replace("+ share", "* share"))]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `by hand` on cards: ["shop/card.py"]
    correction of shop/card.py in s2:
      - class Card:
      -     title: str
      -     price: int
      - 
      -     def total(self, share):
      -         return self.price + share
      + class Card:
      +     title: str
      +     price: int
      + 
      +     def total(self, share):
      +         return self.price * share
    "#);
}

#[test]
fn a_file_that_was_moved_is_followed() {
    let mut scratch = with_card();
    scratch.commit("card", &[]);
    scratch.git(&["mv", "shop/card.py", "shop/product card.py"]);
    scratch.commit("move", &[]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["shop/card.py"]
    commit `move` on cards: ["shop/card.py", "shop/product card.py"]
    "#);
    scratch.commit("edit", &[("shop/product card.py", &CARD.replace("rate", "share"))]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `edit` on cards: ["shop/product card.py"]
    correction of shop/product card.py in s1:
      - class Card:
      -     title: str
      -     price: int
      - 
      -     def total(self, rate):
      -         return self.price + rate
      + class Card:
      +     title: str
      +     price: int
      + 
      +     def total(self, share):
      +         return self.price + share
    "#);
}

#[test]
fn a_file_that_is_deleted_or_written_anew_leaves_nothing() {
    let mut scratch = with_card();
    scratch.commit("card", &[]);
    scratch.git(&["rm", "-q", "shop/card.py"]);
    scratch.commit("away", &[]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `card` on cards: ["shop/card.py"]
    commit `away` on cards: ["shop/card.py"]
    correction of shop/card.py in s1:
      - class Card:
      -     title: str
      -     price: int
      - 
      -     def total(self, rate):
      -         return self.price + rate
      nothing of it is left
    "#);
    scratch.commit("anew", &[("shop/card.py", "def card():\n    return 'none of it'\n")]);
    insta::assert_snapshot!(scratch.look(), @r#"commit `anew` on cards: ["shop/card.py"]"#);
}

#[test]
fn what_was_reverted_or_only_proposed_was_not_kept() {
    let mut scratch = with_card();
    let decision = ProposalDecision::Reverted;
    let kind = EventKind::Proposal { proposal: "p1".to_owned(), decision, reason: None, paths: Vec::new() };
    scratch.happen("s1", Some("cards"), kind);
    scratch.commit("card", &[("shop/card.py", &CARD.replace("rate", "share"))]);
    insta::assert_snapshot!(scratch.look(), @r#"commit `card` on cards: ["shop/card.py"]"#);
}

#[test]
fn code_that_shipped_has_a_life_of_its_own() {
    let mut scratch = with_card();
    scratch.commit("card", &[]);
    scratch.git(&["checkout", "-q", "main"]);
    scratch.git(&["merge", "-q", "--ff-only", "cards"]);
    scratch.look();
    scratch.work("main", "s2");
    scratch.commit("new feature", &[("shop/card.py", &CARD.replace("rate", "share"))]);
    scratch.git(&["checkout", "-q", "cards"]);
    scratch.commit("late", &[("shop/card.py", &CARD.replace("rate", "part"))]);
    insta::assert_snapshot!(scratch.look(), @r#"
    commit `base` on main: ["readme.md"]
    commit `new feature` on main: ["shop/card.py"]
    commit `late` on cards: ["shop/card.py"]
    "#);
}

#[test]
fn one_artifact_tells_of_three_edits() {
    let mut scratch = with_card();
    for name in ["one", "two", "three", "four", "five"] {
        scratch.commit(name, &[("shop/card.py", &CARD.replace("rate", name))]);
    }
    let corrections = scratch.look().lines().filter(|line| line.starts_with("correction")).count();
    assert_eq!(corrections, 3);
}
