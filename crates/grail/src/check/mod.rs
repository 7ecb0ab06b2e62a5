//! `grail check`: code against the project's own rules.

mod json;
mod preview;
mod text;

use std::env;

use clap::{Args, ValueEnum};
use grail_project::{Project, unified_diff, write_changes};
use grail_rules::{
    CheckReport, Checker, Layer, Library, ProjectCheck, RuleSet, RulesError, Safety, Selection, Usage,
};

use crate::Exit;
use crate::cli::OutputFormat;
use crate::files::{PathArguments, ProjectFiles};
use crate::progress::Progress;
use crate::render::{Failure, Terminal};

/// Check code against the project's own rules; exit 1 if something is found
///
/// Rules come from skills: the project's own in `.agents/skills/`, those of your home folder, and built-in ones for the libraries the
/// project uses. Findings that are merely worth knowing do not fail a check.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail check
  grail check src --fix
  grail check --select view-decorator --diff
  grail check --layer lint --layer types
  grail check --format github")]
pub struct Arguments {
    #[command(flatten)]
    pub paths: PathArguments,
    #[command(flatten)]
    pub rules: RuleArguments,
    /// Run only this layer; may be repeated. Without it: syntax, rules, and what `grail.toml` enables
    #[arg(long = "layer", value_name = "LAYER", value_enum, help_heading = "Rules")]
    pub layers: Vec<LayerName>,
    /// Make the safe fixes
    #[arg(long, help_heading = "Changes")]
    pub fix: bool,
    /// Count fixes that may change what the code means among those that can be made
    #[arg(long, help_heading = "Changes")]
    pub unsafe_fixes: bool,
    /// Show what `--fix` would change and write nothing; exit 1 if there is something
    #[arg(long, help_heading = "Changes")]
    pub diff: bool,
    /// How results are printed
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub format: OutputFormat,
}

/// Flatten this into the arguments of a command that uses rules.
#[derive(Debug, Default, Args)]
pub struct RuleArguments {
    /// Use only these rules and packs, whatever `grail.toml` selects; `ALL` for every one. May be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub select: Vec<String>,
    /// Leave these rules and packs out; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',', help_heading = "Rules")]
    pub ignore: Vec<String>,
    /// Take every public function and class of the files for an artifact of this kind
    #[arg(long, value_name = "KIND", help_heading = "Rules")]
    pub kind: Option<String>,
    /// The version of a library that the rules are for; may be repeated
    #[arg(long = "target", value_name = "LIBRARY=VERSION", help_heading = "Rules")]
    pub targets: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayerName {
    /// Does it parse
    Syntax,
    /// The rules of skills
    Rules,
    /// `ruff check`, if it is installed
    Lint,
    /// `ty check`, if it is installed
    Types,
    /// `pytest`, or what `grail.toml` says
    Tests,
}

pub fn run(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut files = arguments.paths.find()?;
    let library = Library::discover(&files.project.root, env::home_dir().as_deref());
    let rules = arguments.rules.rules_in_force(&files.project, &library)?;
    let layers = arguments.layers(&files.project);
    let mut report = check(arguments, &rules, &layers, &mut files);
    report.problems.splice(0..0, library_problems(&library));
    if arguments.fix && !arguments.diff {
        write_changes(&report.changes, &files.project.root)?;
    }
    render(arguments, &library, &rules, &layers, &report, terminal)?;
    let is_failed = if arguments.diff { !report.changes.is_empty() } else { report.has_failures() };
    Ok(match (report.problems.is_empty(), is_failed) {
        (false, _) => Exit::CouldNotRun,
        (true, true) => Exit::Findings,
        (true, false) => Exit::Fine,
    })
}

fn check(arguments: &Arguments, rules: &RuleSet, layers: &[Layer], files: &mut ProjectFiles) -> CheckReport {
    let progress = Progress::new("checking", files.files.len());
    let check = ProjectCheck {
        project: &files.project,
        files: &files.files,
        checker: Checker { rules, python: None },
        layers,
        fix: (arguments.fix || arguments.diff).then(|| arguments.allowed(&files.project)),
        progress: &|done| progress.advance(done),
    };
    let mut report = check.run();
    report.problems.splice(0..0, files.problems.drain(..).map(RulesError::from));
    report
}

fn render(
    arguments: &Arguments,
    library: &Library,
    rules: &RuleSet,
    layers: &[Layer],
    report: &CheckReport,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    match arguments.format {
        OutputFormat::Json => json::render(arguments, layers, report, terminal)?,
        _ if arguments.diff => {
            for change in &report.changes.changes {
                terminal.diff(&unified_diff(change))?;
            }
        }
        _ => text::findings(library, report, terminal)?,
    }
    for problem in &report.problems {
        terminal.rules_problem(problem)?;
    }
    if arguments.format == OutputFormat::Text {
        text::summary(arguments, rules, report, terminal)?;
    }
    Ok(())
}

/// What cannot be read of the skills. The other rules are used all the same.
pub(crate) fn library_problems(library: &Library) -> Vec<RulesError> {
    let of_packs = library.packs.iter().flat_map(|pack| &pack.problems);
    library.problems.iter().chain(of_packs).cloned().map(RulesError::from).collect()
}

impl Arguments {
    fn layers(&self, project: &Project) -> Vec<Layer> {
        if !self.layers.is_empty() {
            return Layer::ALL
                .into_iter()
                .filter(|layer| self.layers.iter().any(|name| name.layer() == *layer))
                .collect();
        }
        let config = &project.config.check;
        let is_wanted = |layer: &Layer| match layer {
            Layer::Syntax | Layer::Rules => true,
            Layer::Lint => config.lint.enabled,
            Layer::Types => config.types.enabled,
            Layer::Tests => config.tests.enabled,
        };
        Layer::ALL.into_iter().filter(is_wanted).collect()
    }

    /// How safe a fix must be to be made.
    fn allowed(&self, project: &Project) -> Safety {
        match self.unsafe_fixes || project.config.check.unsafe_fixes {
            true => Safety::Unsafe,
            false => Safety::Safe,
        }
    }
}

impl RuleArguments {
    pub(crate) fn rules_in_force(&self, project: &Project, library: &Library) -> anyhow::Result<RuleSet> {
        let config = &project.config.check;
        let mut targets = config.target.clone();
        for target in &self.targets {
            let (name, version) = target.split_once('=').ok_or_else(|| {
                Failure::with_hint(format!("`{target}` is no target"), "write `--target tdom=0.1.20`")
            })?;
            targets.insert(name.to_owned(), version.to_owned());
        }
        let usage = |name: &str| match targets.get(name) {
            Some(version) => Usage::version(version).unwrap_or(Usage::AnyVersion),
            None => Usage::Absent,
        };
        let selection = Selection {
            config,
            select: &self.select,
            ignore: &self.ignore,
            kind: self.kind.as_deref(),
            usage: &usage,
        };
        Ok(selection.rules(library).map_err(RulesError::from)?)
    }
}

impl LayerName {
    fn layer(self) -> Layer {
        match self {
            Self::Syntax => Layer::Syntax,
            Self::Rules => Layer::Rules,
            Self::Lint => Layer::Lint,
            Self::Types => Layer::Types,
            Self::Tests => Layer::Tests,
        }
    }
}
