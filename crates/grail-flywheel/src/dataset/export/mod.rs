//! A dataset in the words of a trainer: a new folder with one file a split, and a card that says what it is and how to train with it.
//!
//! Trainers take no weights per example, so `train` repeats its rows by weight and is shuffled; `weighted` has every row once with its
//! weight as a column. `valid` and `test` are as they are. What is written is read again and checked before the folder is there.

mod card;
mod check;
mod columns;
mod repeat;
mod rows;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::manifest::rounded;
use super::store::{Dataset, sync_folder, write_lines};
use crate::FlywheelError;
use crate::example::Example;

pub use card::Card;
pub use check::{MixedForm, check_rows};

/// Whom a dataset is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// mlx-lm: `messages`.
    Mlx,
    /// mlx-lm: `messages` and `tools`.
    Tools,
    /// mlx-lm and others: `prompt` and `completion` as text.
    Completions,
    /// TRL, supervised: `prompt` and `completion`.
    TrlSft,
    /// TRL, preferences: `prompt`, `chosen` and `rejected`.
    TrlDpo,
    /// TRL, good and bad answers: `prompt`, `completion` and `label`.
    TrlKto,
    /// OpenAI's fine-tuning: `messages`.
    Openai,
    /// OpenAI's preferences: `input`, `preferred_output` and `non_preferred_output`.
    OpenaiDpo,
    /// Text with the markers of ChatML: `text`.
    Chatml,
    /// Columns, with the weight among them.
    Parquet,
    /// Grail's own examples, for another project.
    Grail,
}

impl Layout {
    pub const ALL: [Self; 11] = [
        Self::Mlx,
        Self::Tools,
        Self::Completions,
        Self::TrlSft,
        Self::TrlDpo,
        Self::TrlKto,
        Self::Openai,
        Self::OpenaiDpo,
        Self::Chatml,
        Self::Parquet,
        Self::Grail,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Mlx => "mlx",
            Self::Tools => "tools",
            Self::Completions => "completions",
            Self::TrlSft => "trl-sft",
            Self::TrlDpo => "trl-dpo",
            Self::TrlKto => "trl-kto",
            Self::Openai => "openai",
            Self::OpenaiDpo => "openai-dpo",
            Self::Chatml => "chatml",
            Self::Parquet => "parquet",
            Self::Grail => "grail",
        }
    }

    /// Whether `train` repeats rows by their weight. Where a weight is a column there is no need to.
    fn repeats(self) -> bool {
        !matches!(self, Self::Parquet | Self::Grail)
    }

    /// Whether the loader takes whole batches only.
    fn needs_whole_batches(self) -> bool {
        matches!(self, Self::Mlx | Self::Tools | Self::Completions | Self::Chatml)
    }

    /// Whether a row may have one more field than the loader knows.
    fn takes_weights(self) -> bool {
        !matches!(self, Self::Openai | Self::OpenaiDpo | Self::Parquet | Self::Grail)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExportSettings {
    pub layout: Layout,
    /// Where shuffling begins.
    pub seed: u64,
    /// A row of weight 1 is there this often.
    pub repeat: f64,
    /// Rows that a loader takes at once.
    pub batch: usize,
    /// TRL's standard layouts, with text instead of messages.
    pub is_standard: bool,
}

impl ExportSettings {
    pub fn new(layout: Layout) -> Self {
        Self { layout, seed: 0, repeat: 2.0, batch: 4, is_standard: false }
    }
}

/// What an export came to.
#[derive(Clone, Debug, Serialize)]
pub struct ExportReport {
    pub folder: PathBuf,
    pub card: Card,
}

/// Writes a dataset into a folder that is new or empty: all of it or nothing.
pub fn export(
    dataset: &Dataset,
    settings: &ExportSettings,
    output: &Path,
) -> Result<ExportReport, FlywheelError> {
    export_part(dataset, settings, output, &|_| true)
}

/// The same with only those examples in `train` that are wanted.
pub fn export_part(
    dataset: &Dataset,
    settings: &ExportSettings,
    output: &Path,
    is_wanted: &dyn Fn(&Example) -> bool,
) -> Result<ExportReport, FlywheelError> {
    check_settings(settings)?;
    let parent = check_output(output)?;
    let mut train = dataset.train()?;
    train.retain(is_wanted);
    let splits = [("train", train), ("valid", dataset.valid()?), ("test", dataset.test()?)];
    let staged = tempfile::Builder::new()
        .prefix(".grail-export-")
        .tempdir_in(&parent)
        .map_err(|source| FlywheelError::storage(&parent, source))?;
    let card = write_export(dataset, settings, &splits, staged.path())?;
    sync_folder(staged.path())?;
    // A folder for its owner alone would surprise whoever trains as somebody else.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let _ = fs::set_permissions(staged.path(), fs::Permissions::from_mode(0o755));
    }
    if fs::symlink_metadata(output).is_ok() {
        fs::remove_dir(output).map_err(|source| FlywheelError::storage(output, source))?;
    }
    fs::rename(staged.path(), output).map_err(|source| FlywheelError::storage(output, source))?;
    let _ = staged.keep();
    sync_folder(&parent)?;
    Ok(ExportReport { folder: output.to_owned(), card })
}

fn write_export(
    dataset: &Dataset,
    settings: &ExportSettings,
    splits: &[(&'static str, Vec<Example>); 3],
    folder: &Path,
) -> Result<Card, FlywheelError> {
    let layout = settings.layout;
    let mut card = Card::new(dataset, settings);
    let all = splits.iter().flat_map(|(_, examples)| examples);
    let writer = rows::RowWriter::new(&dataset.manifest.form, settings, all);
    for (split, examples) in splits {
        if layout == Layout::Parquet {
            let name = format!("{split}.parquet");
            let path = folder.join(&name);
            if !examples.is_empty() {
                columns::write_columns(&path, &dataset.manifest.form, examples)?;
                card.files.insert(name, examples.len() as u64);
            }
            continue;
        }
        let mut rows: Vec<(Json, f64)> = Vec::new();
        for example in examples {
            let weight = example.weight.total();
            match writer.rows(example) {
                Ok(made) if weight > 0.0 => rows.extend(made.into_iter().map(|row| (row, weight))),
                Ok(_) => card.leave_out("its weight is 0"),
                Err(reason) => card.leave_out(reason),
            }
        }
        let is_train = *split == "train";
        if is_train && layout.takes_weights() {
            let weighted = rows.iter().map(|(row, weight)| with_weight(row, *weight)).collect::<Vec<Json>>();
            write_split(folder, "weighted.jsonl", layout, weighted, &mut card)?;
        }
        let mut lines = match is_train && layout.repeats() {
            true => repeat::oversample(rows, settings),
            false => rows.into_iter().map(|(row, _)| row).collect(),
        };
        if !is_train && layout.needs_whole_batches() && lines.len() < settings.batch {
            // Fewer rows than a batch are refused by the loader.
            lines = lines
                .iter()
                .cycle()
                .take(if lines.is_empty() { 0 } else { settings.batch })
                .cloned()
                .collect();
        }
        write_split(folder, &format!("{split}.jsonl"), layout, lines, &mut card)?;
    }
    let train = if layout == Layout::Parquet { "train.parquet" } else { "train.jsonl" };
    if !card.files.contains_key(train) {
        return Err(FlywheelError::refused(
            format!("no example of `train` can be written as `{}`", layout.name()),
            match layout {
                Layout::TrlDpo | Layout::OpenaiDpo => "pairs come from corrections; this dataset has none",
                Layout::Tools => "calls of tools come from sessions in which a model called some",
                _ => "build a larger dataset, or `grail dataset import --skills` for a beginning",
            },
        ));
    }
    card.finish(settings);
    write_card(&folder.join("dataset.json"), &card)?;
    Ok(card)
}

/// An empty file is worse than none: loaders look at the first row to know what they have.
fn write_split(
    folder: &Path,
    name: &str,
    layout: Layout,
    lines: Vec<Json>,
    card: &mut Card,
) -> Result<(), FlywheelError> {
    if lines.is_empty() {
        return Ok(());
    }
    check_rows(layout, &card.form, lines.iter()).map_err(|mixed| {
        FlywheelError::refused(format!("`{name}`: {mixed}"), "build the dataset anew; nothing was written")
    })?;
    write_lines(&folder.join(name), &lines)?;
    card.files.insert(name.to_owned(), lines.len() as u64);
    Ok(())
}

fn with_weight(row: &Json, weight: f64) -> Json {
    let mut row = row.clone();
    if let Json::Object(fields) = &mut row {
        fields.insert("weight".to_owned(), Json::from(rounded(weight)));
    }
    row
}

fn write_card(path: &Path, card: &Card) -> Result<(), FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let mut text = serde_json::to_string_pretty(card).map_err(|error| storage(error.into()))?;
    text.push('\n');
    fs::write(path, text).map_err(storage)
}

fn check_settings(settings: &ExportSettings) -> Result<(), FlywheelError> {
    if !(settings.repeat > 0.0 && settings.repeat <= 100.0) {
        return Err(FlywheelError::refused(
            format!("rows cannot be repeated {} times", settings.repeat),
            "a number above 0, up to 100",
        ));
    }
    if !(1..=4096).contains(&settings.batch) {
        return Err(FlywheelError::refused(
            format!("{} rows are no batch", settings.batch),
            "a number from 1 to 4096",
        ));
    }
    if settings.is_standard && !matches!(settings.layout, Layout::TrlSft | Layout::TrlDpo | Layout::TrlKto) {
        return Err(FlywheelError::refused(
            format!("`{}` has no standard form beside its own", settings.layout.name()),
            "only the layouts of TRL have two",
        ));
    }
    Ok(())
}

/// The folder above the output, which must be new or an empty folder of its own.
fn check_output(output: &Path) -> Result<PathBuf, FlywheelError> {
    let hint = "name a folder that is new or empty";
    let parent = match output.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => {
            return Err(FlywheelError::refused(
                format!("`{}` is no place for an export", output.display()),
                hint,
            ));
        }
    };
    match fs::symlink_metadata(output) {
        Ok(metadata) if metadata.is_dir() => {
            let mut entries =
                fs::read_dir(output).map_err(|source| FlywheelError::storage(output, source))?;
            if entries.next().is_some() {
                return Err(FlywheelError::refused(format!("`{}` is not empty", output.display()), hint));
            }
        }
        Ok(_) => return Err(FlywheelError::refused(format!("`{}` is no folder", output.display()), hint)),
        Err(_) => fs::create_dir_all(&parent).map_err(|source| FlywheelError::storage(&parent, source))?,
    }
    Ok(parent)
}

/// What an export holds, by file.
pub type FileCounts = BTreeMap<String, u64>;
