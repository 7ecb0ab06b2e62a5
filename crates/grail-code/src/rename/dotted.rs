//! Replacing one dotted name by another, wherever it is defined: `os.path.join` by `paths.join`, a module by its new place.
//!
//! Works on one file at a time: imports are rewritten in place where they can be, else the new import is added and the old one goes
//! when nothing uses it any more. A local name that the new one would collide with is kept by an alias, so nothing is refused.

use rustc_hash::FxHashSet;

use super::check::check_rename;
use super::symbol::reference_edits;
use super::{RenameError, RenameOptions, is_valid_name};
use crate::imports::ImportRequest;
use crate::semantic::{Binding, BindingKind, Origin, SymbolId, imported_module};
use crate::{Edit, Field, Kind, ModuleName, Node, Semantic};

/// What replacing a dotted name changes in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DottedChange {
    pub edits: Vec<Edit>,
    pub add_imports: Vec<ImportRequest>,
    pub remove_imports_if_unused: Vec<ImportRequest>,
}

/// Replaces the dotted name `old` (a function, class, attribute or module) by `new` in one file.
pub fn rename_dotted(semantic: &Semantic<'_>, old: &str, new: &str) -> Result<DottedChange, RenameError> {
    for name in [old, new] {
        if !name.split('.').all(is_valid_name) {
            return Err(RenameError::InvalidName { name: name.to_owned() });
        }
    }
    Ok(Renaming::new(semantic, old, new, semantic.module().clone()).run())
}

/// As [`rename_dotted`], for a file that is itself renamed to `own`: its relative imports are written from its new place.
pub(super) fn rename_dotted_in_moved_file(
    semantic: &Semantic<'_>,
    old: &str,
    new: &str,
    own: ModuleName,
) -> DottedChange {
    Renaming::new(semantic, old, new, own).run()
}

struct Renaming<'s, 'a> {
    semantic: &'s Semantic<'a>,
    old: &'s str,
    new: &'s str,
    /// The file's own name afterwards.
    own: ModuleName,
    /// Symbols whose import has been rewritten so that their uses need no change, or got it already.
    settled: FxHashSet<SymbolId>,
    change: DottedChange,
}

impl<'s, 'a> Renaming<'s, 'a> {
    fn new(semantic: &'s Semantic<'a>, old: &'s str, new: &'s str, own: ModuleName) -> Self {
        Self { semantic, old, new, own, settled: FxHashSet::default(), change: DottedChange::default() }
    }

    fn run(mut self) -> DottedChange {
        self.imports();
        self.uses();
        self.string_uses();
        self.change
    }

    /// `name` with its beginning `old` replaced by `new`; `None` if it does not begin so.
    fn moved(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(self.old)?;
        (rest.is_empty() || rest.starts_with('.')).then(|| format!("{}{rest}", self.new))
    }

    fn imports(&mut self) {
        let parsed = self.semantic.parsed();
        let statements = parsed.nodes().filter(|node| matches!(node.kind(), Kind::Import | Kind::ImportFrom));
        for statement in statements {
            if statement.kind() == Kind::Import {
                self.import_module(statement);
            } else {
                self.import_from(statement);
            }
        }
    }

    /// `import a.b.x` becomes `import d.e.x`.
    fn import_module(&mut self, statement: Node<'a>) {
        for alias in statement.list(Field::Names) {
            let Some(name) = alias.child(Field::Name) else { continue };
            if let Some(moved) = self.moved(&crate::semantic::dotted_text(name.text())) {
                self.change.edits.push(Edit::replace(name.span(), moved));
                if let Some(asname) = alias.child(Field::Asname) {
                    self.settled.extend(self.semantic.symbol_of(asname));
                }
            }
        }
    }

    fn import_from(&mut self, statement: Node<'a>) {
        let semantic = self.semantic;
        let module = imported_module(statement, semantic.module());
        let is_relative_from_elsewhere = statement.import_level() > 0 && self.own != *semantic.module();
        let moved = self.moved(&module).or_else(|| is_relative_from_elsewhere.then(|| module.clone()));
        if let Some(moved) = moved {
            // The whole statement moves: `from a.b import x` becomes `from d.e import x`.
            self.replace_module(statement, &moved);
            for alias in statement.list(Field::Names) {
                let target = alias.child(Field::Asname).or_else(|| alias.child(Field::Name));
                self.settled.extend(target.and_then(|target| semantic.symbol_of(target)));
            }
            return;
        }
        let mut leaving = Vec::new();
        for alias in statement.list(Field::Names) {
            let Some(name) = alias.child(Field::Name) else { continue };
            let separator = if module.is_empty() || module.ends_with('.') { "" } else { "." };
            let imported = format!("{module}{separator}{}", name.text());
            if imported != self.old {
                continue;
            }
            let (new_module, new_name) = self.new.rsplit_once('.').unwrap_or(("", self.new));
            let asname = alias.child(Field::Asname);
            let symbol = asname.or(Some(name)).and_then(|target| semantic.symbol_of(target));
            let local = self.local_name(symbol, asname, new_name);
            let spelled = if local == new_name && asname.is_none() {
                new_name.to_owned()
            } else {
                format!("{new_name} as {local}")
            };
            self.settled.extend(symbol);
            if new_module == module {
                self.change.edits.push(Edit::replace(alias.span(), spelled));
                continue;
            }
            let request = match new_module {
                "" if local == new_name => ImportRequest::module(new_name),
                "" => ImportRequest::module(new_name).alias(&local),
                _ => {
                    let request = ImportRequest::name(&self.module_text(statement, new_module), new_name);
                    if spelled == new_name { request } else { request.alias(&local) }
                }
            };
            leaving.push((alias.id(), request));
        }
        self.replace_aliases(statement, leaving);
    }

    /// Names that leave for another module: the statement becomes the new import if all of them go to one place.
    fn replace_aliases(&mut self, statement: Node<'a>, leaving: Vec<(crate::NodeId, ImportRequest)>) {
        if leaving.is_empty() {
            return;
        }
        let parsed = self.semantic.parsed();
        let count = statement.list(Field::Names).count();
        if leaving.len() == count && count == 1 {
            let (_, request) = &leaving[0];
            self.change.edits.push(Edit::replace(statement.span(), request.statement()));
            return;
        }
        let aliases = leaving.iter().map(|(alias, _)| parsed.node(*alias)).collect::<Vec<_>>();
        self.change.edits.extend(crate::imports::remove_aliases(parsed, aliases.into_iter()));
        self.change.add_imports.extend(leaving.into_iter().map(|(_, request)| request));
    }

    /// The name to use in this file: the new one, unless that would clash here.
    fn local_name(&mut self, symbol: Option<SymbolId>, asname: Option<Node<'_>>, new_name: &str) -> String {
        if let Some(asname) = asname {
            return asname.text().to_owned();
        }
        let old_name = self.old.rsplit('.').next().unwrap_or(self.old);
        let Some(symbol) = symbol else { return new_name.to_owned() };
        if old_name == new_name {
            return new_name.to_owned();
        }
        let has_one_binding = self.semantic.symbol(symbol).bindings.len() == 1;
        if !has_one_binding || check_rename(self.semantic, symbol, new_name, "").is_err() {
            return old_name.to_owned();
        }
        let edits = reference_edits(self.semantic, symbol, new_name, &RenameOptions::default());
        self.change.edits.extend(edits);
        new_name.to_owned()
    }

    /// How the statement would write that module: relative if it is relative now and can stay so.
    fn module_text(&self, statement: Node<'_>, module: &str) -> String {
        let level = statement.import_level();
        relative(self.own.parent_package(), level, module)
            .filter(|_| level > 0)
            .unwrap_or_else(|| module.to_owned())
    }

    fn replace_module(&mut self, statement: Node<'a>, moved: &str) {
        let level = statement.import_level();
        let text = self.module_text(statement, moved);
        let parsed = self.semantic.parsed();
        let first =
            statement.list(Field::Names).next().map_or(statement.span().end, |alias| alias.span().start);
        // From behind `from` to the module's end, dots and all.
        let header = &parsed.text()[statement.span().start as usize..first as usize];
        let dots_start = header.find("from").map_or(0, |at| at + 4);
        let start = dots_start + header[dots_start..].len() - header[dots_start..].trim_start().len();
        let start = statement.span().start + start as u32;
        let end = match statement.child(Field::Module) {
            Some(module) => module.span().end,
            None => {
                let dots = parsed.text()[start as usize..].find(|c: char| c != '.' && !c.is_whitespace());
                start + dots.map_or(level, |length| length as u32)
            }
        };
        let tail = if statement.child(Field::Module).is_none() { " " } else { "" };
        let span = crate::Span::new(start, end);
        if span.of(parsed.text()).trim_end() != text {
            self.change.edits.push(Edit::replace(span, text + tail));
        }
    }

    fn uses(&mut self) {
        let semantic = self.semantic;
        let last = self.old.rsplit('.').next().unwrap_or(self.old);
        for node in semantic.parsed().nodes() {
            match node.kind() {
                Kind::Attribute if node.child(Field::Attr).is_some_and(|attr| attr.text() == last) => {
                    self.attribute(node);
                }
                // `import old` without a dot binds the name itself.
                Kind::Name if node.text() == self.old && !self.old.contains('.') => self.bare_module(node),
                _ => {}
            }
        }
    }

    fn bare_module(&mut self, node: Node<'a>) {
        let is_module = self
            .semantic
            .qualified_names(node)
            .iter()
            .any(|name| name.origin == Origin::Import && name.name == self.old);
        let is_plain_import =
            self.root_binding(node).is_some_and(|binding| binding.kind == BindingKind::Import);
        let is_settled = self.semantic.symbol_of(node).is_some_and(|symbol| self.settled.contains(&symbol));
        if is_module && is_plain_import && !is_settled {
            self.change.edits.push(Edit::replace(node.span(), self.new));
        }
    }

    /// `a.b.c` as written in code, if it means the old name.
    fn attribute(&mut self, node: Node<'a>) {
        let semantic = self.semantic;
        let names = semantic.qualified_names(node);
        if !names.iter().any(|name| name.origin == Origin::Import && name.name == self.old) {
            return;
        }
        let mut root = node;
        while let Some(value) = root.child(Field::Value).filter(|_| root.kind() == Kind::Attribute) {
            root = value;
        }
        let Some(binding) = self.root_binding(root) else { return };
        if self.settled.contains(&binding.symbol) {
            return;
        }
        let imported = binding.imported.clone().unwrap_or_default();
        let is_aliased = semantic.parsed().node(binding.node).field() == Field::Asname;
        // What the first name stands for: `import a.b` binds `a`.
        let prefix = match binding.kind {
            BindingKind::Import if !is_aliased => root.text().to_owned(),
            _ => imported.clone(),
        };
        if let Some(rest) = self.new.strip_prefix(&format!("{prefix}."))
            && (is_aliased
                || binding.kind == BindingKind::ImportFrom
                || self.parent_of_new() == imported
                || self.parent_of_new() == parent(self.old))
        {
            self.change.edits.push(Edit::replace(node.span(), format!("{}.{rest}", root.text())));
            return;
        }
        let text = self.spell_new(binding, &imported);
        self.change.edits.push(Edit::replace(node.span(), text));
    }

    fn root_binding(&self, root: Node<'_>) -> Option<&'s Binding> {
        let symbol = self.semantic.symbol_of(root)?;
        let bindings = self.semantic.symbol(symbol).bindings.iter().map(|id| self.semantic.binding(*id));
        bindings.into_iter().find(|binding| binding.imported.is_some())
    }

    fn parent_of_new(&self) -> &'s str {
        parent(self.new)
    }

    /// How to write the new name in the style of the old import, with the import that needs.
    fn spell_new(&mut self, binding: &Binding, imported: &str) -> String {
        let moves_module = self.moved(imported).is_some();
        let module = self.parent_of_new().to_owned();
        let add = &mut self.change.add_imports;
        let is_from = binding.kind == BindingKind::ImportFrom;
        let text = if moves_module && !is_from {
            // The import statement itself was rewritten.
            self.new.to_owned()
        } else if module.is_empty() {
            add.push(ImportRequest::module(self.new));
            self.new.to_owned()
        } else if let Some((package, name)) = module.rsplit_once('.').filter(|_| is_from) {
            add.push(ImportRequest::name(package, name));
            self.new[package.len() + 1..].to_owned()
        } else {
            add.push(ImportRequest::module(&module));
            self.new.to_owned()
        };
        let old_import = match imported.rsplit_once('.').filter(|_| is_from) {
            Some((module, name)) => ImportRequest::name(module, name),
            None => ImportRequest::module(imported),
        };
        let requests = &mut self.change.remove_imports_if_unused;
        if !moves_module && !requests.contains(&old_import) {
            requests.push(old_import);
        }
        self.change.add_imports.dedup();
        text
    }

    /// `"a.b.c"` in annotations.
    fn string_uses(&mut self) {
        let semantic = self.semantic;
        let text = semantic.parsed().text();
        for chain in semantic.string_chains() {
            let root = semantic.reference(chain.root);
            let Some(symbol) = root.symbol else { continue };
            if self.settled.contains(&symbol) {
                continue;
            }
            for name in semantic.symbol_names(symbol) {
                let mut dotted = name.name.clone();
                for span in &chain.attributes {
                    dotted = format!("{dotted}.{}", span.of(text));
                    if dotted == self.old && name.origin == Origin::Import {
                        let span = crate::Span::new(root.span.start, span.end);
                        let binding =
                            semantic.symbol(symbol).bindings.first().map(|id| semantic.binding(*id));
                        let Some(binding) = binding else { continue };
                        let imported = binding.imported.clone().unwrap_or_default();
                        let spelled = self.spell_new(binding, &imported);
                        self.change.edits.push(Edit::replace(span, spelled));
                    }
                }
            }
        }
    }
}

fn parent(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// `name` as a relative import of that many dots, if it lies below the package they mean.
fn relative(package: &str, level: u32, name: &str) -> Option<String> {
    let mut base = package;
    for _ in 1..level {
        base = base.rsplit_once('.')?.0;
    }
    let rest = name.strip_prefix(base)?;
    let dots = ".".repeat(level as usize);
    match rest.strip_prefix('.') {
        Some(rest) => Some(dots + rest),
        None if rest.is_empty() => Some(dots),
        None => None,
    }
}
