//! Everything one program sees, as one stub file.

use std::collections::HashSet;
use std::sync::Arc;

use super::literal::{comment, docstring, python_string};
use super::parse::Declarations;
use super::signature::Signature;
use super::types::{Classes, Direction};
use crate::error::SandboxError;
use crate::schema::Schema;
use crate::schema::shape::ShapeId;

/// The surroundings of a program: its inputs, its output, its tools.
#[derive(Clone, Debug, Default)]
pub struct StubModule {
    inputs: Option<Schema>,
    inputs_are_variables: bool,
    output: Option<Schema>,
    tools: Vec<Signature>,
}

impl StubModule {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn inputs(mut self, schema: &Schema) -> Self {
        self.inputs = Some(schema.clone());
        self
    }

    /// Every input whose name allows it is a variable too; see [`Schema::variable_names`].
    #[must_use]
    pub fn inputs_as_variables(mut self) -> Self {
        self.inputs_are_variables = true;
        self
    }

    #[must_use]
    pub fn output(mut self, schema: &Schema) -> Self {
        self.output = Some(schema.clone());
        self
    }

    #[must_use]
    pub fn tool(mut self, signature: &Signature) -> Self {
        self.tools.push(signature.clone());
        self
    }

    /// The text of the stub file.
    ///
    /// # Errors
    /// Two tools have one name, or their stubs declare one name differently.
    pub fn text(&self) -> Result<String, SandboxError> {
        let mut page = Page {
            exports: vec!["Inputs".into(), "Output".into(), "inputs".into(), "grail_".into()],
            ..Page::default()
        };
        page.classes.imports.typing.extend(["Any", "Never"]);
        self.claim_names(&mut page)?;
        // What arrives is declared before what is made, so that the latter can offer the former's records.
        let inputs = self.inputs_text(&mut page);
        let returns: Vec<String> = self.tools.iter().map(|tool| page.returns(tool)).collect();
        let output = self.output_text(&mut page);
        let tools: Vec<[String; 2]> =
            self.tools.iter().zip(&returns).map(|(tool, returns)| page.headers(tool, returns)).collect();
        let variables = self.variables_text(&mut page);
        Ok(page.finish(&[inputs, output, variables, self.tools_text(&tools)]))
    }

    fn claim_names(&self, page: &mut Page) -> Result<(), SandboxError> {
        let mut names: HashSet<&str> = HashSet::new();
        for tool in &self.tools {
            if !names.insert(&tool.name) {
                return Err(SandboxError::Signature {
                    reason: format!("two tools are called `{}`; rename one", tool.name),
                });
            }
            page.classes.take(&tool.name);
            page.exports.push(tool.name.clone());
        }
        if !self.tools.is_empty() {
            page.exports.push("tools".to_owned());
        }
        let mut seen: Vec<&Arc<Declarations>> = Vec::new();
        for declarations in self.tools.iter().filter_map(|tool| tool.declarations.as_ref()) {
            if !seen.iter().any(|known| Arc::ptr_eq(known, declarations)) {
                seen.push(declarations);
                page.carry(declarations, &names)?;
            }
        }
        Ok(())
    }

    fn inputs_text(&self, page: &mut Page) -> String {
        let text = match &self.inputs {
            None => "Inputs = dict[str, Any]\n".to_owned(),
            Some(schema) => page.named(schema, "Inputs", Direction::Incoming),
        };
        format!("{text}\ninputs: Inputs\n")
    }

    fn output_text(&self, page: &mut Page) -> String {
        let text = match &self.output {
            None => "Output = Any\n".to_owned(),
            Some(schema) => page.named(schema, "Output", Direction::Outgoing),
        };
        format!(
            "{text}\ndef grail_(value: Output = ..., /) -> Never:\n    \"\"\"What `return` at the top level means.\"\"\"\n"
        )
    }

    fn variables_text(&self, page: &mut Page) -> String {
        let mut text = String::new();
        let Some(schema) = self.inputs.as_ref().filter(|_| self.inputs_are_variables) else { return text };
        let shapes = schema.shapes();
        let Some(object) = shapes.root_object() else { return text };
        let free = schema.variable_names();
        let starts: Vec<ShapeId> = object.fields.iter().map(|field| field.shape).collect();
        let names = page.classes.declare(shapes, &starts, Direction::Incoming);
        for field in &object.fields {
            let is_there = field.is_required || shapes.absent_value(field).is_some();
            if !free.contains(&field.name.as_str()) || page.exports.contains(&field.name) {
                comment(&format!("only as inputs[{}]", python_string(&field.name)), "", &mut text);
            } else {
                let annotation = page.classes.annotation(shapes, field.shape, &names);
                let absent = if is_there { "" } else { "  # may be absent" };
                text.push_str(&format!("{}: {annotation}{absent}\n", field.name));
                page.exports.push(field.name.clone());
            }
        }
        text
    }

    fn tools_text(&self, headers: &[[String; 2]]) -> String {
        let mut text = String::new();
        if self.tools.is_empty() {
            return text;
        }
        for (tool, [header, _]) in self.tools.iter().zip(headers) {
            let doc = documentation(tool);
            text.push_str(header);
            if doc.is_empty() {
                text.push_str(" ...\n");
            } else {
                text.push('\n');
                docstring(&doc, "    ", &mut text);
            }
            text.push('\n');
        }
        text.push_str("class _Tools:\n");
        for [_, method] in headers {
            text.push_str(&format!("    {method} ...\n"));
        }
        text.push_str("\ntools: _Tools\n");
        text
    }
}

/// What a tool does, and what its parameters mean, one line each.
fn documentation(tool: &Signature) -> String {
    let mut text = tool.doc.as_deref().unwrap_or_default().trim().to_owned();
    let object = tool.arguments.as_ref().and_then(|schema| schema.shapes().root_object());
    let mut separator = if text.is_empty() { "" } else { "\n\n" };
    for field in object.into_iter().flat_map(|object| &object.fields) {
        let mut line = String::new();
        comment(field.doc.as_deref().unwrap_or_default(), "", &mut line);
        if let Some(line) = line.strip_prefix("# ") {
            text.push_str(&format!("{separator}{}: {}", field.name, line.trim_end()));
            separator = "\n";
        }
    }
    text
}

/// A stub file in the making.
#[derive(Default)]
struct Page {
    classes: Classes,
    exports: Vec<String>,
    imports: Vec<String>,
    carried: Vec<(String, String)>,
}

impl Page {
    /// Takes over the declarations of a hand-written stub.
    fn carry(&mut self, declarations: &Declarations, tools: &HashSet<&str>) -> Result<(), SandboxError> {
        for import in &declarations.imports {
            if !self.imports.contains(import) {
                self.imports.push(import.clone());
            }
        }
        let known: HashSet<(String, String)> = self.carried.iter().cloned().collect();
        for (name, text) in &declarations.named {
            if known.contains(&(name.clone(), text.clone())) {
                continue;
            }
            if tools.contains(name.as_str()) || known.iter().any(|(other, _)| other == name) {
                return Err(SandboxError::Signature {
                    reason: format!("`{name}` is declared twice, differently; rename one"),
                });
            }
            if !self.exports.contains(name) {
                self.exports.push(name.clone());
            }
            self.classes.take(name);
            self.carried.push((name.clone(), text.clone()));
        }
        Ok(())
    }

    /// The declaration of a schema's top level under a given name.
    fn named(&mut self, schema: &Schema, name: &str, direction: Direction) -> String {
        let shapes = schema.shapes();
        if let Some(object) = shapes.root_object() {
            let mut starts: Vec<ShapeId> = object.fields.iter().map(|field| field.shape).collect();
            starts.extend(object.others);
            let names = self.classes.declare(shapes, &starts, direction);
            return self.classes.typed_dict(shapes, object, name, &names, direction);
        }
        let names = self.classes.declare(shapes, &[shapes.root()], direction);
        format!("{name} = {}\n", self.classes.annotation(shapes, shapes.root(), &names))
    }

    /// What a tool returns.
    fn returns(&mut self, tool: &Signature) -> String {
        let Some(schema) = &tool.result else { return tool.returns.clone() };
        let shapes = schema.shapes();
        let names = self.classes.declare(shapes, &[shapes.root()], Direction::Incoming);
        self.classes.annotation(shapes, shapes.root(), &names)
    }

    /// A tool as a function and as a method. Not a static one: the checker does not know `staticmethod`.
    fn headers(&mut self, tool: &Signature, returns: &str) -> [String; 2] {
        let mut annotations: Vec<String> =
            tool.parameters.iter().map(|parameter| parameter.annotation.clone()).collect();
        if let Some(schema) = &tool.arguments {
            let shapes = schema.shapes();
            let starts: Vec<ShapeId> =
                tool.parameters.iter().filter_map(|parameter| parameter.shape).collect();
            let names = self.classes.declare(shapes, &starts, Direction::Outgoing);
            for (annotation, parameter) in annotations.iter_mut().zip(&tool.parameters) {
                if let Some(shape) = parameter.shape {
                    *annotation = self.classes.annotation(shapes, shape, &names);
                }
            }
        }
        [false, true].map(|is_method| tool.header_with(&annotations, returns, is_method))
    }

    fn finish(self, parts: &[String]) -> String {
        let mut text = String::new();
        let imports = &self.classes.imports;
        if imports.builtins {
            text.push_str("import builtins\n");
        }
        if imports.dataclass {
            text.push_str("from dataclasses import dataclass\n");
        }
        let typing: Vec<&str> = imports.typing.iter().copied().collect();
        text.push_str(&format!("from typing import {}\n", typing.join(", ")));
        for import in &self.imports {
            text.push_str(import);
            text.push('\n');
        }
        let exports =
            self.exports.iter().map(String::as_str).chain(self.classes.declared().map(|(name, _)| name));
        let exports: Vec<String> = exports.map(python_string).collect();
        text.push_str(&format!("\n__all__ = [{}]\n", exports.join(", ")));
        let classes = self.classes.declared().map(|(_, declaration)| declaration);
        let carried = self.carried.iter().map(|(_, declaration)| declaration.as_str());
        for part in carried.chain(classes).chain(parts.iter().map(String::as_str)) {
            if !part.is_empty() {
                text.push('\n');
                text.push_str(part);
            }
        }
        text
    }
}
