//! The project on disk: configuration, walking, reading, atomic writing, diffs, modules and interpreters.
//!
//! This is the only crate that writes user files. It returns data and [`ProjectError`]s; nothing here prints.

mod apply;
mod config;
mod diff;
mod error;
mod event_config;
mod git;
mod init;
mod learn_config;
mod load;
mod model_config;
mod modules;
mod python;
mod read;
mod train_config;
mod walk;
mod write;

pub use apply::{ChangeSet, FileChange, FileOutcome, NewFile, map_files, map_sources};
pub use config::{
    CONFIG_FILE, CheckConfig, CodeConfig, Config, Project, ProjectConfig, SandboxConfig, TargetVersion,
    TestsConfig, ToolConfig, find_root, load_config,
};
pub use diff::unified_diff;
pub use error::{ConfigProblem, ProjectError};
pub use event_config::{EventSettings, SyncPolicy};
pub use git::current_branch;
pub use init::{InitEntry, InitReport, InitStatus, data_folder, init_project};
pub use learn_config::LearnConfig;
pub use load::{LoadedFile, LoadedProject, load_project, project_path};
pub use model_config::{GenerateConfig, ModelConfig, ModelMode};
pub use modules::SourceRoots;
pub use python::{Interpreter, find_interpreters};
pub use read::{DEFAULT_MAX_BYTES, Fingerprint, SourceFile, read_source};
pub use train_config::{TrainConfig, TrainerName};
pub use walk::{PythonFile, WalkOptions, Walked, walk_python_files};
pub use write::{WriteReport, write_changes};
