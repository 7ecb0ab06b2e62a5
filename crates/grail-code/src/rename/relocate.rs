//! Moving things: a module to another name, a symbol to another module, with everyone who imports them.
//!
//! Imports are added and removed on the text that the edits before them left, so the results are whole texts.

use thiserror::Error;

use super::check::place;
use super::dotted::{DottedChange, rename_dotted, rename_dotted_in_moved_file};
use super::target::{Bound, BoundFile, broken, full_name};
use super::{Place, RenameError, is_valid_name};
use crate::imports::{self, ImportError, ImportRequest};
use crate::semantic::{Binding, BindingKind, SymbolId};
use crate::{Edit, Field, Kind, ModuleName, Node, Project, Semantic, Source, Span, edit, parse_module};

/// The whole new text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileText {
    pub path: String,
    pub text: String,
}

/// A file that goes to another path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleMove {
    pub from: String,
    pub to: String,
}

/// A module under its new name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenamedModule {
    /// By their old paths.
    pub files: Vec<FileText>,
    pub moves: Vec<ModuleMove>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum MoveError {
    #[error(transparent)]
    Rename(#[from] RenameError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error("the project has no module `{name}`")]
    UnknownModule { name: String },
    #[error("the project already has a module `{name}`")]
    ModuleExists { name: String },
    #[error("`{name}` cannot be moved: {reason}")]
    NotMovable { name: String, reason: &'static str },
    #[error(transparent)]
    Cycle(Box<ImportCycle>),
}

/// Two modules that would come to import each other.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "moving `{name}` would make `{source_module}` and `{destination}` import each other: it uses `{dependency}` ({}:{})",
    place.path, place.at.line
)]
pub struct ImportCycle {
    pub name: String,
    pub source_module: String,
    pub destination: String,
    /// What the moved code uses of its old module.
    pub dependency: String,
    pub place: Place,
}

impl MoveError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Rename(error) => error.hint(),
            Self::Cycle(_) => Some("move what it uses first, or move both to a third module"),
            Self::UnknownModule { .. } => {
                Some("modules are named as they are imported; see `src` in grail.toml")
            }
            _ => None,
        }
    }
}

/// Renames a module, or a package with all its modules: the files move, and every import and use follows.
pub fn rename_module(project: &Project, old: &str, new: &str) -> Result<RenamedModule, MoveError> {
    if let Some(part) = new.split('.').find(|part| !is_valid_name(part)) {
        return Err(RenameError::InvalidName { name: part.to_owned() }.into());
    }
    if old == new {
        return Err(RenameError::SameName { name: old.to_owned() }.into());
    }
    let bound = Bound::new(project);
    if bound.module(old).is_none() {
        return Err(MoveError::UnknownModule { name: old.to_owned() });
    }
    if bound.module(new).is_some() {
        return Err(MoveError::ModuleExists { name: new.to_owned() });
    }
    let mut renamed = RenamedModule::default();
    for file in &bound.files {
        let own = file.semantic.module();
        let moved = own.name.strip_prefix(old).filter(|rest| rest.is_empty() || rest.starts_with('.'));
        let after = moved.map(|rest| ModuleName { name: format!("{new}{rest}"), is_package: own.is_package });
        if let Some(after) = &after
            && let Some(to) = moved_path(file.path, own, after)
        {
            renamed.moves.push(ModuleMove { from: file.path.to_owned(), to });
        }
        let own_after = after.unwrap_or_else(|| own.clone());
        let change = rename_dotted_in_moved_file(&file.semantic, old, new, own_after.clone());
        renamed.files.extend(apply(file, change, &own_after)?);
    }
    Ok(renamed)
}

/// The path of a file whose module gets another name.
fn moved_path(path: &str, before: &ModuleName, after: &ModuleName) -> Option<String> {
    let file_name = |module: &ModuleName, extension: &str| {
        let tail = if module.is_package { "/__init__" } else { "" };
        format!("{}{tail}.{extension}", module.name.replace('.', "/"))
    };
    let extension = path.rsplit('.').next()?;
    let root = path.strip_suffix(&file_name(before, extension))?;
    Some(root.to_owned() + &file_name(after, extension))
}

fn apply(
    file: &BoundFile<'_>,
    change: DottedChange,
    own: &ModuleName,
) -> Result<Option<FileText>, MoveError> {
    if change == DottedChange::default() {
        return Ok(None);
    }
    if let Some(error) = broken(file) {
        return Err(error.into());
    }
    let text = edit::apply(file.semantic.parsed().text(), change.edits).map_err(RenameError::from)?;
    let text = imports::add_all(&text, own, &change.add_imports)?;
    let text = imports::remove_all(&text, own, &change.remove_imports_if_unused)?;
    Ok(Some(FileText { path: file.path.to_owned(), text }))
}

/// Moves a top-level function, class or variable to another module of the project. The destination gets the imports the code needs,
/// the source module imports it back if it still uses it, and importers follow.
pub fn move_symbol(project: &Project, name: &str, destination: &str) -> Result<Vec<FileText>, MoveError> {
    let bound = Bound::new(project);
    let unknown = || MoveError::Rename(RenameError::UnknownName { name: name.to_owned() });
    let (source_module, member) = name.rsplit_once('.').ok_or_else(unknown)?;
    let source = bound.module(source_module).ok_or_else(unknown)?;
    let target =
        bound.module(destination).ok_or_else(|| MoveError::UnknownModule { name: destination.to_owned() })?;
    if source == target {
        return Err(RenameError::SameName { name: name.to_owned() }.into());
    }
    for file in [&bound.files[source], &bound.files[target]] {
        if let Some(error) = broken(file) {
            return Err(error.into());
        }
    }
    let semantic = &bound.files[source].semantic;
    let symbol = *semantic.scope(semantic.module_scope()).symbols.get(member).ok_or_else(unknown)?;
    let moving = Moving::new(&bound, source, symbol, name, destination)?;

    let mut files = Vec::new();
    files.push(moving.destination_text(target)?);
    files.push(moving.source_text()?);
    for (index, file) in bound.files.iter().enumerate() {
        if index != source && index != target {
            let change = rename_dotted(&file.semantic, name, &format!("{destination}.{member}"))?;
            files.extend(apply(file, change, file.semantic.module())?);
        }
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(files)
}

struct Moving<'b> {
    bound: &'b Bound<'b>,
    source: usize,
    symbol: SymbolId,
    name: &'b str,
    destination: &'b str,
    statement: Node<'b>,
    /// Imports of the source module that the moved code uses.
    imports: Vec<ImportRequest>,
}

impl<'b> Moving<'b> {
    fn new(
        bound: &'b Bound<'b>,
        source: usize,
        symbol: SymbolId,
        name: &'b str,
        destination: &'b str,
    ) -> Result<Self, MoveError> {
        let file = &bound.files[source];
        let semantic = &file.semantic;
        let not_movable = |reason| MoveError::NotMovable { name: name.to_owned(), reason };
        let [binding] = semantic.symbol(symbol).bindings[..] else {
            return Err(not_movable("it is bound in more than one place"));
        };
        let binding = semantic.binding(binding);
        if binding.imported.is_some() {
            return Err(not_movable("it is imported there, not defined"));
        }
        if !semantic.symbol(symbol).declarations.is_empty() {
            return Err(not_movable("functions rebind it with `global`"));
        }
        let statement = semantic
            .parsed()
            .node(binding.node)
            .statement()
            .filter(|statement| statement.parent().is_some_and(|parent| parent.kind() == Kind::Module));
        let statement = statement.ok_or_else(|| not_movable("it is not defined at the top level"))?;
        let is_single = match statement.kind() {
            Kind::FunctionDef | Kind::ClassDef | Kind::TypeAlias => true,
            Kind::Assign => {
                statement.list(Field::Targets).count() == 1
                    && statement.child(Field::Targets).is_some_and(|target| target.kind() == Kind::Name)
            }
            Kind::AnnAssign => true,
            _ => false,
        };
        if !is_single {
            return Err(not_movable("its statement binds more than this name"));
        }
        let imports = dependencies(file, symbol, statement, name, destination)?;
        Ok(Self { bound, source, symbol, name, destination, statement, imports })
    }

    /// The definition with its decorators and the comments above it, as whole lines.
    fn block(&self) -> Span {
        let source = self.statement.parsed().source();
        let mut start = source.line_start(self.statement.span().start);
        while start > 0 {
            let previous = source.line_start(start - 1);
            if !source.text()[previous as usize..start as usize].trim_start().starts_with('#') {
                break;
            }
            start = previous;
        }
        Span::new(start, source.next_line_start(self.statement.span().end))
    }

    fn member(&self) -> &'b str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    fn destination_text(&self, target: usize) -> Result<FileText, MoveError> {
        let file = &self.bound.files[target];
        let semantic = &file.semantic;
        let parsed = semantic.parsed();
        let own = semantic.module();
        let mut edits = Vec::new();
        let mut is_used_on_import = false;
        if let Some(symbol) = semantic.scope(semantic.module_scope()).symbols.get(self.member()) {
            let symbol = semantic.symbol(*symbol);
            for id in &symbol.bindings {
                let binding = semantic.binding(*id);
                if binding.imported.as_deref() != Some(self.name) {
                    let place = place(parsed, file.path, binding.span);
                    let (old, new) = (self.member().to_owned(), self.member().to_owned());
                    return Err(RenameError::Collision { old, new, place }.into());
                }
                let alias = parsed.node(binding.node).parent();
                edits.extend(imports::remove_aliases(parsed, alias.into_iter()));
            }
            let references = symbol.references.iter().map(|id| semantic.reference(*id));
            is_used_on_import =
                references.into_iter().any(|reference| reference.scope == semantic.module_scope());
        }
        // Other spellings of it in the destination: `source.name` becomes plain `name`.
        let change = rename_dotted(semantic, self.name, &format!("{}.{}", own.name, self.member()))?;
        edits.extend(
            change
                .edits
                .into_iter()
                .filter(|edit| {
                    parsed.node_at(edit.span.start).is_some_and(|node| {
                        node.statement().is_some_and(|statement| {
                            !matches!(statement.kind(), Kind::Import | Kind::ImportFrom)
                        })
                    })
                })
                .map(|edit| Edit::replace(edit.span, self.member())),
        );
        let newline = parsed.source().newline();
        let block = self.block().of(self.statement.parsed().text()).trim_end().to_owned() + newline;
        let text = edit::apply(parsed.text(), edits).map_err(RenameError::from)?;
        let text = imports::add_all(&text, own, &self.imports)?;
        let text = imports::remove_all(&text, own, &change.remove_imports_if_unused)?;
        let text = if is_used_on_import {
            insert_after_imports(&text, &block, newline)
        } else {
            append(&text, &block, newline)
        };
        Ok(FileText { path: file.path.to_owned(), text })
    }

    fn source_text(&self) -> Result<FileText, MoveError> {
        let file = &self.bound.files[self.source];
        let semantic = &file.semantic;
        let parsed = semantic.parsed();
        let block = self.block();
        let is_still_used = semantic
            .symbol(self.symbol)
            .references
            .iter()
            .any(|id| !block.covers(semantic.reference(*id).span));
        // One gap of blank lines goes along.
        let text = parsed.text();
        let rest = &text[block.end as usize..];
        let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
        let end = if text[..block.start as usize].trim().is_empty() || !rest.trim().is_empty() {
            block.end + blank as u32
        } else {
            block.end
        };
        let text =
            edit::apply(text, vec![Edit::remove(Span::new(block.start, end))]).map_err(RenameError::from)?;
        let text = if rest.trim().is_empty() {
            let trimmed = text.trim_end();
            if trimmed.is_empty() { String::new() } else { format!("{trimmed}{}", parsed.source().newline()) }
        } else {
            text
        };
        let own = semantic.module();
        let back = ImportRequest::name(self.destination, self.member());
        let text = if is_still_used { imports::add_all(&text, own, &[back])? } else { text };
        let text = imports::remove_all(&text, own, &self.imports)?;
        Ok(FileText { path: file.path.to_owned(), text })
    }
}

/// What the moved code needs: imports to repeat, and names of its old module to import from there.
fn dependencies(
    file: &BoundFile<'_>,
    symbol: SymbolId,
    statement: Node<'_>,
    name: &str,
    destination: &str,
) -> Result<Vec<ImportRequest>, MoveError> {
    let semantic = &file.semantic;
    let own = &semantic.module().name;
    let is_inside = |span: Span| statement.span().covers(span);
    let is_used_outside =
        semantic.symbol(symbol).references.iter().any(|id| !is_inside(semantic.reference(*id).span));
    let mut requests: Vec<ImportRequest> = Vec::new();
    for reference in semantic.references().iter().filter(|reference| is_inside(reference.span)) {
        let Some(used) = reference.symbol.filter(|used| *used != symbol) else { continue };
        let data = semantic.symbol(used);
        if data.scope != semantic.module_scope() {
            continue;
        }
        for id in &data.bindings {
            let binding = semantic.binding(*id);
            let request = match &binding.imported {
                Some(imported) => import_again(semantic, binding, imported),
                None if is_used_outside => {
                    return Err(MoveError::Cycle(Box::new(ImportCycle {
                        name: name.to_owned(),
                        source_module: own.clone(),
                        destination: destination.to_owned(),
                        dependency: full_name(semantic.module(), &data.name),
                        place: place(semantic.parsed(), file.path, reference.span),
                    })));
                }
                None => ImportRequest::name(own, data.name.as_ref()),
            };
            if !requests.contains(&request) {
                requests.push(request);
            }
        }
    }
    requests.retain(|request| request.module != destination || request.name.is_none());
    Ok(requests)
}

fn import_again(semantic: &Semantic<'_>, binding: &Binding, imported: &str) -> ImportRequest {
    let bound = binding.span.of(semantic.parsed().text());
    match imported.rsplit_once('.').filter(|_| binding.kind == BindingKind::ImportFrom) {
        Some((module, name)) if name == bound => ImportRequest::name(module, name),
        Some((module, name)) => ImportRequest::name(module, name).alias(bound),
        None if semantic.parsed().node(binding.node).field() == Field::Asname => {
            ImportRequest::module(imported).alias(bound)
        }
        None => ImportRequest::module(imported),
    }
}

fn append(text: &str, block: &str, newline: &str) -> String {
    let trimmed = text.trim_end();
    if trimmed.is_empty() { block.to_owned() } else { format!("{trimmed}{newline}{newline}{newline}{block}") }
}

fn insert_after_imports(text: &str, block: &str, newline: &str) -> String {
    let parsed = parse_module(Source::from_text(text));
    let header = parsed.root().children().take_while(|statement| {
        matches!(statement.kind(), Kind::Import | Kind::ImportFrom)
            || statement.child(Field::Value).is_some_and(|value| value.kind() == Kind::String)
    });
    let offset = header.last().map_or(0, |last| parsed.source().next_line_start(last.span().end)) as usize;
    let before = if offset == 0 { String::new() } else { format!("{newline}{newline}") };
    format!(
        "{}{before}{block}{newline}{newline}{}",
        &text[..offset],
        text[offset..].trim_start_matches(['\n', '\r'])
    )
}
