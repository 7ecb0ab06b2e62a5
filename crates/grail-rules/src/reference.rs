//! The built-in rules as one document, for people who read before they run.

use std::fmt::Write;

use crate::library::Library;
use crate::pack::Pack;
use crate::rule::Rule;
use crate::{Safety, Severity};

/// `docs/reference/rules.md`.
pub fn rule_reference() -> String {
    let mut document = String::from(
        "# Built-in rules\n\nGenerated from the built-in skills by `just gen`; edits here are lost.\n\n\
         A pack is in force where the project uses a library it is about, or where `select` in `grail.toml` names it. `grail rules show RULE`\n\
         shows a rule with its definition and its examples. How to write your own: [rules](../guides/rules.md).\n",
    );
    for pack in &Library::built_in().packs {
        describe_pack(pack, &mut document);
    }
    document
}

fn describe_pack(pack: &Pack, document: &mut String) {
    let _ = write!(document, "\n## {}\n\n", pack.name);
    if !pack.libraries.is_empty() {
        let names: Vec<String> = pack.libraries.iter().map(|one| format!("`{}`", one.library)).collect();
        let _ = write!(document, "In force where the project uses {}.\n\n", names.join(" or "));
    }
    for kind in &pack.kinds {
        let _ = writeln!(document, "- kind `{}`: {}", kind.name, kind.description);
    }
    if !pack.kinds.is_empty() {
        document.push('\n');
    }
    document.push_str("| rule | severity | fix | what must hold |\n| --- | --- | --- | --- |\n");
    for rule in &pack.rules {
        describe_rule(rule, document);
    }
}

fn describe_rule(rule: &Rule, document: &mut String) {
    let severity = match rule.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let fix = match rule.fix {
        Some(Safety::Safe) => "safe",
        Some(Safety::Unsafe) => "unsafe",
        Some(Safety::DisplayOnly) => "shown",
        None => "",
    };
    let versions: Vec<String> =
        rule.libraries.iter().map(|one| format!(" ({} {})", one.library, one.versions)).collect();
    let title = rule.title.replace('|', "\\|");
    let _ = writeln!(document, "| `{}` | {severity} | {fix} | {title}{} |", rule.id, versions.concat());
}
