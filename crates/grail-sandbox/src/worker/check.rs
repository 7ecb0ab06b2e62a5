//! Type checks, asked for by the host for sources that are not to run here.
//!
//! The checker has no limits of its own: the host's deadline and the allocator's limit are the only ones.

use monty_proto::pb;
use monty_proto::worker::protocol_violation;
use monty_type_checking::{SourceFile, TypeChecker};
use monty_types::{TypeCheckingConfig, TypeCheckingFormat};

/// How the checked source is called in the diagnostics.
const SOURCE_NAME: &str = "main.py";
const STUBS_NAME: &str = "grail_stubs.pyi";

/// What the engine has and its checker's stubs lack. Without these, code that runs would be refused. The functions
/// are of any type, because a program may use such names for variables of its own.
const UNKNOWN_BUILTINS: [&str; 16] = [
    "class UnboundLocalError(NameError): ...",
    "class UnicodeDecodeError(ValueError): ...",
    "class UnicodeEncodeError(ValueError): ...",
    "class ImportError(Exception): ...",
    "class ModuleNotFoundError(ImportError): ...",
    "class FileNotFoundError(OSError): ...",
    "class FileExistsError(OSError): ...",
    "class IsADirectoryError(OSError): ...",
    "class NotADirectoryError(OSError): ...",
    "class PermissionError(OSError): ...",
    "filter: Any",
    "getattr: Any",
    "hasattr: Any",
    "map: Any",
    "open: Any",
    "setattr: Any",
];

/// Kept between checks: the first one reads the standard library's stubs, which takes a hundred times longer than the next. Workers
/// that only run code never make one.
#[derive(Default)]
pub(crate) struct Checker {
    warm: Option<TypeChecker>,
}

impl Checker {
    /// Answers `[stubs, source]` with the diagnostics as JSON, or with `Ok` where there are none.
    pub(crate) fn check(&mut self, sources: &[String]) -> pb::ChildEvent {
        let [stubs, source] = sources else {
            return protocol_violation("a type check takes stubs and a source");
        };
        let checker = self.warm.get_or_insert_default();
        let answer = diagnose(checker, stubs, source);
        // The next check must not see this one's names.
        if checker.reset().is_err() {
            self.warm = None;
        }
        let kind = match answer {
            Ok(None) => pb::child_event::Kind::Ok(pb::Ok {}),
            Ok(Some(diagnostics)) => pb::child_event::Kind::TypingError(pb::TypingError { diagnostics }),
            Err(reason) => return protocol_violation(&format!("type checker failed: {reason}")),
        };
        pb::ChildEvent { kind: Some(kind), ..Default::default() }
    }
}

fn diagnose(checker: &mut TypeChecker, stubs: &str, source: &str) -> Result<Option<String>, String> {
    let stubs = with_unknown_builtins(stubs);
    let stubs = Some(SourceFile::new(&stubs, STUBS_NAME));
    let config = TypeCheckingConfig { format: TypeCheckingFormat::Json, color: false };
    let diagnostics = checker.run(&SourceFile::new(source, SOURCE_NAME), stubs.as_ref(), config)?;
    Ok(diagnostics.map(|diagnostics| diagnostics.to_string()))
}

/// The host's stubs come last, so that what they declare counts.
fn with_unknown_builtins(stubs: &str) -> String {
    let names = UNKNOWN_BUILTINS.map(|declaration| {
        let name = declaration.trim_start_matches("class ").split(['(', ':']).next().unwrap_or_default();
        format!("\"{name}\"")
    });
    let declarations = UNKNOWN_BUILTINS.join("\n");
    let exports = if stubs.contains("__all__") {
        format!("__all__ += [{}]\n", names.join(", "))
    } else {
        String::new()
    };
    format!("from typing import Any\n\n{declarations}\n\n{stubs}\n\n{exports}")
}
