//! A split as Parquet: one row an example, the weight as a column, prompts as lists of messages.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::FlywheelError;
use crate::dataset::chat::ChatForm;
use crate::dataset::manifest::rounded;
use crate::example::Example;

/// Lists are laid out in three levels, as the format asks for.
const SCHEMA: &str = "
message example {
  required binary id (UTF8);
  required binary type (UTF8);
  optional binary artifact (UTF8);
  required group rules (LIST) { repeated group list { required binary element (UTF8); } }
  required group tools (LIST) { repeated group list { required binary element (UTF8); } }
  required group prompt (LIST) {
    repeated group list {
      required group element { required binary role (UTF8); required binary content (UTF8); }
    }
  }
  optional binary chosen (UTF8);
  optional binary calls (UTF8);
  optional binary rejected (UTF8);
  required double weight;
  required binary source (UTF8);
  optional binary licence (UTF8);
}";

/// How many examples are written together.
const ROWS_IN_GROUP: usize = 10_000;

pub(super) fn write_columns(path: &Path, form: &ChatForm, examples: &[Example]) -> Result<(), FlywheelError> {
    let storage = |source| FlywheelError::storage(path, source);
    let file = File::create_new(path).map_err(storage)?;
    write_file(&file, form, examples).map_err(|error| storage(std::io::Error::other(error)))?;
    file.sync_all().map_err(storage)
}

fn write_file(file: &File, form: &ChatForm, examples: &[Example]) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("grail {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    for examples in examples.chunks(ROWS_IN_GROUP) {
        let mut group = writer.next_row_group()?;
        write_group(&mut group, form, examples)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// Column by column, in the order of the schema.
fn write_group(
    group: &mut SerializedRowGroupWriter<'_, &File>,
    form: &ChatForm,
    examples: &[Example],
) -> Result<(), ParquetError> {
    let prompts: Vec<_> = examples.iter().map(|example| form.prompt(example)).collect();
    let answers: Vec<_> = examples.iter().map(|example| form.answer(example)).collect();
    let rejected = examples.iter().map(|example| form.rejected_answer(example).map(|answer| answer.content));
    let chosen = answers.iter().map(|answer| {
        answer.as_ref().map(|answer| answer.content.clone()).filter(|content| !content.is_empty())
    });
    let calls = examples.iter().map(|example| {
        Some(&example.calls)
            .filter(|calls| !calls.is_empty())
            .and_then(|calls| serde_json::to_string(calls).ok())
    });
    let of_prompts = |part: fn(&crate::dataset::Message) -> String| {
        prompts.iter().map(|messages| messages.iter().map(part).collect()).collect::<Vec<Vec<String>>>()
    };
    write_texts(group, examples.iter().map(|example| example.id.clone()))?;
    write_texts(group, examples.iter().map(|example| example.example_type.name().to_owned()))?;
    write_optional(group, examples.iter().map(|example| example.artifact.clone()))?;
    write_lists(group, examples.iter().map(|example| example.rules.clone()).collect())?;
    write_lists(group, examples.iter().map(|example| example.tools.clone()).collect())?;
    write_lists(group, of_prompts(|message| message.role.to_owned()))?;
    write_lists(group, of_prompts(|message| message.content.clone()))?;
    write_optional(group, chosen)?;
    write_optional(group, calls)?;
    write_optional(group, rejected)?;
    let weights: Vec<f64> = examples.iter().map(|example| rounded(example.weight.total())).collect();
    let mut column = next(group)?;
    column.typed::<DoubleType>().write_batch(&weights, None, None)?;
    column.close()?;
    write_texts(group, examples.iter().map(|example| example.origin.source.clone()))?;
    write_optional(group, examples.iter().map(|example| example.origin.licence.clone()))
}

type Group<'g, 'f> = SerializedRowGroupWriter<'g, &'f File>;

fn next<'c>(
    group: &'c mut Group<'_, '_>,
) -> Result<parquet::file::writer::SerializedColumnWriter<'c>, ParquetError> {
    group.next_column()?.ok_or_else(|| ParquetError::General("the schema has no more columns".to_owned()))
}

fn write_texts(group: &mut Group<'_, '_>, texts: impl Iterator<Item = String>) -> Result<(), ParquetError> {
    let values: Vec<ByteArray> = texts.map(|text| ByteArray::from(text.into_bytes())).collect();
    let mut column = next(group)?;
    column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
    column.close()
}

fn write_optional(
    group: &mut Group<'_, '_>,
    texts: impl Iterator<Item = Option<String>>,
) -> Result<(), ParquetError> {
    let texts: Vec<Option<String>> = texts.collect();
    let definitions: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
    let values: Vec<ByteArray> =
        texts.into_iter().flatten().map(|text| ByteArray::from(text.into_bytes())).collect();
    let mut column = next(group)?;
    column.typed::<ByteArrayType>().write_batch(&values, Some(&definitions), None)?;
    column.close()
}

/// An empty list is one entry that is not defined.
fn write_lists(group: &mut Group<'_, '_>, lists: Vec<Vec<String>>) -> Result<(), ParquetError> {
    let (mut definitions, mut repetitions) = (Vec::new(), Vec::new());
    for list in &lists {
        definitions.extend(std::iter::repeat_n(i16::from(!list.is_empty()), list.len().max(1)));
        repetitions.push(0);
        repetitions.extend(std::iter::repeat_n(1, list.len().saturating_sub(1)));
    }
    let values: Vec<ByteArray> =
        lists.into_iter().flatten().map(|text| ByteArray::from(text.into_bytes())).collect();
    let mut column = next(group)?;
    column.typed::<ByteArrayType>().write_batch(&values, Some(&definitions), Some(&repetitions))?;
    column.close()
}
