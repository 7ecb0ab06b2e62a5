//! From events to a dataset: read, extract, add imports, curate, mix, split, freeze.
//!
//! Everything that judges or knows of the world outside comes in with [`Surroundings`]. The same events, imports, decisions, rules and
//! settings give the same dataset.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use grail_rules::RuleSet;
use serde_json::{Value as Json, json};

use super::chat::{ChatForm, check_form};
use super::held_out::remember_held_out;
use super::import::{Import, mix, read_imports};
use super::manifest::{Counts, EventSource, ImportSource, ReviewCounts, Sources};
use super::review::{Queue, Reviewed};
use super::store::{Draft, Dropped, Frozen, freeze};
use crate::FlywheelError;
use crate::curate::{CurateSettings, Curated, Validator, curate};
use crate::event::{Event, EventKind, ReviewVerdict};
use crate::example::Example;
use crate::extract::{CLOSED, ExtractSettings, MERGED, Review, SpecSource, extract_log};
use crate::log::{Filter, forgotten_sessions, read_events};
use crate::outcome::{Outcome, branch_outcomes};
use crate::split::{SplitSettings, split};

/// What is built, and how.
#[derive(Clone, Debug)]
pub struct BuildSettings {
    pub form: ChatForm,
    /// How many turns before a request are kept.
    pub window: usize,
    pub curate: CurateSettings,
    pub split: SplitSettings,
    /// Whether only examples count that a person accepted or corrected.
    pub reviewed_only: bool,
    pub with_imports: bool,
}

impl Default for BuildSettings {
    fn default() -> Self {
        Self {
            form: ChatForm::default(),
            window: ExtractSettings::default().window,
            curate: CurateSettings::default(),
            split: SplitSettings::default(),
            reviewed_only: false,
            with_imports: true,
        }
    }
}

/// Where a dataset is built, and who judges.
#[derive(Clone, Copy)]
pub struct Surroundings<'s> {
    pub root: &'s Path,
    pub validator: &'s dyn Validator,
    pub specs: Option<&'s dyn SpecSource>,
    /// Prompts of evaluations, which nothing is learned from; those of earlier builds count as well.
    pub held_out: &'s [String],
    /// The rules that judge.
    pub rules: &'s RuleSet,
    /// Told how many events were read.
    pub watch: &'s dyn Fn(u64),
}

/// Everything that a dataset could be made of, judged.
pub struct Prepared {
    pub curated: Curated,
    /// What people decided and did not take back.
    pub reviews: BTreeMap<String, Review>,
    pub sources: Sources,
    pub counts: Counts,
    /// The last number of every session.
    pub numbers: BTreeMap<String, u64>,
    ratios: BTreeMap<String, f64>,
    /// Examples that do not fit into the one form of a dataset.
    unfit: Vec<(Example, String)>,
}

/// A dataset, and what is to be said about it.
pub struct Built {
    pub frozen: Frozen,
    pub queue: Queue,
    pub warnings: Vec<String>,
}

impl Prepared {
    pub fn queue(&self) -> Queue {
        Queue::new(&self.curated.kept, &self.reviews)
    }
}

/// Reads and judges, and decides nothing yet.
pub fn prepare(surroundings: &Surroundings<'_>, settings: &BuildSettings) -> Result<Prepared, FlywheelError> {
    let root = surroundings.root;
    let mut reading = Reading::default();
    let outcomes =
        branch_outcomes(read_events(root, &Filter::default())?.flatten().map(|stored| stored.event));
    let factors = outcomes.into_iter().filter_map(|(branch, outcome)| match outcome {
        Outcome::Merged => Some((branch, MERGED)),
        Outcome::Closed => Some((branch, CLOSED)),
        Outcome::Open => None,
    });
    let extract_settings = ExtractSettings {
        window: settings.window,
        outcome_factors: factors.collect(),
        forgotten: forgotten_sessions(root)?,
        specs: surroundings.specs,
        ..ExtractSettings::default()
    };
    let extraction = extract_log(root, &extract_settings, |read| match read {
        Ok(stored) => {
            reading.count(&stored.file, &stored.event);
            (surroundings.watch)(reading.events);
        }
        Err(_) => reading.unreadable += 1,
    })?;
    let mut reviews = extraction.reviews;
    reviews.retain(|_, review| review.verdict != ReviewVerdict::Withdraw);
    let imports = if settings.with_imports { read_imports(root)? } else { Vec::new() };
    let mut counts = Counts { extracted: extraction.examples.len() as u64, ..Counts::default() };
    let mut sources = reading.sources(surroundings.held_out);
    let mut ratios = BTreeMap::new();
    let mut examples = extraction.examples;
    for Import { record, examples: imported } in imports {
        counts.imported += record.examples;
        ratios.insert(record.name.clone(), record.ratio);
        examples.extend(imported);
        sources.imports.push(ImportSource {
            name: record.name,
            hash: record.hash,
            origin: record.origin,
            examples: record.examples,
            ratio: record.ratio,
        });
    }
    let mut unfit = Vec::new();
    examples.retain(|example| match check_form(example) {
        Ok(()) => true,
        Err(problem) => {
            unfit.push((example.clone(), problem));
            false
        }
    });
    let curate_settings = CurateSettings { reviews: reviews.clone(), ..settings.curate.clone() };
    let curated = curate(examples, &curate_settings, surroundings.validator);
    counts.varied = curated.variations as u64;
    Ok(Prepared { curated, reviews, sources, counts, numbers: reading.numbers, ratios, unfit })
}

/// Freezes what a project has taught so far.
pub fn build(surroundings: &Surroundings<'_>, settings: &BuildSettings) -> Result<Built, FlywheelError> {
    let held_out = remember_held_out(surroundings.root, surroundings.held_out)?;
    let surroundings = &Surroundings { held_out: &held_out, ..*surroundings };
    let prepared = prepare(surroundings, settings)?;
    let queue = prepared.queue();
    let mut draft = Draft {
        form: settings.form.clone(),
        rules: rule_hashes(surroundings.rules),
        settings: told(settings),
        balance: json!({
            "before": prepared.curated.before,
            "after": prepared.curated.after,
            "warnings": prepared.curated.warnings,
        }),
        ..Draft::default()
    };
    draft.dropped.extend(prepared.unfit.iter().map(|(example, problem)| {
        dropped(example, "does not fit the form of the dataset", Some(problem.clone()))
    }));
    draft.dropped.extend(prepared.curated.dropped.iter().map(|(example, reason)| {
        dropped(example, &reason.name().replace('_', " "), Some(reason.to_string()))
    }));
    let mut kept = prepared.curated.kept;
    if settings.reviewed_only {
        let decided = Reviewed::new(&prepared.reviews);
        let (reviewed, waiting) =
            kept.into_iter().partition::<Vec<Example>, _>(|example| decided.contains(example));
        draft.dropped.extend(waiting.iter().map(|example| dropped(example, "not reviewed", None)));
        kept = reviewed;
    }
    let too_many = mix(&kept, &prepared.ratios);
    let (surplus, kept) =
        kept.into_iter().partition::<Vec<Example>, _>(|example| too_many.contains(&example.id));
    draft
        .dropped
        .extend(surplus.iter().map(|example| dropped(example, "beyond the share of its import", None)));
    let divided = split(kept, surroundings.held_out, &settings.split);
    draft.dropped.extend(
        divided
            .held_out
            .iter()
            .map(|(example, _)| dropped(example, "near a prompt held out for evaluation", None)),
    );
    draft.proof = serde_json::to_value(&divided.proof).unwrap_or_default();
    let mut warnings = prepared.curated.warnings;
    warnings.extend(divided.warnings);
    (draft.train, draft.valid, draft.test) = (divided.train, divided.valid, divided.test);
    if draft.train.is_empty() {
        return Err(nothing_to_learn(&prepared.counts, &draft.dropped));
    }
    if !divided.proof.holds {
        return Err(FlywheelError::refused(
            format!("{} of the examples cross the borders between the splits", divided.proof.leaks.len()),
            "this is a fault of Grail's split: nothing was written; a larger `--valid` and `--test` may help",
        ));
    }
    draft.review = review_counts(&prepared.reviews, &queue);
    draft.sources = prepared.sources;
    draft.counts = prepared.counts;
    draft.dropped.sort_by(|one, other| (&one.id, &one.reason).cmp(&(&other.id, &other.reason)));
    let frozen = freeze(surroundings.root, &draft)?;
    Ok(Built { frozen, queue, warnings })
}

/// The hash of every pack in force, by its name.
pub fn rule_hashes(rules: &RuleSet) -> BTreeMap<String, String> {
    let mut packs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for compiled in rules.rules() {
        let hash = format!("{} {}", compiled.rule.id, compiled.rule.hash.to_hex());
        packs.entry(compiled.rule.pack.to_string()).or_default().insert(hash);
    }
    let hashed = |rules: BTreeSet<String>| {
        let text: Vec<String> = rules.into_iter().collect();
        blake3::hash(text.join("\n").as_bytes()).to_hex()[..16].to_owned()
    };
    packs.into_iter().map(|(pack, rules)| (pack, hashed(rules))).collect()
}

/// How a manifest names a prompt that was held out.
pub fn prompt_hash(prompt: &str) -> String {
    blake3::hash(prompt.as_bytes()).to_hex()[..16].to_owned()
}

/// What is seen of the events while they go by.
#[derive(Default)]
struct Reading {
    files: BTreeMap<String, (u64, blake3::Hasher)>,
    numbers: BTreeMap<String, u64>,
    events: u64,
    unreadable: u64,
}

impl Reading {
    fn count(&mut self, file: &str, event: &Event) {
        self.events += 1;
        let number = self.numbers.entry(event.session.clone()).or_default();
        *number = event.number.max(*number);
        // That a dataset was built says nothing that another one could be built of.
        if matches!(event.kind, EventKind::Made { .. }) {
            return;
        }
        let (events, hasher) = self.files.entry(file.to_owned()).or_default();
        *events += 1;
        let _ = serde_json::to_writer(hasher, event);
    }

    fn sources(&self, held_out: &[String]) -> Sources {
        let file = |(file, (events, hasher)): (&String, &(u64, blake3::Hasher))| EventSource {
            file: file.clone(),
            events: *events,
            hash: hasher.finalize().to_hex()[..16].to_owned(),
        };
        let held_out_prompts: BTreeSet<String> = held_out.iter().map(|prompt| prompt_hash(prompt)).collect();
        let held_out: BTreeSet<&String> = held_out.iter().collect();
        let text = serde_json::to_vec(&held_out).unwrap_or_default();
        Sources {
            events: self.files.iter().map(file).collect(),
            unreadable_lines: self.unreadable,
            held_out: held_out.len() as u64,
            held_out_hash: blake3::hash(&text).to_hex()[..16].to_owned(),
            held_out_prompts: held_out_prompts.into_iter().collect(),
            ..Sources::default()
        }
    }
}

fn dropped(example: &Example, reason: &str, detail: Option<String>) -> Dropped {
    let source = example.origin.source.clone();
    Dropped { id: example.id.clone(), reason: reason.to_owned(), detail, source }
}

fn review_counts(reviews: &BTreeMap<String, Review>, queue: &Queue) -> ReviewCounts {
    let count = |verdict| reviews.values().filter(|review| review.verdict == verdict).count() as u64;
    ReviewCounts {
        accepted: count(ReviewVerdict::Accept),
        corrected: count(ReviewVerdict::Correct),
        rejected: count(ReviewVerdict::Reject),
        waiting: queue.waiting.len() as u64,
    }
}

fn nothing_to_learn(counts: &Counts, dropped: &[Dropped]) -> FlywheelError {
    if counts.extracted + counts.imported == 0 {
        return FlywheelError::refused(
            "there is nothing to learn from yet",
            "`grail generate` and the tools of `grail mcp` leave events; `grail dataset import --skills` gives a beginning",
        );
    }
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    dropped.iter().for_each(|dropped| *reasons.entry(&dropped.reason).or_default() += 1);
    let reasons: Vec<String> =
        reasons.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    FlywheelError::refused(
        format!(
            "of {} examples none is left to train with: {}",
            counts.extracted + counts.imported,
            reasons.join(", ")
        ),
        "more work leaves more examples; `grail dataset import --skills` gives a beginning",
    )
}

fn told(settings: &BuildSettings) -> Json {
    let (curate, split) = (&settings.curate, &settings.split);
    json!({
        "window": settings.window,
        "reviewed_only": settings.reviewed_only,
        "with_imports": settings.with_imports,
        "near_duplicates": curate.near_duplicates,
        "session_cap": curate.session_cap,
        "floor": curate.floor,
        "ceiling": curate.ceiling,
        "most_repeats": curate.most_repeats,
        "variations": curate.variations,
        "renames": curate.renames,
        "valid": split.valid,
        "test": split.test,
        "threshold": split.threshold,
    })
}
