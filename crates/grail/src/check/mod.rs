//! `grail check`: code against the project's own rules.

mod github;
mod json;
mod preview;
mod sarif;
mod sources;
mod statistics;
mod text;
mod watch;

use std::env;
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use grail_project::{CONFIG_FILE, Project, unified_diff, write_changes};
use grail_rules::layers::{self, LayerReport};
use grail_rules::libraries::{ProjectLibraries, Target};
use grail_rules::{
    CheckReport, Checker, Layer, Library, ProjectCheck, PythonRules, RuleSet, RulesError, Safety,
    SandboxedRules, ScriptRunner, Selection,
};

use crate::Exit;
use crate::cli::OutputFormat;
use crate::files::{PathArguments, ProjectFiles};
use crate::interrupt::while_tools_run;
use crate::progress::Progress;
use crate::render::{Failure, Terminal};

pub(crate) use self::sarif::escape as escape_path;
use self::sources::shown_path;

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
    /// Show how often each rule was broken instead of where
    #[arg(long, help_heading = "Output")]
    pub statistics: bool,
    /// Check again whenever something changes
    #[arg(long, conflicts_with = "diff")]
    pub watch: bool,
    /// Look at every file anew, and remember nothing
    #[arg(long)]
    pub no_cache: bool,
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
    match arguments.watch {
        true => watch::run(arguments, terminal),
        false => check_once(arguments, terminal),
    }
}

fn check_once(arguments: &Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let mut files = arguments.paths.find()?;
    let library = Library::discover(&files.project.root, env::home_dir().as_deref());
    let rules = arguments.rules.rules_in_force(&files.project, &library)?;
    let layers = arguments.layers(&files.project);
    let mut report = check(arguments, &rules, &layers, &mut files);
    report.problems.splice(0..0, library_problems(&library));
    if arguments.fix && !arguments.diff {
        write_changes(&report.changes, &files.project.root)?;
    }
    let mut tools = Vec::new();
    // What fixing would do is ours to say; other tools are not asked.
    if !arguments.diff {
        let paths: Vec<Arc<str>> = report.files.keys().cloned().collect();
        tools =
            while_tools_run(|| layers::run_all(&files.project, &layers, &paths)).map_err(RulesError::from)?;
        report.add(tools.iter_mut().flat_map(|layer| std::mem::take(&mut layer.findings)));
    }
    let outcome = Outcome {
        arguments,
        project: &files.project,
        library: &library,
        rules: &rules,
        report,
        layers,
        tools,
    };
    outcome.render(terminal)?;
    Ok(outcome.exit())
}

fn check(arguments: &Arguments, rules: &RuleSet, layers: &[Layer], files: &mut ProjectFiles) -> CheckReport {
    let progress = Progress::new("checking", files.files.len());
    let python = python_rules();
    let build = (!arguments.no_cache).then(build_identity).flatten();
    let check = ProjectCheck {
        project: &files.project,
        files: &files.files,
        checker: Checker { rules, python: python.as_ref().map(|python| python as &dyn PythonRules) },
        layers,
        fix: (arguments.fix || arguments.diff).then(|| arguments.allowed(&files.project)),
        cache: build.as_deref(),
        progress: &|done| progress.advance(done),
    };
    let mut report = check.run();
    report.problems.splice(0..0, files.problems.drain(..).map(RulesError::from));
    report
}

/// What runs rules in Python: this very program, as a worker of the sandbox. Nothing is started before the first such rule has work.
pub(crate) fn python_rules() -> Option<SandboxedRules> {
    env::current_exe().ok().map(|program| SandboxedRules::new(ScriptRunner::new(program)))
}

/// What tells this build of the program from another one: its version alone does not while it is being written.
pub(crate) fn build_identity() -> Option<String> {
    let metadata = env::current_exe().and_then(|path| path.metadata()).ok()?;
    let modified = metadata.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("CARGO_PKG_VERSION"), metadata.len(), modified.as_nanos()))
}

/// What came of a check, and all that is needed to tell it.
struct Outcome<'o> {
    arguments: &'o Arguments,
    project: &'o Project,
    library: &'o Library,
    rules: &'o RuleSet,
    report: CheckReport,
    layers: Vec<Layer>,
    /// The layers of other tools; their findings are among all the others.
    tools: Vec<LayerReport>,
}

impl Outcome<'_> {
    fn render(&self, terminal: &mut Terminal) -> anyhow::Result<()> {
        let report = &self.report;
        match self.arguments.format {
            OutputFormat::Json => json::render(self, terminal)?,
            OutputFormat::Sarif => {
                terminal.json(&sarif::document(self.project, self.library, report))?;
            }
            OutputFormat::Github => {
                for finding in &report.findings {
                    let shown = shown_path(report, finding).to_string_lossy();
                    terminal.line(format_args!("{}", github::annotation(finding, &shown)))?;
                }
                for problem in &report.problems {
                    terminal.line(format_args!("{}", github::problem(problem)))?;
                }
            }
            OutputFormat::Text if self.arguments.diff => {
                for change in &report.changes.changes {
                    terminal.diff(&unified_diff(change))?;
                }
            }
            OutputFormat::Text if self.arguments.statistics => statistics::table(report, terminal)?,
            OutputFormat::Text => text::findings(self.library, report, terminal)?,
        }
        for problem in &report.problems {
            terminal.rules_problem(problem)?;
        }
        for layer in &self.tools {
            text::layer(layer, terminal)?;
        }
        if self.arguments.format == OutputFormat::Text {
            text::summary(self, terminal)?;
        }
        Ok(())
    }

    fn exit(&self) -> Exit {
        if !self.report.problems.is_empty() || self.tools.iter().any(LayerReport::is_failed) {
            return Exit::CouldNotRun;
        }
        let is_failed = match self.arguments.diff {
            true => !self.report.changes.is_empty(),
            false => self.report.has_failures(),
        };
        if is_failed { Exit::Findings } else { Exit::Fine }
    }
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
    /// The rules for this project and its libraries.
    pub(crate) fn rules_in_force(&self, project: &Project, library: &Library) -> anyhow::Result<RuleSet> {
        let config = &project.config.check;
        let target = |text: &str| {
            text.parse::<Target>().map_err(|error| {
                anyhow::Error::from(Failure::with_hint(error.to_string(), "write `--target tdom=0.1.20`"))
            })
        };
        let targets = self.targets.iter().map(|text| target(text)).collect::<Result<Vec<_>, _>>()?;
        let configured = config.target.iter().map(|(name, version)| target(&format!("{name}={version}")));
        let configured = configured.collect::<Result<Vec<_>, _>>()?;
        let mut libraries = ProjectLibraries::read(&project.root, &targets);
        libraries.add_defaults(&configured, CONFIG_FILE);
        let selection = Selection {
            config,
            select: &self.select,
            ignore: &self.ignore,
            kind: self.kind.as_deref(),
            usage: &|name| libraries.usage(name),
        };
        Ok(selection.rules(library).map_err(RulesError::from)?)
    }
}

impl LayerName {
    pub(crate) fn layer(self) -> Layer {
        match self {
            Self::Syntax => Layer::Syntax,
            Self::Rules => Layer::Rules,
            Self::Lint => Layer::Lint,
            Self::Types => Layer::Types,
            Self::Tests => Layer::Tests,
        }
    }
}
