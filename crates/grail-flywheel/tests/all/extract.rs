//! What examples sessions give.

use std::collections::BTreeMap;

use grail_flywheel::Event;
use grail_flywheel::event::{CorrectionSource, EventKind, MergeWay, ProposalDecision, ReviewVerdict, Tokens};
use grail_flywheel::extract::{ExtractSettings, Extraction, PassedOver, SpecFiles, extract, extract_log};
use proptest::prelude::*;
use serde_json::json;

use crate::project::{Project, line};
use crate::script::{Script, session, shadow, told};

fn extracted(scripts: Vec<Script>) -> Extraction {
    extracted_with(scripts, &ExtractSettings::default())
}

fn extracted_with(scripts: Vec<Script>, settings: &ExtractSettings<'_>) -> Extraction {
    let project = Project::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let events: Vec<Event> = scripts.into_iter().flat_map(|script| script.events).collect();
    for (number, event) in events.iter().enumerate() {
        // Sessions go on over midnight.
        let day = if number % 7 < 4 { "2026-03-02" } else { "2026-03-03" };
        *files.entry(format!("{day}-{}.jsonl", event.session)).or_default() += &line(event);
    }
    files.into_iter().for_each(|(name, lines)| project.write(&name, lines));
    let from_files = extract_log(project.root(), settings, |_| ()).unwrap();
    let held = extract(events, settings);
    assert_eq!(from_files, held, "files that are read twice give what events give that are held");
    held
}

fn passed_over(extraction: &Extraction) -> Vec<(PassedOver, usize)> {
    extraction.passed_over.iter().map(|(reason, count)| (*reason, *count)).collect()
}

#[test]
fn code_that_is_right_at_once_is_a_positive() {
    let made = extracted(vec![session("a").wants("make a card").makes("card.py", "card", 0)]);
    insta::assert_snapshot!(told(&made.examples), @r#"positive make a card [] "card" not - ×1.00 from 1,2"#);
    let example = &made.examples[0];
    assert_eq!(example.id, example.content_id());
    assert_eq!(example.path.as_deref(), Some("card.py"));
    assert_eq!(example.artifact.as_deref(), Some("component"));
    assert_eq!(example.origin.session.as_deref(), Some("a"));
    assert_eq!(example.origin.model.as_deref(), Some("small"));
}

#[test]
fn a_chain_of_retries_gives_one_pair_for_each_error_and_not_for_each_attempt() {
    // `title` is broken three times and `view` once: two errors, two pairs, each with the last attempt that still had the error.
    let chain = session("a")
        .wants("make a card")
        .retries("card.py", 1, &["title", "view"], "one", "two", false)
        .retries("card.py", 2, &["title"], "two", "three", false)
        .retries("card.py", 3, &["title"], "three", "four", true)
        .makes("card.py", "four", 3);
    let made = extracted(vec![chain]);
    insta::assert_snapshot!(told(&made.examples), @r#"
    corrective make a card [view] "four" not "one" ×1.50 from 1,2,3,4,5
    corrective make a card [title] "four" not "three" ×1.50 from 1,2,3,4,5
    "#);
    let problems: Vec<&str> = made.examples[1].problems.iter().map(|problem| problem.rule.as_str()).collect();
    assert_eq!(problems, ["title"]);
    assert_eq!(passed_over(&made), [(PassedOver::NotConfirmed, 1)]);
}

#[test]
fn errors_that_are_mended_together_are_one_pair_that_teaches_both() {
    let chain = session("a")
        .wants("make a card")
        .retries("card.py", 1, &["view", "title"], "one", "two", true)
        .makes("card.py", "two", 1);
    insta::assert_snapshot!(told(&extracted(vec![chain]).examples), @r#"corrective make a card [title view] "two" not "one" ×1.50 from 1,2,3"#);
}

#[test]
fn a_chain_that_never_passes_gives_nothing() {
    let chain = session("a")
        .wants("make a card")
        .retries("card.py", 1, &["view"], "one", "two", false)
        .gives_up("card.py", "two", 1);
    let made = extracted(vec![chain]);
    assert!(made.examples.is_empty());
    assert_eq!(passed_over(&made), [(PassedOver::NeverPassed, 1)]);
}

#[test]
fn two_artifacts_that_are_made_in_turns_have_chains_of_their_own() {
    let mixed = session("a")
        .wants("make both")
        .retries("a.py", 1, &["view"], "a1", "a2", false)
        .retries("b.py", 1, &["title"], "b1", "b2", true)
        .retries("a.py", 2, &["view"], "a2", "a3", true)
        .makes("b.py", "b2", 1)
        .makes("a.py", "a3", 2);
    insta::assert_snapshot!(told(&extracted(vec![mixed]).examples), @r#"
    corrective make both [view] "a3" not "a2" ×1.50 from 1,2,4,6
    corrective make both [title] "b2" not "b1" ×1.50 from 1,3,5
    "#);
}

#[test]
fn a_chain_goes_on_under_another_path() {
    // The model gave the artifact another name on the way.
    let chain = session("a")
        .wants("make a card")
        .retries("user_card.py", 1, &["suffix"], "one", "two", false)
        .retries("card.py", 2, &["view"], "two", "three", true)
        .makes("card.py", "three, fixed", 2);
    insta::assert_snapshot!(told(&extracted(vec![chain]).examples), @r#"
    corrective make a card [suffix] "three, fixed" not "one" ×1.50 from 1,2,3,4
    corrective make a card [view] "three, fixed" not "two" ×1.50 from 1,2,3,4
    "#);
}

#[test]
fn after_retries_code_is_right_only_if_a_person_says_so() {
    let chain = |name: &str| {
        session(name)
            .wants("make a card")
            .retries("card.py", 1, &["view"], "one", "two", true)
            .makes("card.py", "two", 1)
    };
    let confirmed = extracted(vec![chain("a").confirms()]);
    insta::assert_snapshot!(told(&confirmed.examples), @r#"
    corrective make a card [view] "two" not "one" ×1.50 from 1,2,3,4
    positive make a card [] "two" not - ×1.00 from 1,2,3,4
    "#);
    // The approval of a proposal says so as well, in whatever session it is given.
    let proposed = chain("b").proposal("p1", ProposalDecision::Made, &["card.py"]);
    let approved = session("c").proposal("p1", ProposalDecision::Approved, &[]);
    let approved = extracted(vec![proposed, approved]);
    assert_eq!(approved.examples.len(), 2);
}

#[test]
fn what_a_person_rejects_or_reverts_is_no_positive() {
    for decision in [ProposalDecision::Rejected, ProposalDecision::Reverted] {
        let made = session("a")
            .wants("make a card")
            .makes("card.py", "card", 0)
            .proposal("p1", ProposalDecision::Made, &["card.py"])
            .proposal("p1", ProposalDecision::Approved, &[]);
        let later = session("b").proposal("p1", decision, &[]);
        let made = extracted(vec![made, later]);
        assert!(made.examples.is_empty());
        assert_eq!(passed_over(&made), [(PassedOver::Refused, 1)]);
    }
}

#[test]
fn a_correction_by_words_is_a_negative_whose_answer_is_the_next_code_that_passes() {
    let talk = session("a")
        .wants("make a card")
        .makes("card.py", "first", 0)
        .objects("no, I meant a wide card")
        .wants("make a wide card")
        .makes("card.py", "second", 0);
    let made = extracted(vec![talk]);
    insta::assert_snapshot!(told(&made.examples), @r#"negative make a card |  | no, I meant a wide card [] "second" not "first" ×2.00 from 1,2,3,5"#);
    assert_eq!(made.examples[0].problems[0].message, "no, I meant a wide card");
    assert_eq!(passed_over(&made), [(PassedOver::Corrected, 1), (PassedOver::Superseded, 1)]);
}

#[test]
fn a_correction_without_a_better_answer_still_says_what_was_not_meant() {
    let talk = session("a").wants("make a card").makes("card.py", "first", 0).objects("no");
    insta::assert_snapshot!(told(&extracted(vec![talk]).examples), @r#"negative make a card |  | no [] - not "first" ×2.00 from 1,2,3"#);
}

#[test]
fn an_edit_by_hand_is_a_negative_of_the_session_that_made_the_file() {
    let made = session("a").on("feature").wants("make a card").makes("card.py", "first", 0);
    let edited = session("hooks").corrects(
        "",
        CorrectionSource::HandEdit,
        Some("card.py"),
        Some("first"),
        Some("edited"),
    );
    let made = extracted(vec![edited, made]);
    insta::assert_snapshot!(told(&made.examples), @r#"negative make a card [] "edited" not "first" ×2.00 from 1,2,1"#);
    assert_eq!(made.examples[0].origin.session.as_deref(), Some("a"));
    assert_eq!(made.examples[0].origin.branch.as_deref(), Some("feature"));
}

#[test]
fn of_several_edits_by_hand_the_last_is_right() {
    let edit = |corrected: Option<&'static str>| {
        move |script: Script| {
            script.corrects("", CorrectionSource::HandEdit, Some("card.py"), Some("first"), corrected)
        }
    };
    let made = session("a").wants("make a card").makes("card.py", "first", 0);
    let made = edit(Some("third"))(edit(Some("second"))(made));
    insta::assert_snapshot!(told(&extracted(vec![made]).examples), @r#"negative make a card [] "third" not "first" ×2.00 from 1,2,4"#);
    // A file that was deleted was not meant.
    let made = session("a").wants("make a card").makes("card.py", "first", 0);
    insta::assert_snapshot!(told(&extracted(vec![edit(None)(made)]).examples), @r#"negative make a card [] - not "first" ×2.00 from 1,2,3"#);
}

#[test]
fn an_answer_in_words_can_be_corrected_too() {
    let talk = session("a").wants("where is the card?").answers("in view.py").objects("no, the other one");
    insta::assert_snapshot!(told(&extracted(vec![talk]).examples), @r#"negative where is the card? |  | no, the other one [] - not "in view.py" ×2.00 from 1,2,3"#);
    let nothing = extracted(vec![session("a").objects("no")]);
    assert_eq!(passed_over(&nothing), [(PassedOver::NothingToCorrect, 1)]);
}

#[test]
fn checks_that_another_program_asks_for_are_a_chain_too() {
    let checked = session("a")
        .wants("make a card")
        .validates("card.py", "one", &["view"])
        .validates("card.py", "two", &[])
        .validates("other.py", "right", &[]);
    insta::assert_snapshot!(told(&extracted(vec![checked]).examples), @r#"
    corrective make a card [view] "two" not "one" ×1.50 from 1,2,3
    positive make a card [] "right" not - ×1.00 from 1,4
    "#);
}

#[test]
fn the_window_is_the_last_turns_before_the_request() {
    let talk = session("a")
        .says("one")
        .answers("two")
        .says("three")
        .answers("four")
        .says(&"é".repeat(2000))
        .answers("")
        .says("make a card")
        .wants("make a card")
        .answers("here it comes")
        .makes("card.py", "card", 0);
    let made = extracted(vec![talk]);
    let window: Vec<String> = made.examples[0]
        .window
        .iter()
        .map(|turn| {
            format!(
                "{}: {} ({} bytes)",
                turn.role,
                turn.text.chars().take(5).collect::<String>(),
                turn.text.len()
            )
        })
        .collect();
    assert_eq!(
        window,
        [
            "assistant: two (3 bytes)",
            "user: three (5 bytes)",
            "assistant: four (4 bytes)",
            "user: ééééé (2003 bytes)"
        ]
    );
}

#[test]
fn a_spec_tells_why_in_its_first_lines_and_nothing_outside_the_project_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    std::fs::create_dir_all(root.join("specs/card")).unwrap();
    std::fs::write(folder.path().join("secret.md"), "# Secret\n\nhidden").unwrap();
    let text = "---\nowner: x\n---\n\n# Cards\n\n## Why\nPeople want cards.\nMany of them.\n\nMore.\n";
    std::fs::write(root.join("specs/card/spec.md"), text).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("secret.md"), root.join("specs/link.md")).unwrap();
    let specs = SpecFiles::new(&root);
    let settings = ExtractSettings { specs: Some(&specs), ..ExtractSettings::default() };
    let context = |spec: &str| {
        let made = session("a").by_spec(spec).wants("make a card").makes("card.py", "card", 0);
        extracted_with(vec![made], &settings).examples[0].context.clone()
    };
    assert_eq!(context("specs/card").as_deref(), Some("Cards\nPeople want cards. Many of them."));
    assert_eq!(context("specs/card/spec.md").as_deref(), Some("Cards\nPeople want cards. Many of them."));
    let outside = folder.path().join("secret.md");
    for hostile in ["../secret.md", outside.to_str().unwrap(), "specs/link.md", "specs/none.md", "specs", ""]
    {
        assert_eq!(context(hostile), None, "{hostile}");
    }
}

#[test]
fn sessions_that_were_forgotten_or_that_answered_evaluations_are_left_out() {
    let made = |name: &str| session(name).wants("make a card").makes("card.py", "card", 0);
    let evaluated = made("eval").event(EventKind::Evaluation {
        suite: "cards".to_owned(),
        prompt: "make a card".to_owned(),
        seed: 1,
        passed: true,
        problems: Vec::new(),
        tokens: Tokens::default(),
        milliseconds: 1,
    });
    let settings = ExtractSettings { forgotten: ["gone".to_owned()].into(), ..ExtractSettings::default() };
    let made = extracted_with(vec![made("gone"), evaluated, made("kept")], &settings);
    assert_eq!(made.examples.len(), 1);
    assert_eq!(made.examples[0].origin.session.as_deref(), Some("kept"));
    assert_eq!(passed_over(&made), [(PassedOver::ForgottenSession, 1), (PassedOver::EvaluationSession, 1)]);
}

#[test]
fn what_was_answered_in_the_shadow_is_no_example() {
    let shown = session("a")
        .wants("make a card")
        .makes("card.py", "card", 0)
        .event(shadow("card.py", "another card"))
        .confirms();
    let unseen = session("b").wants("make a page").event(shadow("page.py", "page"));
    let made = extracted(vec![shown, unseen]);
    assert_eq!(made.examples.len(), 1);
    assert_eq!(made.examples[0].chosen.as_deref(), Some("card"));
    assert_eq!(made.examples[0].rejected, None);
}

#[test]
fn a_program_in_which_one_tool_feeds_another_is_an_example() {
    let code = "for hit in search('card'):\n    print(read(hit.path).text)";
    let talk = session("a").wants("what do cards say?").runs(code, &["search", "read"]).confirms();
    insta::assert_snapshot!(told(&extracted(vec![talk]).examples), @r#"multi_tool what do cards say? [search read] "for hit in search('card'):\n    print(read(hit.path).text)" not - ×1.30 from 1,2,3"#);
    let independent = session("a").wants("do it").runs("search(1)\nread(2)", &["search", "read"]).confirms();
    assert_eq!(passed_over(&extracted(vec![independent])), [(PassedOver::Independent, 1)]);
    let unknown_end = session("a").wants("what do cards say?").runs(code, &["search", "read"]);
    assert_eq!(passed_over(&extracted(vec![unknown_end])), [(PassedOver::NoGoodEnd, 1)]);
}

#[test]
fn calls_one_after_the_other_are_an_example_if_a_later_one_needs_what_an_earlier_one_found() {
    let talk = session("a")
        .wants("mend the card")
        .calls("find_code", json!({"name": "Card"}), json!({"path": "src/card.py"}), &[])
        .calls("read_file", json!({"path": "src/card.py"}), json!("text"), &[])
        .confirms();
    let made = extracted(vec![talk]);
    insta::assert_snapshot!(told(&made.examples), @"multi_tool mend the card [find_code read_file] - not - ×1.30 from 1,2,3,4");
    assert_eq!(made.examples[0].calls.len(), 2);
    // Everything was known before: nothing depends on anything.
    let talk = session("a")
        .wants("find Card and read src/card.py")
        .calls("find_code", json!({"name": "Card"}), json!({"path": "src/card.py"}), &[])
        .calls("read_file", json!({"path": "src/card.py"}), json!("text"), &[])
        .confirms();
    assert_eq!(passed_over(&extracted(vec![talk])), [(PassedOver::Independent, 1)]);
    let cut = session("a")
        .wants("mend the card")
        .calls("find_code", json!({"name": "Card"}), json!({"path": "src/card.py"}), &[])
        .calls("write_file", json!({"path": "src/card.py", "text": {"$cut": 9000}}), json!("text"), &[])
        .confirms();
    assert_eq!(passed_over(&extracted(vec![cut])), [(PassedOver::CutArguments, 1)]);
}

#[test]
fn handing_in_code_that_fails_is_no_part_of_how_tools_work_together() {
    let hand_in = |code: &str| json!({"artifact_type": "component", "code": code});
    let talk = session("a")
        .wants("mend the card")
        .calls("find_code", json!({"name": "Card"}), json!({"path": "src/card.py"}), &[])
        .calls("read_file", json!({"path": "src/card.py"}), json!("text"), &[])
        .validates("src/card.py", "bad", &["view"])
        .calls("generate_artifact", hand_in("bad"), json!({"success": false}), &[])
        .validates("src/card.py", "good", &[])
        .retries("src/card.py", 1, &["view"], "bad", "good", true)
        .calls("generate_artifact", hand_in("good"), json!({"success": true}), &[])
        .makes("src/card.py", "good", 1);
    insta::assert_snapshot!(told(&extracted(vec![talk]).examples), @r#"
    corrective mend the card [view] "good" not "bad" ×1.50 from 1,7,9
    multi_tool mend the card [find_code read_file generate_artifact] - not - ×1.30 from 1,2,3,8
    "#);
}

#[test]
fn a_field_that_no_result_has_spoils_an_example() {
    let talk = |code: &str| {
        session("a")
            .wants("what do cards say?")
            .calls("search", json!({"q": "card"}), json!([{"path": "a.py"}]), &[])
            .runs(code, &["search", "read"])
            .confirms()
    };
    let honest = extracted(vec![talk("for hit in search('card'):\n    read(hit.path)")]);
    assert_eq!(honest.examples.len(), 1);
    let invented = extracted(vec![talk("for hit in search('card'):\n    read(hit.file_name)")]);
    assert!(invented.examples.is_empty());
    assert_eq!(passed_over(&invented), [(PassedOver::FabricatedField, 1)]);
}

#[test]
fn the_last_word_on_an_example_counts() {
    let reviewed = session("a")
        .reviews("x", ReviewVerdict::Accept, None)
        .reviews("x", ReviewVerdict::Correct, Some("better"))
        .reviews("y", ReviewVerdict::Reject, None);
    let reviews = extracted(vec![reviewed]).reviews;
    assert_eq!(reviews["x"].corrected.as_deref(), Some("better"));
    assert_eq!(reviews["y"].verdict, ReviewVerdict::Reject);
}

/// One session of 8 to 10 turns: one artifact that needs retries, one that is right at once or confirmed.
fn simple_branch(retries: u32, with_second: bool) -> Vec<Script> {
    let rules = ["view", "title", "types"];
    let mut script = session("simple").on("simple").wants("make a card").answers("I will.");
    for attempt in 1..=retries {
        let (original, corrected) = (format!("card {attempt}"), format!("card {}", attempt + 1));
        let rule = rules[attempt as usize - 1];
        script = script.retries("card.py", attempt, &[rule], &original, &corrected, attempt == retries);
        script = script.answers("mended");
    }
    script = script.makes("card.py", &format!("card {}", retries + 1), retries);
    if with_second {
        script = script.wants("and its test").makes("test_card.py", "test", 0);
    }
    vec![script.says("looks good so far").answers("thank you").confirms()]
}

/// Three sessions: retries and corrections spread over them.
fn complex_branch(retries: u32, corrections: u32) -> Vec<Script> {
    let mut scripts = Vec::new();
    let mut left = corrections;
    for number in 0..3 {
        let path = format!("part{number}.py");
        let mut script =
            session(&format!("complex{number}")).on("complex").wants(&format!("make part {number}"));
        let own = retries / 3 + u32::from(number < retries % 3);
        for attempt in 1..=own {
            let (original, corrected) = (format!("{path} {attempt}"), format!("{path} {}", attempt + 1));
            let rule = format!("rule{attempt}");
            script = script.retries(&path, attempt, &[&rule], &original, &corrected, attempt == own);
        }
        script = script.makes(&path, &format!("{path} {}", own + 1), own).answers("done");
        if left > 0 {
            left -= 1;
            script = script.objects("no, I meant another part").makes(&path, &format!("{path} other"), 0);
            script = script.says("go on");
        }
        // One more thing at the end, which is right at once.
        if number == 2 {
            script = script.wants("and a page").makes("page.py", "page", 0);
        }
        scripts.push(script);
    }
    scripts
}

/// One session with retries that nobody went on with.
fn closed_branch(retries: u32) -> Vec<Script> {
    let mut scripts = simple_branch(retries, false);
    let events = &mut scripts[0].events;
    events.retain(|event| !matches!(event.kind, EventKind::UserConfirmation { .. }));
    for event in events {
        event.context.branch = Some("closed".to_owned());
    }
    scripts
}

#[test]
fn branches_yield_what_they_are_expected_to() {
    let outcomes = || {
        session("git-1")
            .event(EventKind::BranchMerged {
                merged: "simple".to_owned(),
                into: "main".to_owned(),
                way: MergeWay::Squash,
                tip: None,
                sessions: vec!["simple".to_owned()],
            })
            .event(EventKind::BranchMerged {
                merged: "complex".to_owned(),
                into: "main".to_owned(),
                way: MergeWay::Merge,
                tip: None,
                sessions: (0..3).map(|number| format!("complex{number}")).collect(),
            })
            .event(EventKind::BranchClosed {
                closed: "closed".to_owned(),
                reported: true,
                tip: None,
                sessions: vec!["simple".to_owned()],
            })
    };
    let mut table = String::new();
    let mut line = |name: &str, scripts: Vec<Script>, expected: std::ops::RangeInclusive<usize>| {
        let made = extracted(scripts.into_iter().chain([outcomes()]).collect()).examples;
        assert!(
            expected.contains(&made.len()),
            "{name}: {} is not in {expected:?}\n{}",
            made.len(),
            told(&made)
        );
        let weights: Vec<String> =
            made.iter().map(|example| format!("{:.2}", example.weight.total())).collect();
        let types: Vec<&str> = made.iter().map(|example| example.example_type.name()).collect();
        table.push_str(&format!("{name}: {} = {} ({})\n", made.len(), types.join(" "), weights.join(" ")));
    };
    for retries in 2..=3 {
        for with_second in [false, true] {
            let name =
                format!("simple, {retries} retries{}", if with_second { ", two artifacts" } else { "" });
            line(&name, simple_branch(retries, with_second), 3..=5);
        }
    }
    for retries in 4..=6 {
        for corrections in 2..=3 {
            let name = format!("complex, {retries} retries, {corrections} corrections");
            line(&name, complex_branch(retries, corrections), 7..=10);
        }
    }
    for retries in 2..=3 {
        line(&format!("closed, {retries} retries"), closed_branch(retries), 2..=3);
    }
    insta::assert_snapshot!(table, @"
    simple, 2 retries: 3 = corrective corrective positive (1.80 1.80 1.20)
    simple, 2 retries, two artifacts: 3 = corrective corrective positive (1.80 1.80 1.20)
    simple, 3 retries: 4 = corrective corrective corrective positive (1.80 1.80 1.80 1.20)
    simple, 3 retries, two artifacts: 4 = corrective corrective corrective positive (1.80 1.80 1.80 1.20)
    complex, 4 retries, 2 corrections: 7 = corrective corrective negative corrective negative corrective positive (1.80 1.80 2.40 1.80 2.40 1.80 1.20)
    complex, 4 retries, 3 corrections: 8 = corrective corrective negative corrective negative corrective positive negative (1.80 1.80 2.40 1.80 2.40 1.80 1.20 2.40)
    complex, 5 retries, 2 corrections: 8 = corrective corrective negative corrective corrective negative corrective positive (1.80 1.80 2.40 1.80 1.80 2.40 1.80 1.20)
    complex, 5 retries, 3 corrections: 9 = corrective corrective negative corrective corrective negative corrective positive negative (1.80 1.80 2.40 1.80 1.80 2.40 1.80 1.20 2.40)
    complex, 6 retries, 2 corrections: 9 = corrective corrective negative corrective corrective negative corrective corrective positive (1.80 1.80 2.40 1.80 1.80 2.40 1.80 1.80 1.20)
    complex, 6 retries, 3 corrections: 10 = corrective corrective negative corrective corrective negative corrective corrective positive negative (1.80 1.80 2.40 1.80 1.80 2.40 1.80 1.80 1.20 2.40)
    closed, 2 retries: 2 = corrective corrective (0.75 0.75)
    closed, 3 retries: 3 = corrective corrective corrective (0.75 0.75 0.75)
    ");
}

#[test]
fn one_session_of_everything_takes_no_longer_than_many() {
    let mut script = session("a").wants("make a card");
    for number in 0..5000 {
        script = script
            .makes("card.py", &format!("code {number}"), 0)
            .objects("no")
            .retries(&format!("{number}.py"), 1, &["view"], "one", "two", false)
            .confirms();
    }
    let made = extracted(vec![script]);
    assert_eq!(made.events, 20_001);
    assert_eq!(made.examples.len(), 5000);
}

/// A session with something of everything.
fn everything(name: &str) -> Script {
    session(name)
        .on("feature")
        .wants("make a card")
        .retries("card.py", 1, &["view", "title"], "one", "two", false)
        .retries("card.py", 2, &["title"], "two", "three", true)
        .makes("card.py", "three", 2)
        .proposal(&format!("{name}-p"), ProposalDecision::Made, &["card.py"])
        .confirms()
        .wants("make a page")
        .makes("page.py", "page", 0)
        .objects("no, a list")
        .makes("page.py", "list", 0)
        .wants("mend the list")
        .calls("find_code", json!({"name": "List"}), json!({"path": "src/list.py"}), &[])
        .calls("read_file", json!({"path": "src/list.py"}), json!("text"), &[])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn the_same_events_give_the_same_bytes_in_whatever_order_they_are_read(seed in any::<u64>()) {
        let events: Vec<Event> = ["a", "b", "c"].into_iter().flat_map(|name| everything(name).events).collect();
        let expected = serde_json::to_vec(&extract(events.clone(), &ExtractSettings::default())).unwrap();
        let mut shuffled = events.clone();
        let mut state = seed | 1;
        for index in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            shuffled.swap(index, (state >> 33) as usize % (index + 1));
        }
        // A file that is read twice changes nothing but the count of what was read.
        let again = extract(shuffled.clone(), &ExtractSettings::default());
        prop_assert_eq!(serde_json::to_vec(&again).unwrap(), expected);
        let twice = extract(shuffled.into_iter().chain(events), &ExtractSettings::default());
        prop_assert_eq!(twice.examples, again.examples);
    }

    #[test]
    fn no_script_breaks_it(steps in prop::collection::vec((0u8..12, 0u8..3, 0u32..4), 0..40)) {
        let mut script = session("a");
        for (step, path, number) in steps {
            let path = format!("{path}.py");
            script = match step {
                0 => script.wants("make"),
                1 => script.says("hello"),
                2 => script.answers("answer"),
                3 => script.retries(&path, number, &["view"], "one", "two", number > 2),
                4 => script.makes(&path, &format!("code {number}"), number),
                5 => script.gives_up(&path, "bad", number),
                6 => script.objects("no"),
                7 => script.confirms(),
                8 => script.proposal("p", ProposalDecision::Made, &[&path]),
                9 => script.validates(&path, "checked", &[]),
                10 => script.runs("search(1)\nread(2)", &["search", "read"]),
                _ => script.calls("search", json!({"q": "words"}), json!({}), &["search.x"]),
            };
        }
        let made = extracted(vec![script]);
        for example in &made.examples {
            prop_assert_eq!(&example.id, &example.content_id());
            prop_assert!(!example.origin.events.is_empty());
            prop_assert!(example.chosen.is_some() || example.rejected.is_some() || !example.calls.is_empty());
            prop_assert_ne!(&example.chosen, &example.rejected);
        }
    }
}
