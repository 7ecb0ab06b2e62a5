//! The salsa database: the project's files in memory, typeshed from the binary, nothing read from the disk.
//!
//! Diagnostics are never asked for, so no file counts as one to check, which spares ty the work of collecting them.

use std::sync::Arc;

use ruff_db::diagnostic::Diagnostic;
use ruff_db::files::{File, Files};
use ruff_db::system::{InMemorySystem, MemoryFileSystem, System, SystemPath, SystemPathBuf};
use ruff_db::vendored::VendoredFileSystem;
use ruff_python_ast::PythonVersion;
use ty_module_resolver::{FallibleStrategy, SearchPathSettings};
use ty_python_core::platform::PythonPlatform;
use ty_python_core::program::ProgramSettings;
use ty_python_core::{Program, ProgramFile};
use ty_python_semantic::lint::{LintRegistry, RuleSelection};
use ty_python_semantic::{
    AnalysisSettings, PythonVersionSource, PythonVersionWithSource, default_lint_registry,
};

use super::TypesError;

/// Where the project lives inside the in-memory file system.
const PROJECT: &str = "/project";

#[salsa::db]
#[derive(Clone)]
pub(super) struct Database {
    storage: salsa::Storage<Self>,
    files: Files,
    system: InMemorySystem,
    settings: Arc<ProgramSettings>,
    rules: Arc<RuleSelection>,
    analysis: Arc<AnalysisSettings>,
}

impl Database {
    /// `files` are pairs of project path and text; `roots` are the folders that imports start from.
    pub(super) fn new(
        files: &[(String, String)],
        roots: &[&str],
        python_version: (u8, u8),
    ) -> Result<Self, TypesError> {
        let memory = MemoryFileSystem::with_current_directory(PROJECT);
        let invalid = |path: &str, reason: String| TypesError::InvalidPath { path: path.to_owned(), reason };
        for (path, text) in files {
            if !path.split('/').all(|part| !matches!(part, "" | "." | "..")) {
                return Err(invalid(path, "not a plain relative path".to_owned()));
            }
            memory
                .write_file_all(system_path(path), text)
                .map_err(|error| invalid(path, error.to_string()))?;
        }
        let mut source_roots = Vec::new();
        for root in roots {
            let path = system_path(root);
            memory.create_directory_all(&path).map_err(|error| invalid(root, error.to_string()))?;
            source_roots.push(path);
        }
        let system = InMemorySystem::from_memory_fs(memory);
        let search_paths = SearchPathSettings::new(source_roots)
            .to_search_paths(&system, ty_vendored::file_system(), &FallibleStrategy)
            .map_err(|error| TypesError::InvalidRoots { reason: error.to_string() })?;
        let (major, minor) = python_version;
        let settings = ProgramSettings {
            python_version: PythonVersionWithSource {
                version: PythonVersion { major, minor },
                source: PythonVersionSource::default(),
            },
            python_platform: PythonPlatform::default(),
            search_paths,
        };
        let database = Self {
            storage: salsa::Storage::new(None),
            files: Files::default(),
            system,
            settings: Arc::new(settings),
            rules: Arc::new(RuleSelection::from_registry(default_lint_registry())),
            analysis: Arc::default(),
        };
        database.settings.search_paths.try_register_static_roots(&database);
        Ok(database)
    }

    /// The file at a project path, if it was given.
    pub(super) fn project_file(&self, path: &str) -> Option<ProgramFile<'_>> {
        let file = ruff_db::files::system_path_to_file(self, system_path(path)).ok()?;
        Some(ty_python_semantic::Db::program_file(self, file))
    }

    /// The project path of `file`; nothing for typeshed.
    pub(super) fn project_path(&self, file: File) -> Option<&str> {
        project_path(self, file)
    }
}

/// The project path of `file`; nothing for typeshed.
pub(super) fn project_path(db: &dyn ty_python_semantic::Db, file: File) -> Option<&str> {
    let path = file.path(db).as_system_path()?;
    Some(path.strip_prefix(PROJECT).ok()?.as_str())
}

fn system_path(path: &str) -> SystemPathBuf {
    SystemPath::absolute(path, PROJECT)
}

/// What the query below needs beyond ty's own traits.
#[salsa::db]
trait ProgramDb: ty_python_core::Db {
    fn settings(&self) -> &ProgramSettings;
}

/// Cached, because interning hashes all search paths and every file asks for its program.
#[salsa::tracked(returns(copy))]
fn program(db: &dyn ProgramDb) -> Program<'_> {
    Program::from_settings(db, db.settings().clone())
}

#[salsa::db]
impl ProgramDb for Database {
    fn settings(&self) -> &ProgramSettings {
        &self.settings
    }
}

#[salsa::db]
impl ruff_db::Db for Database {
    fn vendored(&self) -> &VendoredFileSystem {
        ty_vendored::file_system()
    }

    fn system(&self) -> &dyn System {
        &self.system
    }

    fn files(&self) -> &Files {
        &self.files
    }
}

#[salsa::db]
impl ty_module_resolver::Db for Database {}

#[salsa::db]
impl ty_python_core::Db for Database {
    fn should_check_file(&self, _file: File) -> bool {
        false
    }
}

#[salsa::db]
impl ty_python_semantic::Db for Database {
    fn check_file(&self, _file: File) -> Vec<Diagnostic> {
        Vec::new()
    }

    fn program_file(&self, file: File) -> ProgramFile<'_> {
        program(self).program_file(self, file)
    }

    fn python_version_with_source(&self, _file: File) -> &PythonVersionWithSource {
        &self.settings.python_version
    }

    fn rule_selection(&self, _file: File) -> &RuleSelection {
        &self.rules
    }

    fn lint_registry(&self) -> &LintRegistry {
        default_lint_registry()
    }

    fn analysis_settings(&self, _file: File) -> &AnalysisSettings {
        &self.analysis
    }

    fn verbose(&self) -> bool {
        false
    }

    fn is_open_file(&self, _file: File) -> bool {
        false
    }

    fn dyn_clone(&self) -> Box<dyn ty_python_semantic::Db> {
        Box::new(self.clone())
    }
}

#[salsa::db]
impl salsa::Database for Database {}
