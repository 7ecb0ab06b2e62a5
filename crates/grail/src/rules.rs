//! `grail rules`: which rules there are, what they say, and whether they do what they say.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use grail_project::Project;
use grail_rules::{
    Example, ExampleFile, Library, Origin, Pack, PythonRules, Rule, RulesError, Safety, Severity, SpecReport,
    test_rule,
};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Exit;
use crate::check::{RuleArguments, library_problems, python_rules};
use crate::cli::Format;
use crate::render::{BOLD, ErrorRecord, Failure, GREEN, RED, RESET, Terminal, count, path_text, visible};

/// The rules of skills: list them, read them, run their examples
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    List(ListArguments),
    Show(ShowArguments),
    Test(TestArguments),
}

/// List every rule, and whether it is in force in this project
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  grail rules list\n  grail rules list --target tdom=0.1.14 --format json"
)]
pub struct ListArguments {
    #[command(flatten)]
    pub rules: RuleArguments,
}

/// Show what a rule wants, why, its options and its examples
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  grail rules show view-decorator")]
pub struct ShowArguments {
    /// The rule's id
    #[arg(value_name = "RULE")]
    pub rule: String,
}

/// Run the examples of rules; exit 1 if one does not do what it says
///
/// Every bad example must be found where and as it says, every good one must pass, and a fix must give exactly the fixed code.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  grail rules test
  grail rules test view-conventions
  grail rules test .agents/skills/mine")]
pub struct TestArguments {
    /// Packs, rules, and folders of skills; without any, every rule there is
    #[arg(value_name = "PACK|RULE|PATH")]
    pub names: Vec<String>,
}

pub fn run(arguments: Arguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    match arguments.command {
        Command::List(arguments) => list(&arguments, terminal),
        Command::Show(arguments) => show(&arguments, terminal),
        Command::Test(arguments) => test(&arguments, terminal),
    }
}

fn discover() -> anyhow::Result<(Project, Library)> {
    let project = Project::discover(Path::new("."))?;
    let library = Library::discover(&project.root, env::home_dir().as_deref());
    Ok((project, library))
}

#[derive(Serialize)]
struct ListRecord<'a> {
    packs: Vec<PackRecord<'a>>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct PackRecord<'a> {
    name: &'a str,
    origin: Origin,
    folder: String,
    kinds: Vec<KindRecord<'a>>,
    rules: Vec<RuleRecord<'a>>,
}

#[derive(Serialize)]
struct KindRecord<'a> {
    name: &'a str,
    description: &'a str,
}

#[derive(Serialize)]
struct RuleRecord<'a> {
    id: &'a str,
    title: &'a str,
    severity: Severity,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<Safety>,
    #[serde(rename = "for", skip_serializing_if = "BTreeMap::is_empty")]
    libraries: BTreeMap<&'a str, String>,
    in_force: bool,
    path: String,
}

fn list(arguments: &ListArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (project, library) = discover()?;
    let rules = arguments.rules.rules_in_force(&project, &library)?;
    let is_in_force = |rule: &Arc<Rule>| rules.rules().any(|compiled| Arc::ptr_eq(&compiled.rule, rule));
    let problems = library_problems(&library);
    match terminal.format() {
        Format::Json => {
            let packs = library.packs.iter().map(|pack| pack_record(pack, &is_in_force)).collect();
            terminal.json(&ListRecord { packs, errors: problems.iter().map(ErrorRecord::from).collect() })?;
        }
        Format::Text => {
            for pack in &library.packs {
                list_pack(pack, &is_in_force, terminal)?;
            }
            for shadowed in &library.shadowed {
                let (folder, by) = (shadowed.folder.display(), shadowed.by.display());
                terminal.note(format_args!("`{folder}` is hidden by `{by}`"))?;
            }
        }
    }
    report_problems(&problems, terminal)?;
    if terminal.format() == Format::Text {
        let all = count(library.rules().count(), "rule");
        terminal.note(format_args!("{all}, {} in force (●)", rules.rules().len()))?;
    }
    Ok(if problems.is_empty() { Exit::Fine } else { Exit::CouldNotRun })
}

fn list_pack(
    pack: &Pack,
    is_in_force: &dyn Fn(&Arc<Rule>) -> bool,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let mut about = vec![origin_name(pack.origin).to_owned()];
    about.extend(
        pack.libraries.iter().map(|one| format!("{} {}", one.library, one.versions).trim().to_owned()),
    );
    terminal.line(format_args!("{BOLD}{}{RESET} ({})", pack.name, visible(&about.join(", "))))?;
    let width = pack.rules.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for rule in &pack.rules {
        let mark = if is_in_force(rule) { '●' } else { '○' };
        let fix = match rule.fix {
            Some(Safety::Safe) => "fix",
            Some(Safety::Unsafe) => "fix?",
            _ => "",
        };
        let (id, severity) = (&rule.id, rule.severity.name());
        terminal
            .line(format_args!("  {mark} {id:width$}  {severity:7}  {fix:4}  {}", visible(&rule.title)))?;
    }
    Ok(())
}

fn pack_record<'p>(pack: &'p Pack, is_in_force: &dyn Fn(&Arc<Rule>) -> bool) -> PackRecord<'p> {
    let kind = |kind: &'p Arc<grail_rules::ArtifactKind>| KindRecord {
        name: &kind.name,
        description: &kind.description,
    };
    PackRecord {
        name: &pack.name,
        origin: pack.origin,
        folder: path_text(&pack.folder),
        kinds: pack.kinds.iter().map(kind).collect(),
        rules: pack.rules.iter().map(|rule| rule_record(rule, is_in_force(rule))).collect(),
    }
}

fn rule_record(rule: &Rule, in_force: bool) -> RuleRecord<'_> {
    RuleRecord {
        id: &rule.id,
        title: &rule.title,
        severity: rule.severity,
        fix: rule.fix,
        libraries: rule
            .libraries
            .iter()
            .map(|one| (one.library.as_str(), one.versions.to_string()))
            .collect(),
        in_force,
        path: path_text(&rule.path),
    }
}

#[derive(Serialize)]
struct ShowRecord<'a> {
    /// More than one where a rule has variants for versions of a library.
    rules: Vec<WholeRuleRecord<'a>>,
}

#[derive(Serialize)]
struct WholeRuleRecord<'a> {
    #[serde(flatten)]
    rule: RuleRecord<'a>,
    pack: &'a str,
    why: &'a str,
    applies_to: &'a [String],
    options: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    python: Option<&'a str>,
    examples: Vec<ExampleRecord<'a>>,
}

#[derive(Serialize)]
struct ExampleRecord<'a> {
    kind: &'static str,
    title: &'a str,
    files: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    fixed: BTreeMap<&'a str, &'a str>,
}

fn show(arguments: &ShowArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (project, library) = discover()?;
    let in_force = RuleArguments::default().rules_in_force(&project, &library)?;
    let is_in_force = |rule: &Arc<Rule>| in_force.rules().any(|compiled| Arc::ptr_eq(&compiled.rule, rule));
    let named = || library.rules().filter(|(_, rule)| *rule.id == *arguments.rule);
    // A project's own rule goes before a built-in one of the same name.
    let nearest = named().map(|(pack, _)| pack.origin).min();
    let rules: Vec<&Arc<Rule>> =
        named().filter(|(pack, _)| Some(pack.origin) == nearest).map(|(_, rule)| rule).collect();
    if rules.is_empty() {
        return Err(unknown_rule(&library, &arguments.rule).into());
    }
    match terminal.format() {
        Format::Json => {
            let rules = rules.iter().map(|rule| whole_rule_record(rule, is_in_force(rule))).collect();
            terminal.json(&ShowRecord { rules })?;
        }
        Format::Text => {
            let pages: Vec<String> = rules.iter().map(|rule| page(rule, is_in_force(rule))).collect();
            terminal.raw(&visible(&pages.join("\n")))?;
        }
    }
    Ok(Exit::Fine)
}

fn whole_rule_record(rule: &Rule, in_force: bool) -> WholeRuleRecord<'_> {
    WholeRuleRecord {
        rule: rule_record(rule, in_force),
        pack: &rule.pack,
        why: &rule.why,
        applies_to: &rule.applies_to,
        options: &rule.options,
        definition: rule.definition(),
        python: rule.python().map(|python| &*python.source),
        examples: rule.examples.iter().map(example_record).collect(),
    }
}

fn example_record(example: &Example) -> ExampleRecord<'_> {
    ExampleRecord {
        kind: if example.is_bad { "bad" } else { "good" },
        title: &example.title,
        files: example.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect(),
        fixed: example.fixed.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect(),
    }
}

/// A rule as Markdown: what its file says, in the order a reader wants it.
fn page(rule: &Rule, in_force: bool) -> String {
    let mut page = format!("# {}\n\n", rule.title);
    let _ = writeln!(page, "{} · {} · pack {}", rule.id, rule.severity, rule.pack);
    let _ = writeln!(
        page,
        "{} · {}",
        rule.path.display(),
        if in_force { "in force here" } else { "not in force here" }
    );
    for one in &rule.libraries {
        let _ = writeln!(page, "for {} {}", one.library, one.versions);
    }
    if !rule.applies_to.is_empty() {
        let _ = writeln!(page, "applies to {}", rule.applies_to.join(", "));
    }
    match rule.fix {
        Some(Safety::Safe) => page.push_str("fix: safe\n"),
        Some(Safety::Unsafe) => page.push_str("fix: with --unsafe-fixes\n"),
        Some(Safety::DisplayOnly) => page.push_str("fix: shown, made by hand\n"),
        None => {}
    }
    if !rule.why.is_empty() {
        let _ = write!(page, "\n{}\n", rule.why.trim_end());
    }
    if !rule.options.is_empty() {
        let _ = write!(page, "\n## Options\n\n");
        for (name, default) in &rule.options {
            let _ = writeln!(page, "- {name} = {default}");
        }
    }
    if let Some(definition) = rule.definition() {
        let _ = write!(page, "\n## Definition\n\n{}", indented(definition));
    }
    if let Some(python) = rule.python() {
        let _ = write!(page, "\n## Python\n\n{}", indented(&python.source));
    }
    for example in &rule.examples {
        let word = if example.is_bad { "Bad" } else { "Good" };
        let colon = if example.title.is_empty() { "" } else { ": " };
        let _ = write!(page, "\n## {word}{colon}{}\n", example.title);
        for file in &example.files {
            let _ = write!(page, "\n{}", indented(&with_expectations(file)));
        }
        for file in &example.fixed {
            let _ = write!(page, "\nfixed:\n\n{}", indented(&file.text));
        }
    }
    page
}

/// The source with what is found in it behind each line.
fn with_expectations(file: &ExampleFile) -> String {
    let mut text = String::new();
    for (index, line) in file.text.lines().enumerate() {
        text.push_str(line);
        for expected in file.expected.iter().filter(|expected| expected.line as usize == index + 1) {
            let _ = write!(text, "  # {}: {}", expected.severity, expected.message);
        }
        text.push('\n');
    }
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") }).collect()
}

#[derive(Serialize)]
struct TestRecord {
    rules: Vec<RuleTestRecord>,
    errors: Vec<ErrorRecord>,
}

#[derive(Serialize)]
struct RuleTestRecord {
    rule: Arc<str>,
    pack: Arc<str>,
    path: String,
    passed: bool,
    examples: usize,
    failures: Vec<FailureRecord>,
}

#[derive(Serialize)]
struct FailureRecord {
    line: usize,
    message: String,
}

fn test(arguments: &TestArguments, terminal: &mut Terminal) -> anyhow::Result<Exit> {
    let (_, mut library) = discover()?;
    let named = wanted(&arguments.names, &mut library)?;
    let is_wanted = |pack: &Pack, id: Option<&str>| {
        named.is_empty() || named.iter().any(|name| **name == *pack.name || Some(name.as_str()) == id)
    };
    let python = python_rules();
    let python = python.as_ref().map(|python| python as &dyn PythonRules);
    let mut reports: Vec<(Arc<str>, SpecReport)> = Vec::new();
    let mut problems: Vec<RulesError> = Vec::new();
    for pack in &library.packs {
        let rules = pack.rules.iter().filter(|rule| is_wanted(pack, Some(&rule.id)));
        reports.extend(rules.map(|rule| (Arc::clone(&pack.name), test_rule(rule, &pack.kinds, python))));
        let unreadable = pack
            .problems
            .iter()
            .filter(|problem| is_wanted(pack, problem.path.file_stem().and_then(|stem| stem.to_str())));
        problems.extend(unreadable.cloned().map(RulesError::from));
    }
    problems.extend(library.problems.iter().cloned().map(RulesError::from));
    let failed = reports.iter().filter(|(_, report)| !report.passed()).count();
    match terminal.format() {
        Format::Json => {
            let rules = reports.into_iter().map(|(pack, report)| test_record(pack, report)).collect();
            terminal.json(&TestRecord { rules, errors: problems.iter().map(ErrorRecord::from).collect() })?;
            report_problems(&problems, terminal)?;
        }
        Format::Text => {
            test_table(&reports, terminal)?;
            report_problems(&problems, terminal)?;
            let examples: usize = reports.iter().map(|(_, report)| report.examples).sum();
            let (rules, examples) = (count(reports.len(), "rule"), count(examples, "example"));
            match failed {
                0 => terminal.note(format_args!("{rules} with {examples}: all pass"))?,
                failed => terminal.note(format_args!("{rules} with {examples}: {failed} failed"))?,
            }
        }
    }
    Ok(match (problems.is_empty(), failed) {
        (false, _) => Exit::CouldNotRun,
        (true, 0) => Exit::Fine,
        (true, _) => Exit::Findings,
    })
}

fn test_table(reports: &[(Arc<str>, SpecReport)], terminal: &mut Terminal) -> anyhow::Result<()> {
    let name = |pack: &Arc<str>, report: &SpecReport| format!("{pack}/{}", report.rule);
    let width = reports.iter().map(|(pack, report)| name(pack, report).len()).max().unwrap_or(0);
    for (pack, report) in reports {
        let (word, style) = if report.passed() { ("pass", GREEN) } else { ("FAIL", RED) };
        let name = name(pack, report);
        let examples = count(report.examples, "example");
        terminal.line(format_args!("{style}{word}{RESET}  {name:width$}  {examples}"))?;
        for failure in &report.failures {
            let place = format!("{}:{}", report.path.display(), failure.line);
            terminal.line(format_args!("      {place}: {}", visible(&failure.message)))?;
        }
    }
    Ok(())
}

fn test_record(pack: Arc<str>, report: SpecReport) -> RuleTestRecord {
    let passed = report.passed();
    let failure =
        |failure: grail_rules::SpecFailure| FailureRecord { line: failure.line, message: failure.message };
    RuleTestRecord {
        rule: report.rule,
        pack,
        path: path_text(&report.path),
        passed,
        examples: report.examples,
        failures: report.failures.into_iter().map(failure).collect(),
    }
}

/// The packs and rules that were named. A path adds the skill there to the library.
fn wanted(names: &[String], library: &mut Library) -> anyhow::Result<Vec<String>> {
    let mut wanted = Vec::new();
    for name in names {
        let is_known = library.pack(name).is_some() || library.rules().any(|(_, rule)| *rule.id == **name);
        if is_known {
            wanted.push(name.clone());
            continue;
        }
        let path = PathBuf::from(name);
        if !path.is_dir() {
            return Err(unknown_rule(library, name).into());
        }
        let folder = path.file_name().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        // The skill at the path is meant, not another one of its name.
        library.packs.retain(|pack| *pack.name != *folder);
        if !library.add_folder(&path) {
            return Err(Failure::with_hint(
                format!("there are no rules in `{name}`"),
                "a skill has its rules in a folder `rules/`",
            )
            .into());
        }
        wanted.push(folder);
    }
    Ok(wanted)
}

fn unknown_rule(library: &Library, name: &str) -> Failure {
    let known =
        library.rules().map(|(_, rule)| &*rule.id).chain(library.packs.iter().map(|pack| &*pack.name));
    let nearest = known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min_by_key(|(distance, _)| *distance);
    let hint = match nearest {
        Some((_, known)) => format!("did you mean `{known}`?"),
        None => "`grail rules list` names them".to_owned(),
    };
    Failure::with_hint(format!("there is no rule and no pack `{name}`"), hint)
}

fn report_problems(problems: &[RulesError], terminal: &mut Terminal) -> anyhow::Result<()> {
    problems.iter().try_for_each(|problem| terminal.rules_problem(problem))
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Project => "project",
        Origin::Home => "home",
        Origin::BuiltIn => "built-in",
    }
}
