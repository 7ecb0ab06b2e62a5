//! What each stage learns from, step by step: which examples, and whether whole.

use super::data::{Loaded, Pair, Weighted};
use super::objective;
use super::optimizer::Schedule;
use super::random::Random;
use super::run::Stage;
use super::sequences::Sample;
use super::settings::Settings;

/// One stage: what it learns from, and for how long.
pub(super) struct Plan {
    pub(super) batches: Batches,
    pub(super) first_step: usize,
    pub(super) schedule: Schedule,
    /// What steps are divided by where some examples are learned whole and some are not. Each by its own tokens, the first lines beside a whole answer
    /// would count a fraction of those beside another beginning.
    pub(super) usual_total: Option<f64>,
}

pub(super) enum Batches {
    Examples {
        whole: Vec<Weighted<Sample>>,
        /// The beginnings of all of them, where not all are learned whole.
        beginnings: Vec<Weighted<Sample>>,
    },
    Preferences(Vec<Weighted<Pair>>),
}

/// An item of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    index: usize,
    is_whole: bool,
}

pub(super) fn plan(
    settings: &Settings,
    examples: Option<Loaded<Sample>>,
    pairs: Option<Loaded<Pair>>,
) -> Vec<Plan> {
    let schedule = |highest, steps: usize, warmup: Option<usize>| {
        let warmup = warmup.unwrap_or_else(|| steps.div_ceil(10)).min(steps);
        Schedule { highest, warmup, steps }
    };
    let mut stages = vec![];
    let mut first_step = 0;
    if let Some(examples) = examples {
        let schedule = schedule(settings.learning_rate, settings.iterations, settings.warmup);
        let begun = |one: &Weighted<Sample>| Weighted {
            item: one.item.beginning(settings.beginning_tokens),
            weight: one.weight,
        };
        let whole = examples.items;
        let beginnings = if settings.whole_every > 1 { whole.iter().map(begun).collect() } else { vec![] };
        let total = |examples: &[Weighted<Sample>]| {
            objective::example_total(examples.iter().map(|one| (&one.item, one.weight)))
        };
        let usual_total = Some((total(&whole), total(&beginnings)))
            .filter(|(whole, beginnings)| (f64::EPSILON..*whole).contains(beginnings))
            .map(|(of_whole, of_beginnings)| {
                let share = 1.0 / settings.whole_every as f64;
                let of_all = of_whole * share + of_beginnings * (1.0 - share);
                of_all * settings.batch_size as f64 / whole.len() as f64
            });
        let batches = Batches::Examples { whole, beginnings };
        stages.push(Plan { batches, first_step, schedule, usual_total });
        first_step = settings.iterations;
    }
    if let Some(pairs) = pairs {
        let steps = settings
            .preference_iterations
            .unwrap_or_else(|| (2 * pairs.items.len()).div_ceil(settings.batch_size));
        let highest = settings.preference_learning_rate.unwrap_or(settings.learning_rate / 4.0);
        let schedule = schedule(highest, steps, None);
        let batches = Batches::Preferences(pairs.items);
        stages.push(Plan { batches, first_step, schedule, usual_total: None });
    }
    stages
}

impl Batches {
    pub(super) fn stage(&self) -> Stage {
        match self {
            Batches::Examples { .. } => Stage::Examples,
            Batches::Preferences(_) => Stage::Preferences,
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Batches::Examples { whole, .. } => whole.len(),
            Batches::Preferences(items) => items.len(),
        }
    }

    pub(super) fn tokens(&self) -> u64 {
        self.samples().map(|sample| sample.tokens.len() as u64).sum()
    }

    pub(super) fn samples(&self) -> Box<dyn Iterator<Item = &Sample> + '_> {
        match self {
            Batches::Examples { whole, .. } => Box::new(whole.iter().map(|one| &one.item)),
            Batches::Preferences(items) => {
                Box::new(items.iter().flat_map(|one| [&one.item.chosen, &one.item.rejected]))
            }
        }
    }

    /// The denominator of a step.
    pub(super) fn total(&self, chosen: &[Choice]) -> f64 {
        match self {
            Batches::Examples { whole, beginnings } => objective::example_total(
                chosen
                    .iter()
                    .map(|choice| choice.of(whole, beginnings))
                    .map(|example| (&example.item, example.weight)),
            ),
            Batches::Preferences(items) => {
                chosen.iter().map(|choice| f64::from(items[choice.index].weight)).sum()
            }
        }
    }

    pub(super) fn items(&self, chosen: &[Choice]) -> Vec<Item<'_>> {
        let item = |choice: &Choice| match self {
            Batches::Examples { whole, beginnings } => {
                let example = choice.of(whole, beginnings);
                Item { samples: vec![&example.item], weight: example.weight }
            }
            Batches::Preferences(pairs) => {
                let Weighted { item: pair, weight } = &pairs[choice.index];
                Item { samples: vec![&pair.chosen, &pair.rejected], weight: *weight }
            }
        };
        chosen.iter().map(item).collect()
    }
}

impl Choice {
    fn of<'a>(
        self,
        whole: &'a [Weighted<Sample>],
        beginnings: &'a [Weighted<Sample>],
    ) -> &'a Weighted<Sample> {
        if self.is_whole { &whole[self.index] } else { &beginnings[self.index] }
    }
}

/// What goes through the network at once: an example, or the two answers of a pair.
pub(super) struct Item<'a> {
    pub(super) samples: Vec<&'a Sample>,
    pub(super) weight: f32,
}

/// The items of a step. Every round over all items is shuffled anew; a step may take the end of one round and the beginning of the next. Whole
/// ones come at regular intervals, so that no step costs much more than another.
pub(super) fn chosen(items: usize, settings: &Settings, step: usize, first_step: usize) -> Vec<Choice> {
    let Settings { batch_size: batch, seed, whole_every, .. } = *settings;
    let mut chosen = Vec::with_capacity(batch);
    let mut order: (usize, Vec<usize>) = (usize::MAX, vec![]);
    for index in step * batch..(step + 1) * batch {
        let (round, place) = (index / items, index % items);
        if order.0 != round {
            order = (round, (0..items).collect());
            Random::new(seed, &format!("order {first_step} {round}")).shuffle(&mut order.1);
        }
        chosen.push(Choice { index: order.1[place], is_whole: index % whole_every == 0 });
    }
    chosen
}
