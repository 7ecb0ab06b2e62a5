//! A training run from its settings to its adapter.

use std::f32::consts::LN_2;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::adapter::{Adapter, Numbers, Shape};
use super::base::Base;
use super::checkpoint::{self, State};
use super::data::{Encoder, Loaded, Weighted};
use super::kernels;
use super::network::Network;
use super::objective::{self, Objective};
use super::optimizer::{Optimizer, clip};
use super::plan::{Batches, Item, Plan, chosen, plan};
use super::sequences::{Sample, Sequences};
use super::settings::Settings;
use super::{memory, unusable};
use crate::chat::ChatTemplate;
use crate::tokenizer::Tokenizer;
use crate::weights::Weights;
use crate::{LocalError, Result, identity};

/// More examples would make the loss that is told at a checkpoint little truer, and take minutes.
const VALID_EXAMPLES: usize = 64;

/// What a step learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Examples,
    Preferences,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Start {
        /// The SHA-256 of the weights that are adapted.
        model: String,
        examples: usize,
        pairs: usize,
        valid: usize,
        /// Rows left out because they have too many tokens, and because they weigh nothing.
        too_long: usize,
        weightless: usize,
        /// Tokens of all examples and pairs, prompts included.
        tokens: u64,
        /// Numbers that are trained.
        parameters: usize,
        iterations: usize,
        memory_bytes: u64,
        threads: usize,
        resumed_from: Option<usize>,
    },
    /// Something is done otherwise than the settings say.
    Note {
        message: String,
    },
    Step {
        stage: Stage,
        /// Steps done, this one included.
        step: usize,
        iterations: usize,
        loss: f64,
        /// How many examples were known and not learned again.
        known: usize,
        learning_rate: f64,
        /// Before it was clipped.
        gradient_norm: f64,
        /// Of this step, prompts included.
        tokens: u64,
        tokens_per_second: f64,
        peak_memory_bytes: Option<u64>,
        seconds: f64,
        eta_seconds: f64,
    },
    Checkpoint {
        step: usize,
        path: PathBuf,
        valid_loss: Option<f64>,
        /// The share of validation examples that would be answered word for word.
        valid_exact: Option<f64>,
    },
    Done(Summary),
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    pub step: usize,
    /// The folder with the adapter.
    pub adapter: PathBuf,
    pub loss: f64,
    pub valid_loss: Option<f64>,
    /// Tokens gone through, prompts included.
    pub tokens: u64,
    pub seconds: f64,
    pub peak_memory_bytes: Option<u64>,
}

/// Trains an adapter. Events are told while they happen and written to `metrics.jsonl` in the output folder.
pub fn train(settings: &Settings, tell: &mut (dyn FnMut(&Event) + Send)) -> Result<Summary> {
    settings.check()?;
    let threads =
        settings.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| unusable("the setting `threads`".to_owned(), error.to_string()))?;
    pool.install(|| Run::prepare(settings, threads, tell)?.finish())
}

struct Run<'a> {
    settings: &'a Settings,
    tell: &'a mut (dyn FnMut(&Event) + Send),
    network: Network,
    stages: Vec<Plan>,
    valid: Vec<Weighted<Sample>>,
    adapter: Adapter,
    optimizer: Optimizer,
    state: State,
}

/// What a step did.
struct Done {
    loss: f64,
    known: usize,
    learning_rate: f64,
    gradient_norm: f64,
    tokens: u64,
}

/// What examples come to that are never learned.
#[derive(Clone, Copy)]
struct Validated {
    loss: f64,
    /// The share of those in which every right token is likelier than all others together, so that likeliest answers are word for word these.
    exact: f64,
}

impl<'a> Run<'a> {
    fn prepare(
        settings: &'a Settings,
        threads: usize,
        tell: &'a mut (dyn FnMut(&Event) + Send),
    ) -> Result<Run<'a>> {
        if !settings.resume && !checkpoint::steps(&settings.output).is_empty() {
            let reason = "it has checkpoints of an earlier run; set `resume` to go on with it, or choose another folder";
            return Err(unusable(format!("the folder `{}`", settings.output.display()), reason.to_owned()));
        }
        let weights = Weights::open(&settings.model)?;
        let encoder = Encoder {
            template: ChatTemplate::of(&weights)?,
            tokenizer: Tokenizer::of(&weights)?,
            max_tokens: settings.max_tokens.min(weights.config().max_positions),
        };
        let max_tokens = encoder.max_tokens;
        let examples = settings
            .train
            .as_ref()
            .map(|file| encoder.examples(file)?.enough("examples", file, max_tokens))
            .transpose()?;
        let (mut pairs, mut too_few) = (None, None);
        if let Some(file) = &settings.preferences {
            match encoder.pairs(file)?.enough("pairs", file, max_tokens) {
                Ok(enough) => pairs = Some(enough),
                // The first stage is worth having without the second.
                Err(error) if examples.is_some() => too_few = Some(error),
                Err(error) => return Err(error),
            }
        }
        let valid = settings.valid.as_ref().map(|file| encoder.examples(file)).transpose()?;
        let (too_long, weightless) =
            [left_out(examples.as_ref()), left_out(pairs.as_ref()), left_out(valid.as_ref())]
                .into_iter()
                .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut valid = valid.map(|loaded| loaded.items).unwrap_or_default();
        valid.truncate(VALID_EXAMPLES);
        let counts = (
            examples.as_ref().map_or(0, |loaded| loaded.items.len()),
            pairs.as_ref().map_or(0, |loaded| loaded.items.len()),
        );
        let stages = plan(settings, examples, pairs);

        let longest = longest(&stages, &valid);
        // An example each, or the two answers of a pair.
        let of_each =
            if stages.iter().any(|plan| plan.batches.stage() == Stage::Preferences) { 2 } else { 1 };
        let at_once = threads.min(settings.batch_size);
        let shape_of = (settings.rank, settings.layers);
        let needed = memory::needed(weights.config(), shape_of, at_once, longest * of_each);
        if let Some(available) =
            settings.memory.or_else(memory::available).filter(|available| *available < needed)
        {
            let reason = format!(
                "it takes about {} MiB to train, and {} MiB are available; use a smaller model, a lower `max_tokens` or fewer `layers`",
                needed >> 20,
                available >> 20
            );
            return Err(unusable(format!("the model `{}`", settings.model.display()), reason));
        }
        let model = identity::model_sha256(&weights)?;
        let fingerprint = fingerprint(settings, &model, &stages);
        let shape = Shape::new(weights.config(), settings.rank, settings.scale, settings.layers);
        let saved = if settings.resume {
            checkpoint::load(&settings.output, &shape, settings.weight_decay, &fingerprint)?
        } else {
            None
        };
        let resumed_from = saved.as_ref().map(|(_, _, state)| state.step);
        let (adapter, optimizer, state) = match saved {
            Some(saved) => saved,
            None => {
                let adapter = match &settings.adapter {
                    Some(folder) => Adapter::read(shape, &folder.join("adapters.safetensors"))?,
                    None => Adapter::new(shape, settings.seed),
                };
                let optimizer = Optimizer::new(adapter.zeros(), settings.weight_decay);
                (adapter, optimizer, State { step: 0, updates: 0, fingerprint, tokens: 0, seconds: 0.0 })
            }
        };
        let base = Base::load(&weights)?;
        fs::create_dir_all(&settings.output)
            .map_err(|source| LocalError::Write { path: settings.output.clone(), source })?;
        keep_metrics(&settings.output, state.step)?;
        let start = Event::Start {
            model,
            examples: counts.0,
            pairs: counts.1,
            valid: valid.len(),
            too_long,
            weightless,
            tokens: stages.iter().map(|plan| plan.batches.tokens()).sum(),
            parameters: adapter.shape.parameters(),
            iterations: stages.iter().map(|plan| plan.schedule.steps).sum(),
            memory_bytes: needed,
            threads,
            resumed_from,
        };
        let network = Network::new(base, longest);
        let mut run = Run { settings, tell, network, stages, valid, adapter, optimizer, state };
        run.event(&start)?;
        if let Some(too_few) = too_few {
            run.event(&Event::Note { message: format!("the second stage is left out: {too_few}") })?;
        }
        Ok(run)
    }

    fn finish(mut self) -> Result<Summary> {
        let total: usize = self.stages.iter().map(|plan| plan.schedule.steps).sum();
        let every = self.settings.checkpoint_every.unwrap_or_else(|| total.div_ceil(4));
        let (mut loss, mut valid_loss) = (f64::NAN, None);
        let (began, before) = (Instant::now(), self.state.clone());
        while self.state.step < total {
            let step_began = Instant::now();
            let stage = self.stages.iter().rposition(|plan| plan.first_step <= self.state.step).unwrap_or(0);
            let done = self.step(stage)?;
            loss = done.loss;
            self.state.step += 1;
            self.state.updates = self.optimizer.updates;
            self.state.tokens += done.tokens;
            self.state.seconds = before.seconds + began.elapsed().as_secs_f64();
            let per_step = began.elapsed().as_secs_f64() / (self.state.step - before.step) as f64;
            let event = Event::Step {
                stage: self.stages[stage].batches.stage(),
                step: self.state.step,
                iterations: total,
                loss: done.loss,
                known: done.known,
                learning_rate: done.learning_rate,
                gradient_norm: done.gradient_norm,
                tokens: done.tokens,
                tokens_per_second: done.tokens as f64 / step_began.elapsed().as_secs_f64(),
                peak_memory_bytes: memory::peak(),
                seconds: self.state.seconds,
                eta_seconds: per_step * (total - self.state.step) as f64,
            };
            self.event(&event)?;
            if self.state.step.is_multiple_of(every) || self.state.step == total {
                let path =
                    checkpoint::save(&self.settings.output, &self.adapter, &self.optimizer, &self.state)?;
                let valid = self.validate()?;
                valid_loss = valid.map(|valid| valid.loss);
                let valid_exact = valid.map(|valid| valid.exact);
                self.event(&Event::Checkpoint { step: self.state.step, path, valid_loss, valid_exact })?;
            }
        }
        checkpoint::write_mlx(&self.settings.output, &self.adapter)?;
        checkpoint::write_peft(&self.settings.output.join("peft"), &self.adapter)?;
        let summary = Summary {
            step: self.state.step,
            adapter: self.settings.output.clone(),
            loss,
            valid_loss,
            tokens: self.state.tokens,
            seconds: self.state.seconds,
            peak_memory_bytes: memory::peak(),
        };
        self.event(&Event::Done(summary.clone()))?;
        Ok(summary)
    }

    fn step(&mut self, stage: usize) -> Result<Done> {
        let Run { settings, stages, network, adapter, optimizer, state, .. } = self;
        let plan = &stages[stage];
        let step = state.step - plan.first_step;
        if step == 0 {
            *optimizer = Optimizer::new(adapter.zeros(), settings.weight_decay);
        }
        let chosen = chosen(plan.batches.len(), settings, step, plan.first_step);
        let total: f64 = plan.batches.total(&chosen);
        let mut gradients = adapter.zeros();
        let (mut loss, mut tokens, mut known) = (0.0, 0, 0);
        // Each on its way for itself: whoever waited for the others after every product would be idle. Whoever is done helps the others with theirs. Sums
        // are made in the order of the items, so that chance has no part in them.
        for items in plan.batches.items(&chosen).chunks(rayon::current_num_threads()) {
            let learned: Vec<Learned> = items
                .par_iter()
                .map(|item| learn(network, adapter, plan, settings, item, total))
                .collect::<Result<_>>()?;
            for learned in learned {
                loss += learned.loss;
                tokens += learned.tokens;
                known += usize::from(learned.is_known);
                for (into, more) in gradients.iter_mut().zip(learned.gradients.iter().flatten()) {
                    kernels::add_scaled(into, 1.0, more);
                }
            }
        }
        let gradient_norm = clip(&mut gradients, settings.clip);
        if !loss.is_finite() || !gradient_norm.is_finite() {
            return Err(diverged(settings, state.step + 1, loss, gradient_norm));
        }
        let learning_rate = plan.schedule.at(step);
        // Where nothing is to be learned, momentum would lead on all the same.
        if known < chosen.len() {
            optimizer.update(&mut adapter.numbers, &gradients, learning_rate);
        }
        Ok(Done { loss, known, learning_rate, gradient_norm, tokens })
    }

    /// What the examples come to that are never learned; the loss by the same formula as that of a step.
    fn validate(&self) -> Result<Option<Validated>> {
        if self.valid.is_empty() {
            return Ok(None);
        }
        let total = objective::example_total(self.valid.iter().map(|one| (&one.item, one.weight)));
        let (network, adapter) = (&self.network, &self.adapter);
        let asked = self.valid.par_iter().map(|Weighted { item, weight }| {
            let losses = network.losses(adapter, &Sequences::of([item]))?;
            let is_exact = losses.iter().all(|loss| *loss < LN_2);
            let whole = 0..losses.len();
            Ok((objective::examples(&losses, &[whole], &[*weight], total).loss, is_exact))
        });
        let asked: Vec<(f64, bool)> = asked.collect::<Result<_>>()?;
        let loss = asked.iter().map(|(loss, _)| loss).sum();
        let exact = asked.iter().filter(|(_, is_exact)| *is_exact).count();
        Ok(Some(Validated { loss, exact: exact as f64 / self.valid.len() as f64 }))
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        let file = metrics(&self.settings.output);
        let failed = |source| LocalError::Write { path: file.clone(), source };
        let line = serde_json::to_string(event).map_err(|error| failed(error.into()))?;
        let mut out = fs::OpenOptions::new().create(true).append(true).open(&file).map_err(failed)?;
        writeln!(out, "{line}").map_err(failed)?;
        (self.tell)(event);
        Ok(())
    }
}

/// What one item of a step comes to.
struct Learned {
    loss: f64,
    tokens: u64,
    /// Nothing is learned from what is known: it has no gradients.
    is_known: bool,
    gradients: Option<Numbers>,
}

fn learn(
    network: &Network,
    adapter: &Adapter,
    plan: &Plan,
    settings: &Settings,
    item: &Item<'_>,
    total: f64,
) -> Result<Learned> {
    let sequences = Sequences::of(item.samples.iter().copied());
    let trace = network.forward(adapter, &sequences)?;
    let (answers, weight) = (&sequences.answer_ranges, item.weight);
    let (Objective { loss, mut importance }, is_known) = match plan.batches {
        Batches::Examples { .. } => {
            let is_known = |loss: &f32| f64::from(*loss) <= settings.known_loss;
            let is_known = settings.known_loss > 0.0 && trace.losses.iter().all(is_known);
            (objective::examples(&trace.losses, answers, &[weight], total), is_known)
        }
        // Pairs are compared, and never known.
        Batches::Preferences(_) => {
            let comparison = settings.preference_weight;
            (objective::pairs(&trace.losses, answers, &[weight], total, comparison), false)
        }
    };
    let tokens = sequences.rows() as u64;
    if is_known {
        return Ok(Learned { loss, tokens, is_known, gradients: None });
    }
    if let Some(usual_total) = plan.usual_total {
        importance.iter_mut().for_each(|one| *one *= (total / usual_total) as f32);
    }
    let mut gradients = adapter.zeros();
    network.backward(adapter, &sequences, trace, &importance, &mut gradients)?;
    Ok(Learned { loss, tokens, is_known, gradients: Some(gradients) })
}

fn left_out<T>(loaded: Option<&Loaded<T>>) -> (usize, usize) {
    loaded.map_or((0, 0), |loaded| (loaded.too_long, loaded.weightless))
}

fn longest(stages: &[Plan], valid: &[Weighted<Sample>]) -> usize {
    let samples =
        stages.iter().flat_map(|plan| plan.batches.samples()).chain(valid.iter().map(|one| &one.item));
    samples.map(Sample::rows).max().unwrap_or(1)
}

/// Of everything that decides how the numbers go.
fn fingerprint(settings: &Settings, model: &str, stages: &[Plan]) -> String {
    let mut hash = Sha256::new();
    hash.update(model);
    let Settings { seed, rank, scale, clip, layers, weight_decay, batch_size, preference_weight, .. } =
        settings;
    let numbers = (seed, rank, scale, clip, layers, weight_decay, batch_size, preference_weight);
    hash.update(format!("{numbers:?} {:?}", settings.adapter));
    if settings.whole_every > 1 {
        hash.update(format!("{} {}", settings.whole_every, settings.beginning_tokens));
    }
    if settings.known_loss > 0.0 {
        hash.update(format!("{}", settings.known_loss));
    }
    for plan in stages {
        hash.update(format!("{:?} {:?}", plan.batches.stage(), plan.schedule));
        let weights: Vec<f32> = match &plan.batches {
            Batches::Examples { whole, .. } => whole.iter().map(|one| one.weight).collect(),
            Batches::Preferences(items) => items.iter().map(|one| one.weight).collect(),
        };
        hash.update(format!("{weights:?}"));
        for sample in plan.batches.samples() {
            hash.update(format!("{} {:?}", sample.answer, sample.tokens));
        }
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn metrics(output: &Path) -> PathBuf {
    output.join("metrics.jsonl")
}

/// Takes out what an interrupted run told about steps that will be done again.
fn keep_metrics(output: &Path, step: usize) -> Result<()> {
    let file = metrics(output);
    let Ok(text) = fs::read_to_string(&file) else { return Ok(()) };
    let kept: String = text
        .lines()
        .filter(|line| {
            let event: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            step > 0
                && event["step"].as_u64().is_none_or(|done| done as usize <= step)
                && event["event"] != "done"
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    fs::write(&file, kept).map_err(|source| LocalError::Write { path: file, source })
}

fn diverged(settings: &Settings, step: usize, loss: f64, gradient_norm: f64) -> LocalError {
    let saved = match checkpoint::steps(&settings.output).last() {
        Some(step) => format!("the checkpoint of step {step} is good"),
        None => "there is no checkpoint yet".to_owned(),
    };
    let reason = format!(
        "the loss is {loss} and its gradient {gradient_norm}; lower `learning_rate` ({}) or `scale` ({}), or raise `warmup`; {saved}",
        settings.learning_rate, settings.scale
    );
    unusable(format!("what step {step} computed"), reason)
}
