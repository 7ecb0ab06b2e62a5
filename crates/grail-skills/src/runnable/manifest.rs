//! `manifest.toml`: what a runnable skill is called, what to start, which credentials it wants and what it says it does.
//!
//! Reading is strict: a key that nobody knows, a version that is none, a script outside the folder are mistakes with a line. Writing goes
//! through the TOML library alone, so that whatever a text contains comes back as it was.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use pep440_rs::Version as PythonVersion;
use semver::Version;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::capabilities::{Capability, is_environment_name};
use crate::bounded::{is_plain, read_text, resolve_inside};
use crate::error::SkillProblem;

pub const MANIFEST_FILE: &str = "manifest.toml";

/// A larger manifest is not read.
const MAX_MANIFEST_BYTES: u64 = 64 * 1024;
/// A larger script is not read.
const MAX_SCRIPT_BYTES: u64 = 1024 * 1024;
const MAX_ID_CHARACTERS: usize = 64;
const MAX_NAME_CHARACTERS: usize = 100;
const MAX_DESCRIPTION_CHARACTERS: usize = 1024;
const MAX_CREDENTIALS: usize = 50;

/// A manifest that was checked: whatever holds one can rely on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// Lower-case letters, digits, `-` and `_`; the folder's name.
    pub id: String,
    pub name: String,
    pub version: Version,
    pub description: String,
    /// The script, relative to the folder and inside it.
    pub entry_file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_python: Option<PythonVersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_uv_version: Option<PythonVersion>,
    /// What the author says the script does; see [`Manifest::declared`].
    pub capabilities: BTreeSet<Capability>,
    pub credentials: Vec<Credential>,
}

/// Something secret that the script reads from its environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Credential {
    pub name: String,
    pub env_var: String,
    pub description: String,
    pub required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl Manifest {
    /// Reads the manifest of a skill's folder and looks whether the script is there.
    pub fn read(folder: &Path) -> Result<Self, SkillProblem> {
        Self::read_with_script(folder).map(|(manifest, _)| manifest)
    }

    /// As [`Manifest::read`], with the text of the script.
    pub fn read_with_script(folder: &Path) -> Result<(Self, String), SkillProblem> {
        let path = folder.join(MANIFEST_FILE);
        let text = resolve_inside(folder, Path::new(MANIFEST_FILE))
            .and_then(|real| read_text(&real, MAX_MANIFEST_BYTES))
            .map_err(|message| SkillProblem::new(&path, 0, message))?;
        let folder_name = folder_name(folder)
            .ok_or_else(|| SkillProblem::new(folder, 0, "the folder has no name that a skill could have"))?;
        let manifest = Self::parse(&path, &text, &folder_name)?;
        let script = manifest.read_script(folder, line_of_key(&text, "entry_file"))?;
        Ok((manifest, script))
    }

    /// Checks everything that the text alone can show.
    pub fn parse(path: &Path, text: &str, folder_name: &str) -> Result<Self, SkillProblem> {
        let place = Place { path, text };
        if text.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(place.whole(format!("the file is larger than {MAX_MANIFEST_BYTES} bytes")));
        }
        let data: ManifestData = toml::from_str(text).map_err(|error| place.syntax(&error))?;
        let id = read_id(&place, data.id, folder_name)?;
        let name = place.required("name", data.name)?;
        check_text(&place, "name", &name, MAX_NAME_CHARACTERS)?;
        if name.get_ref().contains(char::is_control) {
            return Err(place.at(&name, "`name` has to be one line without control characters"));
        }
        let description = place.required("description", data.description)?;
        check_text(&place, "description", &description, MAX_DESCRIPTION_CHARACTERS)?;
        Ok(Self {
            id,
            name: name.into_inner(),
            description: description.into_inner(),
            version: read_version(&place, data.version)?,
            entry_file: read_entry_file(&place, data.entry_file)?,
            min_python: read_minimum(&place, "min_python", data.min_python)?,
            min_uv_version: read_minimum(&place, "min_uv_version", data.min_uv_version)?,
            capabilities: read_capabilities(&place, data.capabilities)?,
            credentials: read_credentials(&place, data.credentials)?,
        })
    }

    /// The manifest as TOML; [`Manifest::parse`] gives back the same one.
    pub fn to_toml(&self) -> String {
        let has = |capability: Capability| self.capabilities.contains(&capability).then_some(true);
        let files = match (has(Capability::WriteFiles), has(Capability::ReadFiles)) {
            (Some(_), _) => Some("write"),
            (None, Some(_)) => Some("read"),
            (None, None) => None,
        };
        let env: Vec<&str> = self.capabilities.iter().filter_map(environment_entry).collect();
        let capabilities = CapabilitiesText {
            network: has(Capability::Network),
            subprocess: has(Capability::Subprocess),
            files,
            env,
            native: has(Capability::Native),
            dynamic: has(Capability::Dynamic),
        };
        let text = ManifestText {
            id: &self.id,
            name: &self.name,
            version: self.version.to_string(),
            description: &self.description,
            // Plain UTF-8 names: it was read from a string.
            entry_file: self.entry_file.to_string_lossy().into_owned(),
            min_python: self.min_python.as_ref().map(ToString::to_string),
            min_uv_version: self.min_uv_version.as_ref().map(ToString::to_string),
            capabilities: (!self.capabilities.is_empty()).then_some(capabilities),
            credentials: &self.credentials,
        };
        toml::to_string(&text).unwrap_or_default()
    }

    /// What the manifest says the script does: its capabilities, and the variables of its credentials.
    pub fn declared(&self) -> BTreeSet<Capability> {
        let variables = self.credentials.iter().map(|one| Capability::Environment(Some(one.env_var.clone())));
        self.capabilities.iter().cloned().chain(variables).collect()
    }

    /// The text of the script in `folder`, which must be a file inside it and not empty.
    fn read_script(&self, folder: &Path, line: usize) -> Result<String, SkillProblem> {
        let shown = folder.join(MANIFEST_FILE);
        let failed = |message: String| {
            SkillProblem::new(
                &shown,
                line,
                format!("`entry_file` is `{}`: {message}", self.entry_file.display()),
            )
        };
        let real = resolve_inside(folder, &self.entry_file).map_err(failed)?;
        let text = read_text(&real, MAX_SCRIPT_BYTES).map_err(failed)?;
        match text.trim().is_empty() {
            true => Err(failed("the file is empty".to_owned())),
            false => Ok(text),
        }
    }
}

/// Whether a text can be the id of a runnable skill: `[a-z0-9_-]+`, not too long.
pub fn is_skill_id(text: &str) -> bool {
    (1..=MAX_ID_CHARACTERS).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestData {
    id: Option<Spanned<String>>,
    name: Option<Spanned<String>>,
    version: Option<Spanned<String>>,
    description: Option<Spanned<String>>,
    entry_file: Option<Spanned<String>>,
    min_python: Option<Spanned<String>>,
    min_uv_version: Option<Spanned<String>>,
    capabilities: Option<CapabilitiesData>,
    credentials: Option<Vec<Spanned<CredentialData>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapabilitiesData {
    #[serde(default)]
    network: bool,
    #[serde(default)]
    subprocess: bool,
    files: Option<Spanned<String>>,
    env: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    native: bool,
    #[serde(default)]
    dynamic: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CredentialData {
    name: Option<Spanned<String>>,
    env_var: Option<Spanned<String>>,
    description: Option<String>,
    required: Option<bool>,
    default: Option<String>,
}

/// The order in which a manifest is written: tables last, as TOML wants it.
#[derive(Serialize)]
struct ManifestText<'a> {
    id: &'a str,
    name: &'a str,
    version: String,
    description: &'a str,
    entry_file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_python: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_uv_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capabilities: Option<CapabilitiesText<'a>>,
    #[serde(skip_serializing_if = "<[Credential]>::is_empty")]
    credentials: &'a [Credential],
}

#[derive(Serialize)]
struct CapabilitiesText<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subprocess: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    env: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic: Option<bool>,
}

/// The file that is read, to say where in it something is wrong.
struct Place<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Place<'_> {
    fn whole(&self, message: impl Into<String>) -> SkillProblem {
        SkillProblem::new(self.path, 0, message)
    }

    fn at<T>(&self, value: &Spanned<T>, message: impl Into<String>) -> SkillProblem {
        SkillProblem::new(self.path, self.line(value.span().start), message)
    }

    fn line(&self, offset: usize) -> usize {
        let end = self.text.floor_char_boundary(offset.min(self.text.len()));
        self.text[..end].matches('\n').count() + 1
    }

    fn required(&self, key: &str, value: Option<Spanned<String>>) -> Result<Spanned<String>, SkillProblem> {
        value.ok_or_else(|| {
            self.whole(format!("the manifest has no `{key}`")).hint(format!("add `{key} = \"…\"`"))
        })
    }

    fn syntax(&self, error: &toml::de::Error) -> SkillProblem {
        let message = error.message().lines().next().unwrap_or_default();
        let line = error.span().map_or(0, |span| self.line(span.start));
        let unknown = message
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split_once('`'))
            .map(|(key, rest)| (key, rest.split('`').skip(1).step_by(2).collect::<Vec<_>>()));
        match unknown {
            Some((key, known)) => SkillProblem::new(self.path, line, format!("there is no key `{key}` here"))
                .hint(known_keys(key, &known)),
            None => SkillProblem::new(self.path, line, message),
        }
    }
}

fn known_keys(key: &str, known: &[&str]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(key, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => {
            let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
            format!("known here: {}", known.join(", "))
        }
    }
}

fn read_id(
    place: &Place<'_>,
    id: Option<Spanned<String>>,
    folder_name: &str,
) -> Result<String, SkillProblem> {
    let id = place.required("id", id)?;
    if !is_skill_id(id.get_ref()) {
        let message = format!("`{}` is no id of a skill", id.get_ref());
        return Err(place
            .at(&id, message)
            .hint(format!("an id has 1 to {MAX_ID_CHARACTERS} lower-case letters, digits, `-` and `_`")));
    }
    if id.get_ref() != folder_name {
        let message = format!("the id is `{}` but the folder is `{folder_name}`", id.get_ref());
        return Err(place.at(&id, message).hint("give both the same name"));
    }
    Ok(id.into_inner())
}

fn check_text(
    place: &Place<'_>,
    key: &str,
    text: &Spanned<String>,
    limit: usize,
) -> Result<(), SkillProblem> {
    if text.get_ref().trim().is_empty() {
        return Err(place.at(text, format!("`{key}` is empty")));
    }
    let length = text.get_ref().chars().count();
    match length > limit {
        true => Err(place.at(text, format!("`{key}` has {length} characters; at most {limit} are allowed"))),
        false => Ok(()),
    }
}

fn read_version(place: &Place<'_>, version: Option<Spanned<String>>) -> Result<Version, SkillProblem> {
    let Some(version) = version else { return Ok(Version::new(0, 1, 0)) };
    Version::parse(version.get_ref()).map_err(|error| {
        place
            .at(&version, format!("`{}` is no version: {error}", version.get_ref()))
            .hint("a version has three numbers: `0.1.0`")
    })
}

fn read_entry_file(place: &Place<'_>, file: Option<Spanned<String>>) -> Result<PathBuf, SkillProblem> {
    let Some(file) = file else { return Ok(PathBuf::from("skill.py")) };
    match is_plain(Path::new(file.get_ref())) {
        true => Ok(PathBuf::from(file.into_inner())),
        false => Err(place
            .at(&file, format!("`entry_file` is `{}`, which is no file inside the folder", file.get_ref()))
            .hint("write the path from the skill's folder, with `/` and without `..`: `skill.py`")),
    }
}

fn read_minimum(
    place: &Place<'_>,
    key: &str,
    version: Option<Spanned<String>>,
) -> Result<Option<PythonVersion>, SkillProblem> {
    let Some(version) = version else { return Ok(None) };
    PythonVersion::from_str(version.get_ref()).map(Some).map_err(|_| {
        place
            .at(&version, format!("`{key}` is `{}`, which is no version", version.get_ref()))
            .hint("write the version alone, without `>=`: `3.11`")
    })
}

fn read_capabilities(
    place: &Place<'_>,
    data: Option<CapabilitiesData>,
) -> Result<BTreeSet<Capability>, SkillProblem> {
    let Some(data) = data else { return Ok(BTreeSet::new()) };
    let mut capabilities = BTreeSet::new();
    let flags = [
        (data.network, Capability::Network),
        (data.subprocess, Capability::Subprocess),
        (data.native, Capability::Native),
        (data.dynamic, Capability::Dynamic),
    ];
    capabilities.extend(flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, capability)| capability));
    if let Some(files) = &data.files {
        capabilities.insert(match files.get_ref().as_str() {
            "read" => Capability::ReadFiles,
            "write" => Capability::WriteFiles,
            other => {
                return Err(place
                    .at(files, format!("`files` is `{other}`"))
                    .hint("write `read`, or `write` for both"));
            }
        });
    }
    for name in data.env.unwrap_or_default() {
        match name.get_ref().as_str() {
            "*" => capabilities.insert(Capability::Environment(None)),
            text if is_environment_name(text) => {
                capabilities.insert(Capability::Environment(Some(text.to_owned())))
            }
            text => {
                return Err(place
                    .at(&name, format!("`{text}` is no name of an environment variable"))
                    .hint("`\"*\"` stands for any"));
            }
        };
    }
    Ok(capabilities)
}

fn environment_entry(capability: &Capability) -> Option<&str> {
    match capability {
        Capability::Environment(name) => Some(name.as_deref().unwrap_or("*")),
        _ => None,
    }
}

fn read_credentials(
    place: &Place<'_>,
    data: Option<Vec<Spanned<CredentialData>>>,
) -> Result<Vec<Credential>, SkillProblem> {
    let mut credentials: Vec<Credential> = Vec::new();
    for entry in data.unwrap_or_default() {
        if credentials.len() == MAX_CREDENTIALS {
            return Err(place.at(&entry, format!("there are more than {MAX_CREDENTIALS} credentials")));
        }
        let missing = |key: &str| place.at(&entry, format!("the credential has no `{key}`"));
        let data = entry.get_ref();
        let name = data.name.as_ref().ok_or_else(|| missing("name"))?;
        let variable = data.env_var.as_ref().ok_or_else(|| missing("env_var"))?;
        check_credential_name(place, name)?;
        check_variable(place, variable)?;
        if credentials.iter().any(|other| other.name == *name.get_ref()) {
            return Err(place.at(name, format!("there are two credentials `{}`", name.get_ref())));
        }
        if credentials.iter().any(|other| other.env_var == *variable.get_ref()) {
            return Err(
                place.at(variable, format!("two credentials have the variable `{}`", variable.get_ref()))
            );
        }
        credentials.push(Credential {
            name: name.get_ref().clone(),
            env_var: variable.get_ref().clone(),
            description: data.description.clone().unwrap_or_default(),
            required: data.required.unwrap_or(true),
            default: data.default.clone(),
        });
    }
    Ok(credentials)
}

fn check_credential_name(place: &Place<'_>, name: &Spanned<String>) -> Result<(), SkillProblem> {
    match is_skill_id(name.get_ref()) {
        true => Ok(()),
        false => Err(place
            .at(name, format!("`{}` is no name for a credential", name.get_ref()))
            .hint("use lower-case letters, digits, `-` and `_`: `api-key`")),
    }
}

fn check_variable(place: &Place<'_>, variable: &Spanned<String>) -> Result<(), SkillProblem> {
    let name = variable.get_ref();
    if !is_environment_name(name) {
        return Err(place
            .at(variable, format!("`{name}` is no name of an environment variable"))
            .hint("use letters, digits and `_`: `EXAMPLE_API_KEY`"));
    }
    // A value for one of these would change which program runs, not what it knows.
    let upper = name.to_ascii_uppercase();
    let steers = ["PATH", "HOME", "IFS", "SHELL", "VIRTUAL_ENV"].contains(&upper.as_str())
        || ["LD_", "DYLD_", "PYTHON", "UV_", "PIP_"].iter().any(|prefix| upper.starts_with(prefix));
    match steers {
        true => Err(place
            .at(variable, format!("`{name}` steers the programs that run a skill and cannot be a credential"))
            .hint("choose a variable of the skill's own")),
        false => Ok(()),
    }
}

/// The line on which a top-level key stands, as far as looking at lines can tell; 0 if it does not.
fn line_of_key(text: &str, key: &str) -> usize {
    let is_key = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
    };
    text.lines().position(is_key).map_or(0, |index| index + 1)
}

/// The folder's own name, also where the path ends in `.` or is relative.
fn folder_name(folder: &Path) -> Option<String> {
    match folder.file_name() {
        Some(name) => Some(name.to_str()?.to_owned()),
        None => Some(folder.canonicalize().ok()?.file_name()?.to_str()?.to_owned()),
    }
}
