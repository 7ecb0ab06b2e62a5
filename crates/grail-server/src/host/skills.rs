//! Commands about skills. What is on disk is looked at anew for each, because a host runs for long.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use grail_agent::Workspace;
use grail_skills::credentials::{CredentialEnvironment, CredentialFile, Keyring};
use grail_skills::lifecycle::{self, LifecycleProblem, Record, SkillStore};
use grail_skills::runnable::{
    Capability, Connection, ConnectionSettings, Manifest, RunFailure, RunProblem, RunnableSkill,
    StartSettings, Surroundings, invoke_once,
};
use grail_skills::search::{SAME, SearchIndex};
use grail_skills::{
    Catalogue, CatalogueEntry, Scopes, Skill, SkillError, Trust, load_skill, read_skill_file,
};
use serde_json::Value as Json;

use super::envelope::{ErrorCode, HostError};
use super::skill_payload::{
    FoundSkill, FoundSkills, InstalledSkill, InstalledSkills, InvokeSkill, Invoked, ListedSkill, LoadedSkill,
    OneSkill, ReadSkill, Removed, SearchSkills, SkillFilePart, SkillList, SkillStatus, WithReason,
};

/// More hits are not told.
const MAX_HITS: usize = 50;
/// Nothing that a host waits for takes longer.
const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Where a keyring for credentials comes from, if there is one.
pub type OpenKeyring = Arc<dyn Fn() -> Option<Box<dyn Keyring>> + Send + Sync>;

/// The skills of a project and of its user.
#[derive(Clone)]
pub(super) struct Skills {
    pub(super) workspace: Arc<Workspace>,
    pub(super) keyring: OpenKeyring,
}

type Answered<T> = Result<T, HostError>;

impl Skills {
    pub(super) fn list(&self) -> SkillList {
        let (catalogue, trust) = (self.catalogue(), self.trust());
        let listed = |entry: &CatalogueEntry| ListedSkill {
            name: entry.skill.name.clone(),
            description: entry.skill.description.clone(),
            origin: serde_json::to_value(entry.skill.origin)
                .ok()
                .and_then(|origin| origin.as_str().map(str::to_owned))
                .unwrap_or_default(),
            trusted: trust.state(&entry.skill).is_trusted(),
            runnable: entry.is_runnable,
        };
        SkillList {
            skills: catalogue.entries.iter().map(listed).collect(),
            errors: catalogue.problems.iter().map(ToString::to_string).collect(),
        }
    }

    pub(super) fn load(&self, wanted: &OneSkill) -> Answered<LoadedSkill> {
        let loaded = load_skill(&self.trusted(&wanted.name)?).map_err(|error| host_error(&error))?;
        Ok(LoadedSkill {
            name: loaded.name,
            body: loaded.body,
            files: loaded.files.into_iter().map(|file| file.path).collect(),
            more_files: loaded.more_files,
        })
    }

    pub(super) fn read(&self, wanted: &ReadSkill) -> Answered<SkillFilePart> {
        let skill = self.trusted(&wanted.name)?;
        let part = read_skill_file(&skill, &wanted.path, wanted.line).map_err(|error| host_error(&error))?;
        Ok(SkillFilePart {
            path: part.path,
            text: part.text,
            line: part.line,
            lines: part.lines,
            next_line: part.next_line,
        })
    }

    pub(super) fn search(&self, wanted: &SearchSkills) -> Answered<FoundSkills> {
        let root = &self.workspace.project.root;
        let catalogue = self.catalogue();
        let mut skills: Vec<Skill> = catalogue.entries.into_iter().map(|entry| entry.skill).collect();
        let stores = self.stores()?;
        skills.extend(stores.iter().flat_map(|(_, store)| store.active_skills()));
        let mut index = SearchIndex::open(Some(root));
        let found = index.update(&skills).and_then(|_| {
            index.save(root);
            index.search(&wanted.intent, wanted.limit.min(MAX_HITS))
        });
        let trust = self.trust();
        let told = |skill: &Skill| match trust.state(skill).is_trusted() {
            true => skill.description.clone(),
            false => String::new(),
        };
        let hits = found.map_err(|error| host_error(&error))?.into_iter().map(|hit| FoundSkill {
            name: hit.skill.name.clone(),
            description: told(&hit.skill),
            score: hit.score,
            same: hit.score >= SAME,
        });
        Ok(FoundSkills { hits: hits.collect(), searched: index.len() })
    }

    pub(super) fn invoke(&self, wanted: &InvokeSkill) -> Answered<Invoked> {
        let store = self.store_of(&wanted.skill_id)?;
        let invoked = || -> Result<Invoked, SkillError> {
            let active = store.active(&wanted.skill_id)?;
            let network = active.allows(&Capability::Network);
            let path = self.credential_path(&store)?;
            let credentials = CredentialFile::with_keyring(path, (self.keyring)());
            let environment = CredentialEnvironment::resolve(&active.manifest, &credentials)?;
            let mut settings = self.settings_for(&store);
            settings.start.network = network;
            if let Some(seconds) = wanted.timeout {
                settings.request_timeout = Duration::from_secs(seconds.max(1)).min(MAX_TIMEOUT);
            }
            let skill = RunnableSkill::open(active.folder)?;
            let input =
                if wanted.input.is_null() { Json::Object(Default::default()) } else { wanted.input.clone() };
            let invocation = invoke_once(&skill, &environment, &settings, &input)?;
            Ok(Invoked {
                skill_id: skill.manifest.id.clone(),
                version: skill.manifest.version.to_string(),
                output: invocation.answer.output,
                stderr: invocation.stderr,
            })
        };
        invoked().map_err(|error| host_error(&error))
    }

    pub(super) fn status(&self, wanted: &SkillStatus) -> Answered<InstalledSkills> {
        if let Some(id) = &wanted.skill_id {
            let store = self.store_of(id)?;
            return Ok(InstalledSkills {
                skills: vec![self.installed(&store, store.record(id))?],
                errors: Vec::new(),
            });
        }
        let mut found = InstalledSkills { skills: Vec::new(), errors: Vec::new() };
        for (_, store) in self.stores()? {
            let (records, broken) = store.installed();
            for record in records {
                found.skills.push(self.installed(&store, Ok(record))?);
            }
            found.errors.extend(broken.iter().map(ToString::to_string));
        }
        Ok(found)
    }

    pub(super) fn enable(&self, id: &str) -> Answered<InstalledSkill> {
        let store = self.store_of(id)?;
        self.installed(&store, lifecycle::enable(&store, id, &self.handshake(&store)))
    }

    pub(super) fn disable(&self, wanted: &WithReason) -> Answered<InstalledSkill> {
        let store = self.store_of(&wanted.skill_id)?;
        self.installed(&store, lifecycle::disable(&store, &wanted.skill_id, wanted.reason.clone()))
    }

    pub(super) fn quarantine(&self, wanted: &WithReason) -> Answered<InstalledSkill> {
        let store = self.store_of(&wanted.skill_id)?;
        let reason = wanted.reason.clone().unwrap_or_else(|| "asked for by the host".to_owned());
        self.installed(&store, lifecycle::quarantine(&store, &wanted.skill_id, reason))
    }

    pub(super) fn rollback(&self, id: &str) -> Answered<InstalledSkill> {
        let store = self.store_of(id)?;
        let result = lifecycle::rollback(&store, id, &self.handshake(&store), &|_| {});
        self.installed(&store, result.map(|report| report.record))
    }

    pub(super) fn remove(&self, id: &str) -> Answered<Removed> {
        self.store_of(id)?.remove(id).map_err(|error| host_error(&error))?;
        Ok(Removed { removed: id.to_owned() })
    }

    fn catalogue(&self) -> Catalogue {
        Catalogue::discover(&Scopes::new(&self.workspace.project.root, self.workspace.home.as_deref()))
    }

    fn trust(&self) -> Trust {
        Trust::open(self.workspace.state.as_deref())
    }

    fn trusted(&self, name: &str) -> Answered<Skill> {
        let catalogue = self.catalogue();
        let entry = catalogue.entry(name).map_err(|error| host_error(&error))?;
        self.trust().state(&entry.skill).require(&entry.skill).map_err(|error| host_error(&error))?;
        Ok(entry.skill.clone())
    }

    /// Those of the project, then those of the user.
    fn stores(&self) -> Answered<[(&'static str, SkillStore); 2]> {
        let state = self.state()?;
        let project = SkillStore::of_project(state, &self.workspace.project.root);
        Ok([("project", project), ("user", SkillStore::of_user(state))])
    }

    /// Where a skill is: in the project, or else with the user.
    fn store_of(&self, id: &str) -> Answered<SkillStore> {
        let [(_, project), (_, user)] = self.stores()?;
        Ok(if !project.has(id) && user.has(id) { user } else { project })
    }

    fn state(&self) -> Answered<&Path> {
        self.workspace.state.as_deref().ok_or_else(|| host_error(&SkillError::NoHome))
    }

    fn credential_path(&self, store: &SkillStore) -> Result<PathBuf, SkillError> {
        let state = self.workspace.state.as_deref().ok_or(SkillError::NoHome)?;
        Ok(state.join("credentials").join(format!("{}.json", store.scope_name())))
    }

    fn settings_for(&self, store: &SkillStore) -> ConnectionSettings {
        // The programs of a project have no business with a skill that belongs to the user.
        let root = (!store.is_of_user()).then(|| self.workspace.project.root.clone());
        let mut start = StartSettings::new(Surroundings::of_this_process(root));
        start.launcher = Some(self.workspace.program.clone());
        ConnectionSettings::new(start)
    }

    /// Starts a skill behind the fence, without network and without credentials, and greets it.
    fn handshake(&self, store: &SkillStore) -> impl Fn(&Path, &Manifest) -> Result<(), String> {
        let settings = self.settings_for(store);
        let told = |problem: &RunProblem| match problem.hint() {
            Some(hint) => format!("it {}; {hint}", problem.failure),
            None => format!("it {}", problem.failure),
        };
        move |folder, _| {
            let skill = RunnableSkill::open(folder).map_err(|problem| problem.to_string())?;
            let connection = Connection::open(&skill, &CredentialEnvironment::default(), &settings)
                .map_err(|problem| told(&problem))?;
            connection.close();
            Ok(())
        }
    }

    fn installed(&self, store: &SkillStore, record: Result<Record, SkillError>) -> Answered<InstalledSkill> {
        let record = record.map_err(|error| host_error(&error))?;
        let current = record.current.as_ref();
        Ok(InstalledSkill {
            skill_id: record.id.clone(),
            scope: if store.is_of_user() { "user" } else { "project" }.to_owned(),
            version: current.map(|current| current.version.to_string()).unwrap_or_default(),
            state: current.map_or("testing", |current| current.state.name()).to_owned(),
            reason: current.and_then(|current| current.reason.clone()),
            failures: record.health.failures,
        })
    }
}

pub(super) fn host_error(error: &SkillError) -> HostError {
    let code = match error {
        SkillError::Unknown { .. }
        | SkillError::NoFile { .. }
        | SkillError::Lifecycle(LifecycleProblem::NotInstalled { .. }) => ErrorCode::NotFound,
        SkillError::EmptyQuery { .. } | SkillError::Outside { .. } => ErrorCode::BadPayload,
        SkillError::Untrusted { .. } | SkillError::Lifecycle(_) => ErrorCode::Refused,
        SkillError::Run(problem) if matches!(problem.failure, RunFailure::Refused { .. }) => {
            ErrorCode::Refused
        }
        _ => ErrorCode::Failed,
    };
    HostError { code, message: error.to_string(), hint: error.hint() }
}
