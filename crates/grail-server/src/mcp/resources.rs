//! Skills as resources: `skill://NAME/SKILL.md` and the files beside it. Only of skills that the user trusts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use grail_agent::Workspace;
use grail_skills::{CatalogueEntry, SKILL_FILE, SkillFolder};
use rmcp::ErrorData;
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

const SCHEME: &str = "skill://";
/// A larger file is not handed over whole.
pub(super) const MAX_RESOURCE_BYTES: u64 = 1 << 20;

/// Every file of every trusted skill, what each skill says first. A skill that cannot be read has none.
pub(super) fn list(workspace: &Workspace) -> Vec<Resource> {
    let mut resources = Vec::new();
    let mut files_beside = Vec::new();
    for entry in trusted(workspace) {
        let Ok(files) = SkillFolder::of(&entry.skill).and_then(|folder| folder.files()) else { continue };
        for file in files.iter().filter(|file| file.link.is_none()) {
            let name = format!("{}/{}", entry.skill.name, file.path);
            let mut resource = Resource::new(uri(&entry.skill.name, &file.path), name)
                .with_mime_type(mime_type(&file.path))
                .with_size(file.bytes);
            if file.path == SKILL_FILE {
                resource = resource.with_description(entry.skill.description.clone());
                resources.push(resource);
            } else {
                files_beside.push(resource);
            }
        }
    }
    resources.append(&mut files_beside);
    resources
}

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{name}}/{{+path}}"), "skill file")
        .with_description("A file of a skill. `SKILL.md` says what the skill is for and which files it has.")
}

pub(super) fn read(workspace: &Workspace, uri: &str) -> Result<ResourceContents, ErrorData> {
    let shown: String = uri.chars().take(200).collect();
    let unknown = |why: &str| {
        let message = format!("there is no resource `{shown}`: {why}");
        ErrorData::resource_not_found(message, None)
    };
    let rest = uri.strip_prefix(SCHEME).ok_or_else(|| unknown("resources begin with `skill://`"))?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, SKILL_FILE));
    let decode = |part: &str| decoded(part).ok_or_else(|| unknown("it is not encoded as addresses are"));
    let (name, path) = (decode(name)?, decode(path)?);
    let entry = workspace.catalogue.entry(&name).map_err(|error| unknown(&error.to_string()))?;
    workspace.trust.state(&entry.skill).require(&entry.skill).map_err(|error| unknown(&error.to_string()))?;
    let bytes = SkillFolder::of(&entry.skill)
        .and_then(|folder| folder.read(&path, MAX_RESOURCE_BYTES))
        .map_err(|error| unknown(&error.to_string()))?;
    let (uri, mime_type) = (uri.to_owned(), Some(mime_type(&path).to_owned()));
    Ok(match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::TextResourceContents { uri, mime_type, text, meta: None },
        Err(error) => {
            let blob = BASE64_STANDARD.encode(error.as_bytes());
            ResourceContents::BlobResourceContents { uri, mime_type, blob, meta: None }
        }
    })
}

pub(super) fn trusted(workspace: &Workspace) -> impl Iterator<Item = &CatalogueEntry> {
    workspace.catalogue.entries.iter().filter(|entry| workspace.trust.state(&entry.skill).is_trusted())
}

pub(super) fn uri(name: &str, path: &str) -> String {
    format!("{SCHEME}{}/{}", encoded(name), encoded(path))
}

/// What may stand in an address as it is, and `/`.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/')
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match is_plain(byte) {
            true => encoded.push(char::from(byte)),
            false => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = after;
            continue;
        }
        let (digits, after) = after.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.contains('+'))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}

fn mime_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "md" => "text/markdown",
        "py" => "text/x-python",
        "json" => "application/json",
        "toml" => "application/toml",
        "yaml" | "yml" => "application/yaml",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        _ => "text/plain",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_odd_names_lead_back() {
        for name in ["SKILL.md", "references/a b.md", "ä/100%.txt", "a?b#c"] {
            assert_eq!(decoded(&encoded(name)).as_deref(), Some(name));
        }
        assert_eq!(encoded("a b"), "a%20b");
        for broken in ["%", "%2", "%zz", "%ff", "%+1"] {
            assert_eq!(decoded(broken), None, "{broken}");
        }
    }
}
