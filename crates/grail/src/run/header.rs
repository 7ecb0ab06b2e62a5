//! What a script declares about itself: a comment block of TOML, in the style of inline script metadata.
//!
//! ```python
//! # /// grail
//! # policy = "strict"
//! # tools = ["today"]
//! # output = "str"
//! # [inputs]
//! # name = "str"
//! # excitement = "int = 1"
//! # ///
//! ```
//!
//! A header can only ask for less than the caller gives: its policy is composed with the caller's, and its tools are chosen from the
//! caller's. It never names a command, a file or a folder of the host.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::types::{parse_declared, parse_type};
use crate::render::Failure;

const OPENING: &str = "# /// grail";
const CLOSING: &str = "# ///";

#[derive(Debug, Default, PartialEq)]
pub(super) struct Header {
    pub(super) inputs: Option<Value>,
    pub(super) output: Option<Value>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) policy: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    inputs: Option<toml::Table>,
    output: Option<toml::Value>,
    tools: Option<Vec<String>>,
    policy: Option<String>,
}

/// The header of a script; a script without one declares nothing.
pub(super) fn read_header(source: &str) -> Result<Header, Failure> {
    let Some((text, line)) = block(source)? else { return Ok(Header::default()) };
    let written: Written = toml::from_str(&text).map_err(|error| {
        let within = error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count());
        let message = error.message().lines().next().unwrap_or("it is not TOML").to_owned();
        refused(format!("line {}: {message}", line + 1 + within))
    })?;
    let inputs = written.inputs.map(|inputs| inputs_schema(&inputs)).transpose()?;
    let output =
        written.output.map(|output| declared("output", output).map(|(schema, _)| schema)).transpose()?;
    Ok(Header { inputs, output, tools: written.tools, policy: written.policy })
}

/// The text between the markers without its comment signs, and the line of the opening one, from 1.
fn block(source: &str) -> Result<Option<(String, usize)>, Failure> {
    let mut lines = source.lines().enumerate();
    let Some((opening, _)) = lines.by_ref().find(|(_, line)| line.trim_end() == OPENING) else {
        return Ok(None);
    };
    let mut text = String::new();
    for (_, line) in lines {
        let line = line.trim_end();
        if line == CLOSING {
            return Ok(Some((text, opening + 1)));
        }
        match line.strip_prefix("# ").or_else(|| line.strip_prefix('#')) {
            Some(content) => text.push_str(content),
            None => break,
        }
        text.push('\n');
    }
    Err(refused(format!("line {}: no line `{CLOSING}` closes it", opening + 1)))
}

fn inputs_schema(inputs: &toml::Table) -> Result<Value, Failure> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, written) in inputs {
        let (schema, optional) = declared(&format!("inputs.{name}"), written.clone())?;
        properties.insert(name.clone(), schema);
        if !optional {
            required.push(name.clone());
        }
    }
    Ok(
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false }),
    )
}

/// A short type, or a JSON Schema written as a table. A default makes it optional.
fn declared(name: &str, written: toml::Value) -> Result<(Value, bool), Failure> {
    let problem = |reason: String| refused(format!("`{name}`: {reason}"));
    match written {
        toml::Value::String(text) if name == "output" => Ok((parse_type(&text).map_err(problem)?, false)),
        toml::Value::String(text) => {
            let declared = parse_declared(&text).map_err(problem)?;
            Ok((declared.schema, declared.optional))
        }
        toml::Value::Table(table) => {
            let schema = serde_json::to_value(table).map_err(|error| problem(error.to_string()))?;
            let optional = schema.get("default").is_some();
            Ok((schema, optional))
        }
        _ => Err(problem("expected a type in quotes or a JSON Schema as a table".to_owned())),
    }
}

fn refused(reason: String) -> Failure {
    Failure::with_hint(
        format!("the script's `{OPENING}` header cannot be read: {reason}"),
        "it is TOML in comments with `inputs`, `output`, `tools` and `policy`; see docs/guides/sandbox.md",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(source: &str) -> String {
        read_header(source).expect_err("a refusal").message
    }

    #[test]
    fn a_header_declares_inputs_output_tools_and_policy() {
        let source = "#!/usr/bin/env grail\n# /// grail\n# policy = \"strict\"\n# tools = [\"today\"]\n# output = \"str\"\n#\n\
                      # [inputs]\n# name = \"str\"\n# times = \"int = 1\"\n# size = { type = \"number\", minimum = 0 }\n# ///\nx = 1\n";
        let header = read_header(source).expect("a header");
        assert_eq!(header.policy.as_deref(), Some("strict"));
        assert_eq!(header.tools, Some(vec!["today".to_owned()]));
        assert_eq!(header.output, Some(json!({"type": "string"})));
        assert_eq!(
            header.inputs,
            Some(json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "times": {"type": "integer", "default": 1},
                    "size": {"type": "number", "minimum": 0},
                },
                "required": ["name", "size"],
                "additionalProperties": false,
            }))
        );
    }

    #[test]
    fn a_script_without_a_header_declares_nothing() {
        assert_eq!(read_header("x = 1\n# /// script\n# ///\n").expect("no header"), Header::default());
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let opening = "the script's `# /// grail` header cannot be read: ";
        assert_eq!(problem("# /// grail\nx = 1\n"), format!("{opening}line 1: no line `# ///` closes it"));
        assert_eq!(
            problem("# /// grail\n# polcy = \"strict\"\n# ///\n"),
            format!(
                "{opening}line 2: unknown field `polcy`, expected one of `inputs`, `output`, `tools`, `policy`"
            )
        );
        assert_eq!(
            problem("# /// grail\n# [inputs]\n# x = 3\n# ///\n"),
            format!("{opening}`inputs.x`: expected a type in quotes or a JSON Schema as a table")
        );
    }
}
