//! Search over ten thousand skills, warm: `cargo bench -p grail-skills --bench search`.

use std::path::PathBuf;

use divan::{Bencher, black_box};
use grail_rules::Origin;
use grail_skills::Skill;
use grail_skills::search::SearchIndex;

fn main() {
    divan::main();
}

/// Descriptions put together from verbs, things and occasions, so that many skills compete for every query.
fn synthetic_skills(count: usize) -> Vec<Skill> {
    const VERBS: [&str; 20] = [
        "Send",
        "Convert",
        "Validate",
        "Extract",
        "Summarise",
        "Translate",
        "Deploy",
        "Rename",
        "Compress",
        "Encrypt",
        "Draw",
        "Schedule",
        "Merge",
        "Refund",
        "Transcribe",
        "Format",
        "Test",
        "Monitor",
        "Archive",
        "Publish",
    ];
    const THINGS: [&str; 25] = [
        "emails",
        "CSV files",
        "JSON documents",
        "PDF pages",
        "images",
        "videos",
        "invoices",
        "calendar events",
        "database tables",
        "log files",
        "commits",
        "containers",
        "passwords",
        "web pages",
        "spreadsheets",
        "text messages",
        "recordings",
        "charts",
        "tickets",
        "packages",
        "routes",
        "services",
        "components",
        "translations",
        "backups",
    ];
    const OCCASIONS: [&str; 20] = [
        "for a customer",
        "before a release",
        "every night",
        "in bulk",
        "with a preview",
        "from the command line",
        "for tests",
        "with a template",
        "in several languages",
        "on a schedule",
        "for the whole team",
        "by a pattern",
        "over the network",
        "safely",
        "for archives",
        "with statistics",
        "from scanned paper",
        "by date",
        "for the web",
        "with a report",
    ];
    let pick = |words: &[&'static str], number: usize| words[number % words.len()];
    (0..count)
        .map(|number| {
            let (verb, thing) = (pick(&VERBS, number), pick(&THINGS, number / 20));
            let (occasion, other) = (pick(&OCCASIONS, number / 500), pick(&THINGS, number / 7 + 3));
            let description = format!(
                "{verb} {thing} {occasion}. Use when {other} are involved, when {thing} come late, or when somebody asks to {} them.",
                verb.to_lowercase()
            );
            let name = format!("skill-{number}");
            Skill { folder: PathBuf::from(&name), name, description, origin: Origin::Project }
        })
        .collect()
}

fn make_index(count: usize) -> SearchIndex {
    let mut index = SearchIndex::open(None);
    index.update(&synthetic_skills(count)).expect("the embedded embedder does not fail");
    index
}

const QUERIES: [&str; 4] = [
    "send an email",
    "turn a table of comma separated values into json before the release",
    "snd invocies to cusotmers",
    "colourless green ideas sleep furiously",
];

#[divan::bench(args = QUERIES)]
fn search_10_000(bencher: Bencher, query: &str) {
    let index = make_index(10_000);
    bencher.bench_local(|| index.search(black_box(query), 5));
}

#[divan::bench(args = [1_000, 10_000], sample_count = 5, sample_size = 1)]
fn update(bencher: Bencher, count: usize) {
    let skills = synthetic_skills(count);
    bencher.bench_local(|| {
        let mut index = SearchIndex::open(None);
        index.update(black_box(&skills)).map(|update| update.embedded)
    });
}
