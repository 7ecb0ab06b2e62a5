//! Texts with captures in them: `` `$NAME` has no decorator ``, `${NAME}_view`.

use super::scene::Scene;

/// Captured code in a message is cut after this many characters.
const MAX_SHOWN: usize = 60;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Capture(String),
}

impl Message {
    pub(crate) fn parse(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            plain.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let (name, behind) = match after.strip_prefix('{') {
                Some(braced) => match braced.split_once('}') {
                    Some((name, behind)) if is_name(name) => (name, behind),
                    _ => ("", after),
                },
                None => after.split_at(after.find(|c: char| !is_name_character(c)).unwrap_or(after.len())),
            };
            if is_name(name) {
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Capture(name.to_owned()));
                rest = behind;
            } else {
                plain.push('$');
                rest = after;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Self { pieces }
    }

    /// The captures it names.
    pub(crate) fn names(&self) -> Vec<String> {
        let name = |piece: &Piece| match piece {
            Piece::Capture(name) => Some(name.clone()),
            Piece::Text(_) => None,
        };
        self.pieces.iter().filter_map(name).collect()
    }

    /// For readers: captured code on one line, and cut where it is long.
    pub(crate) fn render(&self, scene: &Scene<'_>) -> String {
        self.fill(scene, |code| {
            let line = code.split_whitespace().collect::<Vec<_>>().join(" ");
            match line.char_indices().nth(MAX_SHOWN) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line,
            }
        })
    }

    /// For the parser: captured code as it is written.
    pub(crate) fn code(&self, scene: &Scene<'_>) -> String {
        self.fill(scene, str::to_owned)
    }

    fn fill(&self, scene: &Scene<'_>, show: impl Fn(&str) -> String) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Capture(name) => {
                scene.capture(name).map(|capture| show(&capture.text(scene.parsed))).unwrap_or_default()
            }
        };
        self.pieces.iter().map(text).collect()
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.chars().all(is_name_character)
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_are_upper_case_and_may_stand_in_braces() {
        let message = Message::parse("`$NAME` costs $5, becomes `${NAME}_view`");
        assert_eq!(message.names(), ["NAME", "NAME"]);
    }
}
