//! What an answer says of itself. Code of a kind begins with a line that says in plain words what it is: templates write it, and models that have learned
//! from them do too. Where the code below does not keep to it (a field is missing, a name is given by nobody, a tag is not closed), the line is
//! taken at its word, and the template of the kind is filled from it. Only what it lists is compared with the request (`listing`).
//!
//! A line is believed only if it says nothing that the request does not, and no less than the code takes and does. Whether anything has to be put right is
//! decided by whoever asks: [`is_out_of_joint`] knows what no rule does.

use std::collections::{BTreeMap, BTreeSet};

use grail_code::{Field, Kind, Node, Parsed, Source, parse_module};
use grail_flywheel::suite::{Checks, check_code};
use grail_model::template::Surroundings;
use grail_rules::ArtifactKind;

use crate::listing::list_as_said;
use crate::spelling::{given_words, names_nobody_gives, said_words, spell_as_said};
use crate::templates::{libraries_in_use, template_model};
use crate::workspace::Workspace;

/// What fixes of this kind are called beside those of rules.
pub(crate) const FIRST_LINE: &str = "first-line";

/// A longer line is no line.
const MOST_BYTES: usize = 400;

/// The template of the kind, filled from the first line of the code, with fields as the request lists them. None if there is no such line, or if it
/// is not to be believed.
pub(crate) fn retell(
    workspace: &Workspace,
    kind: &ArtifactKind,
    code: &str,
    request: &str,
) -> Option<String> {
    let listed = list_as_said(request, code);
    let listed = listed.as_deref().unwrap_or(code);
    let line = first_line(listed)?;
    let template = kind.template_text.as_deref()?;
    let uses = libraries_in_use(workspace);
    let library = |line: &str| {
        let (name, version) = line.split_once(' ').unwrap_or((line, ""));
        (name.to_owned(), version.to_owned())
    };
    let surroundings = Surroundings { uses: uses.lines().map(library).collect(), subject: None };
    let told = template_model(workspace).make(line, Some(&kind.name), &surroundings).ok()?.code;
    let told = spell_as_said(request, template, &told).code;
    (told != code && is_believed(&told, listed, template, request)).then_some(told)
}

/// Whether code is not what its first line says, or does not hold together; `told` is what that line comes to.
pub(crate) fn is_out_of_joint(code: &str, told: &str) -> bool {
    let (parsed, wanted) = (parse(code), parse(told));
    if !parsed.is_valid() {
        return true;
    }
    let whole = Checks { balanced_html: true, ..Checks::default() };
    let checks = Checks {
        balanced_html: check_code(&whole, told).is_empty(),
        ..Checks::of_code(told).unwrap_or_default()
    };
    let (types, wanted_types) = (Taken::of(&parsed), Taken::of(&wanted));
    let has_more_types = |(name, types): (&&str, &BTreeSet<&str>)| {
        wanted_types.types.get(*name).is_some_and(|wanted| wanted.len() < types.len())
    };
    let is_nobodys =
        |keyword: &&str| !types.types.contains_key(*keyword) && !wanted_types.keywords.contains(*keyword);
    !check_code(&checks, code).is_empty()
        || !names_nobody_gives(&parsed).is_empty()
        || types.types.iter().any(has_more_types)
        || types.keywords.iter().any(is_nobodys)
}

/// Whether all that a line comes to was said, and nothing is lost: neither what was said and what the code takes, nor a statement of it.
fn is_believed(told: &str, code: &str, template: &str, request: &str) -> bool {
    let (said, usual) = (said_words(request), said_words(template));
    let is_said = |word: &String| {
        let several = [format!("{word}s"), format!("{word}es"), format!("{}ies", word.trim_end_matches('y'))];
        said.contains(word) || several.iter().any(|several| said.contains(several))
    };
    let wanted = parse(told);
    let own: Vec<String> = given_words(&wanted).into_iter().filter(|word| !usual.contains(word)).collect();
    if own.is_empty() || !own.iter().all(is_said) {
        return false;
    }
    let parsed = parse(code);
    let statements = |parsed: &Parsed| parsed.nodes().filter(|node| node.kind().is_statement()).count();
    // What is about something that nobody mentioned does nothing that was wanted.
    let is_invented = given_words(&parsed).iter().any(|word| !usual.contains(word) && !is_said(word));
    if parsed.is_valid() && !is_invented && statements(&parsed) > statements(&wanted) {
        return false;
    }
    let wanted = Taken::of(&wanted);
    // What is part of a longer name that the line says is not lost: it was cut short.
    let is_cut =
        |words: &BTreeSet<String>| wanted.types.keys().any(|name| words.is_subset(&said_words(name)));
    let is_lost = |name: &&str| {
        let words = said_words(name);
        !wanted.types.contains_key(*name) && words.is_subset(&said) && !is_cut(&words)
    };
    !Taken::of(&parsed).types.keys().any(is_lost)
}

/// What a file takes, with the types that it gives each, and what it calls others' parameters.
#[derive(Default)]
struct Taken<'a> {
    types: BTreeMap<&'a str, BTreeSet<&'a str>>,
    keywords: BTreeSet<&'a str>,
}

impl<'a> Taken<'a> {
    fn of(parsed: &'a Parsed) -> Self {
        let mut taken = Self::default();
        for node in parsed.nodes() {
            let text = |field: Field| node.child(field).map(Node::text);
            let name = match node.kind() {
                Kind::Parameter => text(Field::Name),
                Kind::AnnAssign => text(Field::Target),
                Kind::Keyword => {
                    taken.keywords.extend(text(Field::Keyword));
                    continue;
                }
                _ => continue,
            };
            if let Some(name) = name {
                taken.types.entry(name).or_default().extend(text(Field::Annotation));
            }
        }
        taken
    }
}

/// What the docstring at the very beginning says, if it is one line. The code below need not be whole.
pub(crate) fn first_line(code: &str) -> Option<&str> {
    let (line, _) = code.trim_start().strip_prefix("\"\"\"")?.split_once("\"\"\"")?;
    let line = line.trim();
    (!line.is_empty() && line.len() <= MOST_BYTES && !line.contains('\n')).then_some(line)
}

fn parse(code: &str) -> Parsed {
    parse_module(Source::from_text(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "{{ docstring }}\n@dataclass\nclass {{ name }}:\n    ...\nclass {{ name }}Service:\n    def {{ action }}(self, record): ...";
    const TOLD: &str = r#""""A kiln service. It can fire with glaze and peak heat."""


class Kiln:
    glaze: str
    peak_heat: float


class KilnService:
    def fire(self, *, glaze: str, peak_heat: float) -> Kiln:
        return Kiln(glaze=glaze, peak_heat=peak_heat)
"#;

    #[test]
    fn code_that_is_what_its_line_says_is_left_alone() {
        assert!(!is_out_of_joint(TOLD, TOLD));
        let more = TOLD.replace("return Kiln", "print(glaze)\n        return Kiln");
        assert!(!is_out_of_joint(&more, TOLD), "what the line does not say may be there");
    }

    #[test]
    fn code_that_does_not_keep_to_its_line_is_out_of_joint() {
        for (what, right, wrong) in [
            ("it is no Python", "class Kiln:", "class Kiln"),
            ("a field is missing", ", peak_heat: float", ", peak: float"),
            ("a name is nobody's", "heat=peak_heat", "heat=peak_head"),
            ("a keyword is nobody's", "peak_heat=", "peak_hat="),
            ("a name has two types", "peak_heat: float)", "peak_heat: str)"),
        ] {
            assert!(TOLD.contains(right), "{right}");
            assert!(is_out_of_joint(&TOLD.replace(right, wrong), TOLD), "{what}");
        }
        let page = "def kiln(*, glaze: str) -> Template:\n    return t\"<p>{glaze}</p>\"\n";
        assert!(is_out_of_joint(&page.replace("</p>", "<p>"), page), "a tag is not closed");
    }

    #[test]
    fn a_line_is_believed_if_it_says_what_was_said_and_all_of_it() {
        let request = "Potters fire their kilns with a glaze and a peak heat: a service, please.";
        assert!(is_believed(TOLD, "def (", TEMPLATE, request));
        assert!(is_believed(TOLD, TOLD, TEMPLATE, request));
        let said_more = TOLD.replace("glaze", "varnish");
        assert!(!is_believed(&said_more, "def (", TEMPLATE, request), "nobody said `varnish`");
        let takes_more = TOLD.replace("glaze: str\n", "glaze: str\n    potters: str\n");
        assert!(!is_believed(TOLD, &takes_more, TEMPLATE, request), "`potters` would be lost");
        let cut_short = TOLD.replace("peak_heat", "peak");
        assert!(is_believed(TOLD, &cut_short, TEMPLATE, request), "`peak` is part of `peak_heat`");
        let does_more = format!("{TOLD}\n\nprint(KilnService)\n");
        assert!(!is_believed(TOLD, &does_more, TEMPLATE, request), "a statement would be lost");
        let of_another = does_more.replace("Kiln", "Oven").replace("kiln", "oven");
        assert!(is_believed(TOLD, &of_another, TEMPLATE, request), "nobody mentioned an oven");
        assert!(!is_believed("x = 1\n", "def (", TEMPLATE, request), "it says nothing");
    }

    #[test]
    fn only_a_docstring_of_one_line_is_one() {
        assert_eq!(first_line("\"\"\"A kiln.\"\"\"\n\ndef ("), Some("A kiln."));
        for code in ["", "x = 1", "\"\"\"\"\"\"", "\"\"\"A\nB\"\"\"", "\"\"\"A kiln.", "'''A kiln.'''"] {
            assert_eq!(first_line(code), None, "{code}");
        }
    }
}
