//! Whether the HTML of a template is whole: every element closed, in the right order.
//!
//! As strict as the library that renders it, which refuses a template with an open element; a browser would guess.

use grail_code::{Field, Kind, Node, Parsed};

/// Elements that have no end.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Elements in which a `<` is text.
const RAW_TEXT: [&str; 2] = ["script", "style"];
/// Stands for an interpolation.
const HOLE: char = '\u{fffc}';

/// A template: its text with a [`HOLE`] for every interpolation, and what is interpolated, in order.
struct Template<'a> {
    text: String,
    holes: Vec<&'a str>,
    line: u32,
}

/// The templates of a file that have HTML in them, and how many are not whole: line and what is wrong.
pub fn unbalanced(parsed: &Parsed) -> (usize, Vec<(u32, String)>) {
    let mut count = 0;
    let mut problems = Vec::new();
    for template in templates(parsed) {
        if !template.text.contains('<') {
            continue;
        }
        count += 1;
        if let Some(problem) = template.problem() {
            problems.push((template.line, problem));
        }
    }
    (count, problems)
}

fn templates(parsed: &Parsed) -> impl Iterator<Item = Template<'_>> {
    parsed.nodes().filter_map(|node| match node.kind() {
        Kind::ConcatenatedString => {
            let parts: Vec<Node<'_>> = node.list(Field::Parts).collect();
            parts.iter().any(|part| part.kind() == Kind::TString).then(|| Template::of(node, &parts))
        }
        Kind::TString => {
            let is_part = node.parent().is_some_and(|parent| parent.kind() == Kind::ConcatenatedString);
            (!is_part).then(|| Template::of(node, &[node]))
        }
        _ => None,
    })
}

impl<'a> Template<'a> {
    fn of(node: Node<'a>, strings: &[Node<'a>]) -> Self {
        let line = node.parsed().source().position(node.span().start).line;
        let mut template = Self { text: String::new(), holes: Vec::new(), line };
        for part in strings.iter().flat_map(|string| string.list(Field::Parts)) {
            if part.kind() == Kind::Interpolation {
                template.text.push(HOLE);
                template.holes.push(part.child(Field::Value).map_or("", Node::text));
            } else {
                template.text.push_str(part.text());
            }
        }
        template
    }

    fn problem(&self) -> Option<String> {
        let mut open: Vec<String> = Vec::new();
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find('<') {
            rest = &rest[at..];
            let begins = |mark: &str| rest.starts_with(mark);
            if begins("<!--") {
                let Some(end) = rest.find("-->") else { return Some("a comment is not closed".to_owned()) };
                rest = &rest[end + 3..];
                continue;
            }
            let is_tag = rest[1..].starts_with(|character: char| {
                character.is_ascii_alphabetic() || matches!(character, '/' | '!' | HOLE)
            });
            if !is_tag {
                rest = &rest[1..];
                continue;
            }
            let Some(length) = tag_length(rest) else {
                return Some(format!("`{}` is not finished", shown(rest)));
            };
            let tag = &rest[1..length - 1];
            let name = self.name(tag, rest);
            let after = &rest[length..];
            rest = after;
            if tag.starts_with('!') {
                continue;
            }
            if tag.starts_with('/') {
                match open.pop() {
                    Some(opened) if opened == name => {}
                    Some(opened) => return Some(format!("`</{name}>` closes `<{opened}>`")),
                    None if VOID.contains(&name.as_str()) => {
                        return Some(format!("`<{name}>` has no end, but is closed"));
                    }
                    None => return Some(format!("`</{name}>` closes nothing")),
                }
                continue;
            }
            if tag.ends_with('/') || VOID.contains(&name.as_str()) {
                continue;
            }
            if RAW_TEXT.contains(&name.as_str()) {
                let Some(end) = after.to_ascii_lowercase().find(&format!("</{name}")) else {
                    return Some(format!("`<{name}>` is not closed"));
                };
                rest = &after[end..];
            }
            open.push(name);
        }
        open.pop().map(|name| format!("`<{name}>` is not closed"))
    }

    /// The element's name in lower case; of a component, what is interpolated.
    fn name(&self, tag: &str, rest: &str) -> String {
        let tag = tag.trim_start_matches('/');
        if tag.starts_with(HOLE) {
            let before = self.text.len() - rest.len();
            let hole = self.text[..before].matches(HOLE).count();
            return format!("{{{}}}", self.holes.get(hole).copied().unwrap_or_default());
        }
        let end =
            tag.find(|character: char| character.is_whitespace() || character == '/').unwrap_or(tag.len());
        tag[..end].to_ascii_lowercase()
    }
}

/// How long the tag is that begins here, with both brackets. A `>` within quotes does not end it.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices().skip(1) {
        match (quote, character) {
            (None, '>') => return Some(at + 1),
            // Another tag begins before this one ends.
            (None, '<') => return None,
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(40).map(|character| if character == HOLE { '…' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use grail_code::{Source, parse_module};

    use super::*;

    #[track_caller]
    fn check(template: &str, expected: Option<&str>) {
        let parsed = parse_module(Source::from_text(format!("page = t\"\"\"{template}\"\"\"\n")));
        assert!(parsed.is_valid(), "{template}");
        let (count, problems) = unbalanced(&parsed);
        assert!(count >= 1);
        assert_eq!(problems.first().map(|(_, problem)| problem.as_str()), expected, "{template}");
    }

    #[test]
    fn whole_templates_pass() {
        check("<main class=\"a\"><h1>{title}</h1><img src={src} alt=\"a > b\"><br></main>", None);
        check("<ul>{[t'<li>{item}</li>' for item in items]}</ul>", None);
        check("<{Card} title={title} /><{Panel}><p>x</p></{Panel}>", None);
        check("<!DOCTYPE html><!-- <p> --><p>1 < 2 {a}</p><script>if (a < b) {{ x }}</script>", None);
        check("<input value=\"{value}\" {attributes}/><Section></section>", None);
    }

    #[test]
    fn what_is_open_or_crosses_is_told() {
        check("<main><h1>{title}</main>", Some("`</main>` closes `<h1>`"));
        check("<main><p>{title}</p>", Some("`<main>` is not closed"));
        check("<p>{title}</p></main>", Some("`</main>` closes nothing"));
        check("<p class=\"a>{title}</p>", Some("`<p class=\"a>…</p>` is not finished"));
        check("<p {title}</p>", Some("`<p …</p>` is not finished"));
        check("<br></br>", Some("`<br>` has no end, but is closed"));
        check("<{Card}>x</{Panel}>", Some("`</{Panel}>` closes `<{Card}>`"));
        check("<ul>{[t'<li>{item}' for item in items]}</ul>", Some("`<li>` is not closed"));
        check("<!-- <p>", Some("a comment is not closed"));
        check("<style>p {{ }}", Some("`<style>` is not closed"));
    }
}
