//! Fuzz targets for what a skill brings. Under `cargo test` each runs for a second; `scripts/fuzz SECONDS` runs them for longer.

use std::path::Path;

use bolero::check;
use grail_skills::runnable::read_inline_metadata;
use grail_skills::{Benchmark, Document, Evals, Manifest};

/// Fragments of front matter, manifests and inline metadata, which make sensible nonsense far more often than random bytes do.
#[rustfmt::skip]
const FRAGMENTS: [&str; 64] = [
    "---\n", "name: a-skill\n", "description: Does it.\n", "description: >-\n  Folded\n  text\n", "metadata:\n", "  version: \"1\"\n",
    "version: 1\n", "requires: [a, b]\n", "patterns:\n  - x\n", "allowed-tools: Read\n", "license: MIT\n", "- ", "key: ", "  ", "\t", "\n",
    "\r\n", ": ", "&a ", "*a\n", "<<: *a\n", "!!python/object:os.system ", "|\n", "? ", "{", "}", "[", "]", ",", "'", "\"", "\\",
    "id = \"a\"\n", "name = \"A\"\n", "version = \"0.1.0\"\n", "description = '''x\n'''\n", "entry_file = \"../x.py\"\n",
    "min_python = \"3.11\"\n", "[[credentials]]\n", "env_var = \"A_KEY\"\n", "required = true\n", "[capabilities]\n", "network = true\n",
    "= ", "# /// script\n", "# ///\n", "# requires-python = \">=3.11\"\n", "# dependencies = [\"a>=1\", \"b[c] ; python_version<'3'\"]\n",
    "# dependencies = []\n", "#\n", "# [tool.x]\n", "#!python\n", "import os\n", "{\"evals\": [", "{\"id\": 1, \"prompt\": \"x\"}", "]}",
    "\"skill_name\": \"a\",", "\"assertions\": [\"y\"]", "1e999", "-0", "é", "\u{200b}", "\u{1b}[31m", "\u{0}",
];

fn nonsense(picks: &[u8]) -> String {
    picks.iter().map(|&pick| FRAGMENTS[usize::from(pick) % FRAGMENTS.len()]).collect()
}

#[test]
fn any_skill_file_is_read_or_refused() {
    check!().for_each(|bytes| {
        let _ = Document::read(Path::new("SKILL.md"), bytes);
        let _ = Document::read(Path::new("SKILL.md"), nonsense(bytes).as_bytes());
        let framed = format!("---\nname: a-skill\n{}---\n{}", nonsense(bytes), nonsense(bytes));
        let _ = Document::read(Path::new("SKILL.md"), framed.as_bytes());
    });
}

#[test]
fn any_manifest_is_read_or_refused_and_can_be_written_back() {
    check!().for_each(|bytes| {
        let start = "id = \"a\"\nname = \"A\"\ndescription = \"x\"\n";
        for text in [nonsense(bytes), format!("{start}{}", nonsense(bytes))] {
            if let Ok(manifest) = Manifest::parse(Path::new("manifest.toml"), &text, "a") {
                let again = Manifest::parse(Path::new("manifest.toml"), &manifest.to_toml(), "a");
                assert_eq!(again.as_ref(), Ok(&manifest));
            }
        }
    });
}

#[test]
fn any_script_is_searched_for_its_metadata() {
    check!().for_each(|bytes| {
        let _ = read_inline_metadata(Path::new("skill.py"), &nonsense(bytes));
        let _ = read_inline_metadata(Path::new("skill.py"), &String::from_utf8_lossy(bytes));
    });
}

#[test]
fn any_evals_are_read_or_refused() {
    check!().for_each(|bytes| {
        for text in [bytes, nonsense(bytes).as_bytes()] {
            let _ = Evals::parse(Path::new("evals.json"), text);
            let _ = Benchmark::parse(Path::new("benchmark.json"), text);
        }
    });
}
