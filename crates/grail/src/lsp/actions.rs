//! Fixes as code actions: one for each finding, and one for all safe ones together.

use std::collections::HashMap;

use grail_code::{Edit, Span};
use grail_rules::{Finding, Safety};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic, Range, TextEdit, Uri,
    WorkspaceEdit,
};

use super::positions::Encoding;
use super::{Document, FIX_ALL};

/// The fixes of findings that the range touches.
pub(super) fn quick_fixes(
    uri: &Uri,
    document: &Document,
    parameters: &CodeActionParams,
    encoding: Encoding,
    diagnostic: &dyn Fn(&Finding) -> Diagnostic,
) -> Vec<CodeActionOrCommand> {
    if !wants(parameters, CodeActionKind::QUICKFIX.as_str(), true) {
        return Vec::new();
    }
    let action = |finding: &Finding| {
        let fix = finding.fix.as_ref().filter(|fix| fix.safety > Safety::DisplayOnly)?;
        touches(encoding.range(&document.source, finding.span), parameters.range).then(|| CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic(finding)]),
            edit: Some(workspace_edit(uri, document, &fix.edits, encoding)),
            is_preferred: Some(fix.safety == Safety::Safe),
            ..CodeAction::default()
        })
    };
    document.findings.iter().filter_map(action).map(CodeActionOrCommand::CodeAction).collect()
}

/// Whether the client asks for all fixes together. It must name the kind: nobody wants it among the quick fixes of a line.
pub(super) fn wants_fix_all(parameters: &CodeActionParams) -> bool {
    wants(parameters, FIX_ALL, false)
}

/// One action that turns the document into `fixed`; none if it is that already.
pub(super) fn fix_all(
    uri: &Uri,
    document: &Document,
    fixed: &str,
    encoding: Encoding,
) -> Option<CodeActionOrCommand> {
    let edit = difference(document.source.text(), fixed)?;
    Some(CodeActionOrCommand::CodeAction(CodeAction {
        title: "Make all safe fixes of Grail".to_owned(),
        kind: Some(CodeActionKind::new(FIX_ALL)),
        edit: Some(workspace_edit(uri, document, &[edit], encoding)),
        ..CodeAction::default()
    }))
}

/// Whether a client that names kinds wants this one; a kind stands for all below it.
fn wants(parameters: &CodeActionParams, kind: &str, by_default: bool) -> bool {
    let Some(only) = &parameters.context.only else { return by_default };
    only.iter().any(|wanted| {
        let wanted = wanted.as_str();
        kind == wanted || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    })
}

fn touches(one: Range, other: Range) -> bool {
    one.start <= other.end && other.start <= one.end
}

fn workspace_edit(uri: &Uri, document: &Document, edits: &[Edit], encoding: Encoding) -> WorkspaceEdit {
    let edits = edits.iter().map(|edit| TextEdit {
        range: encoding.range(&document.source, Some(edit.span)),
        new_text: edit.text.clone(),
    });
    // The protocol's own type; what is mutable inside a `Uri` is a cache.
    #[allow(clippy::mutable_key_type)]
    let changes = HashMap::from([(uri.clone(), edits.collect())]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

/// The one replacement that turns `old` into `new`, without the lines both begin and end with.
fn difference(old: &str, new: &str) -> Option<Edit> {
    if old == new {
        return None;
    }
    let start = common_lines(old.split_inclusive('\n'), new.split_inclusive('\n'));
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = common_lines(old_rest.split_inclusive('\n').rev(), new_rest.split_inclusive('\n').rev());
    let span = Span::new(start as u32, (old.len() - end) as u32);
    Some(Edit { span, text: new_rest[..new_rest.len() - end].to_owned() })
}

fn common_lines<'t>(old: impl Iterator<Item = &'t str>, new: impl Iterator<Item = &'t str>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).map(|(line, _)| line.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_is_the_lines_between() {
        let edit = difference("a\nb\nc\n", "a\nx\ny\nc\n").expect("a difference");
        assert_eq!(edit, Edit { span: Span::new(2, 4), text: "x\ny\n".to_owned() });
        assert_eq!(difference("a\n", "a\n"), None);
        let edit = difference("a\na\n", "a\n").expect("a difference");
        assert_eq!(edit, Edit { span: Span::new(2, 4), text: String::new() });
    }
}
