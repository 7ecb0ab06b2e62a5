//! Commands that ask a model many questions: one runtime, a bar for people who wait, and Ctrl-C that loses nothing.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use grail_agent::AgentError;
use grail_agent::evaluate::{EvaluateSettings, Progress};
use grail_agent::training::TrainEvent;
use grail_rules::tools::interruption;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::runtime::{Builder, Runtime};

use crate::interrupt::while_tools_run;
use crate::render::{Failure, visible_line};

/// How a suite is asked.
#[derive(Clone, Debug, Args)]
pub struct AskingArguments {
    /// The suite: a name, or a file in the project. `held-out` and `quick` come with Grail
    #[arg(long, value_name = "SUITE")]
    pub suite: Option<String>,
    /// How often each prompt is asked, each time with another seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    pub seeds: Option<u64>,
    /// How often a wrong answer is sent back with what is wrong
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=10), help_heading = "Asking")]
    pub retries: u32,
    /// How much chance there is in an answer; without it, none for one seed, and a little for several
    #[arg(long, value_name = "T", help_heading = "Asking")]
    pub temperature: Option<f32>,
    /// How long an answer may be
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(16..=65_536), help_heading = "Asking")]
    pub max_tokens: u32,
    /// How many requests are out at once
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=512), help_heading = "Asking")]
    pub concurrency: u16,
    /// Do not check answers for types
    #[arg(long, help_heading = "Judging")]
    pub no_types: bool,
    /// Do not render answers under Python 3.14, also where it is installed
    #[arg(long, help_heading = "Judging")]
    pub no_render: bool,
}

impl AskingArguments {
    pub(crate) fn settings(&self, default_seeds: u64) -> anyhow::Result<EvaluateSettings> {
        let settings = EvaluateSettings::with_seeds(self.seeds.unwrap_or(default_seeds));
        let temperature = self.temperature.unwrap_or(settings.temperature);
        if !(0.0..=2.0).contains(&temperature) {
            let message = format!("the temperature {temperature} is out of range");
            return Err(Failure::with_hint(message, "from 0, which is no chance at all, to 2").into());
        }
        Ok(EvaluateSettings {
            seeds: settings.seeds,
            temperature,
            max_tokens: self.max_tokens,
            retries: self.retries,
            concurrency: self.concurrency.into(),
            types: !self.no_types,
            render: !self.no_render,
        })
    }
}

/// Where models are asked. One for the whole command: connections and workers live as long as it does.
pub(crate) struct Desk {
    runtime: Runtime,
    /// What Ctrl-C leaves behind, in words.
    interrupted: fn() -> Failure,
}

impl Desk {
    /// For work whose answers are kept as they come.
    pub(crate) fn open() -> anyhow::Result<Self> {
        Self::saying(|| {
            Failure::with_hint(
                "interrupted; every answer until now is kept",
                "the same command goes on there",
            )
        })
    }

    /// For work that says something else when it is interrupted.
    pub(crate) fn saying(interrupted: fn() -> Failure) -> anyhow::Result<Self> {
        Ok(Self { runtime: Builder::new_current_thread().enable_all().build()?, interrupted })
    }

    /// Works until it is done or somebody presses Ctrl-C. Whatever was begun is put away then: other tools end, copies of the project go.
    pub(crate) fn work<Output>(
        &self,
        work: impl Future<Output = Result<Output, AgentError>>,
    ) -> anyhow::Result<Output> {
        interruption().store(false, Ordering::SeqCst);
        let interrupted = async {
            while !interruption().load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let work = async {
            tokio::select! {
                result = work => Ok(result?),
                () = interrupted => Err((self.interrupted)().into()),
            }
        };
        while_tools_run(|| self.runtime.block_on(work))
    }
}

/// How far the asking is, in one line on stderr.
pub(crate) struct AskingBar {
    bar: Option<Mutex<(String, ProgressBar)>>,
}

impl AskingBar {
    pub(crate) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: None };
        }
        Self { bar: Some(Mutex::new((String::new(), ProgressBar::hidden()))) }
    }

    pub(crate) fn advance(&self, who: &str, progress: Progress) {
        self.draw(&format!("asking {}", visible_line(who)), "answers", progress);
    }

    /// Whoever hears how far training is.
    pub(crate) fn hears_training(&self) -> impl FnMut(TrainEvent<'_>) + '_ {
        let mut planned = 0;
        move |event| match event {
            TrainEvent::Planned { iterations } => planned = usize::try_from(iterations).unwrap_or(usize::MAX),
            TrainEvent::Point(point) => {
                let done = usize::try_from(point.step).unwrap_or(usize::MAX);
                self.train(Progress { done, total: planned.max(done) }, point.loss);
            }
            TrainEvent::Began { .. }
            | TrainEvent::Validated { .. }
            | TrainEvent::Said(_)
            | TrainEvent::Noted(_) => {}
        }
    }

    fn train(&self, progress: Progress, loss: Option<f64>) {
        self.draw("training", "steps", progress);
        if let (Some(bar), Some(loss)) = (&self.bar, loss) {
            let bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.1.set_message(format!("training (loss {loss:.3})"));
        }
    }

    fn draw(&self, what: &str, noun: &str, progress: Progress) {
        let Some(bar) = &self.bar else { return };
        let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
        if bar.0 != what {
            bar.1.finish_and_clear();
            let next = ProgressBar::new(progress.total as u64);
            let template = format!("{{msg}} {{wide_bar}} {{pos}}/{{len}} {noun}, {{eta}} left");
            if let Ok(style) = ProgressStyle::with_template(&template) {
                next.set_style(style);
            }
            next.set_message(what.to_owned());
            *bar = (what.to_owned(), next);
        }
        bar.1.set_length(progress.total as u64);
        bar.1.set_position(progress.done as u64);
    }
}

impl Drop for AskingBar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.lock().unwrap_or_else(PoisonError::into_inner).1.finish_and_clear();
        }
    }
}
