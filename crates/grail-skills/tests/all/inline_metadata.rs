//! The metadata in a script's comments (PEP 723): what is read, and every mistake with its line.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use grail_skills::runnable::inline_metadata::{find_blocks, read_inline_metadata, read_optional_metadata};
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::runnable_skill::skip;

/// The metadata in short, or the mistake with its place and hint.
fn read(source: &str) -> String {
    match read_inline_metadata(Path::new("skill.py"), source) {
        Ok(metadata) => {
            let python = metadata.requires_python.map(|python| python.to_string());
            let packages: Vec<String> = metadata.dependencies.iter().map(ToString::to_string).collect();
            let tool = toml::to_string(&metadata.tool).unwrap();
            format!("line {}, python {python:?}, packages {packages:?}, tool {tool:?}", metadata.line)
        }
        Err(problem) => match &problem.hint {
            Some(hint) => format!("{problem} | {hint}"),
            None => problem.to_string(),
        },
    }
}

#[test]
fn a_block_is_read() {
    let source = "#!/usr/bin/env python\n\
                  # A word before.\n\n\
                  # /// script\n\
                  # requires-python = \">=3.11,<3.15\"\n\
                  # dependencies = [\n\
                  #   \"httpx >= 0.27 ; sys_platform != 'win32'\",\n\
                  #\n\
                  #   \"rich[jupyter]\",\n\
                  # ]\n\
                  #\n\
                  # [tool.uv]\n\
                  # exclude-newer = \"2026-01-01\"\n\
                  # ///\n\
                  import httpx\n";
    assert_eq!(
        read(source),
        "line 4, python Some(\">=3.11, <3.15\"), \
         packages [\"httpx>=0.27 ; sys_platform != 'win32'\", \"rich[jupyter]\"], \
         tool \"[uv]\\nexclude-newer = \\\"2026-01-01\\\"\\n\""
    );
    assert_eq!(read(&source.replace('\n', "\r\n")), read(source));
    assert_eq!(
        read(&format!("\u{feff}{}", source.split_once("\n\n").unwrap().1)),
        read(source).replace("line 4", "line 1")
    );
}

#[test]
fn an_empty_block_says_nothing() {
    assert_eq!(read("# /// script\n#\n# ///"), "line 1, python None, packages [], tool \"\"");
}

#[test]
fn the_last_closing_line_of_a_comment_ends_the_block() {
    // As the PEP has it: the first `# ///` is content, and there it is not TOML.
    let source = "# /// script\n# dependencies = []\n# ///\n# more words\n# ///\n";
    assert_eq!(
        read(source),
        "skill.py:3: the metadata is not TOML: key with no value, expected `=` | \
         inside the comment is a TOML document, as in `# dependencies = [\"httpx>=0.27\"]`"
    );
}

#[test]
fn a_missing_block_is_a_mistake() {
    let missing = "skill.py: the script has no inline metadata (PEP 723) | begin it with `# /// script`, \
                   `# requires-python = \">=3.11\"`, `# dependencies = []` and `# ///`, a line each";
    for source in [
        "",
        "import json\n",
        "# /// pyproject\n# dependencies = []\n# ///\n",
        " # /// script\n # dependencies = []\n # ///\n",
        "#/// script\n# dependencies = []\n# ///\n",
        "# /// script \n# dependencies = []\n# ///\n",
        "\"\"\"\n# ///script\n# dependencies = []\n# ///\n\"\"\"\n",
    ] {
        assert_eq!(read(source), missing, "{source}");
        assert_eq!(read_optional_metadata(Path::new("skill.py"), source), Ok(None));
    }
}

#[test]
fn an_unclosed_block_is_a_mistake() {
    let unclosed = |line: usize| {
        format!(
            "skill.py:{line}: the block `# /// script` is never closed | end it with a line `# ///`; every line in \
             between begins with `# ` or is a lone `#`"
        )
    };
    assert_eq!(read("# /// script\n# dependencies = []\n"), unclosed(1));
    assert_eq!(read("# /// script\n# ///\n"), unclosed(1));
    assert_eq!(read("# /// script\n# dependencies = []\n\n# ///\n"), unclosed(1));
    assert_eq!(read("# /// script\n#dependencies = []\n# ///\n"), unclosed(1));
    assert_eq!(read("# /// script\n# dependencies = []\n# /// \n"), unclosed(1));
    // The PEP would pass over the first one.
    assert_eq!(read("\n# /// script\n\n# /// script\n# dependencies = []\n# ///\n"), unclosed(2));
}

#[test]
fn a_second_block_is_a_mistake() {
    assert_eq!(
        read("# /// script\n# dependencies = []\n# ///\n\n# /// script\n# dependencies = []\n# ///\n"),
        "skill.py:5: there is a second block `# /// script`; the first one is on line 1 | put everything into one block"
    );
}

#[test]
fn mistakes_in_a_block_have_their_line() {
    let block = |lines: &str| read(&format!("import json\n# /// script\n# tool = {{}}\n{lines}# ///\n"));
    assert_eq!(
        block("# dependencies = [\"httpx\"\n# requires-python = 3\n"),
        "skill.py:5: the metadata is not TOML: missing comma between array elements, expected `,` | \
         inside the comment is a TOML document, as in `# dependencies = [\"httpx>=0.27\"]`"
    );
    assert_eq!(
        block("# dependancies = []\n"),
        "skill.py:4: the metadata has no field `dependancies` | did you mean `dependencies`?"
    );
    assert_eq!(
        block("# dependencies = \"httpx\"\n"),
        "skill.py:4: `dependencies` is not a list | `dependencies` is a list of strings like `httpx>=0.27`"
    );
    assert_eq!(
        block("# dependencies = [1]\n"),
        "skill.py:4: the dependency `1` is not a string | `dependencies` is a list of strings like `httpx>=0.27`"
    );
    assert_eq!(
        block("# dependencies = [\"httpx = 1\"]\n"),
        "skill.py:4: the dependency `httpx = 1` is not a requirement: no such comparison operator \"=\", must be one of \
         ~= == != <= >= < > === | `dependencies` is a list of strings like `httpx>=0.27`"
    );
    assert_eq!(
        block("# requires-python = \"three\"\n"),
        "skill.py:4: `requires-python` is not a version specifier: Failed to parse version: Unexpected end of version \
         specifier, expected operator: | a version specifier is a string like `>=3.11` or `>=3.11,<3.15`"
    );
    assert_eq!(
        block("# requires-python = 3.11\n"),
        "skill.py:4: `requires-python` is not a string | a version specifier is a string like `>=3.11` or `>=3.11,<3.15`"
    );
    assert_eq!(read("# /// script\n# tool = 1\n# ///\n"), "skill.py:2: `tool` is not a table");
}

#[test]
fn a_megabyte_of_openings_takes_no_time() {
    let blocks = "# /// a\n".repeat(130_000);
    assert_eq!(find_blocks(&blocks).unclosed.len(), 130_000);
}

/// Lines that a block is made of, and lines that look like them.
fn line() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "# /// script",
        "# /// script",
        "# ///",
        "# ///",
        "# ///",
        "#",
        "# x = 1",
        "# x = 1",
        "# ",
        "",
        "x = 1",
        "# /// script ",
        "# /// a-b",
        "# /// 0",
        "# /// _",
        "# /// ",
        "#///",
        "#x",
        " # ///",
        "#  ///",
        "# ////",
        "\t#",
        "# /// schön",
        "# é",
    ])
}

fn text() -> impl Strategy<Value = String> {
    (prop::collection::vec(line(), 0..14), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

#[test]
fn blocks_are_those_that_the_regular_expression_of_the_pep_finds() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts: Vec<String> = (0..3000).map(|_| text().new_tree(&mut runner).unwrap().current()).collect();
    let ours: Vec<Vec<(String, String, usize)>> = texts
        .iter()
        .map(|text| {
            let blocks = find_blocks(text).closed;
            blocks.into_iter().map(|block| (block.kind.to_owned(), block.content, block.line)).collect()
        })
        .collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inline_metadata_blocks.py");
    let Some(interpreter) = grail_project::find_interpreters(None).into_iter().next() else {
        return skip("there is no Python here to compare with");
    };
    let mut python = Command::new(interpreter.executable)
        .args(["-I".as_ref(), "-X".as_ref(), "utf8".as_ref(), script.as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(serde_json::to_string(&texts).unwrap().as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    let theirs: Vec<Vec<(String, String, usize)>> = serde_json::from_slice(&output.stdout).unwrap();
    assert!(ours.iter().filter(|blocks| !blocks.is_empty()).count() > 100);
    for ((text, ours), theirs) in texts.iter().zip(&ours).zip(&theirs) {
        assert_eq!(ours, theirs, "{text}");
    }
    assert_eq!(ours.len(), theirs.len());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(source in any::<String>()) {
        let _ = read(&source);
    }

    #[test]
    fn any_block_is_read_or_refused(content in prop::collection::vec("[ -~éß\\[\\]\"=#]{0,30}", 0..8)) {
        let lines: String = content.iter().map(|line| format!("# {line}\n")).collect();
        let source = format!("# /// script\n{lines}# ///\n");
        if let Err(problem) = read_inline_metadata(Path::new("skill.py"), &source) {
            prop_assert!(problem.line <= content.len() + 2, "{problem}");
        }
    }
}
