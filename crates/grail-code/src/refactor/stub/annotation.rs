//! An annotation of a stub in the words of the source: same names, imported or quoted where needed.

use crate::imports::ImportRequest;
use crate::semantic::{Binding, BindingKind, Reference, ScopeId, ScopeKind};
use crate::{Field, Kind, Node, Semantic};

pub(super) struct Translator<'s, 'a> {
    source: &'s Semantic<'a>,
    stub: &'s Semantic<'a>,
    /// `from __future__ import annotations`: nothing in an annotation is run.
    is_lazy: bool,
    /// Imports that the translated annotations need.
    pub(super) requests: Vec<ImportRequest>,
}

impl<'s, 'a> Translator<'s, 'a> {
    pub(super) fn new(source: &'s Semantic<'a>, stub: &'s Semantic<'a>) -> Self {
        let is_lazy = source
            .bindings()
            .iter()
            .any(|binding| binding.imported.as_deref() == Some("__future__.annotations"));
        Self { source, stub, is_lazy, requests: Vec::new() }
    }

    /// The scope in which a definition's annotations are looked up.
    pub(super) fn header_scope(&self, node: Node<'_>) -> ScopeId {
        self.source.scope_of(node)
    }

    /// The annotation's text for the source, or why it would not mean the same there.
    pub(super) fn translate(
        &mut self,
        annotation: Node<'a>,
        place: Node<'a>,
        scope: ScopeId,
    ) -> Result<String, String> {
        let span = annotation.span_with_parentheses();
        let text = span.of(self.stub.parsed().text());
        if text.contains(['\n', '\r']) {
            return Err("the annotation stands on several lines".to_owned());
        }
        let mut requests = Vec::new();
        let mut must_wait = false;
        for reference in self.stub.references().iter().filter(|reference| span.covers(reference.span)) {
            let needed = self.needs(reference, place, scope)?;
            requests.extend(needed.import);
            // What is in quotes waits already.
            must_wait |= needed.must_wait && reference.node.is_some();
        }
        let text = if must_wait && !self.is_lazy { quote(text)? } else { text.to_owned() };
        for request in requests {
            if !self.requests.contains(&request) {
                self.requests.push(request);
            }
        }
        Ok(text)
    }

    fn needs(&self, reference: &Reference<'a>, place: Node<'a>, scope: ScopeId) -> Result<Needs, String> {
        let name = reference.name.as_ref();
        let here = self.source.lookup(scope, name).map(|symbol| self.source.symbol(symbol));
        let Some(symbol) = reference.symbol.map(|symbol| self.stub.symbol(symbol)) else {
            return match here {
                None => Ok(Needs::default()),
                Some(_) => Err(format!("`{name}` means something else in the source")),
            };
        };
        if self.stub.scope(symbol.scope).kind == ScopeKind::TypeParameters {
            return match here.map(|symbol| self.source.scope(symbol.scope).kind) {
                Some(ScopeKind::TypeParameters) => Ok(Needs::default()),
                _ => Err(format!("the source has no type parameter `{name}`")),
            };
        }
        let bindings = symbol.bindings.iter().map(|id| self.stub.binding(*id));
        let imported = bindings.into_iter().find(|binding| binding.imported.is_some());
        match (imported, here) {
            (None, None) => Err(format!("`{name}` is defined in the stub alone")),
            (None, Some(here)) => {
                let bindings: Vec<&Binding> =
                    here.bindings.iter().map(|id| self.source.binding(*id)).collect();
                Ok(Needs { import: None, must_wait: self.must_wait(&bindings, place) })
            }
            (Some(binding), None) => Ok(Needs { import: self.request(binding), must_wait: false }),
            (Some(binding), Some(here)) => {
                let bindings: Vec<&Binding> =
                    here.bindings.iter().map(|id| self.source.binding(*id)).collect();
                let is_same = |other: &&Binding| {
                    other.imported == binding.imported
                        || (binding.kind == BindingKind::Import && other.kind == BindingKind::Import)
                        || self.is_own(binding, other)
                };
                if !bindings.iter().any(is_same) {
                    return Err(format!("`{name}` means something else in the source"));
                }
                let is_submodule = binding.kind == BindingKind::Import
                    && !bindings.iter().any(|other| other.imported == binding.imported);
                let import = if is_submodule { self.request(binding) } else { None };
                Ok(Needs { import, must_wait: self.must_wait(&bindings, place) })
            }
        }
    }

    /// Whether a stub imports from the very module it describes.
    fn is_own(&self, binding: &Binding, other: &Binding) -> bool {
        let module = self.source.module();
        module.is_known()
            && other.imported.is_none()
            && binding.imported.as_deref().is_some_and(|imported| {
                imported.strip_prefix(module.name.as_str()).is_some_and(|rest| {
                    rest.strip_prefix('.') == Some(&self.source.symbol(other.symbol).name)
                })
            })
    }

    /// Whether the name is not there yet when the annotation is run.
    fn must_wait(&self, bindings: &[&Binding], place: Node<'a>) -> bool {
        bindings.iter().all(|binding| {
            let definition = self.source.parsed().node(binding.node).parent();
            let is_within = binding.kind == BindingKind::Class
                && definition.is_some_and(|definition| definition.is_ancestor_of(place));
            binding.is_typing_only || is_within || binding.span.start > place.span().start
        })
    }

    /// The stub's own import as a request.
    fn request(&self, binding: &Binding) -> Option<ImportRequest> {
        let node = self.stub.parsed().node(binding.node);
        let alias = node.parent()?;
        let statement = alias.parent()?;
        let name = alias.child(Field::Name)?.text().to_owned();
        let asname = alias.child(Field::Asname).map(|asname| asname.text().to_owned());
        Some(match statement.kind() {
            Kind::ImportFrom => ImportRequest {
                module: statement
                    .child(Field::Module)
                    .map_or_else(String::new, |module| module.text().to_owned()),
                level: statement.import_level(),
                // Stubs write `import X as X` to export a name.
                alias: asname.filter(|asname| *asname != name),
                name: Some(name),
            },
            _ => ImportRequest { module: name, level: 0, name: None, alias: asname },
        })
    }
}

#[derive(Default)]
struct Needs {
    import: Option<ImportRequest>,
    must_wait: bool,
}

fn quote(text: &str) -> Result<String, String> {
    match (text.contains('"'), text.contains('\'')) {
        (true, true) => {
            Err("the annotation holds both kinds of quotes and would have to be quoted".to_owned())
        }
        _ if text.contains('\\') => {
            Err("the annotation holds a backslash and would have to be quoted".to_owned())
        }
        (true, false) => Ok(format!("'{text}'")),
        _ => Ok(format!("\"{text}\"")),
    }
}
