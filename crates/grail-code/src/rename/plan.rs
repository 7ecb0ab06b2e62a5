//! A rename across a project: from the target to the edits of every file, or to the reason why not.

use rustc_hash::{FxHashMap, FxHashSet};

use super::check::{check_rename, place};
use super::member::rename_member;
use super::parameter::keyword_edits;
use super::symbol::{docstring_edits, reference_edits, rename_in_file, word_edits_in_docstrings};
use super::target::{Bound, BoundFile, Target, broken, full_name, target_at, target_named, target_of_node};
use super::{MemberOracle, Place, RenameError, RenameOptions, RenamePlan, validate};
use crate::semantic::{BindingKind, Origin, ScopeKind, SymbolId};
use crate::{Edit, Field, FileEdits, Kind, Node, Position, Project, Semantic, Span, edit};

/// Renames the thing at a position of a file.
pub fn rename_at(
    project: &Project,
    path: &str,
    at: Position,
    new: &str,
    options: &RenameOptions,
    oracle: Option<&dyn MemberOracle>,
) -> Result<RenamePlan, RenameError> {
    let bound = Bound::new(project);
    let target = target_at(&bound, path, at)?;
    rename(&bound, target, new, options, oracle)
}

/// Renames the thing that a dotted name means: `package.module.function`, `package.module.Class.method`,
/// `package.module.function.parameter`, or just `function` if only one module defines it.
pub fn rename_named(
    project: &Project,
    name: &str,
    new: &str,
    options: &RenameOptions,
    oracle: Option<&dyn MemberOracle>,
) -> Result<RenamePlan, RenameError> {
    let bound = Bound::new(project);
    let target = target_named(&bound, name)?;
    rename(&bound, target, new, options, oracle)
}

/// Renames what a `Name` or `Identifier` stands for, within its file alone. What other files import is not asked.
pub fn rename_in(
    semantic: &Semantic<'_>,
    name: Node<'_>,
    new: &str,
    options: &RenameOptions,
) -> Result<Vec<Edit>, RenameError> {
    let parsed = semantic.parsed();
    let own = BoundFile { path: "", semantic: Semantic::of_module(parsed, semantic.module().clone()) };
    let bound = Bound { files: vec![own] };
    let target = target_of_node(&bound, 0, parsed.node(name.id())).ok_or_else(|| {
        RenameError::NotAName { path: String::new(), at: parsed.source().position(name.span().start) }
    })??;
    let plan = rename(&bound, target, new, options, None)?;
    Ok(plan.files.into_iter().flat_map(|file| file.edits).collect())
}

fn rename(
    bound: &Bound<'_>,
    target: Target,
    new: &str,
    options: &RenameOptions,
    oracle: Option<&dyn MemberOracle>,
) -> Result<RenamePlan, RenameError> {
    match target {
        Target::Member { file, span } => rename_member(bound, file, span, new, options, oracle),
        Target::Symbol { file, symbol } => {
            let semantic = &bound.files[file].semantic;
            let data = semantic.symbol(symbol);
            let is_parameter =
                data.bindings.iter().any(|id| semantic.binding(*id).kind == BindingKind::Parameter);
            if let Some(error) = broken(&bound.files[file]) {
                return Err(error);
            }
            if semantic.scope(data.scope).kind == ScopeKind::Module && !is_pure_import(semantic, symbol) {
                return rename_global(bound, file, symbol, new, options);
            }
            let edits = rename_in_file(semantic, symbol, new, options, bound.files[file].path)?;
            let mut plan = Plan::new(bound, &data.name, new);
            plan.add(file, edits);
            if is_parameter {
                keyword_edits(bound, file, symbol, new, oracle, &mut plan)?;
            }
            plan.finish()
        }
    }
}

/// A name that only comes from elsewhere: renaming it here gives it an alias.
fn is_pure_import(semantic: &Semantic<'_>, symbol: SymbolId) -> bool {
    semantic.symbol(symbol).bindings.iter().all(|id| semantic.binding(*id).imported.is_some())
}

/// A module's own name: in its file, in everyone who imports it, and in who imports it from those.
fn rename_global(
    bound: &Bound<'_>,
    home: usize,
    symbol: SymbolId,
    new: &str,
    options: &RenameOptions,
) -> Result<RenamePlan, RenameError> {
    let semantic = &bound.files[home].semantic;
    let old = semantic.symbol(symbol).name.clone().into_owned();
    validate(&old, new)?;
    let mut plan = Plan::new(bound, &old, new);
    plan.add(home, rename_in_file(semantic, symbol, new, options, bound.files[home].path)?);

    let carriers = carriers(bound, home, &old);
    for (index, file) in bound.files.iter().enumerate() {
        let edits = importer_edits(bound, index, &carriers, &old, new, options, &mut plan)?;
        if !edits.is_empty() {
            if let Some(error) = broken(file) {
                return Err(error);
            }
            plan.add(index, edits);
        }
    }
    plan.finish()
}

/// Every dotted name the symbol can be imported by, and the files that pass it on.
struct Carriers {
    names: FxHashSet<String>,
    /// Files that get it by `from module import *`.
    stars: FxHashSet<usize>,
}

fn carriers(bound: &Bound<'_>, home: usize, old: &str) -> Carriers {
    let module = bound.files[home].semantic.module();
    let mut carriers =
        Carriers { names: FxHashSet::from_iter([full_name(module, old)]), stars: FxHashSet::default() };
    let mut has_grown = module.is_known();
    while has_grown {
        has_grown = false;
        for (index, file) in bound.files.iter().enumerate().filter(|(index, _)| *index != home) {
            let semantic = &file.semantic;
            let scope = semantic.scope(semantic.module_scope());
            let passes_on = match scope.symbols.get(old) {
                Some(symbol) => semantic.symbol(*symbol).bindings.iter().any(|id| {
                    semantic.binding(*id).imported.as_ref().is_some_and(|name| carriers.names.contains(name))
                }),
                None => {
                    let has_star = star_sources(bound, index).iter().any(|source| {
                        carriers.names.contains(&format!("{source}.{old}")) && exports(bound, source, old)
                    });
                    if has_star {
                        carriers.stars.insert(index);
                    }
                    has_star
                }
            };
            if passes_on && semantic.module().is_known() {
                has_grown |= carriers.names.insert(full_name(semantic.module(), old));
            }
        }
    }
    carriers
}

/// The modules that a file imports everything from.
fn star_sources(bound: &Bound<'_>, file: usize) -> Vec<String> {
    let semantic = &bound.files[file].semantic;
    let statements = &semantic.scope(semantic.module_scope()).star_imports;
    statements
        .iter()
        .map(|statement| {
            crate::semantic::imported_module(semantic.parsed().node(*statement), semantic.module())
        })
        .collect()
}

/// Whether `from module import *` brings the name.
fn exports(bound: &Bound<'_>, module: &str, name: &str) -> bool {
    bound.module(module).is_some_and(|file| match bound.files[file].semantic.exports() {
        Some(exports) => exports.iter().any(|export| export.name == name),
        None => !name.starts_with('_'),
    })
}

/// What changes in a file that imports the symbol or reaches it through a module.
fn importer_edits(
    bound: &Bound<'_>,
    index: usize,
    carriers: &Carriers,
    old: &str,
    new: &str,
    options: &RenameOptions,
    plan: &mut Plan<'_>,
) -> Result<Vec<Edit>, RenameError> {
    let file = &bound.files[index];
    let semantic = &file.semantic;
    let parsed = semantic.parsed();
    let mut edits = Vec::new();
    let mut renamed: FxHashSet<SymbolId> = FxHashSet::default();
    for binding in semantic.bindings() {
        let is_imported = binding.kind == BindingKind::ImportFrom
            && binding.imported.as_ref().is_some_and(|name| carriers.names.contains(name));
        if !is_imported {
            continue;
        }
        let target = parsed.node(binding.node);
        let Some(name) = target.parent().and_then(|alias| alias.child(Field::Name)) else { continue };
        edits.push(Edit::replace(name.span(), new));
        // `as old` says: this is its name here too.
        let keeps_alias = target.field() == Field::Asname && target.text() != old;
        if keeps_alias {
            continue;
        }
        edits.push(Edit::replace(binding.span, new));
        if renamed.insert(binding.symbol) {
            check_rename(semantic, binding.symbol, new, file.path)?;
            edits.extend(reference_edits(semantic, binding.symbol, new, options));
            edits.extend(docstring_edits(semantic, binding.symbol, new, options));
            // The same name bound in other ways (a fallback in `except ImportError`) has to follow.
            for id in &semantic.symbol(binding.symbol).bindings {
                let other = semantic.binding(*id);
                if other.imported.is_none() {
                    edits.push(Edit::replace(other.span, new));
                } else if !other.imported.as_ref().is_some_and(|name| carriers.names.contains(name)) {
                    let node = parsed.node(other.node);
                    match node.field() {
                        Field::Asname => edits.push(Edit::replace(other.span, new)),
                        _ => edits.push(Edit::insert(node.span().end, format!(" as {new}"))),
                    }
                }
            }
        }
    }
    if carriers.stars.contains(&index) {
        let unbound = semantic.references().iter().filter(|reference| reference.symbol.is_none());
        for reference in unbound.filter(|reference| reference.name == old) {
            edits.push(Edit::replace(reference.span, new));
        }
        if let Some(symbol) = semantic.scope(semantic.module_scope()).symbols.get(new) {
            let first = semantic
                .symbol(*symbol)
                .bindings
                .first()
                .map_or(Span::at(0), |id| semantic.binding(*id).span);
            return Err(RenameError::Collision {
                old: old.to_owned(),
                new: new.to_owned(),
                place: place(parsed, file.path, first),
            });
        }
    }
    for node in parsed.nodes_of(Kind::Attribute) {
        let Some(attr) = node.child(Field::Attr).filter(|attr| attr.text() == old) else { continue };
        let names = semantic.qualified_names(node);
        let reached: Vec<bool> = names
            .iter()
            .map(|name| name.origin == Origin::Import && carriers.names.contains(&name.name))
            .collect();
        if reached.contains(&true) {
            edits.push(Edit::replace(attr.span(), new));
            if reached.contains(&false) {
                plan.unsure.push(place(parsed, file.path, attr.span()));
            }
        }
    }
    if options.string_annotations {
        edits.extend(string_chain_edits(semantic, &carriers.names, old, new));
    }
    if options.docstrings && !edits.is_empty() {
        edits.extend(word_edits_in_docstrings(semantic, old, new));
    }
    Ok(edits)
}

/// `"module.old"` in annotations.
fn string_chain_edits(semantic: &Semantic<'_>, names: &FxHashSet<String>, old: &str, new: &str) -> Vec<Edit> {
    let text = semantic.parsed().text();
    let mut edits = Vec::new();
    for chain in semantic.string_chains() {
        let Some(symbol) = semantic.reference(chain.root).symbol else { continue };
        for root in semantic.symbol_names(symbol) {
            let mut dotted = root.name;
            for span in &chain.attributes {
                dotted = format!("{dotted}.{}", span.of(text));
                if span.of(text) == old && names.contains(&dotted) {
                    edits.push(Edit::replace(*span, new));
                }
            }
        }
    }
    edits
}

/// Collects the edits of several files.
pub(super) struct Plan<'b> {
    bound: &'b Bound<'b>,
    old: String,
    new: String,
    edits: FxHashMap<usize, Vec<Edit>>,
    pub(super) unsure: Vec<Place>,
    pub(super) may_override_outside: bool,
}

impl<'b> Plan<'b> {
    pub(super) fn new(bound: &'b Bound<'b>, old: &str, new: &str) -> Self {
        Self {
            bound,
            old: old.to_owned(),
            new: new.to_owned(),
            edits: FxHashMap::default(),
            unsure: Vec::new(),
            may_override_outside: false,
        }
    }

    pub(super) fn add(&mut self, file: usize, edits: Vec<Edit>) {
        self.edits.entry(file).or_default().extend(edits);
    }

    pub(super) fn finish(self) -> Result<RenamePlan, RenameError> {
        let mut files = Vec::new();
        for (file, edits) in self.edits {
            let edits = edit::order(edits)?;
            if !edits.is_empty() {
                files.push(FileEdits { path: self.bound.files[file].path.to_owned(), edits });
            }
        }
        files.sort_by(|left, right| left.path.cmp(&right.path));
        let mut unsure = self.unsure;
        unsure.sort();
        unsure.dedup();
        let may_override_outside = self.may_override_outside;
        Ok(RenamePlan { old: self.old, new: self.new, files, unsure, may_override_outside })
    }
}
