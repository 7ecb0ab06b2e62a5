//! Generated documents are fresh.

use std::fs;

use grail_dev::{generated, repository_root};

#[test]
fn the_documents_in_the_repository_are_fresh() {
    assert_eq!(generated::find_stale(&repository_root()).unwrap(), Vec::<String>::new());
}

#[test]
fn a_document_is_written_once_and_noticed_when_it_changes() {
    let scratch = tempfile::tempdir().unwrap();
    assert!(generated::write_stale(scratch.path()).unwrap().contains(&"docs/reference/cli.md"));
    assert!(generated::write_stale(scratch.path()).unwrap().is_empty());
    fs::write(scratch.path().join("docs/reference/cli.md"), "changed by hand\n").unwrap();
    assert_eq!(
        generated::find_stale(scratch.path()).unwrap(),
        ["docs/reference/cli.md: stale; `cargo run -p grail-dev -- gen` writes it anew"]
    );
}
