//! Other people's lines: read one by one within bounds, each a row of the layout that the first one has, or a problem with its line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Serialize;
use serde_json::Value as Json;

use super::layouts::{FileLayout, example_of};
use crate::FlywheelError;
use crate::dataset::chat::check_form;
use crate::dataset::store::MAX_LINE_BYTES;
use crate::example::Example;
use crate::redact::Redactor;

/// More lines are no examples but a corpus.
const MAX_LINES: usize = 1_000_000;
/// More problems than anybody reads.
const MAX_PROBLEMS: usize = 20;

/// What was in a file.
#[derive(Clone, Debug)]
pub struct ReadFile {
    pub layout: FileLayout,
    pub examples: Vec<Example>,
    /// The first lines that are no examples.
    pub problems: Vec<LineProblem>,
    /// How many lines are no examples.
    pub bad_lines: usize,
    /// How many system prompts were not taken over: a dataset has its own.
    pub system_prompts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineProblem {
    /// From 1.
    pub line: usize,
    pub problem: String,
}

/// Reads a file in any layout that Grail writes. `source` and `licence` go to every example; a row of Grail's own layout may bring a
/// licence itself.
pub fn read_file(path: &Path, source: &str, licence: Option<&str>) -> Result<ReadFile, FlywheelError> {
    let storage = |error| FlywheelError::storage(path, error);
    let mut file = BufReader::new(File::open(path).map_err(storage)?);
    let mut found: Option<ReadFile> = None;
    let mut line = Vec::new();
    for number in 1..=MAX_LINES {
        line.clear();
        let read =
            (&mut file).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line).map_err(storage)?;
        if read == 0 {
            return found.ok_or_else(|| refuse(path, "holds no line".to_owned()));
        }
        let is_too_long = line.len() > MAX_LINE_BYTES;
        if is_too_long {
            file.skip_until(b'\n').map_err(storage)?;
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let row = match is_too_long {
            true => Err(format!("the line is longer than {MAX_LINE_BYTES} bytes")),
            false => parse(&line),
        };
        let Some(file) = &mut found else {
            // The first line says what the file is.
            let row = row.map_err(|problem| refuse(path, format!("line {number}: {problem}")))?;
            let layout =
                FileLayout::of(&row).map_err(|problem| refuse(path, format!("line {number}: {problem}")))?;
            let mut file = ReadFile {
                layout,
                examples: Vec::new(),
                problems: Vec::new(),
                bad_lines: 0,
                system_prompts: 0,
            };
            file.take(number, Ok(row), source, licence);
            found = Some(file);
            continue;
        };
        file.take(number, row, source, licence);
    }
    Err(refuse(path, format!("has more than {MAX_LINES} lines")))
}

impl ReadFile {
    fn take(&mut self, line: usize, row: Result<Json, String>, source: &str, licence: Option<&str>) {
        let read = row.and_then(|row| {
            let layout = FileLayout::of(&row)?;
            if layout != self.layout {
                let (is, was) = (layout.name(), self.layout.name());
                return Err(format!("the line is `{is}`, the first one `{was}`: one file has one layout"));
            }
            let (mut example, system_prompts) = example_of(layout, &row)?;
            if let Some(licence) = licence {
                example.origin.licence = Some(licence.to_owned());
            }
            let came_from = std::mem::replace(&mut example.origin.source, source.to_owned());
            if !came_from.is_empty() && came_from != "project" {
                // Whose it was first is kept behind whom it comes from.
                example.origin.source = format!("{source}/{came_from}");
            }
            if example.origin.licence.is_none() {
                return Err("the line has no licence, and none was named".to_owned());
            }
            redact(&mut example);
            check_form(&example)?;
            example.id = example.content_id();
            Ok((example, system_prompts))
        });
        match read {
            Ok((example, system_prompts)) => {
                self.examples.push(example);
                self.system_prompts += system_prompts;
            }
            Err(problem) => {
                self.bad_lines += 1;
                if self.problems.len() < MAX_PROBLEMS {
                    self.problems.push(LineProblem { line, problem });
                }
            }
        }
    }
}

/// What must not be kept of anybody is not kept of strangers either.
fn redact(example: &mut Example) {
    let redactor = Redactor::shared();
    let clean = |text: &mut String| {
        if let Cow::Owned(redacted) = redactor.redact(text) {
            *text = redacted;
        }
    };
    clean(&mut example.request);
    example.window.iter_mut().for_each(|turn| clean(&mut turn.text));
    [&mut example.context, &mut example.chosen, &mut example.rejected].into_iter().flatten().for_each(clean);
    example.calls.iter_mut().for_each(|call| redactor.redact_json(&mut call.arguments));
}

fn parse(line: &[u8]) -> Result<Json, String> {
    let text = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8".to_owned())?;
    if depth(text) > 32 {
        return Err("the line nests deeper than 32 levels".to_owned());
    }
    serde_json::from_str(text.trim_start_matches('\u{feff}').trim_end()).map_err(|error| {
        let message = error.to_string();
        // The line of the error is this one.
        let message = message.split(" at line ").next().unwrap_or_default();
        format!("the line is no JSON: {message}, column {}", error.column())
    })
}

/// An upper bound of how deep JSON nests: brackets in texts count too, but only as long as they stay open.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn refuse(path: &Path, problem: String) -> FlywheelError {
    FlywheelError::refused(
        format!("`{}`: {problem}", path.display()),
        "one JSON object a line, in one of these layouts: `messages` (with or without `tools`), `prompt` with `completion`, with \
         `completion` and `label`, or with `chosen` and `rejected`, `input` with `preferred_output` and `non_preferred_output`, \
         `text` in ChatML, or an export of Grail",
    )
}
