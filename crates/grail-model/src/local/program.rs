//! Programs on this machine: the sibling that runs local models, and those that download packages.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::ModelError;

/// The program that runs local models.
pub const LOCAL_PROGRAM: &str = "grail-local";
/// Names it, where it lies elsewhere.
pub const LOCAL_PROGRAM_VARIABLE: &str = "GRAIL_LOCAL_PROGRAM";
/// How many threads rayon and candle use.
const THREADS_VARIABLE: &str = "RAYON_NUM_THREADS";

/// The program that runs local models: the one that the environment names, else the one beside this program, else the one on `PATH`.
pub fn find_local_program() -> Result<PathBuf, ModelError> {
    if let Some(named) = env::var_os(LOCAL_PROGRAM_VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        return match is_program(&named) {
            true => Ok(named),
            false => Err(ModelError::NoLocalProgram {
                reason: format!(
                    "`{LOCAL_PROGRAM_VARIABLE}` names `{}`, which is no program",
                    named.display()
                ),
            }),
        };
    }
    // Tests lie one folder below the programs they are about.
    let beside = env::current_exe().ok().and_then(|program| {
        let folder = program.parent()?;
        [Some(folder), folder.parent().filter(|_| folder.ends_with("deps"))]
            .into_iter()
            .flatten()
            .find_map(|folder| program_in(folder, LOCAL_PROGRAM))
    });
    beside.or_else(|| on_path(env::var_os("PATH").as_deref(), LOCAL_PROGRAM)).ok_or_else(|| {
        let reason = "it is neither beside this program nor on `PATH`".to_owned();
        ModelError::NoLocalProgram { reason }
    })
}

/// The program as a command that wants arguments. It is told how many threads there are, unless somebody else has: candle would look
/// that up in the system before every product, which takes a twentieth of the time of training.
pub fn local_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    if env::var_os(THREADS_VARIABLE).is_none() {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        command.env(THREADS_VARIABLE, threads.to_string());
    }
    command
}

/// A program by its name. A relative entry means another program in every folder, so it is passed over.
pub(super) fn on_path(search_path: Option<&OsStr>, name: &str) -> Option<PathBuf> {
    env::split_paths(search_path?)
        .filter(|folder| folder.is_absolute())
        .find_map(|folder| program_in(&folder, name))
}

fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    Some(folder.join(file)).filter(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
