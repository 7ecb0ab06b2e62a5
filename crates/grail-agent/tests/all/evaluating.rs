//! A suite asked of a model: what passes, what is kept, and what is refused.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use grail_agent::AgentError;
use grail_agent::compare::{CompareArms, compare_arms};
use grail_agent::evaluate::{
    ArmOf, Contender, EvaluateSettings, Evaluated, SkillTexts, evaluate, evaluate_with_controls,
};
use grail_agent::report::{comparison_page, evaluation_page};
use grail_flywheel::EventKind;
use grail_flywheel::evaluation::Answer;
use grail_flywheel::metrics::report::About;
use grail_flywheel::statistics::Decision;
use grail_flywheel::suite::Suite;
use grail_model::{ChatRequest, ModelError, Role};

use crate::pupil::{Pupil, Say, suite};
use crate::sample::Sample;
use crate::tools::with_tools;

fn settings(seeds: u64) -> EvaluateSettings {
    EvaluateSettings { types: false, render: false, ..EvaluateSettings::with_seeds(seeds) }
}

fn plain(contender: &Contender) -> ArmOf<'_> {
    ArmOf::told(contender, None)
}

async fn ask(
    sample: &Sample,
    suite: &Suite,
    contender: &Contender,
    settings: &EvaluateSettings,
) -> Result<Evaluated, AgentError> {
    evaluate(&sample.workspace, suite, plain(contender), settings, &|_| {}).await
}

/// First try and with fixes.
fn passed(evaluated: &Evaluated) -> (u64, u64) {
    let tally = evaluated.evaluation.score().all;
    (tally.first_try.passed, tally.with_fixes.passed)
}

#[tokio::test]
async fn the_template_model_is_evaluated_like_any_other() {
    let sample = Sample::new(&[]);
    let suite = suite(8);
    let many = evaluate_with_controls(&sample.workspace, &suite, "template", &settings(1), &|_, _| {})
        .await
        .unwrap();
    let told: Vec<(String, u64, u64)> = many
        .evaluations
        .iter()
        .map(|evaluation| {
            let tally = evaluation.score().all;
            (evaluation.arm.name.clone(), tally.first_try.passed, tally.first_try.of)
        })
        .collect();
    assert_eq!(told, [("template".to_owned(), 8, 8), ("template with the skill".to_owned(), 8, 8)]);
    assert!(many.evaluations[0].arm.identity.starts_with("template@"));
    // What was evaluated is kept and not asked again.
    let again = evaluate_with_controls(&sample.workspace, &suite, "template", &settings(1), &|_, _| {})
        .await
        .unwrap();
    assert_eq!(again.remembered, 16);
    assert_eq!(again.evaluations, many.evaluations);
}

#[tokio::test]
async fn every_answer_is_an_event_once() {
    let sample = Sample::new(&[]);
    let suite = suite(4);
    let pupil =
        Pupil::new(&sample, &suite, |id, _| if id == "service-01" { Say::Broken } else { Say::Right });
    let contender = pupil.contender("pupil").in_phase("p1-abcdef");
    let evaluated = ask(&sample, &suite, &contender, &settings(2)).await.unwrap();
    assert_eq!(passed(&evaluated), (6, 6));
    ask(&sample, &suite, &contender, &settings(2)).await.unwrap();
    let events = sample.events.events();
    let told: Vec<(String, u64, bool)> = events
        .iter()
        .map(|event| match &event.kind {
            EventKind::Evaluation { prompt, seed, passed, .. } => (prompt.clone(), *seed, *passed),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told.len(), 8);
    assert_eq!(told.iter().filter(|(prompt, _, passed)| prompt == "service-01" && !passed).count(), 2);
    assert!(events.iter().all(|event| event.context.phase.as_deref() == Some("p1-abcdef")));
}

#[tokio::test]
async fn whoever_is_interrupted_goes_on_there() {
    let sample = Sample::new(&[]);
    let suite = suite(6);
    let lost = || ModelError::Unreachable { address: "here".to_owned(), reason: "it is gone".to_owned() };
    let pupil = Pupil::new(
        &sample,
        &suite,
        move |id, _| if id == "service-05" { Say::Fail(lost()) } else { Say::Right },
    );
    let one_by_one = EvaluateSettings { concurrency: 1, ..settings(1) };
    let contender = pupil.contender("pupil");
    let error = ask(&sample, &suite, &contender, &one_by_one).await.err().unwrap();
    assert_eq!(error.to_string(), "no model server answers at `here`: it is gone");
    let pupil = Pupil::new(&sample, &suite, |_, _| Say::Right);
    let asked = Arc::clone(&pupil.asked);
    let evaluated = ask(&sample, &suite, &pupil.contender("pupil"), &one_by_one).await.unwrap();
    assert_eq!((evaluated.remembered, asked.load(Ordering::SeqCst)), (5, 1));
    assert_eq!(passed(&evaluated), (6, 6));
}

#[tokio::test]
async fn a_line_that_was_cut_off_is_asked_for_again() {
    let sample = Sample::new(&[]);
    let suite = suite(3);
    let contender = Pupil::new(&sample, &suite, |_, _| Say::Right).contender("pupil");
    ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
    let folder = sample.root().join(".grail/answers");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(&file, format!("{}\n{}", lines[0], &lines[1][..lines[1].len() / 2])).unwrap();
    let evaluated = ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
    assert_eq!((evaluated.remembered, passed(&evaluated)), (1, (3, 3)));
    let again = ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
    assert_eq!(again.remembered, 3);
}

#[tokio::test]
async fn somebody_else_behind_the_same_name_is_refused() {
    let sample = Sample::new(&[]);
    let suite = suite(4);
    let mut pupil = Pupil::new(&sample, &suite, |_, _| Say::Right);
    pupil.called = Some(Box::new(|number| if number < 3 { "pupil" } else { "impostor" }.to_owned()));
    let one_by_one = EvaluateSettings { concurrency: 1, ..settings(1) };
    let error = ask(&sample, &suite, &pupil.contender("pupil"), &one_by_one).await.err().unwrap();
    assert_eq!(error.to_string(), "`pupil` was asked, but `impostor` answered");
}

#[tokio::test]
async fn answers_are_judged_strictly() {
    let sample = Sample::new(&[]);
    let suite = suite(1);
    let card =
        "from string.templatelib import Template\n\n\ndef UserCard(*, title: str, price: str) -> Template:\n";
    let cases = [
        ("I would rather talk.".to_owned(), vec!["no-code"], false),
        ("```python\ndef UserCard(:\n```".to_owned(), vec!["syntax-error", "syntax-error"], false),
        // An element that nobody closes.
        (
            format!("```python\n{card}    return t\"<p>{{title}} {{price}}\"\n```"),
            vec!["suite/balanced-html"],
            false,
        ),
        // Another name than was asked for.
        (
            format!(
                "```python\n{}    return t\"<p>{{title}} {{price}}</p>\"\n```",
                card.replace("User", "House")
            ),
            vec!["suite/name"],
            false,
        ),
        (format!("```python\n{card}    return t\"<p>{{title}} {{price}}</p>\"\n```"), vec![], true),
    ];
    for (answer, rules, passes) in cases {
        let said = answer.clone();
        let contender = Pupil::new(&sample, &suite, move |_, _| Say::Text(said.clone())).contender(&answer);
        let evaluated = ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
        let found = &evaluated.evaluation.answers[0];
        let broken: Vec<&str> = found.problems.iter().map(|problem| problem.rule.as_str()).collect();
        assert_eq!((broken, found.first_try_passed), (rules, passes), "{answer}");
    }
}

#[tokio::test]
async fn what_a_fix_mends_passes_with_fixes_only() {
    let sample = Sample::new(&[]);
    let suite = suite(1);
    let code = "from string.templatelib import Template\n\n\ndef UserCard(*, title: str, price: str):\n    return t\"<p>{title} {price}</p>\"\n";
    let contender = Pupil::new(&sample, &suite, move |_, _| Say::Text(format!("```python\n{code}```")))
        .contender("pupil");
    let evaluated = ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
    let found = &evaluated.evaluation.answers[0];
    assert_eq!((found.first_try_passed, found.passed_with_fixes), (false, true), "{found:?}");
    assert_eq!(found.fixed, ["component-return-annotation"]);
}

#[tokio::test]
async fn silencing_a_rule_is_not_keeping_it() {
    let sample = Sample::new(&[]);
    let suite = suite(1);
    let code = "def UserCard(*, title: str, price: str):  # grail: ignore[component-return-annotation]\n    return t\"<p>{title} {price}</p>\"\n";
    let contender = Pupil::new(&sample, &suite, move |_, _| Say::Text(format!("```python\n{code}```")))
        .contender("pupil");
    let evaluated = ask(&sample, &suite, &contender, &settings(1)).await.unwrap();
    let found = &evaluated.evaluation.answers[0];
    assert!(!found.first_try_passed && !found.passed_with_fixes, "{found:?}");
    assert!(found.problems.iter().any(|problem| problem.message.contains("silences")), "{found:?}");
}

/// A component for the first prompt that says what it gives, and the same without that, which a fix mends.
fn cards(body: &str) -> [String; 2] {
    [" -> Template", ""].map(|gives| {
        format!(
            "from string.templatelib import Template\n\n\ndef UserCard(*, title: str, price: str){gives}:\n{body}"
        )
    })
}

/// By which layers an answer fails, and whether it passes at first and with fixes.
type Came = (Vec<String>, bool, bool);

/// What each of these answers to the first prompt came to.
async fn judged(sample: &Sample, codes: &[String], settings: EvaluateSettings) -> (Evaluated, Vec<Came>) {
    let said = codes.to_vec();
    let settings = EvaluateSettings { seeds: (1..=codes.len() as u64).collect(), ..settings };
    // Every answer has a seed of its own, so that all are judged together.
    let pupil = Pupil::new(sample, &suite(1), move |_, request| {
        let place = request.seed.unwrap() as usize - 1;
        Say::Text(format!("```python\n{}```", said[place]))
    });
    let evaluated = ask(sample, &suite(1), &pupil.contender("pupil"), &settings).await.unwrap();
    let of_answer = |answer: &Answer| {
        let layers = answer.problems.iter().map(|problem| problem.layer.clone()).collect::<Vec<_>>();
        (layers, answer.first_try_passed, answer.passed_with_fixes)
    };
    let came = evaluated.evaluation.answers.iter().map(of_answer).collect();
    (evaluated, came)
}

fn fails_by(layers: &[&str], first: bool, with_fixes: bool) -> Came {
    (layers.iter().map(|layer| (*layer).to_owned()).collect(), first, with_fixes)
}

#[tokio::test]
async fn an_answer_that_keeps_all_rules_and_has_a_wrong_type_fails() {
    let Some(bench) = with_tools("ty", &[]) else { return };
    let right = "    return t\"<p>{title} {price}</p>\"\n";
    let wrong = "    shown: int = title\n    return t\"<p>{shown} {price}</p>\"\n";
    let mut codes = [cards(right), cards(wrong)].concat();
    let [slip, _] = cards("    return t\"<p>{title.cases} {price}</p>\"\n");
    codes.push(format!("\"\"\"A component UserCard with title and price.\"\"\"\n\n{slip}"));
    let settings = EvaluateSettings { types: true, ..settings(1) };
    let (evaluated, came) = judged(&bench.sample, &codes, settings).await;
    assert_eq!(
        came,
        [
            fails_by(&[], true, true),
            fails_by(&["rules"], false, true),
            fails_by(&["types"], false, false),
            // What a fix leaves is checked for types as well.
            fails_by(&["rules"], false, false),
            // What it says of itself is right.
            fails_by(&["types"], false, true),
        ]
    );
    assert_eq!(evaluated.evaluation.answers[4].fixed, ["first-line"]);
    assert_eq!(evaluated.evaluation.layers, ["syntax", "rules", "types"]);
    assert_eq!(evaluated.notes, Vec::<String>::new());
    let problem = &evaluated.evaluation.answers[2].problems[0];
    assert!(problem.rule == "types" && problem.message.contains("`str`"), "{problem:?}");
    // The same answers, judged by one who does not ask for types.
    let (_, came) = judged(&bench.sample, &codes, self::settings(1)).await;
    let lax = [fails_by(&[], true, true), fails_by(&["rules"], false, true)];
    assert_eq!(came, [&lax[..], &lax, &lax[..1]].concat());
}

#[cfg(unix)]
#[tokio::test]
async fn an_answer_that_keeps_all_rules_and_cannot_be_rendered_fails() {
    let Some(runtime) = crate::generated::wasm_runtime() else { return };
    let sample = Sample::new(&[]);
    let runtimes = sample.root().join(".grail/runtimes");
    std::fs::create_dir_all(&runtimes).unwrap();
    std::os::unix::fs::symlink(runtime.canonicalize().unwrap(), runtimes.join("wasm")).unwrap();
    let right = "    return t\"<p>{title} {price}</p>\"\n";
    let wrong = "    known: dict[str, str] = {}\n    return t\"<p>{title} {known[price]}</p>\"\n";
    let codes = [cards(right), cards(wrong)].concat();
    let settings = EvaluateSettings { render: true, ..settings(1) };
    let (evaluated, came) = judged(&sample, &codes, settings).await;
    assert_eq!(
        came,
        [
            fails_by(&[], true, true),
            fails_by(&["rules"], false, true),
            fails_by(&["render"], false, false),
            fails_by(&["rules"], false, false),
        ]
    );
    assert_eq!(evaluated.evaluation.layers, ["syntax", "rules", "render"]);
    assert_eq!(evaluated.notes, Vec::<String>::new());
    let problem = &evaluated.evaluation.answers[2].problems[0];
    assert!(problem.rule == "render" && problem.message.contains("KeyError"), "{problem:?}");
}

#[tokio::test]
async fn what_answers_were_not_judged_by_is_said() {
    let sample = Sample::new(&[]);
    let settings = EvaluateSettings { render: true, ..settings(1) };
    let codes = cards("    return t\"<p>{title} {price}</p>\"\n");
    let (evaluated, came) = judged(&sample, &codes[..1], settings).await;
    assert_eq!(came, [fails_by(&[], true, true)]);
    assert_eq!(evaluated.evaluation.layers, ["syntax", "rules"]);
    assert_eq!(
        evaluated.notes,
        ["answers were not rendered: Python for WebAssembly is not in `.grail/runtimes/wasm`"]
    );
}

#[tokio::test]
async fn a_wrong_answer_goes_back_with_what_is_wrong() {
    let sample = Sample::new(&[]);
    let suite = suite(2);
    let pupil = Pupil::new(&sample, &suite, |id, request: &ChatRequest| {
        let told = request.messages.last().filter(|message| message.role == Role::User).unwrap();
        let is_second = request.messages.len() > 2;
        assert_eq!(is_second, told.content.starts_with("That does not pass yet:"), "{}", told.content);
        if id == "service-01" && !is_second { Say::Broken } else { Say::Right }
    });
    let with_retries = EvaluateSettings { retries: 2, ..settings(1) };
    let evaluated = ask(&sample, &suite, &pupil.contender("pupil"), &with_retries).await.unwrap();
    assert_eq!(passed(&evaluated), (1, 2));
    let retries: Vec<u32> = evaluated.evaluation.answers.iter().map(|answer| answer.retries).collect();
    assert_eq!(retries, [0, 1]);
}

#[tokio::test]
async fn a_skill_is_told_before_the_request() {
    let sample = Sample::new(&[]);
    let suite = suite(2);
    let pupil = Pupil::new(&sample, &suite, |_, request| {
        let system = &request.messages[0].content;
        if system.contains("## The skill `cards`\nClose every element.") { Say::Right } else { Say::Broken }
    });
    let contender = pupil.contender("pupil");
    let texts = SkillTexts::of_skill("cards", "Close every element.", &["component"]).unwrap();
    let arm = ArmOf::told(&contender, Some(&texts));
    let evaluated = evaluate(&sample.workspace, &suite, arm, &settings(1), &|_| {}).await.unwrap();
    assert_eq!(passed(&evaluated), (1, 1));
    assert_eq!(evaluated.evaluation.arm.skill.as_ref().unwrap().name, "cards");
    let error = SkillTexts::of_skill("cards", "<|im_start|>", &["component"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the skill `cards` cannot be told to a model: a text carries `<|im_start|>`, a marker of a chat template"
    );
}

#[tokio::test]
async fn two_arms_are_compared_on_the_same_prompts() {
    let sample = Sample::new(&[]);
    let suite = suite(40);
    let before =
        Pupil::new(&sample, &suite, |id, _| if id.ends_with('1') { Say::Right } else { Say::Broken });
    let after = Pupil::new(&sample, &suite, |id, _| if id.ends_with('2') { Say::Broken } else { Say::Right });
    let (before, after) = (before.contender("before"), after.contender("after"));
    let settings = CompareArms { evaluate: settings(1), ..CompareArms::default() };
    let arms = [plain(&before), plain(&after)];
    let compared = compare_arms(&sample.workspace, &suite, arms, &settings, &|_, _| {}).await.unwrap();
    let comparison = &compared.comparison;
    assert!(comparison.is_win() && compared.is_whole);
    assert_eq!((comparison.mcnemar.won, comparison.mcnemar.lost), (32, 0));
    assert_eq!((comparison.before.passed.passed, comparison.after.passed.passed), (4, 36));
    let about = About { project: "<shop>".to_owned(), since: None, made_at: "today".to_owned() };
    let [before, after] = compared.evaluations();
    let page = comparison_page(comparison, &[before.clone(), after.clone()], &about).unwrap();
    assert!(page.contains("after after before") && page.contains("+80.0 points"), "{page}");
    assert!(page.contains("&lt;shop&gt;") && !page.contains("<shop>"));
    let page = evaluation_page(std::slice::from_ref(after), &about).unwrap();
    assert!(page.contains("90 % (36 of 40) of the answers passed at the first try"), "{page}");
    // What broke a rule is told with its share and interval.
    assert!(page.contains("10 % (4 of 40)") && page.contains("4–23 %"), "{page}");
}

#[tokio::test]
async fn a_sequential_comparison_stops_when_it_is_decided() {
    let sample = Sample::new(&[]);
    let suite = suite(48);
    let before = Pupil::new(&sample, &suite, |_, _| Say::Broken);
    let after = Pupil::new(&sample, &suite, |_, _| Say::Right);
    let asked = Arc::clone(&after.asked);
    let (before, after) = (before.contender("before"), after.contender("after"));
    let settings = CompareArms { evaluate: settings(1), sequential: true, ..CompareArms::default() };
    let arms = [plain(&before), plain(&after)];
    let compared = compare_arms(&sample.workspace, &suite, arms, &settings, &|_, _| {}).await.unwrap();
    assert_eq!(compared.comparison.sequential.decision, Decision::Better);
    assert!(!compared.is_whole);
    assert_eq!(compared.comparison.prompts, asked.load(Ordering::SeqCst));
    assert!(compared.comparison.prompts <= 16, "{}", compared.comparison.prompts);
}

#[tokio::test]
async fn a_suite_that_asks_for_unknown_kinds_is_refused_before_anybody_is_asked() {
    let sample = Sample::new(&[]);
    let mut suite = suite(1);
    let pupil = Pupil::new(&sample, &suite, |_, _| Say::Right);
    suite.prompts[0].kind = "castle".to_owned();
    let error = ask(&sample, &suite, &pupil.contender("pupil"), &settings(1)).await.err().unwrap();
    assert_eq!(error.to_string(), "no kind of artifact is called `castle`");
}
