//! Credentials of skills: kept in the system's keyring, or in a file that only its owner can read; handed to a skill's process by environment,
//! and shown to nobody.
//!
//! The file knows every name. Where there is a keyring ([`Keyring`]; the system's own comes with the feature `keyring`) the values are there, since
//! keyrings cannot be asked what they hold; otherwise they are in the file.
//!
//! A [`Secret`] has no `Display` and no serialisation, and its `Debug` says nothing. What a process writes passes a [`Redactor`] that knows the
//! secrets it was given.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SkillError;
use crate::runnable::{Manifest, RunFailure};

/// A file of credentials is small; a larger one is not ours.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// What one credential may take: a key file, not a database.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;
/// Shorter ones would be found in every other word.
const MIN_REDACTED_BYTES: usize = 4;
const REDACTED: &str = "[redacted]";

/// A value that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("Secret(..)")
    }
}

/// Where credentials are kept. Skills are named by whoever knows them; the store does not look into them.
pub trait CredentialStore {
    fn get(&self, skill: &str, name: &str) -> Result<Option<Secret>, SkillError>;
    fn set(&self, skill: &str, name: &str, secret: &Secret) -> Result<(), SkillError>;
    /// Whether there was one.
    fn remove(&self, skill: &str, name: &str) -> Result<bool, SkillError>;
    /// Skills and the names of their credentials, sorted.
    fn names(&self) -> Result<Vec<(String, String)>, SkillError>;
}

/// A place for values that the system guards. An error says in its own words why it cannot be used; it repeats no value.
pub trait Keyring: Send + Sync {
    fn get(&self, account: &str) -> Result<Option<Secret>, String>;
    fn set(&self, account: &str, secret: &Secret) -> Result<(), String>;
    /// What is not there needs no removing.
    fn remove(&self, account: &str) -> Result<(), String>;
}

/// Credentials by name in a file that nobody but its owner may read.
pub struct CredentialFile {
    path: PathBuf,
    keyring: Option<Box<dyn Keyring>>,
}

impl fmt::Debug for CredentialFile {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let keyring = self.keyring.is_some();
        formatter.debug_struct("CredentialFile").field("path", &self.path).field("keyring", &keyring).finish()
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    version: u32,
    skills: BTreeMap<String, BTreeMap<String, Kept>>,
}

/// Where a value is.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kept {
    Here(String),
    InKeyring,
}

const VERSION: u32 = 1;

impl CredentialFile {
    /// Names and values in the file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), keyring: None }
    }

    /// Names in the file, values in a keyring, where there is one.
    pub fn with_keyring(path: impl Into<PathBuf>, keyring: Option<Box<dyn Keyring>>) -> Self {
        Self { path: path.into(), keyring }
    }

    /// The file's own name tells scopes apart, since a keyring is one for all of them.
    fn account(&self, skill: &str, name: &str) -> String {
        let scope = self.path.file_stem().unwrap_or_default().to_string_lossy();
        format!("{scope}/{skill}/{name}")
    }

    fn keyring(&self) -> Result<&dyn Keyring, SkillError> {
        self.keyring.as_deref().ok_or_else(|| SkillError::Keyring { reason: "there is none".to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> Result<Contents, SkillError> {
        let error = |reason| SkillError::File { action: "read", path: self.path.clone(), reason };
        let file = match fs::File::open(&self.path) {
            Ok(file) => file,
            Err(reason) if reason.kind() == ErrorKind::NotFound => {
                return Ok(Contents { version: VERSION, ..Contents::default() });
            }
            Err(reason) => return Err(error(reason)),
        };
        self.refuse_open_to_others(&file.metadata().map_err(error)?)?;
        let mut text = String::new();
        file.take(MAX_FILE_BYTES).read_to_string(&mut text).map_err(error)?;
        // What serde says about a mistake may quote the value, so it is not passed on.
        match serde_json::from_str::<Contents>(&text) {
            Ok(contents) if contents.version == VERSION => Ok(contents),
            _ => Err(SkillError::CredentialFileUnreadable { path: self.path.clone() }),
        }
    }

    #[cfg(unix)]
    fn refuse_open_to_others(&self, metadata: &fs::Metadata) -> Result<(), SkillError> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let mode = metadata.permissions().mode() & 0o777;
        let is_ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !is_ours || mode & 0o077 != 0 {
            return Err(SkillError::CredentialFileOpen { path: self.path.clone(), mode });
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn refuse_open_to_others(&self, _: &fs::Metadata) -> Result<(), SkillError> {
        Ok(())
    }

    /// Changes the contents under a lock, so that two commands at once lose nothing. Written beside and renamed: a reader sees the old file or
    /// the new one. Temporary files are the owner's only, from the start.
    fn change<T>(&self, change: impl FnOnce(&mut Contents) -> T) -> Result<T, SkillError> {
        let error = |reason| SkillError::File { action: "write", path: self.path.clone(), reason };
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(error)?;
        let lock = open_owner_only(&self.path.with_extension("lock")).map_err(error)?;
        lock.lock().map_err(error)?;
        let mut contents = self.read()?;
        let result = change(&mut contents);
        let mut staged = tempfile::NamedTempFile::new_in(folder).map_err(error)?;
        let text = serde_json::to_vec(&contents).map_err(|reason| error(reason.into()))?;
        staged.write_all(&text).and_then(|()| staged.as_file().sync_all()).map_err(error)?;
        staged.persist(&self.path).map_err(|failed| error(failed.error))?;
        Ok(result)
    }
}

fn open_owner_only(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

impl CredentialStore for CredentialFile {
    fn get(&self, skill: &str, name: &str) -> Result<Option<Secret>, SkillError> {
        let mut contents = self.read()?;
        match contents.skills.get_mut(skill).and_then(|names| names.remove(name)) {
            None => Ok(None),
            Some(Kept::Here(value)) => Ok(Some(Secret(value))),
            Some(Kept::InKeyring) => self
                .keyring()?
                .get(&self.account(skill, name))
                .map_err(|reason| SkillError::Keyring { reason }),
        }
    }

    fn set(&self, skill: &str, name: &str, secret: &Secret) -> Result<(), SkillError> {
        if secret.0.is_empty() || secret.0.len() > MAX_SECRET_BYTES || secret.0.contains('\0') {
            return Err(SkillError::BadCredential { name: name.to_owned() });
        }
        // Not a word of the value gets into the file once the keyring has it. A keyring that does not answer is no reason to refuse.
        let in_keyring =
            self.keyring.as_deref().map(|keyring| keyring.set(&self.account(skill, name), secret));
        let kept = match in_keyring {
            Some(Ok(())) => Kept::InKeyring,
            Some(Err(_)) | None => Kept::Here(secret.0.clone()),
        };
        self.change(|contents| {
            contents.skills.entry(skill.to_owned()).or_default().insert(name.to_owned(), kept);
        })
    }

    fn remove(&self, skill: &str, name: &str) -> Result<bool, SkillError> {
        let removed = self.change(|contents| {
            let names = contents.skills.get_mut(skill)?;
            let removed = names.remove(name);
            if names.is_empty() {
                contents.skills.remove(skill);
            }
            removed
        })?;
        if let Some(Kept::InKeyring) = removed {
            let forgotten = self.keyring()?.remove(&self.account(skill, name));
            forgotten.map_err(|reason| SkillError::Keyring { reason })?;
        }
        Ok(removed.is_some())
    }

    fn names(&self) -> Result<Vec<(String, String)>, SkillError> {
        let contents = self.read()?;
        let names = |(skill, names): (String, BTreeMap<String, Kept>)| {
            names.into_keys().map(move |name| (skill.clone(), name)).collect::<Vec<_>>()
        };
        Ok(contents.skills.into_iter().flat_map(names).collect())
    }
}

/// What one skill gets: its environment variables, and how to hide them again.
#[derive(Clone, Debug, Default)]
pub struct CredentialEnvironment {
    variables: Vec<(String, Secret)>,
    redactor: Redactor,
}

impl CredentialEnvironment {
    /// The credentials a manifest declares, from the store; a default stands in for what is not stored.
    pub fn resolve(manifest: &Manifest, store: &dyn CredentialStore) -> Result<Self, SkillError> {
        let mut variables = Vec::new();
        let mut secrets = Vec::new();
        for credential in &manifest.credentials {
            let failure = |failure| {
                SkillError::from(crate::runnable::RunProblem {
                    skill: manifest.id.clone(),
                    failure,
                    stderr: String::new(),
                })
            };
            let name = credential.name.clone();
            if is_reserved_variable(&credential.env_var) {
                let variable = credential.env_var.clone();
                return Err(failure(RunFailure::ReservedVariable { name, variable }));
            }
            match (store.get(&manifest.id, &name)?, &credential.default) {
                (Some(secret), _) => {
                    secrets.push(secret.clone());
                    variables.push((credential.env_var.clone(), secret));
                }
                // A default is written in the manifest for everybody to read.
                (None, Some(default)) => {
                    variables.push((credential.env_var.clone(), Secret::new(default.clone())));
                }
                (None, None) if credential.required => {
                    return Err(failure(RunFailure::MissingCredential { name }));
                }
                (None, None) => {}
            }
        }
        Ok(Self { variables, redactor: Redactor::new(&secrets) })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, secret)| (name.as_str(), secret.expose()))
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }
}

/// Variables that steer the system, the interpreter or the launcher. A manifest that could set them could run what it likes, unfenced.
pub fn is_reserved_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_word = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let prefixes = ["LD_", "DYLD_", "PYTHON", "UV_", "GRAIL_", "LC_", "MALLOC_", "GLIBC_", "RUST_"];
    let names = [
        "PATH",
        "HOME",
        "TMPDIR",
        "TMP",
        "TEMP",
        "LANG",
        "LANGUAGE",
        "IFS",
        "ENV",
        "BASH_ENV",
        "SHELL",
        "GCONV_PATH",
    ];
    !is_word || prefixes.iter().any(|prefix| name.starts_with(prefix)) || names.contains(&name.as_str())
}

/// Takes secrets out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Every form a secret may have, longest first.
    needles: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "Redactor({})", self.needles.len())
    }
}

impl Redactor {
    pub fn new(secrets: &[Secret]) -> Self {
        let mut needles: Vec<String> = secrets
            .iter()
            .flat_map(|secret| forms(secret.expose()))
            .filter(|needle| needle.len() >= MIN_REDACTED_BYTES)
            .collect();
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles }
    }

    pub fn redact(&self, text: &str) -> String {
        self.needles.iter().fold(text.to_owned(), |text, needle| text.replace(needle, REDACTED))
    }

    /// Also inside of data: every string, keys included.
    pub fn redact_value(&self, value: &mut serde_json::Value) {
        if self.needles.is_empty() {
            return;
        }
        match value {
            serde_json::Value::String(text) => *text = self.redact(text),
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            serde_json::Value::Object(fields) => {
                let old = std::mem::take(fields);
                for (key, mut value) in old {
                    self.redact_value(&mut value);
                    fields.insert(self.redact(&key), value);
                }
            }
            serde_json::Value::Number(number) => {
                let text = number.to_string();
                if self.needles.iter().any(|needle| text.contains(needle)) {
                    *value = REDACTED.into();
                }
            }
            serde_json::Value::Null | serde_json::Value::Bool(_) => {}
        }
    }

    /// Text that is cut needs so much more to be sure that no part of a secret remains at the cut.
    pub fn longest(&self) -> usize {
        self.needles.first().map_or(0, String::len)
    }
}

/// A secret as it is, without the space round it, line by line, and as JSON writes it.
fn forms(secret: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let json = serde_json::Value::from(text).to_string();
        let plain = json[1..json.len() - 1].to_owned();
        let ascii: String = plain
            .chars()
            .map(|character| match character {
                character if character.is_ascii() => character.to_string(),
                character => {
                    character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
                }
            })
            .collect();
        [plain, ascii]
    };
    let mut forms = vec![secret.to_owned(), secret.trim().to_owned()];
    // A key file is often shown line by line.
    forms.extend(secret.lines().filter(|line| line.len() >= 16).map(str::to_owned));
    let escaped: Vec<String> = forms.iter().flat_map(|form| quoted(form)).collect();
    forms.extend(escaped);
    forms
}
