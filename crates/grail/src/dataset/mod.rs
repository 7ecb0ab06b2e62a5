//! `grail dataset`: what the project has taught so far, frozen for whoever trains.

pub mod build;
pub mod export;
pub mod import;
pub mod list;
mod programs;
pub mod review;
pub mod show;

use std::env;
use std::path::Path;

use clap::{Args, Subcommand};
use grail_flywheel::curate::RuleValidator;
use grail_flywheel::dataset::build::Surroundings;
use grail_flywheel::extract::SpecFiles;
use grail_flywheel::suite;
use grail_project::Project;
use grail_rules::{Library, RuleSet};
use grail_skills::{Catalogue, EVALS_FILE, Evals, Scopes, SkillFolder, Trust, state_folder};

use self::programs::SandboxedPrograms;
use crate::Exit;
use crate::check::{RuleArguments, python_rules};
use crate::render::Terminal;

/// Examples to train with: build, review, export, import
///
/// A dataset is made of events: what was asked, what was answered and what came of it. Every example is checked again with today's rules,
/// told once, and split so that nothing leaks from training into tests. Datasets lie in `.grail/datasets/` and never change. HASH may be
/// shortened; without one, the dataset built last is meant.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail dataset import --skills
  grail dataset build
  grail dataset show
  grail dataset review
  grail dataset export --to mlx --output training")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Build(build::Arguments),
    Show(show::Arguments),
    List(list::Arguments),
    Review(review::Arguments),
    Export(export::Arguments),
    Import(import::Arguments),
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::Build(arguments) => build::run(&arguments, terminal),
        Command::Show(arguments) => show::run(&arguments, terminal),
        Command::List(arguments) => list::run(&arguments, terminal),
        Command::Review(arguments) => review::run(&arguments, terminal),
        Command::Export(arguments) => export::run(&arguments, terminal),
        Command::Import(arguments) => import::run(&arguments, terminal),
    }
}

/// Who judges examples beside syntax, rules and the sandbox.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Judges {
    Rules,
    /// And the type checker, which takes its time.
    RulesAndTypes,
}

/// The project, and what judges its examples.
struct Workshop {
    project: Project,
    library: Library,
    catalogue: Catalogue,
    trust: Trust,
    rules: RuleSet,
    specs: SpecFiles,
    held_out: Vec<String>,
}

impl Workshop {
    fn open() -> anyhow::Result<Self> {
        let project = Project::discover(Path::new("."))?;
        let home = env::home_dir();
        let library = Library::discover(&project.root, home.as_deref());
        let catalogue = Catalogue::discover(&Scopes::new(&project.root, home.as_deref()));
        // An example is judged by the pack of its kind, in force or not: all of them are part of what a dataset was made with.
        let all = RuleArguments { select: vec!["ALL".to_owned()], ..RuleArguments::default() };
        let rules = all.rules_in_force(&project, &library)?;
        let held_out = held_out_prompts(&project.root, &catalogue)?;
        Ok(Self {
            trust: Trust::open(state_folder(home.as_deref()).as_deref()),
            specs: SpecFiles::new(&project.root),
            held_out,
            project,
            library,
            catalogue,
            rules,
        })
    }

    /// Does some work with everything that judges examples. `watch` is told how many events were read.
    fn work<T>(&self, judges: Judges, watch: &dyn Fn(u64), work: impl FnOnce(&Surroundings<'_>) -> T) -> T {
        let (python, programs) = (python_rules(), SandboxedPrograms::default());
        let mut validator = RuleValidator::new(&self.project, &self.library).with_runner(&programs);
        if judges == Judges::RulesAndTypes {
            validator = validator.with_types();
        }
        if let Some(python) = &python {
            validator = validator.with_python(python);
        }
        work(&Surroundings {
            root: &self.project.root,
            validator: &validator,
            specs: Some(&self.specs),
            held_out: &self.held_out,
            rules: &self.rules,
            watch,
        })
    }
}

/// The prompts of suites, and those that skills are evaluated with: they are asked of the trained model, so nothing may be learned from them.
fn held_out_prompts(root: &Path, catalogue: &Catalogue) -> anyhow::Result<Vec<String>> {
    const MAX_EVALS_BYTES: u64 = 4 * 1024 * 1024;
    let mut prompts = suite::held_out_prompts(root)?;
    for entry in &catalogue.entries {
        let bytes = SkillFolder::of(&entry.skill).and_then(|folder| folder.read(EVALS_FILE, MAX_EVALS_BYTES));
        let evals = bytes.ok().and_then(|bytes| serde_json::from_slice::<Evals>(&bytes).ok());
        prompts.extend(evals.into_iter().flat_map(|evals| evals.evals).map(|eval| eval.prompt));
    }
    prompts.sort();
    prompts.dedup();
    Ok(prompts)
}
