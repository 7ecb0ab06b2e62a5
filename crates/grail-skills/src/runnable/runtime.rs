//! What starts a script: uv where there is one, otherwise a plain interpreter if the script needs no packages.
//!
//! The environment is made from nothing. `PATH` is the host's; home, temporary files and working folder are a scratch folder of the run; credentials
//! are what the manifest declares. uv gets a cache folder of the skill's own, because what a fenced program may write must not be shared: fetching
//! packages is a run of its own, with the network and the settings of the host's uv but without credentials, and the script then runs offline.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

use grail_project::{Interpreter, find_interpreters};
use pep440_rs::{Version, VersionSpecifiers};

use super::fence::Fence;
use super::inline_metadata::InlineMetadata;
use super::manifest::Manifest;
use super::problem::RunFailure;
use super::process::{Process, Program};

/// Asking a program for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// What starts scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// With the interpreter to use, if one that fits was found; otherwise uv looks for itself.
    Uv {
        program: PathBuf,
        interpreter: Option<Interpreter>,
    },
    Python(Interpreter),
}

/// What a script needs to be started.
#[derive(Clone, Debug, Default)]
pub struct Needs<'a> {
    pub requires_python: Option<&'a VersionSpecifiers>,
    pub min_python: Option<&'a Version>,
    pub min_uv_version: Option<&'a Version>,
    /// Packages, as they are written.
    pub packages: Vec<String>,
}

/// Where to look for programs, and where packages are kept.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Programs are also looked for in the `.venv` of this project.
    pub project_root: Option<PathBuf>,
    pub search_path: OsString,
    /// The folder for uv's caches, one per skill.
    pub cache: PathBuf,
    /// Whether uv is used where it is found.
    pub with_uv: bool,
}

impl<'a> Needs<'a> {
    pub fn new(manifest: &'a Manifest, metadata: &'a InlineMetadata) -> Self {
        Self {
            requires_python: metadata.requires_python.as_ref(),
            min_python: manifest.min_python.as_ref(),
            min_uv_version: manifest.min_uv_version.as_ref(),
            packages: packages(metadata),
        }
    }

    /// For a script that is no runnable skill: what its metadata says, if it has any.
    pub fn of_script(metadata: Option<&'a InlineMetadata>) -> Self {
        Self {
            requires_python: metadata.and_then(|metadata| metadata.requires_python.as_ref()),
            packages: metadata.map(packages).unwrap_or_default(),
            ..Self::default()
        }
    }

    fn wanted_python(&self) -> String {
        let minimum = self.min_python.map(|version| format!(">={version}"));
        let required = self.requires_python.map(ToString::to_string);
        let all: Vec<String> = minimum.into_iter().chain(required).filter(|text| !text.is_empty()).collect();
        if all.is_empty() { "3".to_owned() } else { all.join(", ") }
    }

    fn accepts(&self, interpreter: &Interpreter) -> bool {
        let short = Version::new([u64::from(interpreter.version.0), u64::from(interpreter.version.1)]);
        // Folders name two numbers of a version; the third is asked for only where it matters.
        let named = self.requires_python.into_iter().flat_map(|specifiers| specifiers.iter());
        let named = named.map(|specifier| specifier.version()).chain(self.min_python);
        let version = match named.clone().any(|version| version.release().len() > 2) {
            true => exact_version(interpreter).unwrap_or(short),
            false => short,
        };
        self.requires_python.is_none_or(|specifiers| specifiers.contains(&version))
            && self.min_python.is_none_or(|minimum| version >= *minimum)
    }
}

fn packages(metadata: &InlineMetadata) -> Vec<String> {
    metadata.dependencies.iter().map(ToString::to_string).collect()
}

impl Surroundings {
    /// Of this process: its `PATH`, and the user's cache folder.
    pub fn of_this_process(project_root: Option<PathBuf>) -> Self {
        let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_else(env::temp_dir);
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        Self {
            project_root,
            search_path: env::var_os("PATH").unwrap_or_default(),
            cache: cache.unwrap_or_else(|| home.join(".cache")).join("grail/uv"),
            with_uv: true,
        }
    }

    /// The cache of the skill in a folder. Skills do not share one, since they can write to it; names prove nothing, so the place counts.
    pub(crate) fn cache_of(&self, folder: &Path) -> PathBuf {
        let hash = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        self.cache.join(&hash[..16])
    }

    fn find_uv(&self) -> Option<PathBuf> {
        let name = format!("uv{}", env::consts::EXE_SUFFIX);
        let folders = env::split_paths(&self.search_path).filter(|folder| folder.is_absolute());
        let venv = self.project_root.iter().map(|root| root.join(".venv/bin"));
        folders.chain(venv).map(|folder| folder.join(&name)).find(|path| is_program(path))
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// What will start a script with these needs.
pub fn choose_runtime(needs: &Needs, surroundings: &Surroundings) -> Result<Runtime, RunFailure> {
    let interpreters = find_interpreters(surroundings.project_root.as_deref());
    let fitting = interpreters.iter().find(|interpreter| needs.accepts(interpreter)).cloned();
    if let Some(program) = surroundings.with_uv.then(|| surroundings.find_uv()).flatten() {
        if let Some(wanted) = needs.min_uv_version {
            refuse_older(&program, wanted)?;
        }
        return Ok(Runtime::Uv { program, interpreter: fitting });
    }
    if !needs.packages.is_empty() {
        return Err(RunFailure::NeedsUv { packages: needs.packages.clone() });
    }
    let found = || interpreters.iter().map(|one| format!("{}.{}", one.version.0, one.version.1)).collect();
    fitting
        .map(Runtime::Python)
        .ok_or_else(|| RunFailure::NoInterpreter { wanted: needs.wanted_python(), found: found() })
}

fn refuse_older(uv: &Path, wanted: &Version) -> Result<(), RunFailure> {
    // `uv 0.5.1 (built somewhere)`
    let line = first_line_of(uv, &["--version"]).unwrap_or_default();
    let version = line.split_whitespace().nth(1).and_then(|version| Version::from_str(version).ok());
    match version {
        Some(version) if version >= *wanted => Ok(()),
        found => Err(RunFailure::OldUv {
            wanted: wanted.to_string(),
            found: found.map_or_else(|| "of an unknown version".to_owned(), |found| found.to_string()),
        }),
    }
}

fn exact_version(interpreter: &Interpreter) -> Option<Version> {
    let code = "import sys; print('%d.%d.%d' % sys.version_info[:3])";
    let line = first_line_of(&interpreter.executable, &["-I", "-S", "-c", code])?;
    Version::from_str(line.trim()).ok()
}

fn first_line_of(program: &Path, arguments: &[&str]) -> Option<String> {
    let mut process = Process::start(&Program {
        program: program.to_owned(),
        arguments: arguments.iter().map(Into::into).collect(),
        directory: env::temp_dir(),
        environment: Vec::new(),
        is_launched: false,
        max_line_bytes: 1024,
        stderr_bytes: 0,
    })
    .ok()?;
    process.close_input();
    String::from_utf8(process.next_line(Instant::now() + VERSION_TIMEOUT).ok()?).ok()
}

impl Runtime {
    /// The program and its arguments, up to the script.
    pub(crate) fn command(&self) -> (PathBuf, Vec<OsString>) {
        match self {
            Self::Uv { program, interpreter } => {
                let mut arguments: Vec<OsString> =
                    ["run", "--quiet", "--offline", "--no-config"].iter().map(Into::into).collect();
                arguments.extend(chosen_python(interpreter.as_ref()));
                arguments.push("--script".into());
                (program.clone(), arguments)
            }
            // Without packages that happen to be installed here: what the script does not list is not there.
            Self::Python(interpreter) => {
                let arguments = ["-E", "-s", "-S", "-B", "-X", "utf8"];
                (interpreter.executable.clone(), arguments.iter().map(Into::into).collect())
            }
        }
    }

    /// Fetches the packages of a script into the skill's cache.
    pub(crate) fn fetch_command(&self, script: &Path) -> Option<(PathBuf, Vec<OsString>)> {
        let Self::Uv { program, interpreter } = self else { return None };
        let mut arguments: Vec<OsString> = ["sync", "--quiet"].iter().map(Into::into).collect();
        arguments.extend(chosen_python(interpreter.as_ref()));
        arguments.extend(["--script".into(), script.as_os_str().to_owned()]);
        Some((program.clone(), arguments))
    }

    /// What the program itself needs to be read.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        let interpreter = match self {
            Self::Python(interpreter) => Some(interpreter),
            Self::Uv { program, interpreter } => {
                let real = fs::canonicalize(program).unwrap_or_else(|_| program.clone());
                paths.push(real);
                paths.extend(managed_pythons());
                interpreter.as_ref()
            }
        };
        paths.extend(interpreter.map(installation).unwrap_or_default());
        paths
    }
}

fn chosen_python(interpreter: Option<&Interpreter>) -> Vec<OsString> {
    // With a link out of a virtual environment uv would look into that environment.
    let executable = |interpreter: &Interpreter| {
        fs::canonicalize(&interpreter.executable).unwrap_or_else(|_| interpreter.executable.clone())
    };
    interpreter.map(|one| vec!["--python".into(), executable(one).into_os_string()]).unwrap_or_default()
}

/// The parts of an installation that Python reads. Not the folder above `bin` as a whole: that may be `.local` in somebody's home.
fn installation(interpreter: &Interpreter) -> Vec<PathBuf> {
    let mut paths = vec![interpreter.stdlib.clone()];
    let prefix = |executable: &Path| Some(executable.parent()?.parent()?.to_owned());
    if let Some(environment) =
        prefix(&interpreter.executable).filter(|prefix| prefix.join("pyvenv.cfg").is_file())
    {
        paths.push(environment);
    }
    let real = fs::canonicalize(&interpreter.executable).unwrap_or_else(|_| interpreter.executable.clone());
    if let Some(prefix) = prefix(&real) {
        paths.extend(["lib", "lib64", "ssl", "share/zoneinfo"].iter().map(|part| prefix.join(part)));
    }
    paths.push(real);
    paths
}

/// Where uv keeps the interpreters that it installed.
fn managed_pythons() -> Option<PathBuf> {
    if let Some(folder) = env::var_os("UV_PYTHON_INSTALL_DIR") {
        return Some(folder.into());
    }
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".local/share")));
    Some(data?.join("uv/python"))
}

/// Variables that say where uv finds packages, and how to get there. They may hold passwords: only fetching sees them.
const FETCH_VARIABLES: [&str; 14] = [
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_NATIVE_TLS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "NO_PROXY",
];

/// The environment that every program of a skill starts with.
pub(crate) fn plain_environment(
    runtime: &Runtime,
    surroundings: &Surroundings,
    scratch: &Path,
    cache: &Path,
) -> Vec<(OsString, OsString)> {
    let mut pairs: Vec<(&str, OsString)> = vec![
        ("PATH", surroundings.search_path.clone()),
        ("HOME", scratch.into()),
        ("TMPDIR", scratch.into()),
        ("LANG", "C.UTF-8".into()),
        ("PYTHONUTF8", "1".into()),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
    ];
    if matches!(runtime, Runtime::Uv { .. }) {
        pairs.push(("UV_CACHE_DIR", cache.into()));
        pairs.push(("UV_PYTHON_DOWNLOADS", "never".into()));
        pairs.extend(managed_pythons().map(|folder| ("UV_PYTHON_INSTALL_DIR", folder.into())));
    }
    pairs.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// What fetching packages needs on top.
pub(crate) fn fetch_environment() -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> =
        FETCH_VARIABLES.iter().filter_map(|name| Some((name.into(), env::var_os(name)?))).collect();
    all.extend(uv_settings().map(|path| ("UV_CONFIG_FILE".into(), path.into_os_string())));
    all
}

fn uv_settings() -> Option<PathBuf> {
    if let Some(named) = env::var_os("UV_CONFIG_FILE") {
        return Some(named.into());
    }
    let settings = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let settings = settings.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".config")));
    Some(settings?.join("uv/uv.toml")).filter(|path| path.is_file())
}

/// Parts of the system that programs read: libraries, certificates, time zones, how to find other hosts. Not the whole of `/etc`.
const SYSTEM_PATHS: [&str; 39] = [
    "/bin",
    "/sbin",
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/etc/timezone",
    "/run/systemd/resolve",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

impl Fence {
    /// Lets in what every program needs and what this runtime needs.
    pub(crate) fn admit(&mut self, runtime: &Runtime) {
        self.read.extend(SYSTEM_PATHS.iter().map(PathBuf::from));
        self.read.extend(runtime.readable());
    }

    pub(crate) fn admit_settings_of_uv(&mut self) {
        self.read.extend(uv_settings());
        self.read.extend(["SSL_CERT_FILE", "SSL_CERT_DIR"].iter().filter_map(env::var_os).map(PathBuf::from));
    }
}
