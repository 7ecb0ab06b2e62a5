//! What training begins with: the template model understands every intent of the curriculum, and what it makes of it passes. What the held-out
//! suite asks for can be met in the same shapes.

use grail_agent::{ArtifactCode, ArtifactSettings, check_artifact, template_model};
use grail_flywheel::suite::{Checks, Group, HELD_OUT, builtin, check_code, curriculum};
use grail_model::template::Surroundings;
use grail_rules::Layer;

use crate::sample::Sample;

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// What is wrong with what the template model makes of a sentence.
fn problems(sample: &Sample, sentence: &str, kind: &str, checks: &Checks) -> Vec<String> {
    let model = template_model(&sample.workspace);
    let made = model.make(sentence, Some(kind), &Surroundings::default()).unwrap();
    let artifact = ArtifactCode {
        artifact_type: kind.to_owned(),
        name: made.name.clone(),
        description: String::new(),
        code: made.code.clone(),
    };
    let layers = [Layer::Syntax, Layer::Rules].to_vec();
    let settings = ArtifactSettings { layers, may_replace: true, ..ArtifactSettings::default() };
    let report = check_artifact(&sample.workspace, &artifact, &settings).unwrap();
    // Hundreds are made, and no proposal has so many files.
    sample.workspace.staging.forget(&report.path);
    let mut problems: Vec<String> = report.problems.iter().map(|problem| problem.message.clone()).collect();
    problems.extend(check_code(checks, &made.code).into_iter().map(|problem| problem.message));
    problems
}

#[test]
fn the_template_model_makes_what_the_curriculum_asks_for() {
    let sample = Sample::new(&[]);
    let mut failures = Vec::new();
    for intent in curriculum().unwrap() {
        let is_page = matches!(intent.kind.as_str(), "view" | "component");
        let is_sample = matches!(intent.kind.as_str(), "test" | "fixture");
        let fields: Vec<String> = intent.fields.iter().map(|field| field.replace(' ', "_")).collect();
        let checks = Checks {
            name: Some(intent.thing.clone()),
            parameters: if is_sample { Vec::new() } else { fields.clone() },
            contains: if is_sample { fields } else { Vec::new() },
            balanced_html: is_page,
            ..Checks::default()
        };
        let problems = problems(&sample, &intent.plain, &intent.kind, &checks);
        if !problems.is_empty() {
            failures.push(format!("{}: {}\n  {}", intent.kind, intent.plain, problems.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn what_the_held_out_suite_asks_for_can_be_met() {
    let sample = Sample::new(&[]);
    let mut failures = Vec::new();
    for prompt in builtin(HELD_OUT).unwrap().unwrap().prompts {
        if prompt.group == Group::UnseenPattern {
            continue;
        }
        let checks = &prompt.checks;
        let fields = if checks.parameters.is_empty() { &checks.contains } else { &checks.parameters };
        let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        fields.retain(|field| *field != "assert");
        // The same wish in words that the template model understands.
        let sentence = match prompt.kind.as_str() {
            "route" => {
                let is_mark = |letter: char| !letter.is_alphanumeric() && !"/{}".contains(letter);
                let words = || prompt.prompt.split_whitespace().map(|word| word.trim_matches(is_mark));
                let method = words().find(|word| METHODS.contains(word)).unwrap_or("GET");
                let path = words().find(|word| word.starts_with('/')).unwrap_or_default();
                let others: Vec<&str> =
                    fields.into_iter().filter(|field| !path.contains(&format!("{{{field}}}"))).collect();
                if others.is_empty() {
                    format!("a route {method} {path}")
                } else {
                    format!("a route {method} {path} with {}", others.join(", "))
                }
            }
            "component" => {
                format!("a component called {} with {}", pascal(checks.name.as_deref()), fields.join(", "))
            }
            kind => {
                // A class gets the suffix of its kind by itself.
                let name = checks.name.as_deref().unwrap_or_default().trim_end_matches(" service");
                format!("a {} called {name} with {}", kind.replace('-', " "), fields.join(", "))
            }
        };
        let problems = problems(&sample, &sentence, &prompt.kind, checks);
        if !problems.is_empty() {
            failures.push(format!("{}: {sentence}\n  {}", prompt.id, problems.join("\n  ")));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn pascal(name: Option<&str>) -> String {
    let capitalised = |word: &str| format!("{}{}", word[..1].to_uppercase(), &word[1..]);
    name.unwrap_or_default().split(' ').map(capitalised).collect()
}
