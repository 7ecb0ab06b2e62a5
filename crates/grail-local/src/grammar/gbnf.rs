//! llama.cpp's grammars in the syntax of Lark.
//!
//! A rule that does not come back to itself becomes a terminal, so that it matches like a regular expression; only the others become rules,
//! whose terminals end at the longest match.

use std::collections::{BTreeMap, BTreeSet};

use crate::{LocalError, Result};

/// Whether the text is a grammar of this kind.
pub(super) fn is_gbnf(text: &str) -> bool {
    text.contains("::=")
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Name(String),
    /// A literal or a regular expression, as Lark writes it.
    Terminal(String),
    /// `|`, parentheses, repetitions.
    Sign(String),
}

pub(super) fn to_lark(text: &str) -> Result<String> {
    let rules = parse(text)?;
    if !rules.contains_key("root") {
        return Err(wrong("it has no rule `root`"));
    }
    let uses: BTreeMap<&str, BTreeSet<&str>> = rules
        .iter()
        .map(|(name, pieces)| {
            let names = pieces.iter().filter_map(|piece| match piece {
                Piece::Name(name) => Some(name.as_str()),
                _ => None,
            });
            (name.as_str(), names.collect())
        })
        .collect();
    for (name, used) in &uses {
        if let Some(missing) = used.iter().find(|used| !rules.contains_key(**used)) {
            return Err(wrong(&format!("`{name}` uses `{missing}`, which has no rule")));
        }
    }
    let recursive = recursive_rules(&uses);
    let lark_name = |name: &str| {
        // A prefix, because names may begin with what Lark does not allow there.
        if recursive.contains(name) {
            format!("r_{}", name.replace('-', "_").to_lowercase())
        } else {
            format!("T_{}", name.replace('-', "_").to_uppercase())
        }
    };
    let mut lark = format!("start: {}\n", lark_name("root"));
    for (name, pieces) in &rules {
        let right: Vec<String> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Name(name) => lark_name(name),
                Piece::Terminal(text) | Piece::Sign(text) => text.clone(),
            })
            .collect();
        // Repetitions stand directly behind what they repeat.
        let mut line = String::new();
        for text in right {
            if !line.is_empty() && !text.starts_with(['*', '+', '?', '{']) {
                line.push(' ');
            }
            line.push_str(&text);
        }
        let line = if line.is_empty() { "\"\"".to_owned() } else { line };
        lark.push_str(&format!("{}: {line}\n", lark_name(name)));
    }
    Ok(lark)
}

/// The rules that lead back to themselves, or to one that does.
fn recursive_rules<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut regular: BTreeSet<&str> = BTreeSet::new();
    loop {
        let more: Vec<&str> = uses
            .iter()
            .filter(|(name, used)| !regular.contains(*name) && used.iter().all(|used| regular.contains(used)))
            .map(|(name, _)| *name)
            .collect();
        if more.is_empty() {
            return uses.keys().copied().filter(|name| !regular.contains(name)).collect();
        }
        regular.extend(more);
    }
}

fn parse(text: &str) -> Result<BTreeMap<String, Vec<Piece>>> {
    let mut rules: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
    let mut current: Option<(String, Vec<Piece>)> = None;
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix('#') {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|it: char| !(it.is_ascii_alphanumeric() || it == '-' || it == '_'));
            let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
            if let Some(right) = after.trim_start().strip_prefix("::=") {
                rules.extend(current.take());
                current = Some((name.to_owned(), Vec::new()));
                rest = right;
                continue;
            }
            push(&mut current, Piece::Name(name.to_owned()))?;
            rest = after;
            continue;
        }
        let (piece, after) = match first {
            '"' => literal(rest)?,
            '[' => class(rest)?,
            '.' => (Piece::Terminal("/./".to_owned()), &rest[1..]),
            '|' | '(' | ')' | '*' | '+' | '?' => (Piece::Sign(first.to_string()), &rest[1..]),
            '{' => {
                let end = rest.find('}').ok_or_else(|| wrong("a `{` has no end"))?;
                (Piece::Sign(rest[..=end].replace(' ', "")), &rest[end + 1..])
            }
            other => return Err(wrong(&format!("`{other}` has no meaning there"))),
        };
        push(&mut current, piece)?;
        rest = after;
    }
    rules.extend(current);
    Ok(rules)
}

fn push(current: &mut Option<(String, Vec<Piece>)>, piece: Piece) -> Result<()> {
    match current {
        Some((_, pieces)) => {
            pieces.push(piece);
            Ok(())
        }
        None => Err(wrong("it does not begin with a rule")),
    }
}

/// A text in quotes, as JSON.
fn literal(text: &str) -> Result<(Piece, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                return Ok((Piece::Terminal(serde_json::Value::String(value).to_string()), &text[at + 1..]));
            }
            '\\' => {
                let (_, escaped) = characters.next().ok_or_else(|| wrong("a text has no end"))?;
                let digits = match escaped {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                let code: String = characters.by_ref().take(digits).map(|(_, digit)| digit).collect();
                value.push(match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    'x' | 'u' | 'U' => u32::from_str_radix(&code, 16)
                        .ok()
                        .and_then(char::from_u32)
                        .ok_or_else(|| wrong(&format!("`\\{escaped}{code}` is no character")))?,
                    other => other,
                });
            }
            other => value.push(other),
        }
    }
    Err(wrong("a text has no end"))
}

/// Characters in brackets, as a regular expression.
fn class(text: &str) -> Result<(Piece, &str)> {
    let mut inside = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            ']' => return Ok((Piece::Terminal(format!("/[{inside}]/")), &text[at + 1..])),
            '\\' => match characters.next() {
                // A letter says which character is meant, `\n` or `\x41`, and says it to both.
                Some((_, escaped)) if escaped.is_ascii_alphanumeric() => inside.extend(['\\', escaped]),
                Some((_, escaped @ ('\\' | ']' | '^' | '-'))) => inside.extend(['\\', escaped]),
                Some((_, escaped)) => push_plain(&mut inside, escaped),
                None => break,
            },
            other => push_plain(&mut inside, other),
        }
    }
    Err(wrong("a `[` has no end"))
}

/// Nested brackets and some doubled signs mean something in the classes of regular expressions only, and `/` would end the whole.
fn push_plain(inside: &mut String, character: char) {
    if matches!(character, '[' | '/' | '&' | '~') {
        inside.push('\\');
    }
    inside.push(character);
}

fn wrong(reason: &str) -> LocalError {
    LocalError::Grammar { reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::to_lark;

    #[test]
    fn rules_that_come_back_stay_rules_and_the_others_become_terminals() {
        let grammar =
            "root ::= \"(\" (root | item-one)* \")\" # nested\nitem-one ::= [a-z\\n]{1,3}\n  | \"\\x41\\\"\"";
        assert_eq!(
            to_lark(grammar).unwrap(),
            "start: r_root\nT_ITEM_ONE: /[a-z\\n]/{1,3} | \"A\\\"\"\nr_root: \"(\" ( r_root | T_ITEM_ONE )* \")\"\n"
        );
    }

    #[test]
    fn what_is_escaped_in_a_class_is_escaped_once() {
        for (class, regex) in [
            (r"[\[\]\/]", r"[\[\]\/]"),
            ("[[/&&~~]", r"[\[\/\&\&\~\~]"),
            (r#"[\\"\"]"#, r#"[\\""]"#),
            (r"[^\^\-\x41-Z\t]", r"[^\^\-\x41-Z\t]"),
        ] {
            assert_eq!(
                to_lark(&format!("root ::= {class}")).unwrap(),
                format!("start: T_ROOT\nT_ROOT: /{regex}/\n")
            );
        }
    }

    #[test]
    fn what_is_no_grammar_is_said() {
        for broken in ["a ::= \"x\"", "root ::= missing", "root ::= \"open", "root ::= [a", "root ::= %"] {
            assert!(to_lark(broken).is_err(), "{broken}");
        }
    }
}
