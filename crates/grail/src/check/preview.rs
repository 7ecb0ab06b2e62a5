//! What a fix would do, in few lines: those it takes away and those it puts in.

use grail_code::{Edit, Source, Span, edit};

/// More lines of one fix are not shown.
const SHOWN_LINES: usize = 12;

/// One line of a preview.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PreviewLine {
    /// The line's number in the old text; of the first of new lines, that of the line they are put before.
    pub(super) number: Option<usize>,
    pub(super) is_added: bool,
    pub(super) text: String,
}

/// The lines a fix changes, and whether there are more. Empty if the edits do not fit the text.
pub(super) fn preview(source: &Source, edits: &[Edit]) -> (Vec<PreviewLine>, bool) {
    let text = source.text();
    let Ok(edits) = edit::order(edits.to_vec()) else { return (Vec::new(), false) };
    let fits = |edit: &Edit| text.get(edit.span.start as usize..edit.span.end as usize).is_some();
    if !edits.iter().all(fits) {
        return (Vec::new(), false);
    }
    let mut lines = Vec::new();
    let mut rest = &edits[..];
    while let Some(first) = rest.first() {
        // Edits on the same lines are shown together.
        let mut window = Span::new(source.line_start(first.span.start), line_end(source, first.span.end));
        let mut count = 1;
        while let Some(next) = rest.get(count).filter(|next| next.span.start <= window.end) {
            window = Span::new(window.start, window.end.max(line_end(source, next.span.end)));
            count += 1;
        }
        changed_lines(source, window, &rest[..count], &mut lines);
        rest = &rest[count..];
    }
    let is_cut = lines.len() > SHOWN_LINES;
    lines.truncate(SHOWN_LINES);
    (lines, is_cut)
}

/// The end of the line that holds `offset`, with its line break; an edit that ends where a line starts is not on that line.
fn line_end(source: &Source, offset: u32) -> u32 {
    source.next_line_start(offset).min(source.text().len() as u32)
}

fn changed_lines(source: &Source, window: Span, edits: &[Edit], lines: &mut Vec<PreviewLine>) {
    let old = window.of(source.text());
    let shifted = edits.iter().map(|edit| {
        let span = Span::new(edit.span.start - window.start, edit.span.end - window.start);
        Edit { span, ..edit.clone() }
    });
    let Ok(new) = edit::apply(old, shifted.collect()) else { return };
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let after = old[before..].iter().rev().zip(new[before..].iter().rev());
    let after = after.take_while(|(old, new)| old == new).count();
    let first = source.line_of(window.start) + 1;
    let (removed, added) = (&old[before..old.len() - after], &new[before..new.len() - after]);
    let line = |number, is_added, text: &&str| PreviewLine { number, is_added, text: (*text).to_owned() };
    let at = |index| first + before + index;
    lines.extend(removed.iter().enumerate().map(|(index, text)| line(Some(at(index)), false, text)));
    let is_insertion = removed.is_empty();
    let place = |index| (is_insertion && index == 0).then(|| at(0));
    lines.extend(added.iter().enumerate().map(|(index, text)| line(place(index), true, text)));
}
