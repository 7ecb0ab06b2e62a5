//! Fixing to a fixed point: what is applied together, what is put off, and what is caught and dropped.

use std::sync::Arc;

use grail_code::{Edit, Position, Source, Span};
use grail_rules::{Finding, Fix, FixProblem, Layer, Safety, Severity, fix_text};

/// A rule that replaces every `from` by `to`.
struct Replace {
    rule: &'static str,
    from: &'static str,
    to: &'static str,
    safety: Safety,
}

const fn safe(rule: &'static str, from: &'static str, to: &'static str) -> Replace {
    Replace { rule, from, to, safety: Safety::Safe }
}

fn check(rules: &[Replace]) -> impl Fn(&str) -> Vec<Finding> {
    move |text| {
        let source = Source::from_text(text);
        let mut findings = Vec::new();
        for rule in rules {
            for (start, _) in text.match_indices(rule.from) {
                let span = Span::new(start as u32, (start + rule.from.len()) as u32);
                let (start, end): (Position, Position) =
                    (source.position(span.start), source.position(span.end));
                let fix = Fix {
                    title: String::new(),
                    safety: rule.safety,
                    edits: vec![Edit::replace(span, rule.to)],
                };
                findings.push(Finding {
                    path: "a.py".into(),
                    layer: Layer::Rules,
                    rule: rule.rule.into(),
                    severity: Severity::Error,
                    message: String::new(),
                    help: None,
                    span: Some(span),
                    start,
                    end,
                    fix: Some(fix),
                });
            }
        }
        findings
    }
}

fn rule(name: &str) -> Arc<str> {
    name.into()
}

#[test]
fn one_fix_makes_room_for_the_next() {
    let rules = [safe("first", "a1", "b1"), safe("second", "b1", "c1")];
    let fixed = fix_text("a1 = a1\n", Safety::Safe, check(&rules));
    assert_eq!(fixed.text, "c1 = c1\n");
    assert_eq!(fixed.applied.into_iter().collect::<Vec<_>>(), [(rule("first"), 2), (rule("second"), 2)]);
    assert_eq!((fixed.rounds, fixed.findings.len(), fixed.problems.len()), (2, 0, 0));
}

#[test]
fn what_is_fixed_stays_fixed() {
    let rules = [safe("first", "a1", "b1"), safe("second", "b1", "c1")];
    let once = fix_text("a1 = b1\n", Safety::Safe, check(&rules)).text;
    let twice = fix_text(&once, Safety::Safe, check(&rules));
    assert_eq!((twice.text, twice.rounds), (once, 0));
}

#[test]
fn fixes_of_one_place_are_applied_one_after_the_other() {
    let rules = [safe("longer", "abc", "x"), safe("inner", "bc", "y")];
    let fixed = fix_text("abc = bc\n", Safety::Safe, check(&rules));
    assert_eq!(fixed.text, "x = y\n");
}

#[test]
fn unsafe_fixes_are_left_unless_asked_for() {
    let rules = [Replace { rule: "risky", from: "a", to: "b", safety: Safety::Unsafe }];
    let kept = fix_text("a = 1\n", Safety::Safe, check(&rules));
    assert_eq!((kept.text.as_str(), kept.findings.len()), ("a = 1\n", 1));
    assert_eq!(fix_text("a = 1\n", Safety::Unsafe, check(&rules)).text, "b = 1\n");
}

#[test]
fn a_fix_that_breaks_the_code_is_dropped_and_the_others_are_not() {
    let rules = [safe("breaks", "1", "("), safe("works", "a", "b")];
    let fixed = fix_text("a = 1\n", Safety::Safe, check(&rules));
    assert_eq!(fixed.text, "b = 1\n");
    assert_eq!(fixed.problems.len(), 1);
    assert_eq!(fixed.problems[0].rules(), [rule("breaks")]);
    insta::assert_snapshot!(fixed.problems[0], @"the fix of `breaks` breaks the code: line 2: unexpected EOF while parsing");
}

#[test]
fn rules_that_undo_each_other_are_named_and_undone() {
    let rules = [safe("there", "a", "b"), safe("back", "b", "a"), safe("works", "x", "y")];
    let fixed = fix_text("a = x\n", Safety::Safe, check(&rules));
    assert_eq!(fixed.problems, [FixProblem::UndoEachOther { rules: vec![rule("back"), rule("there")] }]);
    assert_eq!(fixed.text, "a = y\n");
    assert_eq!(fixed.applied.into_iter().collect::<Vec<_>>(), [(rule("works"), 1)]);
}

#[test]
fn a_rule_that_never_ends_is_named_and_undone() {
    for grows in [safe("grows", "a =", "aa ="), safe("grows", "a", "aaaa")] {
        let rules = [grows, safe("works", "x", "y")];
        let fixed = fix_text("a = x\n", Safety::Safe, check(&rules));
        assert_eq!(fixed.problems, [FixProblem::NeverEnds { rules: vec![rule("grows")] }]);
        assert_eq!(fixed.text, "a = y\n");
    }
}

#[test]
fn a_broken_file_may_stay_broken() {
    let fixed = fix_text("a = (\n", Safety::Safe, check(&[safe("works", "a", "b")]));
    assert_eq!((fixed.text.as_str(), fixed.problems.len()), ("b = (\n", 0));
}
