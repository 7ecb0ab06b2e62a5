//! What lies beside an export: where it comes from, whose it is, and how to train with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ExportSettings, FileCounts, Layout};
use crate::dataset::chat::ChatForm;
use crate::dataset::store::Dataset;

/// How often a trainer should see everything, for the command that the card proposes.
const ROUNDS: u64 = 3;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// The hash of the dataset.
    pub dataset: String,
    pub grail: String,
    pub layout: Layout,
    /// Whether TRL's standard form is meant.
    pub standard: bool,
    pub form: ChatForm,
    pub seed: u64,
    /// How often a row of weight 1 is in `train`; none where weights are a column.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeat: Option<f64>,
    pub batch: usize,
    /// Rows by file.
    pub files: FileCounts,
    /// Examples of the dataset that this layout has no row for, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Examples by licence; `project` is the project's own.
    pub licences: BTreeMap<String, u64>,
    pub sources: BTreeMap<String, u64>,
    /// To be run in this folder.
    pub train_with: String,
}

impl Card {
    pub(super) fn new(dataset: &Dataset, settings: &ExportSettings) -> Self {
        let manifest = &dataset.manifest;
        Self {
            dataset: manifest.hash.clone(),
            grail: manifest.grail.clone(),
            layout: settings.layout,
            standard: settings.is_standard,
            form: manifest.form.clone(),
            seed: settings.seed,
            repeat: Some(settings.repeat).filter(|_| settings.layout.repeats()),
            batch: settings.batch,
            files: BTreeMap::new(),
            left_out: BTreeMap::new(),
            licences: manifest.licences.clone(),
            sources: manifest.counts.by_source.clone(),
            train_with: String::new(),
        }
    }

    pub(super) fn leave_out(&mut self, reason: &str) {
        *self.left_out.entry(reason.to_owned()).or_default() += 1;
    }

    pub(super) fn finish(&mut self, settings: &ExportSettings) {
        let rows = self.files.get("train.jsonl").copied().unwrap_or_default();
        let batch = settings.batch as u64;
        let iterations = (rows * ROUNDS).div_ceil(batch).max(1);
        let mlx = |options: &str| {
            format!(
                "mlx_lm.lora --model MODEL --train --data . --batch-size {batch} --iters {iterations}{options}"
            )
        };
        let trl = |command: &str| {
            format!(
                "trl {command} --model_name_or_path MODEL --dataset_name . --output_dir ../adapter --use_peft"
            )
        };
        self.train_with = match settings.layout {
            Layout::Mlx | Layout::Tools | Layout::Completions => mlx(" --mask-prompt"),
            // A text has no prompt to mask.
            Layout::Chatml => mlx(""),
            Layout::TrlSft => trl("sft"),
            Layout::TrlDpo => trl("dpo"),
            Layout::TrlKto => trl("kto"),
            Layout::Openai => {
                "openai api files.create -p fine-tune -f train.jsonl && openai api fine_tuning.jobs.create -m MODEL -F FILE_ID".to_owned()
            }
            Layout::OpenaiDpo => {
                "openai api files.create -p fine-tune -f train.jsonl; then a job with \"method\": {\"type\": \"dpo\"}".to_owned()
            }
            Layout::Parquet => "datasets.load_dataset('parquet', data_files={'train': 'train.parquet'})".to_owned(),
            Layout::Grail => "grail dataset import train.jsonl --name NAME --licence LICENCE".to_owned(),
        };
    }
}
