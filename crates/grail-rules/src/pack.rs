//! Rule packs: the `rules/` folder of a skill.
//!
//! ```text
//! my-skill/
//!   SKILL.md
//!   rules/pack.toml      kinds, and the library versions the pack is for (optional)
//!   rules/a-rule.md      one rule
//!   rules/other.md       a rule written in Python has its code in `other.py` beside it
//!   templates/a.jinja    the template of a kind
//! ```
//!
//! A pack is read from files in memory, so that built-in ones and those on disk are the same. One rule that cannot be read does not
//! lose the others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use crate::RuleProblem;
use crate::kind::{ArtifactKind, KindData};
use crate::rule::{Requirement, Rule, is_id};

/// Where a pack comes from. Nearer ones hide farther ones of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    Project,
    Home,
    BuiltIn,
}

#[derive(Clone)]
pub struct Pack {
    pub name: Arc<str>,
    pub origin: Origin,
    /// The skill's folder, as shown in messages.
    pub folder: PathBuf,
    /// The libraries the pack is about. A built-in pack is in force where the project uses one of them.
    pub libraries: Vec<Requirement>,
    pub kinds: Vec<Arc<ArtifactKind>>,
    pub rules: Vec<Arc<Rule>>,
    pub problems: Vec<RuleProblem>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct PackData {
    libraries: BTreeMap<String, String>,
    kinds: BTreeMap<String, KindData>,
}

impl Pack {
    /// Reads a pack from its files, by path below the skill's folder. `None` if the skill has no rules.
    pub fn read(name: &str, origin: Origin, folder: &Path, files: &BTreeMap<String, String>) -> Option<Self> {
        let is_rule = |path: &str| path.starts_with("rules/") && path.ends_with(".md");
        if !files.keys().any(|path| is_rule(path) || path == PACK_FILE) {
            return None;
        }
        let name: Arc<str> = name.into();
        let mut pack = Self {
            name: Arc::clone(&name),
            origin,
            folder: folder.to_owned(),
            libraries: Vec::new(),
            kinds: Vec::new(),
            rules: Vec::new(),
            problems: Vec::new(),
        };
        if let Some(text) = files.get(PACK_FILE)
            && let Err(problem) = pack.read_settings(text, files)
        {
            pack.problems.push(problem);
        }
        for (path, text) in files.iter().filter(|(path, _)| is_rule(path)) {
            let python = format!("{}.py", path.trim_end_matches(".md"));
            let python_path = folder.join(&python);
            let python = files.get(&python).map(|source| (python_path.as_path(), source.as_str()));
            match Rule::parse(&name, &folder.join(path), text, python) {
                Ok(rule) => pack.rules.push(Arc::new(rule)),
                Err(problem) => pack.problems.push(problem),
            }
        }
        for path in files.keys().filter(|path| path.starts_with("rules/") && path.ends_with(".py")) {
            if !files.contains_key(&format!("{}.md", path.trim_end_matches(".py"))) {
                let problem =
                    RuleProblem::new(folder.join(path), 0, "the rule has no documentation and no test")
                        .hint("put a Markdown file of the same name beside it");
                pack.problems.push(problem);
            }
        }
        pack.check_kinds();
        Some(pack)
    }

    fn read_settings(&mut self, text: &str, files: &BTreeMap<String, String>) -> Result<(), RuleProblem> {
        let path = self.folder.join(PACK_FILE);
        let data: PackData = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text[..text.floor_char_boundary(start)].matches('\n').count() + 1;
            RuleProblem::new(&path, line, error.message().lines().next().unwrap_or_default())
        })?;
        for (library, versions) in &data.libraries {
            let requirement = Requirement::parse(library, versions);
            self.libraries.push(requirement.map_err(|message| RuleProblem::new(&path, 0, message))?);
        }
        for (name, data) in data.kinds {
            if !is_id(&name) {
                return Err(RuleProblem::new(&path, 0, format!("`{name}` is no name for a kind")));
            }
            let mut kind = ArtifactKind::compile(&path, text, &name, data)?;
            self.problems.extend(kind.find_template(&path, files));
            self.kinds.push(Arc::new(kind));
        }
        Ok(())
    }

    /// A rule about a kind that nobody declares would never say anything.
    fn check_kinds(&mut self) {
        let kinds: Vec<&str> = self.kinds.iter().map(|kind| kind.name.as_str()).collect();
        for rule in &self.rules {
            if let Some(kind) = rule.applies_to.iter().find(|kind| !kinds.contains(&kind.as_str())) {
                let message = format!("the rule applies to `{kind}`, a kind that the pack does not declare");
                self.problems.push(
                    RuleProblem::new(&rule.path, 2, message)
                        .hint(format!("declare `[kinds.{kind}]` in `{PACK_FILE}`")),
                );
            }
        }
    }
}

pub(crate) const PACK_FILE: &str = "rules/pack.toml";
