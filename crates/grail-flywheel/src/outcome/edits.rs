//! Artifacts that a person changed after they were kept: what was generated beside what was committed.
//!
//! Counted is a change to the code, not to its layout or comments; on the branch for which the artifact was made, because what happens to
//! it later is the life of any code; at most a few times for one artifact; and not what Grail itself wrote.

use std::collections::HashMap;

use grail_code::tree::string_literal;
use grail_code::{Parsed, Source, parse_module};

/// Less in common than this, and the file was written anew.
const MIN_IN_COMMON: f64 = 0.2;

/// What was made of a file that was generated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Edit {
    /// As one of the generated versions.
    None,
    /// Something of this version is left.
    Of(usize),
    /// Nothing of it is left.
    Replaced,
}

/// Compares a file with the versions that were generated of it, oldest first.
pub(super) fn compare(path: &str, versions: &[&str], committed: &str) -> Edit {
    if versions.iter().any(|version| is_same_code(path, version, committed)) {
        return Edit::None;
    }
    let nearness = versions.iter().enumerate().map(|(place, version)| (in_common(version, committed), place));
    // Of two that are as near, the later one was edited.
    let nearest = nearness.max_by(|left, right| left.partial_cmp(right).unwrap_or(std::cmp::Ordering::Equal));
    match nearest {
        Some((share, place)) if share >= MIN_IN_COMMON => Edit::Of(place),
        _ => Edit::Replaced,
    }
}

/// Whether two texts are the same code in another layout.
pub(super) fn is_same_code(path: &str, left: &str, right: &str) -> bool {
    if left == right {
        return true;
    }
    if path.ends_with(".py") || path.ends_with(".pyi") {
        let (left, right) = (parse_module(Source::from_text(left)), parse_module(Source::from_text(right)));
        if left.is_valid() && right.is_valid() {
            return is_same_tree(&left, &right);
        }
    }
    left.split_whitespace().eq(right.split_whitespace())
}

fn is_same_tree(left: &Parsed, right: &Parsed) -> bool {
    left.len() == right.len()
        && left.nodes().zip(right.nodes()).all(|(left, right)| {
            let is_layout = |name: &str| name == "parenthesized";
            let mut attributes = left.kind().attributes().iter().filter(|name| !is_layout(name));
            let parent = |node: grail_code::Node<'_>| node.parent().map(|parent| parent.id().index());
            left.kind() == right.kind()
                && left.field() == right.field()
                && parent(left) == parent(right)
                && attributes.all(|name| left.attribute(name) == right.attribute(name))
                && (left.children().next().is_some() || leaf_text(left) == leaf_text(right))
        })
}

/// Strings by what they stand for: which quotes are used is layout.
fn leaf_text(node: grail_code::Node<'_>) -> String {
    match string_literal(node) {
        Some(literal) if !literal.prefix.to_ascii_lowercase().contains(['f', 't']) => {
            format!("{}{}", if literal.is_bytes() { "b" } else { "" }, literal.value())
        }
        _ => node.text().to_owned(),
    }
}

/// The part of the lines of the longer text that both have.
fn in_common(left: &str, right: &str) -> f64 {
    let mut lines: HashMap<&str, i32> = HashMap::new();
    let of = |text| str::lines(text).map(str::trim).filter(|line| !line.is_empty());
    of(left).for_each(|line| *lines.entry(line).or_default() += 1);
    let mut shared = 0;
    for line in of(right) {
        if let Some(count) = lines.get_mut(line).filter(|count| **count > 0) {
            *count -= 1;
            shared += 1;
        }
    }
    let longest = of(left).count().max(of(right).count());
    if longest == 0 { 0.0 } else { f64::from(shared) / longest as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "class Card:\n    def total(self, rate):\n        return self.net + rate\n";

    fn is_same(other: &str) -> bool {
        is_same_code("a.py", CODE, other)
    }

    #[test]
    fn layout_and_comments_are_no_change() {
        assert!(is_same(
            "# A card.\nclass Card:\n\n  def total(\n    self,\n    rate,\n  ):\n    return (self.net + rate)  # gross\n"
        ));
        assert!(is_same_code("a.py", "x = 'it'\n", "x = \"it\"\n"));
        assert!(is_same_code("a.md", "one two\n", "one\n  two\n"));
    }

    #[test]
    fn names_operators_and_values_are() {
        assert!(!is_same(&CODE.replace("rate", "share")));
        assert!(!is_same(&CODE.replace('+', "-")));
        assert!(!is_same(&CODE.replace("self, rate", "self, *, rate")));
        assert!(!is_same(&CODE.replace("def", "async def")));
        assert!(!is_same_code("a.py", "x = 1 < 2\n", "x = 1 > 2\n"));
        assert!(!is_same_code("a.py", "x = not a\n", "x = -a\n"));
        assert!(!is_same_code("a.py", "x += 1\n", "x -= 1\n"));
        assert!(!is_same_code("a.py", "x = a and b\n", "x = a or b\n"));
        assert!(!is_same_code("a.py", "x = 'a'\n", "x = b'a'\n"));
        assert!(!is_same_code("a.py", "x = f'{a!r}'\n", "x = f'{a!s}'\n"));
        assert!(!is_same_code("a.py", "x = f'{a:>3}'\n", "x = f'{a:<3}'\n"));
        assert!(!is_same_code("a.py", "from . import a\n", "from .. import a\n"));
        assert!(!is_same_code("a.py", "x = a if b else c\n", "x = c if b else a\n"));
        assert!(!is_same_code("a.py", "x = (1, 2)\n", "x = [1, 2]\n"));
        assert!(!is_same_code("a.py", "if a:\n    b\nc\n", "if a:\n    b\n    c\n"));
        assert!(
            !is_same_code("a.py", "x = (\n", "x = [\n"),
            "what cannot be parsed is compared by its words"
        );
    }

    #[test]
    fn an_edit_is_one_of_the_nearest_version() {
        let second = CODE.replace("rate", "share");
        let edited = second.replace("self.net + share", "self.net * share");
        assert_eq!(compare("a.py", &[CODE, &second], &edited), Edit::Of(1));
        assert_eq!(compare("a.py", &[CODE, &second], CODE), Edit::None);
        assert_eq!(compare("a.py", &[CODE], "print('something else')\n"), Edit::Replaced);
    }
}
