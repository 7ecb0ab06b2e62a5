//! Renames on real code: there and back again is the identity, and everything on the way parses.

use grail_code::rename::{RenameOptions, rename_in_file};
use grail_code::semantic::SymbolId;
use grail_code::{Parsed, Semantic, Source, edit, parse_module};
use grail_dev::roundtrip::find_standard_libraries;
use grail_project::{DEFAULT_MAX_BYTES, WalkOptions, read_source, walk_python_files};

/// A name that no file of the standard library has.
const NEW: &str = "grail_renamed";

#[test]
fn renaming_there_and_back_is_the_identity() {
    // Machines without Python have nothing to rename in.
    let Some(folder) = find_standard_libraries().into_iter().next() else { return };
    let walked = walk_python_files(&[folder], &WalkOptions::default()).expect("a readable standard library");
    let mut renamed = 0;
    for file in walked.files.iter().step_by(60) {
        let Ok(source_file) = read_source(&file.path, DEFAULT_MAX_BYTES) else { continue };
        let parsed = parse_module(source_file.source);
        if parsed.is_valid() {
            renamed += check_file(&parsed, &file.path.display().to_string());
        }
    }
    assert!(renamed > 100, "only {renamed} symbols were renamed");
}

fn check_file(parsed: &Parsed, path: &str) -> usize {
    let semantic = Semantic::new(parsed);
    // An import gets an alias, which renaming back does not take away.
    let symbols: Vec<SymbolId> = semantic
        .symbols()
        .filter(|(_, symbol)| symbol.bindings.iter().all(|id| semantic.binding(*id).imported.is_none()))
        .map(|(id, _)| id)
        .collect();
    let mut renamed = 0;
    for symbol in symbols.iter().step_by((symbols.len() / 12).max(1)) {
        let old = semantic.symbol(*symbol).name.clone().into_owned();
        let text = rename(&semantic, *symbol, NEW, path);
        let there = parse_module(Source::from_text(text));
        assert!(there.is_valid(), "{path}: `{old}`: {:?}", there.diagnostics());
        let names = Semantic::new(&there);
        // The binder numbers symbols in source order, so it is the same symbol.
        assert_eq!(names.symbol(*symbol).name, NEW, "{path}: `{old}`");
        let back = rename(&names, *symbol, &old, path);
        assert!(back == parsed.text(), "{path}: `{old}` did not come back");
        renamed += 1;
    }
    renamed
}

fn rename(semantic: &Semantic, symbol: SymbolId, new: &str, path: &str) -> String {
    let edits = rename_in_file(semantic, symbol, new, &RenameOptions::default(), path)
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    edit::apply(semantic.parsed().text(), edits).expect("edits of a rename do not overlap")
}
