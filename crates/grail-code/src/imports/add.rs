//! Adding an import: merged into a `from` import of the same module, or as a new line where isort would put it.

use std::cmp::{Ordering, Reverse};

use super::{ImportError, ImportRequest, is_standard_library};
use crate::semantic::BindingKind;
use crate::{Edit, Field, Kind, ModuleName, Node, Parsed, Semantic, Source, Span, edit, parse_module};

/// Longer merged lines are wrapped, one name a line.
const LINE_LENGTH: usize = 88;

/// The edits that make `request` available at run time in the whole file; empty if it already is.
pub fn add(semantic: &Semantic<'_>, request: &ImportRequest) -> Result<Vec<Edit>, ImportError> {
    request.validate()?;
    if is_present(semantic, request)? {
        return Ok(Vec::new());
    }
    let header = Header::of(semantic);
    let merged = header.statements.iter().find_map(|statement| merge(*statement, request, semantic.module()));
    Ok(vec![merged.unwrap_or_else(|| header.insert(request, semantic))])
}

/// Adds several imports to a text, each seeing what the ones before it did.
pub fn add_all(text: &str, module: &ModuleName, requests: &[ImportRequest]) -> Result<String, ImportError> {
    let mut text = text.to_owned();
    for request in requests {
        let parsed = parse_module(Source::from_text(text.as_str()));
        let edits = add(&Semantic::of_module(&parsed, module.clone()), request)?;
        if !edits.is_empty() {
            text = edit::apply(&text, edits)?;
        }
    }
    Ok(text)
}

/// Whether the module already binds the name to the same thing; an error if it binds it to something else.
fn is_present(semantic: &Semantic<'_>, request: &ImportRequest) -> Result<bool, ImportError> {
    let bound = request.bound_name();
    let Some(symbol) = semantic.scope(semantic.module_scope()).symbols.get(bound) else { return Ok(false) };
    let wanted = request.imported(semantic.module());
    let mut taken = None;
    for id in &semantic.symbol(*symbol).bindings {
        let binding = semantic.binding(*id);
        let is_same = binding.imported.as_deref() == Some(wanted.as_str())
            && (request.name.is_some() == (binding.kind == BindingKind::ImportFrom));
        if is_same && !binding.is_typing_only {
            return Ok(true);
        }
        // `import a.b` beside `import a.c`: both bind `a`, and that is fine.
        let is_sibling =
            binding.kind == BindingKind::Import && request.name.is_none() && request.alias.is_none();
        if !is_same && !is_sibling {
            taken.get_or_insert(binding.span.start);
        }
    }
    match taken {
        Some(offset) => {
            let at = semantic.parsed().source().position(offset);
            Err(ImportError::NameTaken { name: bound.to_owned(), at })
        }
        None => Ok(false),
    }
}

/// What stands at the top of a module: docstring and the imports that follow without other code between them.
struct Header<'a> {
    parsed: &'a Parsed,
    docstring: Option<Node<'a>>,
    statements: Vec<Node<'a>>,
}

impl<'a> Header<'a> {
    fn of(semantic: &Semantic<'a>) -> Self {
        let parsed = semantic.parsed();
        let mut body = parsed.root().children().peekable();
        let docstring = body.next_if(|statement| is_docstring(*statement));
        let statements = body
            // Conditional imports may stand between plain ones; any other code ends the header.
            .take_while(|statement| {
                matches!(statement.kind(), Kind::Import | Kind::ImportFrom | Kind::Try | Kind::If)
            })
            .filter(|statement| matches!(statement.kind(), Kind::Import | Kind::ImportFrom))
            .collect();
        Self { parsed, docstring, statements }
    }

    /// A new import line in its section.
    fn insert(&self, request: &ImportRequest, semantic: &Semantic<'_>) -> Edit {
        let source = self.parsed.source();
        let newline = source.newline();
        let line = request.statement() + newline;
        let key = SortKey::of_request(request, semantic.module());
        let keys: Vec<SortKey> = self
            .statements
            .iter()
            .map(|statement| SortKey::of_statement(*statement, semantic.module()))
            .collect();

        let same_section: Vec<usize> =
            (0..keys.len()).filter(|&index| keys[index].section == key.section).collect();
        if let Some(&next) = same_section.iter().find(|&&index| key < keys[index]) {
            return Edit::insert(self.start_of(next), line);
        }
        if let Some(&last) = same_section.last() {
            return self.insert_after(self.statements[last], &line, "");
        }
        if let Some(last) = (0..keys.len()).rfind(|&index| keys[index].section < key.section) {
            return self.insert_after(self.statements[last], &format!("{newline}{line}"), "");
        }
        if !self.statements.is_empty() {
            return Edit::insert(self.start_of(0), format!("{line}{newline}"));
        }
        if let Some(docstring) = self.docstring {
            let after = self.code_follows(docstring.span().end);
            return self.insert_after(
                docstring,
                &format!("{newline}{line}"),
                if after { newline } else { "" },
            );
        }
        let offset = self.after_header_comments();
        let follows = !source.text()[offset as usize..].trim().is_empty();
        let gap = if !follows {
            String::new()
        } else if self.parsed.root().children().next().is_some_and(|first| {
            matches!(first.kind(), Kind::FunctionDef | Kind::ClassDef) && first.span().start >= offset
        }) {
            newline.repeat(2)
        } else {
            newline.to_owned()
        };
        let before = if offset > 0 && !source.text()[..offset as usize].ends_with(['\n', '\r']) {
            newline
        } else {
            ""
        };
        Edit::insert(offset, format!("{before}{line}{gap}"))
    }

    /// Behind the line on which a statement ends; `tail` follows only if there is more code.
    fn insert_after(&self, statement: Node<'_>, text: &str, tail: &str) -> Edit {
        let source = self.parsed.source();
        let end = statement.span().end;
        let line_end = source.line_end(end);
        let next = source.next_line_start(end);
        let has_newline = next > line_end || line_end < source.text().len() as u32;
        if has_newline {
            // A blank line that is already there serves as ours.
            let blank_follows = source.text()[next as usize..].starts_with(['\n', '\r']);
            let tail = if blank_follows { "" } else { tail };
            Edit::insert(next, format!("{text}{tail}"))
        } else {
            let newline = source.newline();
            Edit::insert(line_end, format!("{newline}{}", text.trim_end_matches(['\n', '\r'])))
        }
    }

    fn code_follows(&self, offset: u32) -> bool {
        !self.parsed.text()[offset as usize..].trim().is_empty()
    }

    /// Before an import and the comments that belong to it; a file's first comments belong to the file.
    fn start_of(&self, index: usize) -> u32 {
        let source = self.parsed.source();
        let statement = self.statements[index];
        let mut start = source.line_start(statement.span().start);
        if index == 0 && self.docstring.is_none() {
            return start;
        }
        while start > 0 {
            let previous = source.line_start(start - 1);
            let line = source.text()[previous as usize..start as usize].trim();
            if !line.starts_with('#') {
                break;
            }
            start = previous;
        }
        start
    }

    /// Behind the shebang, the encoding line and a first comment block that is set off by a blank line.
    fn after_header_comments(&self) -> u32 {
        let source = self.parsed.source();
        let text = source.text();
        let mut offset = 0;
        let mut block_end = 0;
        for (index, &start) in source.line_starts().iter().enumerate() {
            let line = text[start as usize..].lines().next().unwrap_or_default().trim();
            let next = source.line_starts().get(index + 1).copied().unwrap_or(text.len() as u32);
            if line.starts_with('#') {
                block_end = next;
                let is_fixed = line.starts_with("#!") || (index < 2 && line.contains("coding"));
                if is_fixed {
                    offset = next;
                }
            } else if line.is_empty() && block_end > 0 {
                // Comments, then a blank line: they were about the file.
                return next.max(block_end);
            } else {
                return offset;
            }
        }
        block_end
    }
}

fn is_docstring(statement: Node<'_>) -> bool {
    statement.kind() == Kind::Expr
        && statement.child(Field::Value).is_some_and(|value| {
            value.kind() == Kind::String
                || (value.kind() == Kind::ConcatenatedString
                    && value.children().all(|part| part.kind() == Kind::String))
        })
}

/// The order of isort's default profile: section, `import` before `from`, then by name without regard to case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortKey {
    section: Section,
    is_from: bool,
    /// More dots come first: `from .. import a` before `from . import b`.
    level: Reverse<u32>,
    module: String,
    spelling: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Future,
    StandardLibrary,
    ThirdParty,
    FirstParty,
    Local,
}

impl SortKey {
    fn of_request(request: &ImportRequest, own: &ModuleName) -> Self {
        Self::new(request.level, &request.module, request.name.is_some(), own)
    }

    fn of_statement(statement: Node<'_>, own: &ModuleName) -> Self {
        match statement.kind() {
            Kind::ImportFrom => {
                let module = statement.child(Field::Module).map_or("", Node::text);
                Self::new(statement.import_level(), module, true, own)
            }
            _ => {
                let first = statement.list(Field::Names).next().and_then(|alias| alias.child(Field::Name));
                Self::new(0, first.map_or("", Node::text), false, own)
            }
        }
    }

    fn new(level: u32, module: &str, is_from: bool, own: &ModuleName) -> Self {
        let top = module.split('.').next().unwrap_or_default();
        let own_top = own.name.split('.').next().unwrap_or_default();
        let section = if level > 0 {
            Section::Local
        } else if top == "__future__" {
            Section::Future
        } else if is_standard_library(top) {
            Section::StandardLibrary
        } else if !own_top.is_empty() && top == own_top {
            Section::FirstParty
        } else {
            Section::ThirdParty
        };
        Self {
            section,
            is_from,
            level: Reverse(level),
            module: module.to_lowercase(),
            spelling: module.to_owned(),
        }
    }
}

/// The name added to an existing `from` import of the same module.
fn merge(statement: Node<'_>, request: &ImportRequest, own: &ModuleName) -> Option<Edit> {
    let name = request.name.as_deref()?;
    if statement.kind() != Kind::ImportFrom || name == "*" {
        return None;
    }
    let module = statement.child(Field::Module).map_or("", Node::text);
    let is_same = statement.import_level() == request.level && module == request.module;
    let absolute = own.resolve(statement.import_level(), module);
    let is_same = is_same || (absolute.is_some() && absolute == own.resolve(request.level, &request.module));
    let aliases: Vec<Node<'_>> = statement.list(Field::Names).collect();
    let is_star = aliases.iter().any(|alias| alias.text() == "*");
    if !is_same || is_star || aliases.is_empty() {
        return None;
    }
    let text = match &request.alias {
        Some(alias) => format!("{name} as {alias}"),
        None => name.to_owned(),
    };
    Some(insert_alias(statement, &aliases, &text))
}

fn insert_alias(statement: Node<'_>, aliases: &[Node<'_>], text: &str) -> Edit {
    let parsed = statement.parsed();
    let source = parsed.source();
    let is_sorted =
        aliases.windows(2).all(|pair| compare_names(pair[0].text(), pair[1].text()) != Ordering::Greater);
    let before = if is_sorted {
        aliases.iter().position(|alias| compare_names(text, alias.text()) == Ordering::Less)
    } else {
        None
    };
    let last = aliases[aliases.len() - 1];
    let is_parenthesized = statement.text().ends_with(')');
    let is_one_per_line = is_parenthesized
        && aliases
            .windows(2)
            .all(|pair| source.line_of(pair[0].span().end) != source.line_of(pair[1].span().start))
        && source.line_of(statement.span().start) != source.line_of(aliases[0].span().start);
    if is_one_per_line {
        let newline = source.newline();
        let indentation = source.indentation(aliases[0].span().start);
        return match before {
            Some(index) => {
                let start = aliases[index].span().start;
                Edit::insert(start, format!("{text},{newline}{indentation}"))
            }
            None => {
                let end = last.span().end;
                let has_comma = parsed.text()[end as usize..].trim_start().starts_with(',');
                if has_comma {
                    let comma = end + (parsed.text()[end as usize..].find(',').unwrap_or(0) as u32) + 1;
                    // The comment behind the last name stays on its line.
                    let line_end = source.line_end(comma);
                    Edit::insert(line_end, format!("{newline}{indentation}{text},"))
                } else {
                    Edit::insert(end, format!(",{newline}{indentation}{text}"))
                }
            }
        };
    }
    let insertion = match before {
        Some(index) => Edit::insert(aliases[index].span().start, format!("{text}, ")),
        None => Edit::insert(last.span().end, format!(", {text}")),
    };
    let line_length = statement.text().chars().count() + text.chars().count() + 2;
    let indentation = source.indentation(statement.span().start);
    let is_single_line = !statement.text().contains(['\n', '\r', '#']);
    if line_length + indentation.chars().count() > LINE_LENGTH && is_single_line {
        return wrap(statement, aliases, text, before);
    }
    insertion
}

/// Rewrites the list of names, one a line, when the new one makes the line too long.
fn wrap(statement: Node<'_>, aliases: &[Node<'_>], text: &str, before: Option<usize>) -> Edit {
    let source = statement.parsed().source();
    let newline = source.newline();
    let indentation = source.indentation(statement.span().start);
    let mut names: Vec<&str> = aliases.iter().map(|alias| alias.text()).collect();
    names.insert(before.unwrap_or(names.len()), text);
    let mut list = format!("({newline}");
    for name in names {
        list += &format!("{indentation}    {name},{newline}");
    }
    list += &format!("{indentation})");
    let start = aliases[0].span().start;
    let open = source.text()[statement.span().start as usize..start as usize].rfind('(');
    let start = open.map_or(start, |at| statement.span().start + at as u32);
    Edit::replace(Span::new(start, statement.span().end), list)
}

/// isort's order within a list: CONSTANTS, then Classes, then functions, each by name.
fn compare_names(left: &str, right: &str) -> Ordering {
    fn key(text: &str) -> (u8, String, &str) {
        let name = text.split_whitespace().next().unwrap_or(text);
        let rank = if name.len() > 1 && name.chars().all(|c| !c.is_lowercase()) {
            0
        } else if name.starts_with(char::is_uppercase) {
            1
        } else {
            2
        };
        (rank, name.to_lowercase(), name)
    }
    key(left).cmp(&key(right))
}
