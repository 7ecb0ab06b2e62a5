//! What the work is done with: the project, its rules, its skills, a clock, somebody who keeps events. All of it is injected.
//!
//! Tools hold a workspace and nothing else, so each can be tried alone. Whatever they write goes into [`Staging`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use grail_flywheel::words::{MessageClassifier, RuleClassifier};
use grail_flywheel::{EventSink, NoEvents};
use grail_project::{
    CONFIG_FILE, CheckConfig, Project, PythonFile, SourceRoots, WalkOptions, walk_python_files,
};
use grail_rules::libraries::{ProjectLibraries, Target};
use grail_rules::{Library, RuleSet, RulesError, SandboxedRules, ScriptRunner, Selection};
use grail_skills::{Catalogue, Scopes, Trust, state_folder};

use crate::AgentError;
use crate::artifact::ArtifactReport;
use crate::clock::{Clock, SystemClock};
use crate::session::Session;
use crate::staging::Staging;
use crate::written_tool::Shelf;

pub struct Workspace {
    pub project: Project,
    pub library: Library,
    pub libraries: ProjectLibraries,
    pub catalogue: Catalogue,
    pub trust: Trust,
    /// The folder of what is remembered for the user, not for the project.
    pub state: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// The program that is started as a worker of the sandbox and as the launcher of skills.
    pub program: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub events: Arc<dyn EventSink>,
    pub session: Arc<Session>,
    /// Tells corrections from praise.
    pub classifier: Arc<dyn MessageClassifier>,
    pub staging: Staging,
    /// What came of every artifact that was handed in.
    pub artifacts: ArtifactLog,
    /// Tools that were written while the work goes on.
    pub(crate) written: Shelf,
    python: SandboxedRules,
    /// Compiled when first needed, by the pack and the kind they are for.
    rules: Mutex<BTreeMap<Choice, Arc<RuleSet>>>,
}

/// A pack and a kind, if only they are meant.
type Choice = (Vec<String>, Option<String>, Option<String>);

/// What a workspace is made of, where it is not found by itself.
pub struct Surroundings {
    pub home: Option<PathBuf>,
    pub program: PathBuf,
    pub clock: Arc<dyn Clock>,
    pub events: Arc<dyn EventSink>,
    pub classifier: Arc<dyn MessageClassifier>,
}

impl Surroundings {
    /// The real clock, messages judged by rules, and nobody who keeps events.
    pub fn new(home: Option<PathBuf>, program: PathBuf) -> Self {
        let (clock, events, classifier) =
            (Arc::new(SystemClock), Arc::new(NoEvents), Arc::new(RuleClassifier));
        Self { home, program, clock, events, classifier }
    }
}

/// Reports in the order in which they came.
#[derive(Default)]
pub struct ArtifactLog(Mutex<Vec<CheckedArtifact>>);

/// An artifact as a check left it.
#[derive(Clone, Debug)]
pub struct CheckedArtifact {
    pub kind: String,
    pub report: ArtifactReport,
    /// After fixes.
    pub code: String,
    /// From 1: how often something was handed in for it.
    pub attempt: u32,
}

impl ArtifactLog {
    pub fn push(&self, checked: CheckedArtifact) {
        self.entries().push(checked);
    }

    pub fn len(&self) -> usize {
        self.entries().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those after the first `count`.
    pub fn since(&self, count: usize) -> Vec<ArtifactReport> {
        self.all_since(count).into_iter().map(|checked| checked.report).collect()
    }

    pub fn all_since(&self, count: usize) -> Vec<CheckedArtifact> {
        self.entries().get(count..).unwrap_or_default().to_vec()
    }

    /// The last one after the first `count`.
    pub fn last_since(&self, count: usize) -> Option<CheckedArtifact> {
        self.entries().get(count..)?.last().cloned()
    }

    pub fn clear(&self) {
        self.entries().clear();
    }

    fn entries(&self) -> MutexGuard<'_, Vec<CheckedArtifact>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    pub fn open(project: Project, surroundings: Surroundings) -> Result<Self, AgentError> {
        let Surroundings { home, program, clock, events, classifier } = surroundings;
        let state = state_folder(home.as_deref());
        let config = &project.config.check;
        let configured =
            config.target.iter().map(|(name, version)| format!("{name}={version}").parse::<Target>());
        let configured: Vec<Target> = configured.filter_map(Result::ok).collect();
        let mut libraries = ProjectLibraries::read(&project.root, &[]);
        libraries.add_defaults(&configured, CONFIG_FILE);
        let session = Session::new(clock.new_id()?, &project.root, Arc::clone(&events), Arc::clone(&clock));
        session.work_with_settings(settings_hash(&project));
        Ok(Self {
            library: Library::discover(&project.root, home.as_deref()),
            libraries,
            catalogue: Catalogue::discover(&Scopes::new(&project.root, home.as_deref())),
            trust: Trust::open(state.as_deref()),
            state,
            home,
            python: SandboxedRules::new(ScriptRunner::new(program.clone())),
            program,
            session: Arc::new(session),
            classifier,
            clock,
            events,
            staging: Staging::new(&project.root),
            artifacts: ArtifactLog::default(),
            written: Shelf::default(),
            rules: Mutex::default(),
            project,
        })
    }

    /// Another workspace over the same project, with what is staged here staged there: for work whose failure must leave this one as it is.
    pub fn beside(&self) -> Result<Self, AgentError> {
        let surroundings = Surroundings {
            home: self.home.clone(),
            program: self.program.clone(),
            clock: Arc::clone(&self.clock),
            events: Arc::clone(&self.events),
            classifier: Arc::clone(&self.classifier),
        };
        let other = Self::open(self.project.clone(), surroundings)?;
        other.stage_from(self)?;
        Ok(other)
    }

    /// Stages what is staged in another workspace over the same project.
    pub fn stage_from(&self, other: &Self) -> Result<(), AgentError> {
        for (path, text) in other.staging.staged() {
            match text {
                Some(text) => self.staging.write(&path, text)?,
                None => self.staging.remove(&path)?,
            };
        }
        Ok(())
    }

    /// The rules in force. With a kind: also those that are about it, whatever libraries the project uses.
    pub fn rules(&self, kind: Option<&str>) -> Result<Arc<RuleSet>, AgentError> {
        self.selected_rules(&self.project.config.check, None, kind)
    }

    /// The rules in force and those of a pack, as if the project had selected it: what is asked for by kind has to keep them.
    pub fn rules_with_pack(&self, pack: &str) -> Result<Arc<RuleSet>, AgentError> {
        let mut config = self.project.config.check.clone();
        config.select.push(pack.to_owned());
        self.selected_rules(&config, None, None)
    }

    /// The rules of one pack, whatever libraries the project uses. With a kind: everything in a file is taken to be of it.
    pub fn rules_of_pack(&self, pack: &str, kind: Option<&str>) -> Result<Arc<RuleSet>, AgentError> {
        self.selected_rules(&self.project.config.check, Some(pack), kind)
    }

    fn selected_rules(
        &self,
        config: &CheckConfig,
        pack: Option<&str>,
        kind: Option<&str>,
    ) -> Result<Arc<RuleSet>, AgentError> {
        let key = (config.select.clone(), pack.map(str::to_owned), kind.map(str::to_owned));
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rules) = known.get(&key) {
            return Ok(Arc::clone(rules));
        }
        let select: Vec<String> = key.1.iter().cloned().collect();
        // What is selected by name goes before the settings; what they rule out stays out all the same.
        let ignore = if select.is_empty() { &[][..] } else { &config.ignore[..] };
        let selection =
            Selection { config, select: &select, ignore, kind, usage: &|name| self.libraries.usage(name) };
        let rules = Arc::new(selection.rules(&self.library).map_err(RulesError::from)?);
        known.insert(key, Arc::clone(&rules));
        Ok(rules)
    }

    /// What runs rules that are written in Python.
    pub fn python_rules(&self) -> &SandboxedRules {
        &self.python
    }

    /// The project's Python files on disk. A project without any has none: no error.
    pub fn python_files(&self) -> Vec<PythonFile> {
        let options = WalkOptions {
            root: self.project.root.clone(),
            exclude: self.project.config.project.exclude.clone(),
        };
        let walked = walk_python_files(std::slice::from_ref(&self.project.root), &options);
        walked.map(|walked| walked.files).unwrap_or_default()
    }

    /// The module of a file, by its path in the project.
    pub fn module_of(&self, path: &str) -> grail_code::ModuleName {
        let roots = SourceRoots::new(&self.project.root, &self.project.config.project.src);
        roots.module_of(&self.project.root.join(path)).unwrap_or_default()
    }

    /// The folder that holds the project's own package, if there is exactly one: new artifacts go into it.
    pub fn package_folder(&self) -> Option<String> {
        let sources = self.project.config.project.src.iter();
        let folders = sources.flat_map(|folder| packages_in(&self.project.root, Path::new(folder)));
        let mut folders: Vec<String> = folders.collect();
        folders.sort();
        folders.dedup();
        match folders.as_slice() {
            [one] => Some(one.clone()),
            _ => None,
        }
    }
}

/// What the settings of a project hash to, and the version that reads them.
fn settings_hash(project: &Project) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    // A file that cannot be read is no setting; whoever needs it says so.
    hasher.update(&std::fs::read(project.root.join(CONFIG_FILE)).unwrap_or_default());
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Folders with an `__init__.py`, relative to the root.
fn packages_in(root: &Path, folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return Vec::new() };
    let is_package = |path: &PathBuf| path.join("__init__.py").is_file();
    let paths = entries.flatten().map(|entry| entry.path()).filter(is_package);
    let relative = paths.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_str()?.replace('\\', "/")));
    relative
        .filter(|path| !path.ends_with("tests") && path != "tests")
        .map(|path| path.trim_start_matches("./").to_owned())
        .collect()
}
