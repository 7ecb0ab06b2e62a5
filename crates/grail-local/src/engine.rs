//! Many requests, one batch: a thread that takes requests in and lets them go between two steps of the model.
//!
//! Prompts are read some hundred tokens at a time, so that answers under way do not wait for a long one. A prompt that begins like another
//! one takes over what was computed for that beginning. None of this changes an answer.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use toktrie::SimpleVob;

use crate::circles::Circles;
use crate::grammar::Guard;
use crate::model::{Cache, Model, Next, Scratch};
use crate::sampling::Sampling;
use crate::text::TextStream;
use crate::tokenizer::Tokenizer;
use crate::{LocalError, Result};

/// Prompt tokens per step, of all sequences together.
const PROMPT_TOKENS: usize = 256;
/// So many tokens are tried before one is taken that leads nowhere.
const ATTEMPTS: usize = 64;
/// Shorter beginnings are computed again.
const SHORTEST_PREFIX: usize = 16;

/// How much is done at once.
#[derive(Clone, Copy, Debug)]
pub struct EngineLimits {
    /// Sequences in one step.
    pub batch: usize,
    /// Requests that wait for a place.
    pub queue: usize,
    /// Positions that all sequences may take together.
    pub positions: usize,
}

/// What to go on from, and how.
pub struct Generation {
    pub prompt: Vec<u32>,
    pub max_tokens: usize,
    pub sampling: Sampling,
    pub stop: Vec<String>,
    /// What holds the answer to a form.
    pub constraint: Option<Guard>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The model or a stop string ended it.
    Stop,
    /// It has as many tokens as it may have, or would go round in circles until then.
    Length,
}

#[derive(Debug)]
pub enum Event {
    Text(String),
    End { reason: EndReason, prompt_tokens: usize, tokens: usize },
    Failed(LocalError),
}

/// A running model. Dropping it ends its thread after the step under way.
pub struct Engine {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    waiting: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
    limits: EngineLimits,
    context: usize,
}

struct Job {
    generation: Generation,
    events: UnboundedSender<Event>,
}

impl Engine {
    pub fn start(model: Model, tokenizer: Arc<Tokenizer>, limits: EngineLimits) -> Self {
        let (jobs, incoming) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let context = model.context();
        let scheduler = Scheduler {
            model,
            tokenizer,
            limits,
            incoming,
            waiting: Arc::clone(&waiting),
            is_stopped: Arc::clone(&is_stopped),
            queue: VecDeque::new(),
            active: Vec::new(),
            recent: None,
            scratch: Scratch::default(),
        };
        let thread = std::thread::spawn(move || scheduler.run());
        Self { jobs: Some(jobs), thread: Some(thread), waiting, is_stopped, limits, context }
    }

    /// Hands a request in. Its events come one by one; dropping the receiver cancels it.
    pub fn submit(&self, mut generation: Generation) -> Result<UnboundedReceiver<Event>> {
        let tokens = generation.prompt.len();
        if tokens == 0 {
            return Err(LocalError::Encode { reason: "the prompt is empty".to_owned() });
        }
        if tokens >= self.context {
            return Err(LocalError::PromptTooLong { tokens, context: self.context });
        }
        generation.max_tokens = generation.max_tokens.min(self.context - tokens);
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst);
        if waiting >= self.limits.queue + self.limits.batch {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(LocalError::Busy { waiting });
        }
        let (events, receiver) = unbounded_channel();
        let jobs = self.jobs.as_ref().ok_or(LocalError::Stopped)?;
        jobs.send(Job { generation, events }).map_err(|_| LocalError::Stopped)?;
        Ok(receiver)
    }

    /// The whole answer to one request, for whoever can wait.
    pub fn complete(&self, generation: Generation) -> Result<(String, EndReason)> {
        let mut events = self.submit(generation)?;
        let mut text = String::new();
        while let Some(event) = events.blocking_recv() {
            match event {
                Event::Text(more) => text.push_str(&more),
                Event::End { reason, .. } => return Ok((text, reason)),
                Event::Failed(error) => return Err(error),
            }
        }
        Err(LocalError::Stopped)
    }

    /// Whether the thread is still there.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One request under way.
struct Sequence {
    generation: Generation,
    events: UnboundedSender<Event>,
    cache: Cache,
    text: TextStream,
    circles: Circles,
    tokens: usize,
    /// The token that was chosen last and is not in the cache yet.
    last: Option<u32>,
    /// Where its scores are, after a step.
    scores: Option<usize>,
    is_done: bool,
}

impl Sequence {
    fn positions(&self) -> usize {
        self.generation.prompt.len() + self.generation.max_tokens
    }

    fn finish(&mut self, reason: EndReason) {
        let rest = self.text.finish();
        if !rest.is_empty() {
            self.tell(Event::Text(rest));
        }
        let (prompt_tokens, tokens) = (self.generation.prompt.len(), self.tokens);
        self.tell(Event::End { reason, prompt_tokens, tokens });
        self.is_done = true;
    }

    fn fail(&mut self, error: LocalError) {
        self.tell(Event::Failed(error));
        self.is_done = true;
    }

    fn tell(&mut self, event: Event) {
        // Nobody listens any more: the request was cancelled.
        if self.events.send(event).is_err() {
            self.is_done = true;
        }
    }

    /// The likeliest token, or one drawn by lot, that what holds the answer does not object to. After some attempts the first one is taken all the same:
    /// an answer that is wrong is better than none.
    fn choose(&self, scores: &[f32], mask: Option<&SimpleVob>, tokenizer: &Tokenizer) -> Result<u32> {
        let Generation { sampling, constraint, .. } = &self.generation;
        let Some(guard) = constraint else { return sampling.choose(scores, mask, self.tokens) };
        let mut scores = Cow::Borrowed(scores);
        if let Some(weighed) = guard.weigh(&scores, mask, sampling.temperature) {
            scores = Cow::Owned(weighed);
        }
        let first = sampling.choose(&scores, mask, self.tokens)?;
        let mut token = first;
        for _ in 0..ATTEMPTS {
            if tokenizer.is_special(token) || guard.permits(&tokenizer.token_bytes(token)) {
                return Ok(token);
            }
            scores.to_mut()[token as usize] = f32::NEG_INFINITY;
            match sampling.choose(&scores, mask, self.tokens) {
                Ok(other) => token = other,
                Err(_) => break,
            }
        }
        Ok(first)
    }

    /// Chooses the next token by the scores.
    fn advance(&mut self, scores: &[f32], tokenizer: &Tokenizer) {
        let mask = match self.generation.constraint.as_mut().map(Guard::mask).transpose() {
            Ok(mask) => mask.flatten().map(|mut mask| {
                // Where one end is allowed, every token that ends an answer is.
                if tokenizer.ends().iter().any(|end| mask.is_allowed(*end)) {
                    tokenizer.ends().iter().for_each(|end| mask.allow_token(*end));
                }
                mask
            }),
            Err(error) => return self.fail(error),
        };
        let token = match self.choose(scores, mask.as_ref(), tokenizer) {
            Ok(token) => token,
            Err(error) => return self.fail(error),
        };
        self.tokens += 1;
        if tokenizer.is_end(token) {
            return self.finish(EndReason::Stop);
        }
        self.last = Some(token);
        let bytes = if tokenizer.is_special(token) { Vec::new() } else { tokenizer.token_bytes(token) };
        let text = self.text.push(&bytes);
        if !text.is_empty() {
            self.tell(Event::Text(text));
        }
        if self.text.is_stopped() {
            return self.finish(EndReason::Stop);
        }
        match self.generation.constraint.as_mut().map(|guard| guard.consume(token, &bytes)).transpose() {
            Ok(Some(true)) => return self.finish(EndReason::Stop),
            Ok(_) => {}
            Err(error) => return self.fail(error),
        }
        // By lot an answer may find out of a circle, and a grammar may want one.
        let Generation { sampling, constraint, .. } = &self.generation;
        let is_held = matches!(constraint, Some(Guard::Grammar(_)));
        let is_endless = self.circles.push(token) && !sampling.is_by_lot() && !is_held;
        if self.tokens >= self.generation.max_tokens || is_endless {
            self.finish(EndReason::Length);
        }
    }
}

struct Scheduler {
    model: Model,
    tokenizer: Arc<Tokenizer>,
    limits: EngineLimits,
    incoming: mpsc::Receiver<Job>,
    waiting: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
    queue: VecDeque<Job>,
    active: Vec<Sequence>,
    /// The prompt that was read last, with its cache.
    recent: Option<(Vec<u32>, Cache)>,
    scratch: Scratch,
}

impl Scheduler {
    fn run(mut self) {
        while self.receive() && !self.is_stopped.load(Ordering::SeqCst) {
            self.admit();
            self.step();
            for sequence in self.active.extract_if(.., |sequence| sequence.is_done) {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                let prompt = sequence.generation.prompt;
                if sequence.cache.len() >= prompt.len() && prompt.len() >= SHORTEST_PREFIX {
                    self.recent = Some((prompt, sequence.cache));
                }
            }
        }
    }

    /// Takes new requests in; waits for one if there is nothing else to do. False when none can come any more.
    fn receive(&mut self) -> bool {
        if self.active.is_empty() && self.queue.is_empty() {
            match self.incoming.recv() {
                Ok(job) => self.queue.push_back(job),
                Err(_) => return false,
            }
        }
        self.queue.extend(self.incoming.try_iter());
        true
    }

    fn admit(&mut self) {
        let waiting = &self.waiting;
        self.queue.retain(|job| {
            let is_wanted = !job.events.is_closed();
            if !is_wanted {
                waiting.fetch_sub(1, Ordering::SeqCst);
            }
            is_wanted
        });
        while self.active.len() < self.limits.batch {
            let Some(job) = self.queue.front() else { return };
            let taken: usize = self.active.iter().map(Sequence::positions).sum();
            let wanted = job.generation.prompt.len() + job.generation.max_tokens;
            // One sequence always finds room: the memory was estimated for it.
            if !self.active.is_empty() && taken + wanted > self.limits.positions {
                return;
            }
            let Some(job) = self.queue.pop_front() else { return };
            let mut sequence = Sequence {
                text: TextStream::new(&job.generation.stop),
                circles: Circles::new(),
                generation: job.generation,
                events: job.events,
                cache: Cache::new(self.model.config()),
                tokens: 0,
                last: None,
                scores: None,
                is_done: false,
            };
            if sequence.generation.max_tokens == 0 {
                sequence.finish(EndReason::Length);
            }
            self.active.push(sequence);
        }
    }

    /// One step of all sequences that have something to compute.
    fn step(&mut self) {
        self.active.iter_mut().for_each(|sequence| sequence.is_done |= sequence.events.is_closed());
        let is_ready: Vec<bool> = (0..self.active.len()).map(|index| self.share_beginning(index)).collect();
        let mut prompt_left = PROMPT_TOKENS;
        let mut steps = Vec::with_capacity(self.active.len());
        let mut count = 0;
        for (sequence, is_ready) in self.active.iter_mut().zip(is_ready) {
            sequence.scores = None;
            if sequence.is_done || !is_ready {
                continue;
            }
            let Sequence { cache, generation, last, scores, .. } = sequence;
            let (start, prompt) = (cache.len(), &generation.prompt);
            if start < prompt.len() {
                let end = prompt.len().min(start + prompt_left);
                if end == start {
                    continue;
                }
                prompt_left -= end - start;
                let wants_scores = end == prompt.len();
                if wants_scores {
                    *scores = Some(count);
                    count += 1;
                }
                steps.push(Next { cache, tokens: &prompt[start..end], wants_scores });
            } else if let Some(last) = last {
                *scores = Some(count);
                count += 1;
                steps.push(Next { cache, tokens: std::slice::from_ref(last), wants_scores: true });
            }
        }
        if steps.is_empty() {
            return;
        }
        if let Err(error) = self.model.forward(&mut steps, &mut self.scratch) {
            let message = error.to_string();
            for sequence in &mut self.active {
                sequence.fail(LocalError::Encode { reason: message.clone() });
            }
            return;
        }
        let (scores, vocab, tokenizer) = (&self.scratch.scores, self.model.config().vocab, &self.tokenizer);
        let threads = self.model.threads();
        threads.run(|| {
            threads.each(&mut self.active, |sequence| {
                if let Some(index) = sequence.scores {
                    sequence.advance(&scores[index * vocab..][..vocab], tokenizer);
                }
            });
        });
    }

    /// Lets a prompt that was not begun take over what another has computed for the same beginning. False if it pays to wait for that.
    fn share_beginning(&mut self, index: usize) -> bool {
        let sequence = &self.active[index];
        if !sequence.cache.is_empty() || sequence.is_done {
            return true;
        }
        let prompt = &sequence.generation.prompt;
        // The last token is always computed: its scores are needed.
        let shared = |other: &[u32]| {
            let same = prompt.iter().zip(other).take_while(|(a, b)| a == b).count();
            same.min(prompt.len() - 1)
        };
        let mut best: Option<(usize, &Cache)> = None;
        let mut consider = |length: usize, cache| {
            if length >= SHORTEST_PREFIX && best.is_none_or(|(longest, _)| length > longest) {
                best = Some((length, cache));
            }
        };
        if let Some((recent, cache)) = &self.recent {
            consider(shared(recent), cache);
        }
        for other in &self.active[..index] {
            if !other.is_done {
                consider(shared(&other.generation.prompt), &other.cache);
            }
        }
        match best {
            None => true,
            Some((length, cache)) if cache.len() >= length => {
                let cache = cache.prefix(length);
                self.active[index].cache = cache;
                true
            }
            Some(_) => false,
        }
    }
}
