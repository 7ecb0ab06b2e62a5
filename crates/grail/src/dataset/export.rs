//! `grail dataset export`

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use grail_flywheel::dataset::export::{ExportSettings, Layout, export};
use grail_flywheel::dataset::open_dataset;
use grail_flywheel::dataset::store::short_hash;
use grail_flywheel::log::forgotten_sessions;
use grail_project::Project;
use serde_json::json;

use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, RESET, Terminal, count, path_text, visible_line};

/// Write a dataset as a trainer reads it
///
/// `mlx`, `tools` and `completions` are for mlx-lm; `trl-sft`, `trl-dpo` and `trl-kto` for TRL; `openai` and `openai-dpo` for OpenAI's
/// fine-tuning; `chatml` is text with the markers of ChatML; `parquet` has columns, the weight among them; `grail` is for another project.
/// Trainers take no weights, so `train` repeats its rows by weight and is shuffled, and `weighted.jsonl` has every row once with its
/// weight. `dataset.json` says where everything comes from, whose it is, and how to train with it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset export --to mlx --output training
  grail dataset export 3fa2c1d0 --to trl-dpo --output pairs
  grail dataset export --to trl-sft --standard --output texts
  grail dataset export --to grail --output for-others")]
pub struct Arguments {
    /// The dataset, or the beginning of its hash
    #[arg(value_name = "HASH")]
    pub hash: Option<String>,
    /// Whom it is written for
    #[arg(long = "to", value_name = "LAYOUT", value_parser = layouts())]
    pub layout: Layout,
    /// A folder that is new or empty
    #[arg(long, value_name = "DIR")]
    pub output: PathBuf,
    /// Where shuffling begins
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    /// How often a row of weight 1 is in `train`
    #[arg(long, value_name = "TIMES", default_value_t = 2.0)]
    pub repeat: f64,
    /// The rows that the trainer takes at once: mlx-lm drops what does not fill a batch, so `train` fills them
    #[arg(long, value_name = "ROWS", default_value_t = 4)]
    pub batch: usize,
    /// Text in ChatML instead of messages, for the layouts of TRL
    #[arg(long)]
    pub standard: bool,
}

fn layouts() -> impl TypedValueParser<Value = Layout> {
    PossibleValuesParser::new(Layout::ALL.map(Layout::name))
        .map(|name| Layout::ALL.into_iter().find(|layout| layout.name() == name).unwrap_or(Layout::Mlx))
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let root = Project::discover(std::path::Path::new("."))?.root;
    let dataset = open_dataset(&root, arguments.hash.as_deref())?;
    let settings = ExportSettings {
        layout: arguments.layout,
        seed: arguments.seed,
        repeat: arguments.repeat,
        batch: arguments.batch,
        is_standard: arguments.standard,
    };
    let report = export(&dataset, &settings, &arguments.output)?;
    let forgotten = forgotten_sessions(&root)?;
    if dataset.manifest.sources.sessions.iter().any(|session| forgotten.contains(session)) {
        terminal.warning(format_args!(
            "the dataset has sessions that were forgotten since; `grail dataset build` makes one without them"
        ))?;
    }
    let card = &report.card;
    if terminal.format() == Format::Json {
        terminal.json(&json!({"folder": path_text(&report.folder), "card": card}))?;
        return Ok(Exit::Fine);
    }
    let output = visible_line(&path_text(&report.folder));
    terminal.line(format_args!("{BOLD}{output}{RESET} dataset {}", short_hash(&card.dataset)))?;
    for (file, rows) in &card.files {
        terminal.line(format_args!("  {file}: {}", count(*rows as usize, "row")))?;
    }
    for (reason, number) in &card.left_out {
        terminal.line(format_args!("  {number} left out: {reason}"))?;
    }
    terminal.note(format_args!("in that folder: {}", card.train_with))?;
    Ok(Exit::Fine)
}
