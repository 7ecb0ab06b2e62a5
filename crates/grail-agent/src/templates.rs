//! The templates of the project's skills, for the model that needs nothing else.

use grail_model::template::{KindWords, Template, TemplateModel};
use grail_rules::{ArtifactKind, Library, Origin, Pack, Usage};

use crate::workspace::Workspace;

/// The template model with the templates of all kinds, the nearest first. A skill that the user has not trusted brings none: a template
/// writes code.
pub fn template_model(workspace: &Workspace) -> TemplateModel {
    let is_trusted = |pack: &Pack| {
        pack.origin == Origin::BuiltIn
            || workspace
                .catalogue
                .entry(&pack.name)
                .is_ok_and(|entry| workspace.trust.state(&entry.skill).is_trusted())
    };
    let kinds = workspace.library.kinds().filter(|(pack, _)| is_trusted(pack));
    TemplateModel::new(kinds.filter_map(|(pack, kind)| template(pack, kind)))
}

/// What the templates of all kinds hash to: other templates, other answers.
pub(crate) fn template_hash(workspace: &Workspace) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
    for template in workspace.library.kinds().filter_map(|(pack, kind)| template(pack, kind)) {
        hasher.update(format!("{}\n{}\n", template.file, template.source.len()).as_bytes());
        hasher.update(template.source.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// What people call the kinds of a library; of two of the same name the nearer counts.
pub fn kind_words(library: &Library) -> Vec<KindWords> {
    let mut known: Vec<KindWords> = Vec::new();
    for (_, kind) in library.kinds() {
        if !known.iter().any(|words| words.kind == kind.name) {
            known.push(words(kind));
        }
    }
    known
}

/// The libraries that kinds are about and that the project uses, one `library version` a line.
pub(crate) fn libraries_in_use(workspace: &Workspace) -> String {
    let about = workspace.library.packs.iter().flat_map(|pack| &pack.libraries);
    let mut lines: Vec<String> = about
        .filter_map(|requirement| match workspace.libraries.usage(&requirement.library) {
            Usage::Absent => None,
            Usage::AnyVersion => Some(requirement.library.to_string()),
            Usage::Version(version) => Some(format!("{} {version}", requirement.library)),
        })
        .collect();
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

fn template(pack: &Pack, kind: &ArtifactKind) -> Option<Template> {
    let source = kind.template_text.as_ref()?.to_string();
    let file = format!("{}/templates/{}", pack.name, kind.template.as_deref().unwrap_or_default());
    Some(Template { words: words(kind), file, source })
}

fn words(kind: &ArtifactKind) -> KindWords {
    KindWords { kind: kind.name.clone(), words: kind.words.clone(), such_as: kind.such_as.clone() }
}
