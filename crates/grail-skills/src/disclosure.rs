//! Skills told step by step: which there are, then one body, then one file.
//!
//! The three tiers are functions, for people and models alike. What it costs is counted, what is left out is said.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use grail_rules::Origin;
use serde::Serialize;

use crate::SkillError;
use crate::catalogue::{Catalogue, CatalogueEntry};
use crate::skill::{Document, MAX_SKILL_BYTES, SKILL_FILE, Skill, SkillFile, SkillFolder};
use crate::tokens::estimate_tokens;

/// A larger file is not read at all.
const MAX_READ_BYTES: u64 = 4 * 1024 * 1024;
/// As much of a file as is read at once.
const MAX_READ_LINES: usize = 2_000;
const MAX_READ_CHARACTERS: usize = 64 * 1024;
/// What descriptions are cut to where not all of them fit.
const SHORT_DESCRIPTION: usize = 120;
/// As many of a skill's files as are named when it is loaded.
const MAX_NAMED_FILES: usize = 100;

/// The first tier: names and descriptions, within a budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listing {
    pub skills: Vec<ListedSkill>,
    /// Skills for which there was no room, by where they come from.
    pub left_out: BTreeMap<&'static str, usize>,
    /// Skills that are not trusted, so that nothing they say is told.
    pub untrusted: usize,
    /// Skills whose description was cut.
    pub shortened: usize,
    pub budget: Option<usize>,
    /// What the listing costs, with the lines about what is not in it.
    pub tokens: usize,
    /// What it would cost to load every skill that is listed or left out.
    pub tokens_of_everything: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedSkill {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shortened: bool,
}

/// The second tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadedSkill {
    pub name: String,
    pub body: String,
    /// The files that can be read next.
    pub files: Vec<SkillFile>,
    /// Files that are not named for want of room.
    pub more_files: usize,
    pub tokens: usize,
}

/// The third tier: a file, or a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FilePart {
    pub skill: String,
    pub path: String,
    pub text: String,
    /// The first line of the part, from 1.
    pub line: usize,
    /// Lines of the whole file.
    pub lines: usize,
    /// The line to go on with, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_line: Option<usize>,
    pub tokens: usize,
}

impl Listing {
    /// Lists skills in the order of the catalogue. Where not all descriptions fit into the budget they are cut first; where that does not
    /// help, the farthest skills are left out, and counted.
    pub fn new(
        catalogue: &Catalogue,
        budget: Option<usize>,
        is_trusted: impl Fn(&CatalogueEntry) -> bool,
    ) -> Self {
        let (told, untrusted): (Vec<&CatalogueEntry>, Vec<_>) =
            catalogue.entries.iter().partition(|entry| is_trusted(entry));
        let mut listing = Self {
            skills: Vec::new(),
            left_out: BTreeMap::new(),
            untrusted: untrusted.len(),
            shortened: 0,
            budget,
            tokens: 0,
            tokens_of_everything: told
                .iter()
                .map(|entry| estimate_tokens(&full_line(entry)) + entry.body_tokens)
                .sum(),
        };
        let full: Vec<usize> = told.iter().map(|entry| estimate_tokens(&full_line(entry))).collect();
        let room = budget.unwrap_or(usize::MAX);
        listing.skills = told.iter().map(|entry| ListedSkill::of(entry, false)).collect();
        if full.iter().sum::<usize>() + estimate_tokens(&listing.remarks()) > room {
            listing.fit(&told, &full, room);
        }
        listing.tokens = estimate_tokens(&listing.text());
        listing
    }

    /// What a model is told.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for skill in &self.skills {
            text.push_str(&line(&skill.name, &skill.description));
        }
        text.push_str(&self.remarks());
        text
    }

    /// What is not in the listing, in sentences.
    pub fn remarks(&self) -> String {
        let mut text = String::new();
        let left_out: usize = self.left_out.values().sum();
        if left_out > 0 {
            let parts: Vec<String> =
                self.left_out.iter().map(|(origin, number)| format!("{number} {origin}")).collect();
            let parts = parts.join(", ");
            let _ = writeln!(text, "Not listed for want of room: {left_out} ({parts}). Search finds them.");
        }
        if self.shortened > 0 {
            let _ = writeln!(text, "Descriptions cut short: {}.", self.shortened);
        }
        if self.untrusted > 0 {
            let _ = writeln!(text, "Not listed because the user does not trust them: {}.", self.untrusted);
        }
        text
    }

    fn fit(&mut self, told: &[&CatalogueEntry], full: &[usize], room: usize) {
        let short: Vec<ListedSkill> = told.iter().map(|entry| ListedSkill::of(entry, true)).collect();
        let costs: Vec<usize> =
            short.iter().map(|skill| estimate_tokens(&line(&skill.name, &skill.description))).collect();
        // Every skill may end up under the remarks; their length hardly depends on the numbers in them.
        self.shortened = told.len();
        for entry in told {
            *self.left_out.entry(origin_name(entry.skill.origin)).or_default() += 1;
        }
        let mut room = room.saturating_sub(estimate_tokens(&self.remarks()));
        self.left_out.clear();
        let mut kept = 0;
        while kept < told.len() && costs[kept] <= room {
            room -= costs[kept];
            kept += 1;
        }
        for entry in &told[kept..] {
            *self.left_out.entry(origin_name(entry.skill.origin)).or_default() += 1;
        }
        self.skills = short;
        self.skills.truncate(kept);
        // What is left over gives the nearest skills their descriptions back.
        for index in 0..kept {
            let more = full[index].saturating_sub(costs[index]);
            if self.skills[index].is_shortened && more <= room {
                room -= more;
                self.skills[index] = ListedSkill::of(told[index], false);
            }
        }
        self.shortened = self.skills.iter().filter(|skill| skill.is_shortened).count();
    }
}

impl ListedSkill {
    fn of(entry: &CatalogueEntry, short: bool) -> Self {
        let description = &entry.skill.description;
        let cut = if short { shortened(description) } else { None };
        Self {
            name: entry.skill.name.clone(),
            is_shortened: cut.is_some(),
            description: cut.unwrap_or_else(|| description.clone()),
        }
    }
}

/// The body of a skill and the names of its files.
pub fn load_skill(skill: &Skill) -> Result<LoadedSkill, SkillError> {
    let folder = SkillFolder::of(skill)?;
    let bytes = folder.read(SKILL_FILE, MAX_SKILL_BYTES)?;
    let document = Document::read(&skill.folder.join(SKILL_FILE), &bytes)?;
    let mut files = folder.files()?;
    files.retain(|file| file.path != SKILL_FILE && file.link.is_none());
    let more_files = files.len().saturating_sub(MAX_NAMED_FILES);
    files.truncate(MAX_NAMED_FILES);
    let tokens = estimate_tokens(&document.body);
    Ok(LoadedSkill { name: skill.name.clone(), body: document.body, files, more_files, tokens })
}

/// A file of a skill from a line on (from 1), as far as is read at once.
pub fn read_skill_file(skill: &Skill, path: &str, line: usize) -> Result<FilePart, SkillError> {
    let bytes = SkillFolder::of(skill)?.read(path, MAX_READ_BYTES)?;
    let not_text = || SkillError::NotText { path: path.to_owned() };
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(not_text)?;
    let lines = text.lines().count();
    let line = line.max(1);
    let mut part = String::new();
    let mut read = 0;
    for source in text.split_inclusive('\n').skip(line - 1) {
        if read == MAX_READ_LINES || (read > 0 && part.len() + source.len() > MAX_READ_CHARACTERS) {
            break;
        }
        read += 1;
        if source.len() > MAX_READ_CHARACTERS {
            let end = source.floor_char_boundary(MAX_READ_CHARACTERS);
            let _ = writeln!(part, "{}… (the line goes on)", &source[..end]);
            break;
        }
        part.push_str(source);
    }
    let next = line + read;
    Ok(FilePart {
        skill: skill.name.clone(),
        path: path.to_owned(),
        tokens: estimate_tokens(&part),
        text: part,
        line,
        lines,
        next_line: (next <= lines).then_some(next),
    })
}

pub(crate) fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Home => "home",
        Origin::BuiltIn => "built-in",
    }
}

fn full_line(entry: &CatalogueEntry) -> String {
    line(&entry.skill.name, &entry.skill.description)
}

fn line(name: &str, description: &str) -> String {
    format!("- {name}: {description}\n")
}

/// The first sentence, or as much as there is room for. `None` if nothing is lost.
fn shortened(description: &str) -> Option<String> {
    let sentence = description.find(". ").map_or(description, |end| &description[..=end]);
    if sentence.chars().count() <= SHORT_DESCRIPTION {
        return (sentence.len() < description.len()).then(|| sentence.to_owned());
    }
    let cut: String = sentence.chars().take(SHORT_DESCRIPTION).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    Some(format!("{}…", &cut[..end]))
}
