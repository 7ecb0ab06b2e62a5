//! What an answer has to hold beside the rules of its kind: the names that were asked for, and templates that are whole.

use std::collections::BTreeSet;

use grail_code::{Field, Kind, Node, Parsed, Source, parse_module};

use super::{Checks, unbalanced};
use crate::event::Problem;

/// The layer of these problems.
const LAYER: &str = "suite";

/// What is missing in the code. Code that does not parse is not looked at: that is told by others.
pub fn check_code(checks: &Checks, code: &str) -> Vec<Problem> {
    let parsed = parse_module(Source::from_text(code));
    if !parsed.is_valid() {
        return vec![problem("syntax", 1, "the code is no Python".to_owned())];
    }
    let mut problems = Vec::new();
    let names = Names::of(&parsed);
    for wanted in &checks.mentions {
        if !names.all.iter().any(|name| holds(name, &words(wanted))) {
            problems.push(problem("mentions", 1, format!("nothing is called `{wanted}`")));
        }
    }
    for wanted in &checks.parameters {
        let wanted_words = words(wanted);
        if !names.taken.iter().any(|name| words(name) == wanted_words) {
            problems.push(problem("parameters", 1, format!("`{wanted}` is no parameter and no field")));
        }
    }
    if let Some(wanted) = &checks.name
        && !names.defined.iter().any(|name| holds(name, &words(wanted)))
    {
        problems.push(problem("name", 1, format!("no function or class is named after `{wanted}`")));
    }
    for wanted in &checks.contains {
        if !code.contains(wanted.as_str()) {
            problems.push(problem("contains", 1, format!("`{wanted}` does not occur")));
        }
    }
    if checks.balanced_html {
        let (templates, broken) = unbalanced(&parsed);
        if templates == 0 {
            problems.push(problem("balanced-html", 1, "there is no template with HTML".to_owned()));
        }
        let told = broken.into_iter().map(|(line, what)| problem("balanced-html", line, what));
        problems.extend(told);
    }
    problems
}

impl Checks {
    /// What a right answer names, so that another one can be told right: its first public definition, and what that and others take.
    /// Nothing if the code is no Python or defines nothing.
    pub fn of_code(code: &str) -> Option<Self> {
        let parsed = parse_module(Source::from_text(code));
        let name = first_name(&parsed).filter(|_| parsed.is_valid())?;
        let parameters = Names::of(&parsed).taken.into_iter().map(str::to_owned).collect();
        Some(Self { name: Some(name.to_owned()), parameters, ..Self::default() })
    }
}

/// The first public function or class at the top of a file.
pub fn first_name(parsed: &Parsed) -> Option<&str> {
    let body = parsed.root().list(Field::Body);
    let definitions = body.filter(|node| matches!(node.kind(), Kind::FunctionDef | Kind::ClassDef));
    let mut names = definitions.filter_map(|node| Some(node.child(Field::Name)?.text()));
    // Where the name is missing, as in half-written code, there is none.
    names.find(|name| !name.is_empty() && !name.starts_with('_'))
}

fn problem(rule: &str, line: u32, message: String) -> Problem {
    Problem { layer: LAYER.to_owned(), rule: format!("suite/{rule}"), message, line, hint: None }
}

/// The names in a file.
#[derive(Default)]
struct Names<'a> {
    all: BTreeSet<&'a str>,
    /// Functions and classes.
    defined: BTreeSet<&'a str>,
    /// Parameters, and fields of classes.
    taken: BTreeSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of(parsed: &'a Parsed) -> Self {
        let mut names = Self::default();
        for node in parsed.nodes() {
            let name = |field: Field| node.child(field).map(Node::text);
            match node.kind() {
                Kind::Name | Kind::Identifier => drop(names.all.insert(node.text())),
                Kind::FunctionDef | Kind::ClassDef => names.defined.extend(name(Field::Name)),
                Kind::Parameter => names.taken.extend(name(Field::Name)),
                Kind::AnnAssign if node.parent().is_some_and(|parent| parent.kind() == Kind::ClassDef) => {
                    names.taken.extend(name(Field::Target));
                }
                _ => {}
            }
        }
        names
    }
}

/// Whether the words of a name hold these, next to each other.
fn holds(name: &str, wanted: &[String]) -> bool {
    !wanted.is_empty() && words(name).windows(wanted.len()).any(|window| window == wanted)
}

/// `OrderList`, `order_list` and `order list` are `order` and `list`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            was_lower = false;
            words.push(String::new());
            continue;
        }
        if words.is_empty() || (character.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = !character.is_uppercase();
        if let Some(word) = words.last_mut() {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = r#"
from tdom import html


@view
def tide_table_view(*, harbour: str, high_water: str) -> str:
    return html(t"<main><h1>{harbour}</h1><p>{high_water}</p></main>")
"#;

    fn told(checks: &Checks, code: &str) -> Vec<String> {
        check_code(checks, code)
            .into_iter()
            .map(|problem| format!("{}: {}", problem.rule, problem.message))
            .collect()
    }

    #[test]
    fn names_and_parameters_are_found_in_any_case() {
        let checks = Checks {
            mentions: vec!["harbour".to_owned(), "water".to_owned()],
            parameters: vec!["high_water".to_owned(), "harbour".to_owned()],
            name: Some("tide table".to_owned()),
            contains: vec!["<h1>".to_owned()],
            balanced_html: true,
        };
        assert_eq!(told(&checks, CODE), Vec::<String>::new());
        assert_eq!(words("HTMLTideTable2"), ["htmltide", "table2"]);
    }

    #[test]
    fn what_a_right_answer_names_is_asked_of_another_one() {
        let checks = Checks::of_code(CODE).unwrap();
        assert_eq!(checks.name.as_deref(), Some("tide_table_view"));
        assert_eq!(checks.parameters, ["harbour", "high_water"]);
        assert_eq!(told(&checks, CODE), Vec::<String>::new());
        assert_eq!(told(&checks, &CODE.replace("high_water", "water")).len(), 1);
        assert_eq!(Checks::of_code("x = 1"), None);
        assert_eq!(Checks::of_code("def"), None);
    }

    #[test]
    fn what_is_missing_is_told() {
        let checks = Checks {
            mentions: vec!["moon".to_owned()],
            parameters: vec!["water".to_owned()],
            name: Some("harbour".to_owned()),
            contains: vec!["<table>".to_owned()],
            balanced_html: true,
        };
        let code = CODE.replace("</h1>", "");
        assert_eq!(
            told(&checks, &code),
            [
                "suite/mentions: nothing is called `moon`",
                "suite/parameters: `water` is no parameter and no field",
                "suite/name: no function or class is named after `harbour`",
                "suite/contains: `<table>` does not occur",
                "suite/balanced-html: `</main>` closes `<h1>`",
            ]
        );
        let bare = Checks { balanced_html: true, ..Checks::default() };
        assert_eq!(told(&bare, "x = 1\n"), ["suite/balanced-html: there is no template with HTML"]);
        assert_eq!(told(&bare, "def ("), ["suite/syntax: the code is no Python"]);
    }
}
