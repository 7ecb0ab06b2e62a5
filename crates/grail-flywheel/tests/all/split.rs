//! Splits without leaks, on a set that is made to leak.

use grail_flywheel::example::{Example, ExampleType, Origin, Weight};
use grail_flywheel::split::{LeakKind, Split, SplitSettings, prove, split};
use proptest::prelude::*;

/// Things that people ask for, each in words of its own, with an answer of its own.
const WISHES: [(&str, &str, &str); 16] = [
    (
        "UserCard",
        "Create a UserCard that shows the avatar and the name of a member.",
        "<img src={avatar}/><b>{name}</b>",
    ),
    (
        "PriceTable",
        "We need a PriceTable with one row for every plan, cheapest first.",
        "rows = sorted(plans, key=cost)",
    ),
    (
        "LoginForm",
        "Write the LoginForm; it asks for e-mail and password and remembers neither.",
        "<form method='post'><input type='password'/></form>",
    ),
    (
        "weather_report",
        "Fetch the forecast for tomorrow in weather_report and round all temperatures.",
        "return [round(day.celsius) for day in forecast(1)]",
    ),
    (
        "InvoiceMailer",
        "Send invoices by InvoiceMailer on the first weekday of a month.",
        "if today.weekday() < 5 and today.day <= 3: post(invoice)",
    ),
    (
        "slug_filter",
        "Turn titles into addresses with slug_filter, without umlauts or blanks.",
        "return '-'.join(title.lower().split())",
    ),
    (
        "AuditLog",
        "Every change of a record must be noted by AuditLog with who and when.",
        "self.lines.append((actor, moment, change))",
    ),
    (
        "StockWatcher",
        "Warn when StockWatcher sees fewer than ten pieces of an article.",
        "return [article for article in shelf if article.pieces < 10]",
    ),
    (
        "TagCloud",
        "Draw a TagCloud: frequent words large, rare words small.",
        "size = 8 + 2 * math.log(count)",
    ),
    (
        "csv_import",
        "Read customers from a spreadsheet through csv_import and skip broken lines.",
        "for line in csv.reader(handle): customers.add(line)",
    ),
    (
        "SessionCache",
        "Keep answers for five minutes in a SessionCache, then ask again.",
        "if clock() - born > 300: del entries[key]",
    ),
    (
        "ColorPicker",
        "Let people choose a colour from twelve swatches with ColorPicker.",
        "<ul>{[swatch(hue * 30) for hue in range(12)]}</ul>",
    ),
    (
        "RetryPolicy",
        "Try a request again up to four times, waiting longer, by RetryPolicy.",
        "wait = 2 ** attempt + random.random()",
    ),
    (
        "map_view",
        "Show shops near a postcode on map_view, sorted by distance.",
        "shops.sort(key=lambda shop: haversine(shop, here))",
    ),
    (
        "DiffViewer",
        "Two versions of a contract side by side in DiffViewer, changes marked.",
        "return difflib.HtmlDiff().make_table(old, new)",
    ),
    (
        "backup_job",
        "Copy the database every night in backup_job and keep seven copies.",
        "for old in sorted(copies)[:-7]: old.unlink()",
    ),
];

fn example(session: &str, request: &str, code: &str) -> Example {
    let mut example = Example {
        id: String::new(),
        example_type: ExampleType::Positive,
        artifact: None,
        rules: Vec::new(),
        tools: Vec::new(),
        context: None,
        window: Vec::new(),
        request: request.to_owned(),
        chosen: Some(code.to_owned()),
        calls: Vec::new(),
        rejected: None,
        problems: Vec::new(),
        path: None,
        weight: Weight::new(1.0, 1.0),
        origin: Origin {
            source: "project".to_owned(),
            session: Some(session.to_owned()),
            ..Origin::default()
        },
    };
    example.id = example.content_id();
    example
}

fn wish(number: usize) -> (String, String, &'static str) {
    let (name, request, body) = WISHES[number % WISHES.len()];
    (request.to_owned(), format!("def {name}(value):\n    # {name}\n    {body}\n"), name)
}

/// The same wish in a disguise, in a session of its own.
fn disguised(number: usize, disguise: usize) -> Example {
    let (request, code, name) = wish(number);
    let session = format!("copy-{number}-{disguise}");
    let swapped =
        |text: &str| text.replace(name, if name.contains('_') { "order_line" } else { "OrderLine" });
    match disguise {
        0 => example(&session, &format!("  {}\t", request.replace(' ', "   ")), &code.replace("    ", "\t")),
        1 => example(&session, &request.to_uppercase(), &code),
        2 => example(&session, &swapped(&request), &swapped(&code)),
        3 => {
            let halves = format!("Thank you in advance! {request}");
            example(&session, &halves, &code.replace('\n', "\n\n"))
        }
        4 => {
            // Zero-width characters between all letters, full-width letters, Cyrillic letters that look Latin.
            let hidden: String = request.chars().flat_map(|character| [character, '\u{200b}']).collect();
            example(&session, &hidden.replace('a', "а").replace('e', "ｅ"), &code)
        }
        5 => example(&session, &request.replace('.', "!"), &code.replace('\'', "\"")),
        // The request is new; the answer is the old one.
        6 => example(&session, &format!("Something else entirely, number {number}, for the intranet"), &code),
        // Another wish in words, but from the same session.
        _ => example(
            &format!("s{number}"),
            &format!("Rename column {number} everywhere"),
            &format!("x{number} = {number}"),
        ),
    }
}

fn originals() -> Vec<Example> {
    (0..WISHES.len())
        .map(|number| {
            let (request, code, _) = wish(number);
            example(&format!("s{number}"), &request, &code)
        })
        .collect()
}

fn sides(split: &Split) -> [&[Example]; 3] {
    [&split.train, &split.valid, &split.test]
}

fn settings() -> SplitSettings {
    SplitSettings { valid: 0.2, test: 0.2, ..SplitSettings::default() }
}

#[test]
fn different_wishes_are_clusters_of_their_own_and_fill_all_sides() {
    let split = split(originals(), &[], &settings());
    assert_eq!(split.proof.clusters, WISHES.len());
    assert_eq!((split.train.len(), split.valid.len(), split.test.len()), (10, 3, 3));
    assert!(split.proof.holds && split.proof.is_exhaustive);
    assert!(split.proof.highest_similarity < 0.5, "{}", split.proof.highest_similarity);
    assert_eq!(split.proof.pairs, 10 * 3 + 10 * 3 + 3 * 3);
    assert_eq!(split.proof.pairs_checked, split.proof.pairs);
    insta::assert_snapshot!(split.warnings.join("\n"), @"3 examples to test with tell little: differences under 57 points are chance");
}

#[test]
fn a_kind_whose_answers_are_all_alike_is_learned_and_not_held_back() {
    let words = |number: usize| {
        let hash = blake3::hash(&number.to_le_bytes()).to_hex();
        (0..8).map(|word| hash[word * 8..][..8].to_owned()).collect::<Vec<_>>().join(" ")
    };
    let of_kind = |kind: &str, mut example: Example| {
        example.artifact = Some(kind.to_owned());
        example
    };
    for round in 0..10 {
        let mut examples: Vec<Example> = (0..90)
            .map(|number| {
                let text = words(round * 1000 + number);
                of_kind("view", example(&format!("s{number}"), &text, &format!("text = '{text}'\n")))
            })
            .collect();
        let (_, code, _) = wish(round);
        examples.extend((500..512).map(|number| {
            of_kind("middleware", example(&format!("s{number}"), &words(round * 1000 + number), &code))
        }));
        let split = split(examples, &[], &settings());
        assert!(split.proof.holds);
        let count = |side: &[Example], kind: &str| {
            side.iter().filter(|example| example.artifact.as_deref() == Some(kind)).count()
        };
        assert_eq!(sides(&split).map(|side| count(side, "middleware")), [12, 0, 0]);
        assert_eq!(sides(&split).map(|side| count(side, "view")), [50, 20, 20]);
    }
}

#[test]
fn no_disguise_gets_a_copy_across_a_border() {
    for disguise in 0..8 {
        let mut examples = originals();
        examples.extend((0..WISHES.len()).map(|number| disguised(number, disguise)));
        let split = split(examples, &[], &settings());
        assert!(split.proof.holds);
        assert!(
            !split.test.is_empty() && !split.valid.is_empty(),
            "disguise {disguise}: {:?}",
            split.warnings
        );
        // Wherever an original is, its copy is.
        for number in 0..WISHES.len() {
            let original = &originals()[number].id;
            let copy = &disguised(number, disguise).id;
            let side = |id: &String| {
                sides(&split).iter().position(|side| side.iter().any(|example| example.id == *id))
            };
            assert_eq!(side(original), side(copy), "disguise {disguise} of wish {number}");
        }
    }
}

#[test]
fn the_proof_fails_where_a_leak_is_planted() {
    let honest = split(originals(), &[], &settings());
    for disguise in 0..7 {
        let mut train = honest.train.clone();
        let number = (0..WISHES.len())
            .find(|number| honest.test.iter().any(|example| example.id == originals()[*number].id));
        let copy = disguised(number.unwrap(), disguise);
        train.push(copy.clone());
        let proof = prove([&train, &honest.valid, &honest.test], &[], 0.7);
        assert!(!proof.holds, "disguise {disguise}");
        assert!(proof.highest_similarity >= 0.7);
        assert_eq!(proof.leaks.len(), 1);
        assert_eq!(proof.leaks[0].why, LeakKind::Alike);
        assert_eq!(proof.leaks[0].one, copy.id);
    }
    // The same session on two sides is a leak whatever is said in it.
    let mut train = honest.train.clone();
    let mut other = example("", "Nothing that anybody else said", "unlike = anything");
    other.origin.session.clone_from(&honest.test[0].origin.session);
    train.push(other);
    let proof = prove([&train, &honest.valid, &honest.test], &[], 0.7);
    assert!(!proof.holds && proof.highest_similarity < 0.7);
    assert_eq!(proof.leaks[0].why, LeakKind::SameSession);
}

#[test]
fn sessions_that_share_events_are_one_session_under_two_names() {
    let shared = uuid::Uuid::from_u128(7);
    let mut examples = originals();
    for number in [0, 9] {
        examples[number].origin.events = vec![shared];
    }
    let names = [examples[0].id.clone(), examples[9].id.clone()];
    let split = split(examples, &[], &settings());
    assert_eq!(split.proof.clusters, WISHES.len() - 1);
    let together = sides(&split)
        .iter()
        .filter(|side| side.iter().filter(|example| names.contains(&example.id)).count() == 2)
        .count();
    assert_eq!(together, 1);
}

#[test]
fn a_variation_stays_with_its_source() {
    let mut examples = originals();
    let variations: Vec<Example> = examples
        .iter()
        .enumerate()
        .map(|(number, source)| {
            let mut variation =
                example(&format!("v{number}"), &format!("wholly different {number} words here"), "");
            variation.chosen = None;
            variation.origin.variation_of = Some(source.id.clone());
            variation.id = variation.content_id();
            variation
        })
        .collect();
    examples.extend(variations);
    let split = split(examples, &[], &settings());
    assert!(split.proof.holds);
    for side in sides(&split) {
        for variation in side.iter().filter_map(|example| example.origin.variation_of.as_ref()) {
            assert!(side.iter().any(|example| example.id == *variation));
        }
    }
}

#[test]
fn nothing_near_a_held_out_prompt_is_learned_from() {
    let prompts = ["Create a UserCard that shows the avatar and the name of a member.".to_owned()];
    let mut examples = originals();
    examples.push(example(
        "t1",
        "create an OrderPanel that shows the avatar and the name of a member",
        "a = 1",
    ));
    examples.push(example(
        "t2",
        &format!(
            "Hello! I have a question. {} It is urgent, and my boss wants it by noon today.",
            prompts[0]
        ),
        "b = 2",
    ));
    let mut said_before = example("t3", "Now the next one, please", "c = 3");
    said_before.window =
        vec![grail_flywheel::example::Turn { role: "user".to_owned(), text: prompts[0].clone() }];
    examples.push(said_before);
    let split = split(examples, &prompts, &settings());
    let dropped: Vec<&str> = split
        .held_out
        .iter()
        .map(|(example, _)| example.origin.session.as_deref().unwrap_or_default())
        .collect();
    let mut dropped = dropped;
    dropped.sort_unstable();
    assert_eq!(dropped, ["s0", "t1", "t2", "t3"]);
    assert!(split.proof.holds && split.proof.highest_held_out < 0.7);
    assert_eq!(split.proof.held_out_prompts, 1);
    // Planted, it is found.
    let proof = prove([&originals(), &[], &[]], &prompts, 0.7);
    assert_eq!(proof.leaks.iter().map(|leak| leak.why).collect::<Vec<_>>(), [LeakKind::HeldOut]);
}

#[test]
fn one_cluster_is_no_split_and_that_is_said() {
    let examples = vec![example("a", "one thing", "x = 1"), example("a", "another thing", "y = 2")];
    let split = split(examples, &[], &settings());
    assert_eq!((split.train.len(), split.valid.len(), split.test.len()), (2, 0, 0));
    insta::assert_snapshot!(split.warnings.join("\n"), @"2 examples are 1 cluster of work: too little to hold anything back without a leak; more sessions about other things are needed");
    let nothing = grail_flywheel::split::split(Vec::new(), &[], &settings());
    insta::assert_snapshot!(nothing.warnings.join("\n"), @"there is no example to split");
}

#[test]
fn many_examples_are_split_by_candidates_and_proved_by_more_of_them() {
    // Many wishes, each with a copy under another name.
    let words = [
        "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "islet", "jetty", "knoll",
        "lagoon",
    ];
    let text = |number: usize| {
        let word =
            |place: usize| words[(number / 12usize.pow(place as u32) + place * 5 + number * place) % 12];
        format!("{} {number} {} {} {} {number}", word(0), word(1), word(2), word(3))
    };
    let mut examples = Vec::new();
    for number in 0..760 {
        let code = format!("{} = [{}]\n", text(number).replace(' ', "_"), text(number * 7 + 3));
        examples.push(example(&format!("a{number}"), &text(number), &code));
        examples.push(example(&format!("b{number}"), &text(number).to_uppercase(), &code));
    }
    let split = split(examples, &[], &SplitSettings::default());
    assert!(split.proof.holds && !split.proof.is_exhaustive, "{:?}", split.proof.leaks.first());
    assert!(split.proof.pairs_checked < split.proof.pairs);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_near_duplicate_crosses(picked in prop::collection::vec((0usize..16, 0usize..9), 6..40)) {
        let make = |(number, disguise): &(usize, usize)| match disguise {
            8 => originals().swap_remove(*number),
            _ => disguised(*number, *disguise),
        };
        let mut examples: Vec<Example> = picked.iter().map(make).collect();
        let first = split(examples.clone(), &[], &settings());
        prop_assert!(first.proof.holds);
        prop_assert!(prove(sides(&first), &[], 0.7).holds);
        // The order in which they come does not matter.
        examples.reverse();
        prop_assert_eq!(split(examples, &[], &settings()), first);
    }
}
