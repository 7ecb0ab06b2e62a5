//! The reference examples of skills: what a project can learn from before anything has happened in it.
//!
//! An example file begins with a sentence that says what it does, which is what somebody would have asked for. A rule shows bad code and
//! what its fix makes of it, which is an error and how it was mended. Evaluations of a skill are never learned from.

use std::collections::BTreeMap;
use std::sync::Arc;

use grail_code::{Field, Kind, ModuleName, Source, parse_module};
use grail_rules::{ArtifactKind, FileUnderCheck, Pack, RuleSet, RuleSetBuilder};

use crate::event::Problem;
use crate::example::{Example, ExampleType, Origin, Weight};

/// A larger file is no example.
const MAX_FILE_BYTES: usize = 256 * 1024;

/// One skill, as far as there is something to learn from.
pub struct SkillMaterial<'s> {
    pub name: String,
    pub licence: Option<String>,
    /// By path below the skill's folder.
    pub files: BTreeMap<String, String>,
    pub pack: Option<&'s Pack>,
}

/// What a skill teaches: its example files, then the pairs of its rules.
pub fn skill_examples(material: &SkillMaterial<'_>) -> Vec<Example> {
    let kinds: &[Arc<ArtifactKind>] = material.pack.map_or(&[], |pack| &pack.kinds);
    let mut builder = RuleSetBuilder::default();
    kinds.iter().for_each(|kind| builder.kind(Arc::clone(kind)));
    let rules = builder.build();
    let mut examples: Vec<Example> = material
        .files
        .iter()
        .filter_map(|(path, text)| file_example(material, &rules, kinds, path, text))
        .collect();
    examples.extend(material.pack.iter().flat_map(|pack| rule_examples(material, pack)));
    for example in &mut examples {
        example.id = example.content_id();
    }
    examples
}

/// `examples/name.py`, asked for in the words of its first line. Files in folders below are parts and tests of others.
fn file_example(
    material: &SkillMaterial<'_>,
    rules: &RuleSet,
    kinds: &[Arc<ArtifactKind>],
    path: &str,
    text: &str,
) -> Option<Example> {
    let stem = path.strip_prefix("examples/")?.strip_suffix(".py")?;
    if stem.contains('/') || stem.starts_with("test_") || text.len() > MAX_FILE_BYTES {
        return None;
    }
    let parsed = parse_module(Source::from_text(text));
    let sentence = docstring(&parsed)?;
    let file = FileUnderCheck::new(path, ModuleName::module(stem), &parsed);
    let artifacts = rules.recognise(&file);
    let is_namesake = |name: &str| name.to_lowercase() == stem.replace('_', "");
    let artifact = artifacts.iter().find(|artifact| is_namesake(&artifact.name)).or(artifacts.first());
    let kind = artifact.and_then(|artifact| kinds.iter().find(|kind| kind.name == artifact.kind));
    let request = match (artifact, kind) {
        (Some(artifact), Some(kind)) => {
            let word = kind.words.first().map_or(kind.name.as_str(), String::as_str);
            format!("Add the {word} `{}`. {sentence}", artifact.name)
        }
        _ => sentence,
    };
    let path = artifact.zip(kind).and_then(|(artifact, kind)| kind.path_for(&artifact.name));
    Some(Example {
        artifact: artifact.map(|artifact| artifact.kind.clone()),
        path: path.map(|path| path.to_string_lossy().into_owned()),
        chosen: Some(text.to_owned()),
        ..example(material, ExampleType::Positive, request)
    })
}

/// Bad code and what the rule's fix makes of it, where one file is the whole example.
fn rule_examples(material: &SkillMaterial<'_>, pack: &Pack) -> Vec<Example> {
    let mut examples = Vec::new();
    for rule in &pack.rules {
        for shown in rule.examples.iter().filter(|example| example.is_bad && example.options.is_none()) {
            let ([bad], [fixed]) = (shown.files.as_slice(), shown.fixed.as_slice()) else { continue };
            let problems = bad.expected.iter().map(|expected| Problem {
                layer: "rules".to_owned(),
                rule: rule.id.to_string(),
                message: expected.message.clone(),
                line: expected.line,
                hint: None,
            });
            let kind = shown.kind.clone().or_else(|| match rule.applies_to.as_slice() {
                [only] => Some(only.clone()),
                _ => None,
            });
            let title = rule.title.trim_end_matches('.');
            let request = format!("Mend this code: {title}.\n\n```python\n{}```", bad.text);
            examples.push(Example {
                artifact: kind,
                rules: vec![rule.id.to_string()],
                chosen: Some(fixed.text.clone()),
                rejected: Some(bad.text.clone()),
                problems: problems.collect(),
                ..example(material, ExampleType::Corrective, request)
            });
        }
    }
    examples
}

fn example(material: &SkillMaterial<'_>, example_type: ExampleType, request: String) -> Example {
    Example {
        id: String::new(),
        example_type,
        artifact: None,
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request,
        chosen: None,
        calls: Vec::new(),
        rejected: None,
        problems: Vec::new(),
        path: None,
        weight: Weight::new(example_type.base_weight(), 1.0),
        origin: Origin {
            source: format!("skill:{}", material.name),
            licence: material.licence.clone(),
            ..Origin::default()
        },
    }
}

/// The first line of a module's docstring.
fn docstring(parsed: &grail_code::Parsed) -> Option<String> {
    let first = parsed.root().list(Field::Body).next().filter(|node| node.kind() == Kind::Expr)?;
    let text = first.text();
    let text = text.trim_start_matches(['r', 'R']).trim_matches('"').trim_matches('\'');
    let line = text.trim().lines().next()?.trim();
    (first.text().contains(['"', '\'']) && line.chars().any(char::is_alphabetic)).then(|| line.to_owned())
}
