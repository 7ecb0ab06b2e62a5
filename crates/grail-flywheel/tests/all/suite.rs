//! Suites: read with care, and far from everything that is learned from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use grail_flywheel::likeness::plain_shingles;
use grail_flywheel::split::{SplitSettings, nearest_held_out};
use grail_flywheel::suite::{
    Group, HELD_OUT, Intent, QUICK, Suite, SuitePrompt, builtin, curriculum, held_out_prompts, list_suites,
    load_suite, parse_suite,
};

use crate::dataset::positive;

fn held_out() -> Suite {
    builtin(HELD_OUT).unwrap().unwrap()
}

/// The one that may be looked at.
fn open() -> Suite {
    parse_suite("open.toml", include_str!("../../suites/open.toml")).unwrap()
}

#[test]
fn the_built_in_suite_is_large_and_of_every_kind() {
    let suite = held_out();
    assert!(suite.prompts.len() >= 120, "{}", suite.prompts.len());
    let count =
        |wanted: &dyn Fn(&SuitePrompt) -> bool| suite.prompts.iter().filter(|prompt| wanted(prompt)).count();
    assert!(count(&|prompt| prompt.group == Group::UnseenPattern) >= 20);
    for kind in ["view", "component", "service"] {
        assert!(count(&|prompt| prompt.kind == kind) >= 24, "{kind}");
    }
    assert_eq!(
        suite.kinds(),
        [
            "asgi-middleware",
            "component",
            "factory",
            "fixture",
            "route",
            "service",
            "tdom-middleware",
            "test",
            "view",
        ]
    );
    // Everything is checked beyond the rules, and every page for its HTML.
    assert_eq!(count(&|prompt| prompt.checks.is_empty()), 0);
    let is_page = |prompt: &SuitePrompt| matches!(prompt.kind.as_str(), "view" | "component");
    assert_eq!(count(&|prompt| is_page(prompt) != prompt.checks.balanced_html), 0);
    let families: BTreeSet<(&str, &str)> =
        suite.prompts.iter().map(|prompt| (prompt.kind.as_str(), prompt.family.as_str())).collect();
    assert!(families.len() >= 30, "{}", families.len());
}

#[test]
fn the_open_suite_asks_for_every_kind_in_another_way_each_time() {
    let suite = open();
    assert_eq!(suite.prompts.len(), 120);
    assert_eq!(suite.kinds(), held_out().kinds());
    let families: BTreeSet<&str> = suite.prompts.iter().map(|prompt| prompt.family.as_str()).collect();
    assert_eq!(families.len(), suite.prompts.len());
    for prompt in &suite.prompts {
        let said = prompt.prompt.to_lowercase().replace('_', " ");
        let is_said = |field: &String| said.contains(&field.replace('_', " "));
        assert!(prompt.checks.parameters.iter().all(is_said), "{}", prompt.id);
    }
}

#[test]
fn prompts_of_the_suite_are_not_alike() {
    let suite = held_out();
    let shingles: Vec<_> = suite.prompts.iter().map(|prompt| plain_shingles(&prompt.prompt)).collect();
    for one in 0..shingles.len() {
        for other in one + 1..shingles.len() {
            let alike = shingles[one].jaccard(&shingles[other]);
            assert!(alike < 0.7, "{} and {}: {alike}", suite.prompts[one].id, suite.prompts[other].id);
        }
    }
}

#[test]
fn the_quick_suite_is_a_fair_part_of_it() {
    let (quick, all) = (builtin(QUICK).unwrap().unwrap(), held_out());
    assert_eq!(quick.prompts.len(), 40);
    assert!(quick.prompts.iter().all(|prompt| all.get(&prompt.id) == Some(prompt)));
    assert_ne!(quick.hash, all.hash);
    assert!(quick.kinds().len() >= 8);
    let unseen = quick.prompts.iter().filter(|prompt| prompt.group == Group::UnseenPattern).count();
    assert!((5..=12).contains(&unseen), "{unseen}");
}

#[test]
fn no_intent_of_the_curriculum_is_near_a_suite() {
    let intents = curriculum().unwrap();
    assert!(intents.len() >= 10_000, "{}", intents.len());
    // What may be looked at is no measure either if it was taught.
    let suites = [held_out(), open()].into_iter();
    let prompts: Vec<String> = suites.flat_map(|suite| suite.prompts).map(|prompt| prompt.prompt).collect();
    let examples: Vec<_> = intents.iter().map(|intent| positive(&intent.intent, "x = 1\n")).collect();
    let highest = nearest_held_out(&examples, &prompts)
        .into_iter()
        .max_by(|one, other| one.2.total_cmp(&other.2))
        .map(|(example, prompt, similarity)| (similarity, intents[example].intent.as_str(), prompt))
        .unwrap();
    // Far below what the split calls near.
    assert!(highest.0 < 0.5 && highest.0 < SplitSettings::default().threshold, "{highest:?}");
}

#[test]
fn things_and_sets_of_fields_of_the_suite_are_not_in_the_curriculum() {
    let intents = curriculum().unwrap();
    let suite = held_out();
    let set =
        |fields: &[String]| fields.iter().map(|field| field.replace(' ', "_")).collect::<BTreeSet<String>>();
    let learned: BTreeSet<BTreeSet<String>> = intents.iter().map(|intent| set(&intent.fields)).collect();
    let things: BTreeSet<&str> = intents.iter().map(|intent| intent.thing.as_str()).collect();
    for prompt in suite.prompts.iter().filter(|prompt| prompt.group == Group::SeenPattern) {
        let fields = set(&prompt.checks.parameters);
        assert!(fields.is_empty() || !learned.contains(&fields), "{}", prompt.id);
        let name = prompt.checks.name.as_deref().unwrap_or_default();
        let kind_words = ["card", "badge", "panel", "banner", "service", "middleware"];
        let is_thing = |word: &str| !kind_words.contains(&word) && things.contains(word);
        assert!(!name.split(' ').any(is_thing), "{}: {name}", prompt.id);
    }
}

#[test]
fn few_words_of_the_suite_are_in_the_curriculum_and_rare_ones_come_seldom() {
    let intents = curriculum().unwrap();
    let words = |fields: &[String]| -> Vec<String> {
        fields.iter().flat_map(|field| field.split([' ', '_'])).map(str::to_owned).collect()
    };
    let mut said: BTreeMap<String, usize> = BTreeMap::new();
    for word in intents.iter().flat_map(|intent| words(&intent.fields)) {
        *said.entry(word).or_default() += 1;
    }
    // What a model has to copy it must not know by heart.
    let rarely = said.values().filter(|times| **times <= 3).count();
    assert!(rarely >= 1_500, "{rarely} of {}", said.len());
    let asked: BTreeSet<String> = held_out()
        .prompts
        .iter()
        .filter(|prompt| prompt.group == Group::SeenPattern)
        .flat_map(|prompt| words(&prompt.checks.parameters))
        .collect();
    let known = asked.iter().filter(|word| said.contains_key(*word)).count();
    assert!(known * 8 < asked.len(), "{known} of {}", asked.len());
}

#[test]
fn the_curriculum_is_the_same_every_time_and_balanced_from_its_beginning() {
    let intents = curriculum().unwrap();
    assert_eq!(intents, curriculum().unwrap());
    let distinct: BTreeSet<&str> = intents.iter().map(|intent| intent.intent.as_str()).collect();
    assert_eq!(distinct.len(), intents.len());
    let share = |intents: &[Intent], kind: &str| {
        intents.iter().filter(|intent| intent.kind == kind).count() as f64 / intents.len() as f64
    };
    for kind in ["view", "component", "service", "asgi-middleware", "tdom-middleware", "route"] {
        // As far as there are requests that were written whole.
        let (beginning, longer) = (share(&intents[..100], kind), share(&intents[..3_000], kind));
        assert!((beginning - longer).abs() < 0.03, "{kind}: {beginning} and {longer}");
    }
    // The only braces of what is put together are those of a path, and of attributes in a template.
    let requests: BTreeSet<String> = include_str!("../../suites/requests.jsonl")
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["prompt"].as_str().unwrap().to_owned()
        })
        .collect();
    for intent in intents.iter().filter(|intent| !requests.contains(&intent.intent)) {
        let names = intent.fields.iter().map(|field| field.replace(' ', "_"));
        let said =
            names.fold(intent.intent.clone(), |said, name| said.replace(&format!("{name}={{{name}}}"), ""));
        // A tag is the component itself in braces.
        let mut pieces = said.split("<{");
        let said = pieces.next().into_iter().chain(pieces.filter_map(|piece| Some(piece.split_once('}')?.1)));
        let said: String = said.collect();
        let is_whole = |text: &str| text.replace("_id}", "").replace("/{", "/").find(['{', '}']).is_none();
        assert!(is_whole(&said) && is_whole(&intent.plain), "{}", intent.intent);
    }
}

#[test]
fn the_curriculum_says_what_it_wants_in_many_ways() {
    let intents = curriculum().unwrap();
    for Intent { intent, thing, fields, kind, .. } in &intents {
        let said = intent.to_lowercase().replace(['_', '-'], " ");
        assert!(fields.iter().all(|field| said.contains(field)), "{fields:?}: {intent}");
        // A class, a path or a plural writes it in one of these ways.
        let is_said = [" ", "", "-"].iter().any(|joint| said.contains(&thing.replace(' ', joint)));
        let stem = thing.trim_end_matches('y');
        assert!(is_said || said.contains(stem) || kind == "route", "{thing}: {intent}");
    }
    let some = |wanted: &dyn Fn(&str) -> bool| intents.iter().filter(|it| wanted(&it.intent)).count();
    // Lists of several lines, of names, with other joints; and sentences around what is asked.
    assert!(some(&|said| said.contains("\n- ")) >= 20);
    assert!(some(&|said| said.contains('`')) >= 20);
    assert!(some(&|said| said.contains(" as well as ") || said.contains(" plus ")) >= 20);
    let wordings: BTreeSet<(&str, usize)> =
        intents.iter().map(|intent| (intent.kind.as_str(), intent.wording)).collect();
    assert!(wordings.len() >= 10_000, "{}", wordings.len());
}

#[test]
fn half_of_the_curriculum_is_put_together_and_half_of_all_mentions_something_else() {
    let intents = curriculum().unwrap();
    let beginning = &intents[..8_000];
    let some = |wanted: &dyn Fn(&str) -> bool| beginning.iter().filter(|it| wanted(&it.intent)).count();
    // A subject, a sentence about the fields, a sentence about something else: each comes with many others.
    let with_subject = some(&|said| said.contains("hence a public page for it"));
    let with_fields = some(&|said| said.contains("then perhaps the"));
    let with_aside = some(&|said| said.contains("leave him to it") || said.contains("in spring, with"));
    for (what, count) in [("subject", with_subject), ("fields", with_fields), ("aside", with_aside)] {
        assert!((1..=40).contains(&count), "{what}: {count}");
    }
    let kinds: BTreeSet<&str> = intents.iter().map(|intent| intent.kind.as_str()).collect();
    for kind in kinds {
        let wordings = intents.iter().filter(|it| it.kind == kind).map(|it| it.wording).collect::<Vec<_>>();
        let distinct: BTreeSet<usize> = wordings.iter().copied().collect();
        assert!(
            distinct.len() * 100 >= wordings.len() * 95,
            "{kind}: {} of {}",
            distinct.len(),
            wordings.len()
        );
    }
}

#[test]
fn prompts_of_every_suite_are_held_out() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let builtin = held_out_prompts(root).unwrap();
    assert_eq!(builtin.len(), held_out().prompts.len());
    fs::create_dir_all(root.join(".grail/suites")).unwrap();
    fs::create_dir_all(root.join("evals")).unwrap();
    fs::write(
        root.join(".grail/suites/shop.toml"),
        "name = \"shop\"\n[[prompts]]\nid = \"a\"\nkind = \"view\"\nprompt = \"Show the basket\"\n",
    )
    .unwrap();
    fs::write(
        root.join("evals/other.json"),
        r#"{"name": "other", "prompts": [{"id": "b", "kind": "view", "prompt": "Show the till"}]}"#,
    )
    .unwrap();
    fs::write(root.join("evals/results.json"), "[1, 2]").unwrap();
    let all = held_out_prompts(root).unwrap();
    assert_eq!(all.len(), builtin.len() + 2);
    assert!(all.iter().any(|prompt| prompt == "Show the basket"));
    assert_eq!(list_suites(root).unwrap().len(), 4);
    assert_eq!(load_suite(root, "shop").unwrap().prompts[0].group, Group::SeenPattern);
    assert_eq!(load_suite(root, "evals/other.json").unwrap().name, "other");
    let error = load_suite(root, "shoes").unwrap_err();
    assert_eq!(error.to_string(), "there is no suite `shoes`");
    assert!(
        error.hint().unwrap().starts_with("there are shop, other, held-out, quick"),
        "{:?}",
        error.hint()
    );
    // A file that is no suite is in nobody's way, and whoever asks for it hears why.
    let error = load_suite(root, "results").unwrap_err();
    assert!(error.to_string().contains("results.json`: invalid"), "{error}");
    // A suite that cannot be read is no reason to learn from it.
    fs::write(root.join(".grail/suites/broken.toml"), "name = ").unwrap();
    assert!(held_out_prompts(root).is_err());
}

#[test]
fn suites_with_mistakes_are_refused_with_what_is_wrong() {
    let prompt = |text: &str| format!("{{\"name\": \"s\", \"prompts\": [{text}]}}");
    let cases = [
        (prompt(""), "there is no prompt"),
        (prompt(r#"{"id": "a b", "kind": "view", "prompt": "x"}"#), "`a b` is no name of a prompt"),
        (prompt(r#"{"id": "a", "kind": "view", "prompt": " "}"#), "the prompt of `a` cannot be asked"),
        (prompt(r#"{"id": "a", "kind": "view", "prompt": "x\u0007"}"#), "the prompt of `a` cannot be asked"),
        (prompt(r#"{"id": "a", "kind": "", "prompt": "x"}"#), "`a` does not say which kind"),
        (
            prompt(
                r#"{"id": "a", "kind": "view", "prompt": "x"}, {"id": "a", "kind": "view", "prompt": "y"}"#,
            ),
            "two prompts are called `a`",
        ),
        (prompt(r#"{"id": "a", "kind": "view", "prompt": "x", "cheks": {}}"#), "unknown field `cheks`"),
        (prompt(r#"{"id": "a", "kind": "view", "prompt": "x", "checks": {"name": 3}}"#), "invalid type"),
    ];
    for (text, expected) in cases {
        let error = parse_suite("s.json", &text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().starts_with("`s.json`: ") && error.hint().is_some());
    }
    assert!(parse_suite("s.toml", "name = 1").is_err());
}

#[test]
fn the_hash_follows_from_the_prompts_alone() {
    let suite = held_out();
    let mut shuffled = suite.prompts.clone();
    shuffled.reverse();
    assert_eq!(Suite::new("other", "", shuffled.clone()).hash, suite.hash);
    shuffled[0].prompt.push('!');
    assert_ne!(Suite::new("held-out", "", shuffled).hash, suite.hash);
}
