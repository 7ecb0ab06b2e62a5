//! What would make answers better: measured on one half, confirmed on the other.

use std::sync::Arc;

use grail_agent::evaluate::EvaluateSettings;
use grail_agent::improve::{ImproveSettings, Lever, improve_contender};
use grail_model::{Scripted, Step};

use crate::pupil::{Pupil, Say, suite};
use crate::sample::Sample;

fn settings() -> EvaluateSettings {
    EvaluateSettings { types: false, render: false, ..EvaluateSettings::with_seeds(1) }
}

/// A component without its annotation: a rule says so, and its fix is safe.
const BARE: &str = "```python\ndef Card(*, title: str):\n    return t\"<p>{title}</p>\"\n```";

#[tokio::test]
async fn a_text_that_helps_is_accepted_on_the_half_that_did_not_choose_it() {
    let sample = Sample::new(&[]);
    let suite = suite(40);
    let pupil = Pupil::new(&sample, &suite, |id, request| {
        let is_told = request.messages[0].content.contains("## Missed most often");
        if id.starts_with("service") || is_told { Say::Right } else { Say::Text(BARE.to_owned()) }
    });
    let settings = ImproveSettings { evaluate: settings(), proposer: None, candidates: 2 };
    let found = improve_contender(&sample.workspace, &suite, pupil.contender("pupil"), &settings, &|_, _| {})
        .await
        .unwrap();
    let text = found.levers.iter().find(|report| report.lever == Lever::SkillText).unwrap();
    assert!(text.accepted, "{text:?}");
    assert_eq!(text.gained.unwrap().estimate, 1.0);
    assert_eq!(text.confirmed.unwrap().estimate, 1.0);
    assert!(text.cost.answers > 20, "{:?}", text.cost);
    assert_eq!(found.texts.len(), 1);
    assert_eq!(found.texts[0].skill, "tdom-components");
    assert_eq!(found.levers.last().unwrap().lever, Lever::Training);
}

#[tokio::test]
async fn a_text_that_a_model_proposes_has_to_win_as_well() {
    let sample = Sample::new(&[]);
    let suite = suite(24);
    let pupil = Pupil::new(&sample, &suite, |id, _| {
        if id.starts_with("service") { Say::Right } else { Say::Text(BARE.to_owned()) }
    });
    let proposer = Scripted::new([Step::Say("```markdown\n# Cards\nBe brief.\n```".to_owned())]);
    let settings = ImproveSettings { evaluate: settings(), proposer: Some(&proposer), candidates: 1 };
    let found = improve_contender(&sample.workspace, &suite, pupil.contender("pupil"), &settings, &|_, _| {})
        .await
        .unwrap();
    let text = found.levers.iter().find(|report| report.lever == Lever::SkillText).unwrap();
    assert!(!text.accepted && found.texts.is_empty());
    assert_eq!(text.next, "none of them gained anything; leave the text as it is");
    let asked = Arc::new(proposer.asked());
    assert!(asked[0].messages[1].content.contains("def Card(*, title: str)"));
}

const PRINTED: &str = "---\nid: no-print\nseverity: error\n---\n\n# Nothing is printed\n\nWhat is printed is lost.\n\n\
    ```yaml rule\nmatch: print($TEXT)\nmessage: \"this is printed\"\n```\n\n\
    ## Bad\n\n```python\nprint(1)  # error: this is printed\n```\n\n## Good\n\n```python\nlog(1)\n```\n";

/// The same rule with a fix, as a model hands it in.
fn drafted(step: &str, fixed: &str) -> Step {
    let rule = PRINTED
        .replace("severity: error\n", "severity: error\nfix: unsafe\n")
        .replace("printed\"\n```", &format!("printed\"\nfix:\n  - {step}\n```"))
        .replace("\n## Good", &format!("\n```python fixed\n{fixed}\n```\n\n## Good"));
    Step::Say(format!("Here it is:\n````markdown\n{rule}````\n"))
}

/// A draft whose rule overlooks what it is shown: with it, nothing would be wrong any more.
fn narrowed(step: Step) -> Step {
    match step {
        Step::Say(text) => Step::Say(text.replace("match: print($TEXT)", "match: print(1)")),
        other => other,
    }
}

#[tokio::test]
async fn a_drafted_fix_is_accepted_if_its_examples_hold_and_it_mends_answers() {
    let sample = Sample::new(&[(".agents/skills/shop/rules/no-print.md", PRINTED)]);
    let suite = suite(40);
    let pupil = Pupil::new(&sample, &suite, |id, _| match id.starts_with("service") {
        true => Say::Right,
        false => Say::Then("print(\"made\")\n"),
    });
    let proposer = Scripted::new([
        // Not what its example says; then no rule at all; then one that finds less than it should; then a good one. Of the skill's text it
        // has nothing to say.
        drafted("replace: log($TEXT)", "say(1)"),
        Step::Say("I would rather not.".to_owned()),
        narrowed(drafted("replace: log($TEXT)", "log(1)")),
        drafted("replace: log($TEXT)", "log(1)"),
        Step::Say("No.".to_owned()),
        Step::Say("No.".to_owned()),
        Step::Say("No.".to_owned()),
        Step::Say("No.".to_owned()),
    ]);
    let settings = ImproveSettings { evaluate: settings(), proposer: Some(&proposer), candidates: 4 };
    let found = improve_contender(&sample.workspace, &suite, pupil.contender("pupil"), &settings, &|_, _| {})
        .await
        .unwrap();
    let fix = found.levers.iter().find(|report| report.lever == Lever::Fix).unwrap();
    assert!(fix.accepted, "{fix:?}");
    assert!(fix.gained.unwrap().estimate > 0.3 && fix.confirmed.unwrap().estimate > 0.3, "{fix:?}");
    assert_eq!(fix.cost.answers, 4);
    assert_eq!((found.fixes[0].skill.as_str(), found.fixes[0].rule.as_str()), ("shop", "no-print"));
    assert!(found.fixes[0].text.contains("- replace: log($TEXT)"));
    let asked = proposer.asked();
    assert!(asked[0].messages[1].content.contains("# Nothing is printed"));
    assert!(asked[0].messages[1].content.contains("print(\"made\")"));
}
