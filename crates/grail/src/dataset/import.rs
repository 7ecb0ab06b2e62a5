//! `grail dataset import`

use std::path::{Path, PathBuf};

use clap::Args;
use grail_flywheel::dataset::import::{
    ImportRecord, ImportSettings, SKILLS_IMPORT, SkillMaterial, check_licence, keep_import, read_file,
    remove_import, skill_examples,
};
use grail_flywheel::example::Example;
use grail_project::Project;
use grail_skills::{CatalogueEntry, SkillFolder};
use serde_json::json;

use super::Workshop;
use crate::Exit;
use crate::cli::Format;
use crate::render::{BOLD, Failure, RESET, Terminal, count, visible_line};

/// A larger file of a skill is no example.
const MAX_SKILL_FILE_BYTES: u64 = 256 * 1024;

/// Take examples from elsewhere: of skills, of other people, of other projects
///
/// `--skills` takes the reference examples of trusted skills, for a beginning; their evaluations are never learned from. FILE has one JSON
/// object a line, in any layout that `grail dataset export` writes but Parquet. Every line is checked, secrets are taken out, and origin and
/// licence stay with every example. Imports are kept in `.grail/imports/` and mixed in at every build.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset import --skills
  grail dataset import theirs.jsonl --name theirs --licence Apache-2.0 --ratio 0.2
  grail dataset import --remove theirs")]
pub struct Arguments {
    /// A file with one example a line
    #[arg(value_name = "FILE", required_unless_present_any = ["skills", "remove"])]
    pub file: Option<PathBuf>,
    /// Take the reference examples of skills
    #[arg(long, conflicts_with_all = ["file", "remove", "licence", "name", "origin"])]
    pub skills: bool,
    /// Drop the import of this name
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub remove: Option<String>,
    /// What to call it
    #[arg(long, value_name = "NAME", required_unless_present_any = ["skills", "remove"])]
    pub name: Option<String>,
    /// The licence it is under, as SPDX names it; not needed where every line of another Grail's export brings one
    #[arg(long, visible_alias = "license", value_name = "LICENCE")]
    pub licence: Option<String>,
    /// Where it comes from; the file's name if nothing is said
    #[arg(long, value_name = "TEXT")]
    pub origin: Option<String>,
    /// The share of a dataset that it may have
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub ratio: f64,
    /// Put it in the place of an import of the same name
    #[arg(long)]
    pub replace: bool,
    /// Leave lines out that are no examples, instead of refusing the file
    #[arg(long)]
    pub skip_bad_lines: bool,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if let Some(name) = &arguments.remove {
        let root = Project::discover(Path::new("."))?.root;
        let record = remove_import(&root, name)?;
        match terminal.format() {
            Format::Json => terminal.json(&json!({"removed": record}))?,
            Format::Text => terminal.note(format_args!("dropped; datasets built before still have it"))?,
        }
        return Ok(Exit::Fine);
    }
    match (&arguments.file, arguments.skills) {
        (Some(file), false) => import_file(arguments, file, terminal),
        _ => import_skills(arguments, terminal),
    }
}

fn import_file(arguments: &Arguments, path: &Path, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    if let Some(licence) = &arguments.licence {
        check_licence(licence)?;
    }
    let root = Project::discover(Path::new("."))?.root;
    let name = arguments.name.clone().unwrap_or_default();
    let read = read_file(path, &format!("import:{name}"), arguments.licence.as_deref())?;
    for problem in &read.problems {
        let text = format!("line {}: {}", problem.line, visible_line(&problem.problem));
        terminal.error(&text, None)?;
    }
    if read.bad_lines > 0 && (!arguments.skip_bad_lines || read.examples.is_empty()) {
        let message =
            format!("{} of `{}` can not be imported", count(read.bad_lines, "line"), path.display());
        let no_licence = read.problems.iter().any(|problem| problem.problem.contains("no licence"));
        let hint = match no_licence {
            true => "name the licence with `--licence`, such as `MIT`; what has none must not be trained on",
            false => "mend them, or leave them out with `--skip-bad-lines`; nothing was imported",
        };
        if terminal.format() == Format::Json {
            terminal
                .json(&json!({"import": null, "bad_lines": read.bad_lines, "problems": read.problems}))?;
        }
        terminal.error(&message, Some(hint))?;
        return Ok(Exit::Findings);
    }
    let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let settings = ImportSettings {
        name,
        origin: visible_line(arguments.origin.as_deref().unwrap_or(&file_name)),
        ratio: arguments.ratio,
        replaces: arguments.replace,
    };
    let record = keep_import(&root, &settings, &read.examples)?;
    if terminal.format() == Format::Json {
        terminal.json(&json!({"import": record, "bad_lines": read.bad_lines, "problems": read.problems}))?;
        return Ok(Exit::Fine);
    }
    if read.system_prompts > 0 {
        let prompts = count(read.system_prompts, "system prompt");
        terminal.note(format_args!("{prompts} left out: a dataset has its own"))?;
    }
    tell(&record, terminal)?;
    Ok(Exit::Fine)
}

fn import_skills(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let workshop = Workshop::open()?;
    let mut examples: Vec<Example> = Vec::new();
    let mut skipped = Vec::new();
    for entry in &workshop.catalogue.entries {
        let name = &entry.skill.name;
        let material = material(&workshop, entry);
        let of_skill = skill_examples(&material);
        let reason = match &entry.license {
            _ if of_skill.is_empty() => continue,
            _ if !workshop.trust.state(&entry.skill).is_trusted() => "it is not trusted",
            None => "it has no licence",
            Some(licence) if check_licence(licence).is_err() => "its licence is none that SPDX knows",
            Some(_) => {
                examples.extend(of_skill);
                continue;
            }
        };
        skipped.push((name.clone(), reason));
    }
    if examples.is_empty() {
        let hint =
            "skills keep examples in `examples/` and beside their rules; `grail skills list` shows skills";
        return Err(Failure::with_hint("no trusted skill has examples under a licence", hint).into());
    }
    let settings = ImportSettings {
        name: SKILLS_IMPORT.to_owned(),
        origin: "the reference examples of skills".to_owned(),
        ratio: arguments.ratio,
        replaces: true,
    };
    let record = keep_import(&workshop.project.root, &settings, &examples)?;
    if terminal.format() == Format::Json {
        let skipped: Vec<_> =
            skipped.iter().map(|(skill, reason)| json!({"skill": skill, "reason": reason})).collect();
        terminal.json(&json!({"import": record, "skipped": skipped}))?;
        return Ok(Exit::Fine);
    }
    for (skill, reason) in skipped {
        terminal.note(format_args!("`{}` left out: {reason}", visible_line(&skill)))?;
    }
    tell(&record, terminal)?;
    Ok(Exit::Fine)
}

/// The files of a skill that could be examples. Evaluations are not even read.
fn material<'s>(workshop: &'s Workshop, entry: &CatalogueEntry) -> SkillMaterial<'s> {
    let name = entry.skill.name.clone();
    let mut material = SkillMaterial {
        licence: entry.license.clone(),
        files: std::collections::BTreeMap::new(),
        pack: workshop.library.pack(&name),
        name,
    };
    let Ok(folder) = SkillFolder::of(&entry.skill) else { return material };
    for file in folder.files().unwrap_or_default() {
        if file.link.is_some() || !file.path.starts_with("examples/") || !file.path.ends_with(".py") {
            continue;
        }
        let text = folder
            .read(&file.path, MAX_SKILL_FILE_BYTES)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        material.files.extend(text.map(|text| (file.path, text)));
    }
    material
}

fn tell(record: &ImportRecord, terminal: &mut Terminal) -> anyhow::Result<()> {
    let licences: Vec<String> = record.licences.keys().map(|licence| visible_line(licence)).collect();
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {}, {}",
        record.name,
        count(record.examples as usize, "example"),
        licences.join(", ")
    ))?;
    terminal.note(format_args!("`grail dataset build` mixes it in"))
}
