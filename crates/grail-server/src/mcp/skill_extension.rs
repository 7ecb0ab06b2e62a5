//! The extension `io.modelcontextprotocol/skills`: which skills there are, what each says about itself, and its files with their hashes.
//!
//! It is a listing over the same resources: whoever knows the extension finds skills without looking through all of them, and can tell
//! whether what was read is what was listed.

use grail_agent::Workspace;
use grail_skills::{CatalogueEntry, Document, MAX_SKILL_BYTES, SKILL_FILE, SkillError, SkillFolder};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, ExtensionCapabilities, JsonObject, PaginatedRequestParams};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::pages::page;
use super::resources::{MAX_RESOURCE_BYTES, trusted, uri};

const EXTENSION: &str = "io.modelcontextprotocol/skills";
const LIST: &str = "skills/list";
const GET: &str = "skills/get";
/// Skills of one page: each is read whole.
const PAGE: usize = 50;

/// What is said about the extension in the greeting.
pub(super) fn capability() -> ExtensionCapabilities {
    [(EXTENSION.to_owned(), JsonObject::new())].into_iter().collect()
}

/// The answer to a request of the extension; `None` if it is not one.
pub(super) fn answer(workspace: &Workspace, request: &CustomRequest) -> Option<Result<Json, ErrorData>> {
    match request.method.as_str() {
        LIST => Some(list(workspace, request.params.as_ref())),
        GET => Some(get(workspace, request.params.as_ref())),
        _ => None,
    }
}

fn list(workspace: &Workspace, params: Option<&Json>) -> Result<Json, ErrorData> {
    let cursor = params.and_then(|params| params.get("cursor")).and_then(Json::as_str).map(str::to_owned);
    let request = PaginatedRequestParams::default().with_cursor(cursor);
    let (entries, next) = page(trusted(workspace), Some(&request), PAGE)?;
    // A skill that cannot be read is not there.
    let skills: Vec<Json> = entries.into_iter().filter_map(|entry| describe(entry).ok()).collect();
    let mut answer = json!({"resultType": "complete", "skills": skills, "ttlMs": 0, "cacheScope": "private"});
    if let Some(next) = next {
        answer["nextCursor"] = next.into();
    }
    Ok(answer)
}

fn get(workspace: &Workspace, params: Option<&Json>) -> Result<Json, ErrorData> {
    let wanted = params.and_then(|params| params.get("uri")).and_then(Json::as_str);
    let wanted = wanted.ok_or_else(|| ErrorData::invalid_params("`skills/get` needs a `uri`", None))?;
    let found = trusted(workspace).find(|entry| uri(&entry.skill.name, SKILL_FILE) == wanted);
    let shown: String = wanted.chars().take(200).collect();
    let unknown = |_| ErrorData::resource_not_found(format!("there is no skill `{shown}`"), None);
    let skill = found.ok_or(()).and_then(|entry| describe(entry).map_err(drop)).map_err(unknown)?;
    Ok(json!({"resultType": "complete", "skill": skill, "ttlMs": 0, "cacheScope": "private"}))
}

fn describe(entry: &CatalogueEntry) -> Result<Json, SkillError> {
    let name = &entry.skill.name;
    let folder = SkillFolder::of(&entry.skill)?;
    let text = folder.read(SKILL_FILE, MAX_SKILL_BYTES)?;
    let document = Document::read(&entry.skill.folder.join(SKILL_FILE), &text)?;
    let mut resources = Vec::new();
    for file in folder.files()?.iter().filter(|file| file.link.is_none()) {
        // What cannot be read as a resource is not listed as one.
        let Ok(bytes) = folder.read(&file.path, MAX_RESOURCE_BYTES) else { continue };
        let hash: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        resources.push(
            json!({"uri": uri(name, &file.path), "digest": format!("sha256:{hash}"), "size": bytes.len()}),
        );
    }
    Ok(
        json!({"uri": uri(name, SKILL_FILE), "frontmatter": front_matter(name, &document), "resources": resources}),
    )
}

/// As the file has it.
fn front_matter(name: &str, document: &Document) -> Json {
    let mut fields = json!({"name": name, "description": document.description});
    let texts = [("license", &document.license), ("compatibility", &document.compatibility)];
    for (field, text) in texts.into_iter().filter_map(|(field, text)| Some((field, text.as_ref()?))) {
        fields[field] = text.as_str().into();
    }
    if !document.metadata.is_empty() {
        fields["metadata"] = json!(document.metadata);
    }
    if !document.allowed_tools.is_empty() {
        fields["allowed-tools"] = document.allowed_tools.join(" ").into();
    }
    fields
}
