//! Which of all rules are in force: by the project's libraries, its settings, and the command line.

use std::str::FromStr;
use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use grail_project::CheckConfig;
use pep440_rs::{Operator, Version, VersionSpecifiers};
use serde_json::Value;

use crate::library::Library;
use crate::pack::{Origin, Pack};
use crate::rule::{Options, Requirement, Rule};
use crate::ruleset::{RuleSet, RuleSetBuilder};
use crate::{RuleProblem, Severity};

/// Selects every rule.
pub const ALL: &str = "ALL";

/// What is known of the versions of a library that the project uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Usage {
    /// The project does not use it, as far as can be seen.
    Absent,
    /// It is used in a version that nothing tells: the newest, then.
    AnyVersion,
    Version(Version),
}

/// What decides which rules are in force.
pub struct Selection<'s> {
    pub config: &'s CheckConfig,
    /// `--select` and `--ignore` of the command line; they go before the settings.
    pub select: &'s [String],
    pub ignore: &'s [String],
    /// `--kind`.
    pub kind: Option<&'s str>,
    pub usage: &'s dyn Fn(&str) -> Usage,
}

impl Selection<'_> {
    /// Compiles the rules in force. A setting that names no rule is refused: a misspelt one must not be silently ignored.
    pub fn rules(&self, library: &Library) -> Result<RuleSet, RuleProblem> {
        self.check_names(library)?;
        let mut builder = RuleSetBuilder::default();
        // What a project calls a view goes before what a built-in pack does.
        let is_meant = |pack: &Pack| pack.kinds.iter().any(|kind| Some(kind.name.as_str()) == self.kind);
        let nearest = library.packs.iter().filter(|pack| is_meant(pack)).map(|pack| pack.origin).min();
        for pack in &library.packs {
            let mut is_used = false;
            for rule in &pack.rules {
                if !self.is_in_force(pack, rule, Some(pack.origin) == nearest) {
                    continue;
                }
                is_used = true;
                let options = options_of(self.config, rule)?;
                let compiled = Arc::clone(rule).compile(&options, self.severity(rule)?)?;
                builder.rule(compiled, self.exceptions(pack, rule)?);
            }
            if is_used || self.kind.is_some() {
                pack.kinds.iter().cloned().for_each(|kind| builder.kind(kind));
            }
        }
        if let Some(kind) = self.kind {
            let known: Vec<&str> = library.kinds().map(|(_, kind)| kind.name.as_str()).collect();
            if !known.contains(&kind) {
                let message = format!("no skill declares the kind `{kind}`");
                return Err(setting("--kind", message, kind, known.into_iter()));
            }
            builder.force_kind(Some(kind.to_owned()));
        }
        Ok(builder.build())
    }

    fn is_in_force(&self, pack: &Pack, rule: &Rule, may_be_by_kind: bool) -> bool {
        let names = |list: &[String]| list.iter().any(|name| **name == *rule.id || **name == *pack.name);
        let all = |list: &[String]| list.iter().any(|name| name == ALL);
        let about_kind = self.kind.filter(|_| may_be_by_kind).is_some_and(|kind| {
            rule.applies_to.iter().any(|name| name == kind)
                || pack
                    .kinds
                    .iter()
                    .any(|known| known.name == kind && known.rules.iter().any(|id| **id == *rule.id))
        });
        if !self.is_for_version(pack, rule) || names(self.ignore) {
            return false;
        }
        if !self.select.is_empty() {
            return all(self.select) || names(self.select) || about_kind;
        }
        if names(&self.config.ignore) {
            return false;
        }
        let is_selected = all(&self.config.select) || names(&self.config.select) || about_kind;
        is_selected || pack.origin != Origin::BuiltIn || self.uses_any(pack)
    }

    /// Whether the project uses a library the pack is about. A pack about none must be selected.
    fn uses_any(&self, pack: &Pack) -> bool {
        pack.libraries.iter().any(|requirement| (self.usage)(&requirement.library) != Usage::Absent)
    }

    fn is_for_version(&self, pack: &Pack, rule: &Rule) -> bool {
        let own = rule.libraries.iter();
        let of_pack = pack
            .libraries
            .iter()
            .filter(|requirement| !rule.libraries.iter().any(|own| own.library == requirement.library));
        own.chain(of_pack).all(|requirement| self.holds(requirement))
    }

    /// A library that is not used, or in an unknown version, is taken to be the newest.
    fn holds(&self, requirement: &Requirement) -> bool {
        match (self.usage)(&requirement.library) {
            Usage::Version(version) => requirement.versions.contains(&version),
            Usage::Absent | Usage::AnyVersion => holds_for_newest(&requirement.versions),
        }
    }

    fn severity(&self, rule: &Rule) -> Result<Option<Severity>, RuleProblem> {
        let Some(text) = self.config.severity.get(&*rule.id) else { return Ok(None) };
        match text.as_str() {
            "error" => Ok(Some(Severity::Error)),
            "warning" => Ok(Some(Severity::Warning)),
            "info" => Ok(Some(Severity::Info)),
            other => Err(RuleProblem::new("grail.toml", 0, format!("`{other}` is no severity"))
                .hint("`error`, `warning` or `info`")),
        }
    }

    fn exceptions(&self, pack: &Pack, rule: &Rule) -> Result<Vec<GlobMatcher>, RuleProblem> {
        let applies = |names: &Vec<String>| {
            names.iter().any(|name| name == ALL || **name == *rule.id || **name == *pack.name)
        };
        let globs = self.config.per_path.iter().filter(|(_, names)| applies(names)).map(|(glob, _)| glob);
        let compile = |glob: &String| {
            Glob::new(glob)
                .map(|glob| glob.compile_matcher())
                .map_err(|error| RuleProblem::new("grail.toml", 0, format!("`check.per-path`: {error}")))
        };
        globs.map(compile).collect()
    }

    fn check_names(&self, library: &Library) -> Result<(), RuleProblem> {
        let known: Vec<&str> = library
            .packs
            .iter()
            .map(|pack| &*pack.name)
            .chain(library.rules().map(|(_, rule)| &*rule.id))
            .collect();
        let rules_only = self.config.severity.keys().chain(self.config.options.keys());
        let in_settings = self
            .config
            .select
            .iter()
            .chain(&self.config.ignore)
            .chain(self.config.per_path.values().flatten())
            .chain(rules_only)
            .map(|name| ("grail.toml", name));
        let given = [("--select", self.select), ("--ignore", self.ignore)];
        let given = given.into_iter().flat_map(|(from, names)| names.iter().map(move |name| (from, name)));
        for (from, name) in given.chain(in_settings) {
            if name != ALL && !known.contains(&name.as_str()) {
                let message = format!("there is no rule and no pack `{name}`");
                return Err(setting(from, message, name, known.into_iter()));
            }
        }
        Ok(())
    }
}

/// Whether a set of versions has no end.
fn holds_for_newest(versions: &VersionSpecifiers) -> bool {
    versions.iter().all(|one| {
        matches!(one.operator(), Operator::GreaterThan | Operator::GreaterThanEqual | Operator::NotEqual)
    })
}

impl Usage {
    /// Reads `0.1.20`.
    pub fn version(text: &str) -> Option<Self> {
        Version::from_str(text).ok().map(Usage::Version)
    }
}

fn setting<'k>(from: &str, message: String, name: &str, known: impl Iterator<Item = &'k str>) -> RuleProblem {
    let nearest = known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance);
    let problem = RuleProblem::new(from, 0, message);
    match nearest {
        Some((_, candidate)) => problem.hint(format!("did you mean `{candidate}`?")),
        None => problem.hint("`grail rules list` names them"),
    }
}

/// What the project's settings say about a rule.
pub fn options_of(config: &CheckConfig, rule: &Rule) -> Result<Options, RuleProblem> {
    let Some(table) = config.options.get(&*rule.id) else { return Ok(Options::new()) };
    match serde_json::to_value(table) {
        Ok(Value::Object(options)) => Ok(options),
        _ => Err(RuleProblem::new("grail.toml", 0, format!("the options of `{}` cannot be read", rule.id))),
    }
}
