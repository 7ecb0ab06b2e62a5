//! What would make answers better: measured on one half, confirmed on the other.

use std::sync::Arc;

use grail_agent::AgentError;
use grail_agent::evaluate::EvaluateSettings;
use grail_agent::improve::{
    Cost, ImproveSettings, Improvements, Lever, LeverReport, Train, improve_contender,
};
use grail_agent::promotion::Scales;
use grail_flywheel::dataset::build::prompt_hash;
use grail_flywheel::dataset::{Draft, freeze};
use grail_flywheel::phase::{Phase, PhaseState, Phases, hash_adapter};
use grail_flywheel::suite::{Suite, shuffled};
use grail_model::{Model, Scripted, Step};
use serde_json::json;

use crate::pupil::{Pupil, Say, suite};
use crate::sample::{Sample, write};

fn settings() -> EvaluateSettings {
    EvaluateSettings { types: false, render: false, ..EvaluateSettings::with_seeds(1) }
}

/// What is found for a pupil.
async fn improved(
    sample: &Sample,
    suite: &Suite,
    pupil: Pupil,
    proposer: Option<&dyn Model>,
    train: Option<&Train<'_>>,
) -> Improvements {
    let settings = ImproveSettings { evaluate: settings(), proposer, candidates: 2, train };
    let pupil = pupil.contender("pupil");
    improve_contender(&sample.workspace, suite, pupil, &settings, &|_, _| {}).await.unwrap()
}

fn lever(found: &Improvements, lever: Lever) -> &LeverReport {
    found.levers.iter().find(|report| report.lever == lever).unwrap()
}

/// What a lever cost beside its time.
fn asked(report: &LeverReport) -> (usize, u64) {
    let Cost { answers, output_tokens, .. } = report.cost.unwrap();
    (answers, output_tokens)
}

/// A component without its annotation: a rule says so, and its fix is safe.
const BARE: &str = "```python\ndef Card(*, title: str):\n    return t\"<p>{title}</p>\"\n```";

#[tokio::test]
async fn a_text_that_helps_is_accepted_on_the_half_that_did_not_choose_it() {
    let sample = Sample::new(&[]);
    let suite = suite(40);
    let pupil = || {
        Pupil::new(&sample, &suite, |id, request| {
            let is_told = request.messages[0].content.contains("## Missed most often");
            if id.starts_with("service") || is_told { Say::Right } else { Say::Text(BARE.to_owned()) }
        })
    };
    let found = improved(&sample, &suite, pupil(), None, None).await;
    let text = lever(&found, Lever::SkillText);
    assert!(text.accepted, "{text:?}");
    assert_eq!(text.gained.unwrap().estimate, 1.0);
    assert_eq!(text.confirmed.unwrap().estimate, 1.0);
    let (answers, tokens) = asked(text);
    assert!(answers > 20 && tokens == 20 * answers as u64, "{:?}", text.cost);
    assert_eq!(found.texts.len(), 1);
    assert_eq!(found.texts[0].skill, "tdom-components");
    assert_eq!(found.levers.last().unwrap().lever, Lever::Training);
    // What is remembered was not asked now, and costs nothing.
    let again = improved(&sample, &suite, pupil(), None, None).await;
    let text = lever(&again, Lever::SkillText);
    assert!(text.accepted && asked(text) == (0, 0), "{text:?}");
}

#[tokio::test]
async fn a_text_that_a_model_proposes_has_to_win_as_well() {
    let sample = Sample::new(&[]);
    let suite = suite(24);
    let pupil = Pupil::new(&sample, &suite, |id, _| {
        if id.starts_with("service") { Say::Right } else { Say::Text(BARE.to_owned()) }
    });
    let proposer = Scripted::new([Step::Say("```markdown\n# Cards\nBe brief.\n```".to_owned())]);
    let settings =
        ImproveSettings { evaluate: settings(), proposer: Some(&proposer), candidates: 1, train: None };
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
    let settings =
        ImproveSettings { evaluate: settings(), proposer: Some(&proposer), candidates: 4, train: None };
    let found = improve_contender(&sample.workspace, &suite, pupil.contender("pupil"), &settings, &|_, _| {})
        .await
        .unwrap();
    let fix = found.levers.iter().find(|report| report.lever == Lever::Fix).unwrap();
    assert!(fix.accepted, "{fix:?}");
    assert!(fix.gained.unwrap().estimate > 0.3 && fix.confirmed.unwrap().estimate > 0.3, "{fix:?}");
    assert_eq!(asked(fix), (4, 0));
    // The text was asked for as well, and nothing came of it.
    let text = lever(&found, Lever::SkillText);
    assert_eq!((asked(text), text.gained), ((4, 0), None));
    assert_eq!(text.next, "nothing was proposed that could be tried; leave the text as it is");
    assert_eq!((found.fixes[0].skill.as_str(), found.fixes[0].rule.as_str()), ("shop", "no-print"));
    assert!(found.fixes[0].text.contains("- replace: log($TEXT)"));
    let requests = proposer.asked();
    assert!(requests[0].messages[1].content.contains("# Nothing is printed"));
    assert!(requests[0].messages[1].content.contains("print(\"made\")"));
}

#[tokio::test]
async fn what_fails_on_the_half_that_confirms_is_shown_to_nobody() {
    let sample = Sample::new(&[(".agents/skills/shop/rules/no-print.md", PRINTED)]);
    let suite = suite(40);
    let ids = shuffled(suite.prompts.iter().map(|prompt| prompt.id.as_str()), 1);
    let confirming: Vec<String> = ids.into_iter().skip(1).step_by(2).map(str::to_owned).collect();
    let pupil = Pupil::new(&sample, &suite, move |id, _| {
        let fails = id.starts_with("component") && confirming.iter().any(|known| known == id);
        if fails { Say::Then("print(\"made\")\n") } else { Say::Right }
    });
    let proposer = Scripted::new([]);
    let found = improved(&sample, &suite, pupil, Some(&proposer), None).await;
    assert_eq!(found.failures[0].rule, "no-print");
    assert_eq!(proposer.asked().len(), 0);
    let levers: Vec<Lever> = found.levers.iter().map(|report| report.lever).collect();
    assert_eq!(levers, [Lever::Training]);
}

#[tokio::test]
async fn drafts_that_do_not_hold_have_cost_something_all_the_same() {
    let sample = Sample::new(&[(".agents/skills/shop/rules/no-print.md", PRINTED)]);
    let suite = suite(40);
    let pupil = Pupil::new(&sample, &suite, |id, _| match id.starts_with("service") {
        true => Say::Right,
        false => Say::Then("print(\"made\")\n"),
    });
    let proposer = Scripted::new(vec![Step::Say("No.".to_owned()); 4]);
    let found = improved(&sample, &suite, pupil, Some(&proposer), None).await;
    let fix = lever(&found, Lever::Fix);
    assert!(fix.what.ends_with("; no draft of one holds"), "{fix:?}");
    assert_eq!(asked(fix), (2, 0));
}

/// A phase that says what it has learned, all but the suite.
fn phase(sample: &Sample, suite: &Suite) -> Phase {
    let mut draft = Draft::default();
    draft.sources.held_out_prompts = suite.prompts.iter().map(|prompt| prompt_hash(&prompt.prompt)).collect();
    draft.sources.held_out_prompts.sort();
    let dataset = freeze(sample.root(), &draft).unwrap().manifest.hash;
    let begun = json!({
        "format": 0,
        "id": "",
        "base": {"name": "pupil", "sha256": "0123456789abcdef0123"},
        "dataset": dataset,
        "trainer": "local",
        "seed": 0,
        "started": "",
        "state": {"state": "training"},
    });
    let phases = Phases::new(sample.root());
    let mut phase = phases.begin(serde_json::from_value(begun).unwrap()).unwrap();
    let folder = phases.adapter_folder(&phase.id);
    write(&folder, "adapters.safetensors", "weights");
    phase.adapter = Some(hash_adapter(&folder).unwrap());
    phase.identity = Some("0123456789abcdef+fedcba9876543210".to_owned());
    phase.state = PhaseState::Trained;
    phases.save(&phase).unwrap();
    phase
}

/// What training is told to have come to, if the base knows a quarter and the phase what `knows` says.
async fn trained(knows: fn(&str) -> bool) -> (LeverReport, String) {
    let (sample, suite) = (Sample::new(&[]), suite(48));
    let phase = phase(&sample, &suite);
    let pupil = |knows: fn(&str) -> bool| {
        Pupil::new(&sample, &suite, move |id, _| if knows(id) { Say::Right } else { Say::Broken })
    };
    let quarter: fn(&str) -> bool = |id| id.ends_with('4') || id.ends_with('5');
    let train = || -> Result<(Phase, Scales), AgentError> {
        let mut candidate = pupil(knows).contender(&phase.id).in_phase(&phase.id);
        candidate.identity = phase.identity.clone().unwrap();
        Ok((phase.clone(), Scales { candidate, base: pupil(quarter).contender("pupil"), current: None }))
    };
    let found = improved(&sample, &suite, pupil(quarter), None, Some(&train)).await;
    assert_eq!(Phases::new(sample.root()).current().unwrap().phase, None, "nothing is promoted unasked");
    (lever(&found, Lever::Training).clone(), phase.id)
}

#[tokio::test]
async fn training_is_weighed_by_the_gate_and_told_with_what_it_cost() {
    let (report, phase) = trained(|id| !id.ends_with('2')).await;
    assert!(report.accepted && report.gained.unwrap().interval.low > 0.3, "{report:?}");
    assert_eq!(report.what, format!("phase `{phase}` after `pupil`"));
    assert_eq!(report.next, format!("`grail promote {phase}` lets it answer"));
    // The phase, and the base with the skill: the base without it was asked before.
    assert_eq!(asked(&report), (96, 1920));
    let (report, _) = trained(|_| false).await;
    assert!(!report.accepted && report.gained.unwrap().estimate < 0.0, "{report:?}");
    assert!(
        report.next.starts_with("the gate refuses it, so it is kept and does not answer: it is no win: "),
        "{report:?}"
    );
}

#[tokio::test]
async fn training_is_tried_only_if_somebody_asks_for_it_and_may_fail() {
    let (sample, suite) = (Sample::new(&[]), suite(8));
    let pupil = || Pupil::new(&sample, &suite, |_, _| Say::Right);
    let found = improved(&sample, &suite, pupil(), None, None).await;
    let report = lever(&found, Lever::Training);
    assert_eq!((report.cost, report.accepted), (None, false));
    assert!(report.next.starts_with("`grail improve --train` trains one"), "{report:?}");
    let fail = || -> Result<(Phase, Scales), AgentError> {
        let (message, hint) = ("there is no memory".to_owned(), Some("wait".to_owned()));
        Err(AgentError::Training { message, hint })
    };
    let found = improved(&sample, &suite, pupil(), None, Some(&fail)).await;
    let report = lever(&found, Lever::Training);
    assert_eq!((asked(report), report.gained), ((0, 0), None));
    assert_eq!(report.next, "nothing came of it: there is no memory; wait");
}

#[tokio::test]
async fn what_training_would_cost_is_told_by_the_last_phase() {
    let (sample, suite) = (Sample::new(&[]), suite(8));
    let mut phase = phase(&sample, &suite);
    let curves = json!([{"step": 1, "seconds": 465.2}, {"step": 2, "seconds": 930.4}]);
    phase.curves = serde_json::from_value(curves).unwrap();
    Phases::new(sample.root()).save(&phase).unwrap();
    let pupil = Pupil::new(&sample, &suite, |_, _| Say::Right);
    let found = improved(&sample, &suite, pupil, None, None).await;
    assert_eq!(
        lever(&found, Lever::Training).next,
        "`grail improve --train` trains one and weighs it as `grail promote` does; 0 of 0 examples are new, the last \
         phase took 930 s"
    );
}
