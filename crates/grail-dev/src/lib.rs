//! What keeps the repository in order: the house rules as checks, the documents that are made from code, the
//! round trip over the standard library.

pub mod generated;
pub mod mutation;
pub mod roundtrip;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The checkout this crate was built from.
pub fn repository_root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).unwrap_or(crate_folder).to_owned()
}
