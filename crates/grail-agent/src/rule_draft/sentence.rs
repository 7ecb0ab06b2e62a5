//! Sentences that a rule can be made of without a model, and the rules they become.
//!
//! A sentence has a subject (functions, classes, or a noun of the project such as views) and a demand. Only words that were recognised go into a
//! definition; the sentence itself is prose, and stripped of everything that could be more than prose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use super::phrases::{PHRASES, Phrase};
use super::{PACK_FILE, RuleFiles};
use crate::AgentError;

/// The shapes of sentences that are understood, with examples, for people.
pub const SHAPES: &[&str] = &[
    "views must not query the database",
    "services must not call `time.sleep`",
    "nothing must import `pickle`",
    "functions must not use `legacy_total`",
    "views must be decorated with `@view`",
    "service names end with `Service`",
    "functions must have docstrings",
    "functions must have annotations",
    "handlers must be async",
    "models must inherit from `Base`",
];

/// Whom the rule is about.
enum Subject {
    Anything,
    Functions,
    Methods,
    Classes,
    /// A noun of the project: singular and plural.
    Kind(String, String),
}

enum Demand {
    NotDo(&'static Phrase),
    NotCall(String),
    NotUse(String),
    NotImport(String),
    Decorated(String),
    NameEnds(String),
    NameStarts(String),
    Docstring,
    Annotations,
    Async,
    Inherits(String),
}

/// The rule that a sentence stands for. `pack` is the text of the skill's `pack.toml`.
pub(super) fn understand(sentence: &str, pack: Option<&str>) -> Result<RuleFiles, AgentError> {
    let prose = prose(sentence);
    let understood = read(&prose).filter(|(subject, demand)| demand.fits(subject));
    let (subject, demand) = understood.ok_or_else(not_understood)?;
    let id = rule_id(&prose);
    let mut files = BTreeMap::new();
    let mut kind = None;
    if let Subject::Kind(one, many) = &subject
        && !demand.is_about_files()
    {
        let (name, text) = with_kind(pack, one, many)?;
        files.extend(text.map(|text| (PACK_FILE.to_owned(), text)));
        kind = Some(name);
    }
    files.insert(format!("rules/{id}.md"), document(&id, &prose, kind.as_deref(), &subject, &demand));
    Ok(RuleFiles { id, files })
}

fn not_understood() -> AgentError {
    AgentError::Other {
        message: "no rule can be made of this sentence without a model".to_owned(),
        hint: Some(format!(
            "say it like one of these, or name a model with `--model`: {}",
            SHAPES.join("; ")
        )),
    }
}

/// The sentence without anything that Markdown, YAML or a rule's message could take for more than words.
fn prose(sentence: &str) -> String {
    let keep = |character: char| {
        if character.is_alphanumeric() || " -_.,@'()/".contains(character) { character } else { ' ' }
    };
    let plain: String = sentence.replace('`', "").chars().map(keep).take(200).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(['.', ',']).to_owned()
}

fn rule_id(prose: &str) -> String {
    const EMPTY: [&str; 10] = ["must", "should", "shall", "the", "a", "an", "be", "are", "is", "have"];
    let lower = prose.to_lowercase();
    let words = lower.split(|character: char| !character.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty() && !EMPTY.contains(word) && word.len() <= 20);
    let id = words.take(6).collect::<Vec<_>>().join("-");
    if id.is_empty() { "project-rule".to_owned() } else { id }
}

/// `NAME`: a dotted name, perhaps called.
const NAME: &str = r"@?([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)(?:\(\))?";

struct Shapes {
    names: Regex,
    forbids: Regex,
    nothing: Regex,
    decorated: Regex,
    docstring: Regex,
    annotations: Regex,
    is_async: Regex,
    inherits: Regex,
}

static SHAPES_READ: LazyLock<Option<Shapes>> = LazyLock::new(|| {
    let must = "(?:must|should|shall|may|can|do|does)";
    let have = "(?:must |should |shall )?(?:always )?(?:have|has|need|needs|carry)";
    let read = |pattern: &str| Regex::new(&format!("(?i)^{}$", pattern.replace("NAME", NAME))).ok();
    Some(Shapes {
        names: read(
            r"(?:the )?(?:names of ([a-z-]+)|([a-z-]+) names) (?:must |should |shall )?(end|ends|start|starts|begin|begins) (?:with|in) '?([A-Za-z0-9_]+)'?",
        )?,
        forbids: read(&format!("(.*?) (?:{must}(?: not|n't| never)|cannot|never) (.+)"))?,
        nothing: read(&format!("(?:no|nothing|nobody|no one|no ([a-z]+)) (?:{must} |ever )?(.+)"))?,
        decorated: read(&format!(
            "(.*?) (?:{must} be decorated with|are decorated with|{have} (?:the )?decorator|{have} an?) @?NAME(?: decorator)?"
        ))?,
        docstring: read(&format!(
            "(.*?) (?:{have} (?:an? )?docstrings?|{must} be documented|are documented)"
        ))?,
        annotations: read(&format!(
            "(.*?) (?:{have} (?:type |return )?(?:annotations?|types|hints?|type hints)|{must} be (?:annotated|typed)|are (?:annotated|typed))"
        ))?,
        is_async: read(&format!("(.*?) (?:{must} be|are) (?:async|asynchronous|coroutines)"))?,
        inherits: read(&format!(
            "(.*?) (?:{must} )?(?:inherit|inherits|derive|derives|extend|extends|subclass)(?: from)? NAME"
        ))?,
    })
});

fn read(prose: &str) -> Option<(Subject, Demand)> {
    let shapes = SHAPES_READ.as_ref()?;
    let part = |captures: &regex::Captures<'_>, number: usize| {
        captures.get(number).map(|part| part.as_str().to_owned())
    };
    if let Some(found) = shapes.names.captures(prose) {
        let subject = Subject::read(&part(&found, 1).or_else(|| part(&found, 2))?)?;
        let affix = part(&found, 4)?;
        let is_end = part(&found, 3)?.to_lowercase().starts_with("end");
        return Some((subject, if is_end { Demand::NameEnds(affix) } else { Demand::NameStarts(affix) }));
    }
    if let Some(found) = shapes.forbids.captures(prose) {
        return Some((Subject::read(&part(&found, 1)?)?, forbidden(&part(&found, 2)?)?));
    }
    let positive = [
        (&shapes.docstring, Demand::Docstring),
        (&shapes.annotations, Demand::Annotations),
        (&shapes.is_async, Demand::Async),
    ];
    for (shape, demand) in positive {
        if let Some(found) = shape.captures(prose) {
            return Some((Subject::read(&part(&found, 1)?)?, demand));
        }
    }
    if let Some(found) = shapes.inherits.captures(prose) {
        return Some((Subject::read(&part(&found, 1)?)?, Demand::Inherits(part(&found, 2)?)));
    }
    if let Some(found) = shapes.decorated.captures(prose) {
        return Some((Subject::read(&part(&found, 1)?)?, Demand::Decorated(part(&found, 2)?)));
    }
    let found = shapes.nothing.captures(prose)?;
    let subject = match part(&found, 1) {
        Some(noun) => Subject::read(&noun)?,
        None => Subject::Anything,
    };
    Some((subject, forbidden(&part(&found, 2)?)?))
}

/// What must not be done: a phrase that is known, or a verb with a name.
fn forbidden(text: &str) -> Option<Demand> {
    let words: Vec<String> = text
        .to_lowercase()
        .split(|character: char| !character.is_alphanumeric())
        .map(str::to_owned)
        .collect();
    let verb = words.first()?.as_str();
    let name =
        Regex::new(&format!("(?i)^[a-z]+s? {NAME}$")).ok()?.captures(text).map(|found| found[1].to_owned());
    match (verb, name) {
        ("import" | "imports", Some(name)) => return Some(Demand::NotImport(name)),
        ("call" | "calls", Some(name)) => return Some(Demand::NotCall(name)),
        _ => {}
    }
    let has = |group: &&[&str]| group.iter().any(|word| words.iter().any(|said| said == word));
    let phrase = PHRASES.iter().find(|phrase| phrase.words.iter().all(&has));
    match (phrase, verb) {
        (Some(phrase), _) => Some(Demand::NotDo(phrase)),
        (None, "use" | "uses" | "mention" | "touch") => {
            let name = Regex::new(&format!("(?i)^[a-z]+ {NAME}$")).ok()?.captures(text)?;
            Some(Demand::NotUse(name[1].to_owned()))
        }
        _ => None,
    }
}

impl Subject {
    fn read(text: &str) -> Option<Self> {
        let lower = text.trim().to_lowercase();
        let words = lower
            .split_whitespace()
            .filter(|word| !["a", "an", "the", "all", "every", "each", "public", "our"].contains(word));
        let words: Vec<&str> = words.collect();
        Some(match words.as_slice() {
            [] | ["code" | "we" | "you" | "nothing" | "nobody" | "modules" | "files" | "i"] => Self::Anything,
            ["function" | "functions"] => Self::Functions,
            ["method" | "methods"] => Self::Methods,
            ["class" | "classes"] => Self::Classes,
            [noun] if noun.len() <= 30 && noun.bytes().all(|byte| byte.is_ascii_lowercase()) => {
                let one = singular(noun);
                let many = if one == *noun { format!("{noun}s") } else { (*noun).to_owned() };
                Self::Kind(one, many)
            }
            _ => return None,
        })
    }

    /// What is looked at, as the lines of a definition; artifacts of a kind need none.
    fn matching(&self) -> &'static str {
        match self {
            Self::Anything | Self::Kind(..) => "",
            Self::Functions => "match: {type: FunctionDef, not: {predicate: is_nested}}\n",
            Self::Methods => "match: {type: FunctionDef, predicate: is_method}\n",
            Self::Classes => "match: {type: ClassDef}\n",
        }
    }

    fn path(&self) -> String {
        match self {
            Self::Kind(_, many) => format!("app/{many}.py"),
            _ => "app/orders.py".to_owned(),
        }
    }

    fn is_class(&self) -> bool {
        matches!(self, Self::Classes)
    }
}

fn singular(noun: &str) -> String {
    match noun {
        _ if noun.ends_with("ies") && noun.len() > 4 => format!("{}y", &noun[..noun.len() - 3]),
        _ if noun.ends_with("sses") || noun.ends_with("xes") || noun.ends_with("ches") => {
            noun[..noun.len() - 2].to_owned()
        }
        _ if noun.ends_with('s') && !noun.ends_with("ss") && noun.len() > 2 => {
            noun[..noun.len() - 1].to_owned()
        }
        _ => noun.to_owned(),
    }
}

/// The kind for a noun, and the skill's `pack.toml` with it where it has none yet.
///
/// A new one is called `project-view`, not `view`: the nearest kind of a name is what `grail generate` makes, and this one has no template.
fn with_kind(pack: Option<&str>, one: &str, many: &str) -> Result<(String, Option<String>), AgentError> {
    let text = pack.unwrap_or_default();
    let table: toml::Table = toml::from_str(text).map_err(|error| AgentError::Other {
        message: format!("the skill's `{PACK_FILE}` cannot be read: {}", error.message()),
        hint: None,
    })?;
    let own = format!("project-{one}");
    let is_declared = |name: &str| table.get("kinds").and_then(|kinds| kinds.get(name)).is_some();
    if let Some(name) = [one, &own].into_iter().find(|name| is_declared(name)) {
        return Ok((name.to_owned(), None));
    }
    let class: String = one[..1].to_uppercase() + &one[1..];
    let mut text = text.to_owned();
    if !text.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    let except = match one {
        "test" => "",
        _ => "except = [\"**/tests/**\", \"**/test_*.py\", \"**/*_test.py\", \"**/conftest.py\"]\n",
    };
    let _ = write!(
        text,
        "[kinds.{own}]\ndescription = \"What is named `{one}`, decorated with `@{one}`, or defined in a file of {many}\"\nrecognise = [\n  \
         '{{type: FunctionDef, not: {{predicate: is_method}}, name: {{regex: \"(^|_){one}$\"}}}}',\n  \
         '{{type: ClassDef, name: {{regex: \"{class}$\"}}}}',\n  '{{type: FunctionDef, decorators: {{contains: {one}}}}}',\n]\n\
         files = [\"**/{many}.py\", \"**/{many}/**/*.py\"]\n{except}"
    );
    Ok((own, Some(text)))
}

/// What the definition says, and two pieces of code that show it.
struct Proof {
    definition: String,
    bad: String,
    good: String,
    help: Option<&'static str>,
}

impl Demand {
    /// Whether it is about whole files, which have no kind.
    fn is_about_files(&self) -> bool {
        matches!(self, Self::NotImport(_))
    }

    fn proof(&self, subject: &Subject) -> Proof {
        match self {
            Self::NotDo(phrase) => {
                let imports = match phrase.bad.split('.').next() {
                    Some(module @ ("time" | "os" | "requests")) => format!("import {module}\n\n\n"),
                    _ => String::new(),
                };
                let proof = prohibition(subject, &phrase.patterns.join("\n"), phrase.bad, phrase.good);
                Proof { bad: imports + &proof.bad, help: Some(phrase.help), ..proof }
            }
            Self::NotCall(name) => prohibition(
                subject,
                &format!("{{type: Call, func: {}}}", named(name)),
                &format!("{name}(order)"),
                "price_of(order)",
            ),
            Self::NotUse(name) => {
                prohibition(subject, &named(name), &format!("{name}(order)"), "price_of(order)")
            }
            Self::NotImport(name) => {
                let exact = name.replace('.', "\\\\.");
                let files = match subject {
                    Subject::Kind(one, _) => {
                        let class: String = one[..1].to_uppercase() + &one[1..];
                        format!(
                            "inside: {{type: Module, has: {{type: [FunctionDef, ClassDef], name: {{regex: \"(^|_){one}$|{class}$\"}}}}}}\n"
                        )
                    }
                    _ => String::new(),
                };
                let definition = format!(
                    "match:\n  - {{type: Import, names: {{contains: {{type: Alias, name: {{regex: \"^{exact}(\\\\.|$)\"}}}}}}}}\n  \
                     - {{type: ImportFrom, module: {{regex: \"^{exact}(\\\\.|$)\"}}}}\n{files}"
                );
                let rest = match subject {
                    Subject::Kind(one, _) => format!("\n\ndef list_{one}():\n    return []\n"),
                    _ => String::new(),
                };
                Proof {
                    definition,
                    bad: format!("import {name}  # FOUND\n{rest}"),
                    good: format!("import json\n{rest}"),
                    help: None,
                }
            }
            Self::Decorated(name) => {
                let written = named(name);
                let decorator = format!(
                    "{{type: Decorator, expression: {{one_of: [{written}, {{type: Call, func: {written}}}]}}}}"
                );
                let require = format!("{{decorators: {{contains: {decorator}}}}}");
                self.demand(subject, &require, PLAIN, Sample { decorator: Some(name), ..PLAIN })
            }
            Self::NameEnds(affix) => {
                let require = format!("{{name: {{regex: \"{affix}$\"}}}}");
                self.demand(subject, &require, PLAIN, Sample { name: &format!("orders{affix}"), ..PLAIN })
            }
            Self::NameStarts(affix) => {
                let require = format!("{{name: {{regex: \"^{affix}\"}}}}");
                self.demand(subject, &require, PLAIN, Sample { name: &format!("{affix}orders"), ..PLAIN })
            }
            Self::Docstring => {
                let require = "{body: [{type: Expr, value: {predicate: is_docstring}}, \"$$$\"]}";
                self.demand(subject, require, PLAIN, Sample { has_docstring: true, ..PLAIN })
            }
            Self::Annotations => {
                self.demand(subject, "{returns: true}", PLAIN, Sample { returns: " -> list[str]", ..PLAIN })
            }
            Self::Async => {
                self.demand(subject, "{predicate: is_async}", PLAIN, Sample { keyword: "async def", ..PLAIN })
            }
            Self::Inherits(name) => {
                let require = format!("{{type: ClassDef, bases: {{contains: {}}}}}", named(name));
                self.demand(subject, &require, PLAIN, Sample { base: Some(name), ..PLAIN })
            }
        }
    }

    /// Whether it can be asked of the subject at all.
    fn fits(&self, subject: &Subject) -> bool {
        match self {
            Self::Annotations | Self::Async => !matches!(subject, Subject::Classes),
            Self::Inherits(_) => !matches!(subject, Subject::Functions | Subject::Methods),
            _ => true,
        }
    }

    fn demand(&self, subject: &Subject, require: &str, bad: Sample<'_>, good: Sample<'_>) -> Proof {
        let is_class = matches!(subject, Subject::Classes) || matches!(self, Self::Inherits(_));
        let matching = match subject {
            Subject::Anything if is_class => Subject::Classes.matching(),
            Subject::Anything => Subject::Functions.matching(),
            other => other.matching(),
        };
        let code = |sample: Sample<'_>, mark: &str| match is_class {
            true => sample.class(mark),
            false => sample.function(matches!(subject, Subject::Methods), mark),
        };
        Proof {
            definition: format!("{matching}require: {require}\n"),
            bad: code(bad, "  # FOUND"),
            good: code(good, ""),
            help: None,
        }
    }
}

/// A definition in an example, with the one thing that is asked for or without it.
#[derive(Clone, Copy)]
struct Sample<'s> {
    name: &'s str,
    decorator: Option<&'s str>,
    keyword: &'s str,
    returns: &'s str,
    base: Option<&'s str>,
    has_docstring: bool,
}

const PLAIN: Sample<'static> =
    Sample { name: "orders", decorator: None, keyword: "def", returns: "", base: None, has_docstring: false };

impl Sample<'_> {
    fn function(self, is_method: bool, mark: &str) -> String {
        let Self { name, keyword, returns, .. } = self;
        let parameters = if is_method { "self" } else { "" };
        let lines = self.decorated(&format!("{keyword} {name}({parameters}){returns}:{mark}"), "return []");
        match is_method {
            true => {
                let indented: String = lines.iter().map(|line| format!("    {line}\n")).collect();
                format!("class Shop:\n{indented}")
            }
            false => lines.join("\n") + "\n",
        }
    }

    fn class(self, mark: &str) -> String {
        let base = self.base.map(|base| format!("({base})")).unwrap_or_default();
        self.decorated(&format!("class {}{base}:{mark}", self.name), "total = 0").join("\n") + "\n"
    }

    fn decorated(self, header: &str, statement: &str) -> Vec<String> {
        let mut lines: Vec<String> = self.decorator.iter().map(|decorator| format!("@{decorator}")).collect();
        lines.push(header.to_owned());
        if self.has_docstring {
            lines.push("    \"\"\"What it is for.\"\"\"".to_owned());
        }
        lines.push(format!("    {statement}"));
        lines
    }
}

/// A name as a pattern: dotted as it is, a plain one also at the end of a dotted one.
fn named(name: &str) -> String {
    match name.contains('.') {
        true => name.to_owned(),
        false => format!(
            "{{one_of: [{{type: Name, regex: \"^{name}$\"}}, {{type: Attribute, attr: {{regex: \"^{name}$\"}}}}]}}"
        ),
    }
}

fn prohibition(subject: &Subject, patterns: &str, bad: &str, good: &str) -> Proof {
    let key = if matches!(subject, Subject::Anything) { "match" } else { "forbid" };
    let lines: String = patterns.lines().map(|pattern| format!("  - {pattern}\n")).collect();
    let definition = format!("{}{key}:\n{lines}", subject.matching());
    let code = |expression: &str, mark: &str| match subject.is_class() || matches!(subject, Subject::Methods)
    {
        true => format!("class Orders:\n    def index(self, request):\n        return {expression}{mark}\n"),
        false => format!("def index(request):\n    return {expression}{mark}\n"),
    };
    Proof { definition, bad: code(bad, "  # FOUND"), good: code(good, ""), help: None }
}

fn document(id: &str, prose: &str, kind: Option<&str>, subject: &Subject, demand: &Demand) -> String {
    let proof = demand.proof(subject);
    let mut characters = prose.chars();
    let title: String = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default()
        + characters.as_str();
    let applies = kind.map(|kind| format!("applies-to: [{kind}]\n")).unwrap_or_default();
    let help = proof.help.map(|help| format!("help: \"{help}\"\n")).unwrap_or_default();
    let (bad, good) = (proof.bad.replace("# FOUND", &format!("# error: {prose}")), proof.good);
    let path = subject.path();
    format!(
        "---\nid: {id}\nseverity: error\n{applies}---\n\n# {title}\n\nThis is how this project is written. Say here why, for whoever meets the rule.\n\n\
         ```yaml rule\n{}message: \"{prose}\"\n{help}```\n\n## Bad\n\n```python {path}\n{bad}```\n\n## Good\n\n```python {path}\n{good}```\n",
        proof.definition
    )
}
