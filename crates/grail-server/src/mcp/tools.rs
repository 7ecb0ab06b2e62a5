//! The tools of a toolset as a client sees them: what goes in, what comes out, and what a call may do.
//!
//! Both schemas come from the types of the tool, so that what is promised is what is given. A result that is no object is wrapped in one,
//! because clients expect that; a tool that changes files also tells which proposal its changes became.

use std::sync::Arc;

use grail_sandbox::{Signature, Tool, Toolset};
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use schemars::schema_for;
use serde_json::{Map, Value as Json, json};

use crate::feedback::FEEDBACK;
use crate::proposals::ProposalNote;

/// The field of a result that tells what became of the changes.
pub(super) const PROPOSAL: &str = "proposal";
/// The field that holds a result which is no object.
const RESULT: &str = "result";

/// What a call may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// It looks.
    Reads,
    /// It keeps what it is told among Grail's own files.
    Notes,
    /// It changes files; the changes become a proposal.
    Proposes,
    /// A person is asked before every call.
    Asks,
}

#[derive(Clone, Debug)]
pub(super) struct OfferedTool {
    pub(super) described: Described,
    pub(super) access: Access,
    /// The result is put under a name.
    is_wrapped: bool,
    /// Dropping the call ends it.
    pub(super) is_async: bool,
}

/// Every tool of a set, by name.
pub(super) fn offer(tools: &Toolset, is_read_only: impl Fn(&str) -> bool) -> Vec<OfferedTool> {
    let access = |name: &str| match name {
        _ if tools.needs_approval(name) => Access::Asks,
        FEEDBACK => Access::Notes,
        _ if is_read_only(name) => Access::Reads,
        _ => Access::Proposes,
    };
    let mut offered: Vec<OfferedTool> =
        tools.tools().map(|tool| OfferedTool::new(tool, access(tool.name()))).collect();
    offered.sort_by(|left, right| left.name().cmp(right.name()));
    offered
}

impl OfferedTool {
    fn new(tool: &Tool, access: Access) -> Self {
        let signature = tool.signature();
        let (output, is_wrapped) = output_schema(signature, access);
        let annotations = ToolAnnotations::new()
            .read_only(access == Access::Reads)
            .destructive(matches!(access, Access::Proposes | Access::Asks))
            .idempotent(access == Access::Reads)
            .open_world(access == Access::Asks);
        let documentation = signature.doc.clone().unwrap_or_default();
        let input = input_schema(signature);
        let described = Described::new(tool.name().to_owned(), documentation, Arc::new(portable(input)))
            .with_raw_output_schema(Arc::new(portable(output)))
            .with_annotations(annotations);
        Self { described, access, is_wrapped, is_async: signature.is_async }
    }

    pub(super) fn name(&self) -> &str {
        &self.described.name
    }

    /// A result as the output schema promises it.
    pub(super) fn result(&self, value: Json, proposal: Option<&ProposalNote>) -> Json {
        let mut value = match self.is_wrapped {
            true => json!({ RESULT: value }),
            false => value,
        };
        if let (Some(fields), Some(note)) = (value.as_object_mut(), proposal) {
            fields.insert(PROPOSAL.to_owned(), serde_json::to_value(note).unwrap_or_default());
        }
        value
    }
}

fn input_schema(signature: &Signature) -> JsonObject {
    let schema = signature.arguments().and_then(|schema| schema.json().as_object().cloned());
    let mut schema = schema.unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// Whether the result is wrapped is told too.
fn output_schema(signature: &Signature, access: Access) -> (JsonObject, bool) {
    let schema = signature.result().and_then(|schema| schema.json().as_object().cloned()).unwrap_or_default();
    let is_object = schema.get("type").and_then(Json::as_str) == Some("object");
    let mut schema = if is_object { schema } else { wrapped(schema) };
    if matches!(access, Access::Proposes | Access::Asks) {
        let mut note = schema_for!(ProposalNote).to_value();
        if let Some(fields) = note.as_object_mut() {
            fields.remove("$schema");
            fields.insert("description".to_owned(), "What became of the changes, if there were some.".into());
        }
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(PROPOSAL.to_owned(), note);
        }
    }
    (schema, !is_object)
}

/// Definitions stay at the top, where references look for them.
fn wrapped(mut schema: JsonObject) -> JsonObject {
    let mut outer = Map::new();
    for keyword in ["$schema", "$defs", "definitions"] {
        if let Some(value) = schema.remove(keyword) {
            outer.insert(keyword.to_owned(), value);
        }
    }
    outer.insert("type".to_owned(), "object".into());
    outer.insert("properties".to_owned(), json!({ RESULT: schema }));
    outer.insert("required".to_owned(), json!([RESULT]));
    outer
}

/// The same schema in words that more clients know: a list of types becomes a choice of schemas. Schemas are shallow by construction.
fn portable(schema: JsonObject) -> JsonObject {
    let mut schema: JsonObject =
        schema.into_iter().map(|(name, value)| (name, portable_part(value))).collect();
    let Some(Json::Array(types)) = schema.get("type") else { return schema };
    let types = types.clone();
    schema.remove("type");
    // What describes the value stays outside; what restricts it goes with its type.
    let is_about =
        |name: &str| matches!(name, "description" | "title" | "default" | "examples" | "deprecated");
    let (about, restricting): (JsonObject, JsonObject) =
        schema.into_iter().partition(|(name, _)| is_about(name));
    let choice = |kind: Json| {
        let mut one = if kind == "null" { JsonObject::new() } else { restricting.clone() };
        one.insert("type".to_owned(), kind);
        Json::Object(one)
    };
    let mut portable = about;
    portable.insert("anyOf".to_owned(), types.into_iter().map(choice).collect());
    portable
}

fn portable_part(value: Json) -> Json {
    match value {
        Json::Object(fields) => Json::Object(portable(fields)),
        Json::Array(items) => items.into_iter().map(portable_part).collect(),
        other => other,
    }
}
