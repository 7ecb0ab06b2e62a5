//! Refactorings against `specs/refactor/*.md`.
//!
//! A case is a `##` heading with a `change` block, `python before PATH` blocks, and what comes of it: `python after PATH` blocks for
//! exactly the files that change, `unsure` and `notes` blocks, or an `error` block. `«` and `»` mark a selection. `UPDATE_SPECS=1`
//! rewrites the expectations.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use grail_code::refactor::{
    Location, Note, ParameterPosition, ParameterSpec, RefactorError, RemoveParameter, Selection,
    SignatureChange, StubOptions, Target, add_parameter, apply_stub, extract_function, make_keyword_only,
    remove_parameter,
};
use grail_code::{FileEdits, ModuleName, Position, Project, ProjectFile, Source, Span, edit, parse_module};

/// One fenced block: the words behind its fence, and its content.
#[derive(Clone)]
struct Block {
    words: Vec<String>,
    content: String,
}

struct Case {
    /// The heading and prose, up to the first outcome.
    name: String,
    blocks: Vec<Block>,
}

/// What a change came to, in the form of the blocks that state it.
type Outcome = Vec<Block>;

#[test]
fn signatures_change_with_their_calls() {
    for name in ["add-parameter", "remove-parameter", "keyword-only"] {
        run(name);
    }
}

#[test]
fn a_selection_becomes_a_function() {
    run("extract-function");
    run("extract-function-refused");
}

#[test]
fn stubs_annotate_their_source() {
    run("apply-stub");
}

fn run(name: &str) {
    let path = specs().join(format!("{name}.md"));
    let text = std::fs::read_to_string(&path).expect("the specification");
    if std::env::var_os("UPDATE_SPECS").is_some() {
        std::fs::write(&path, updated(&text)).expect("the specification can be written");
        return;
    }
    for case in cases(&text) {
        let expected: Outcome = case.blocks.iter().filter(|block| is_outcome(block)).cloned().collect();
        assert_eq!(render(&outcome(&case)), render(&expected), "{name}: {}", case.name);
    }
}

fn specs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("specs/refactor")
}

fn is_outcome(block: &Block) -> bool {
    match block.words[0].as_str() {
        "python" => block.words[1] == "after",
        "change" | "pyi" => false,
        _ => true,
    }
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(words)) => {
                let words = words.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { words, content: String::new() });
            }
            (Some(block), None) => {
                block.content.push_str(line);
                block.content.push('\n');
            }
            (Some(_), Some(_)) => {
                let case: &mut Case = cases.last_mut().expect("a heading before the first block");
                case.blocks.extend(open.take());
            }
            (None, None) => {
                if let Some(name) = line.strip_prefix("## ") {
                    cases.push(Case { name: name.to_owned(), blocks: Vec::new() });
                }
            }
        }
    }
    assert!(!cases.is_empty());
    cases
}

/// The specification with what really happens in place of what is expected.
fn updated(text: &str) -> String {
    let mut results = cases(text).iter().map(|case| render(&outcome(case))).collect::<Vec<_>>().into_iter();
    let mut output = String::new();
    let mut skipping = false;
    let mut in_block = false;
    let mut has_case = false;
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("```") {
            in_block = !in_block;
            if in_block {
                let words = words.split_whitespace().map(str::to_owned).collect();
                skipping = is_outcome(&Block { words, content: String::new() });
            } else if skipping {
                skipping = false;
                continue;
            }
        } else if !in_block && line.starts_with("## ") {
            if has_case {
                output = format!("{}\n\n{}\n", output.trim_end(), results.next().unwrap_or_default());
            }
            has_case = true;
        }
        if !skipping {
            output.push_str(line);
            output.push('\n');
        }
    }
    format!("{}\n\n{}", output.trim_end(), results.next().unwrap_or_default())
}

fn render(outcome: &Outcome) -> String {
    let blocks: Vec<String> =
        outcome.iter().map(|block| format!("```{}\n{}```\n", block.words.join(" "), block.content)).collect();
    blocks.join("\n")
}

fn outcome(case: &Case) -> Outcome {
    let project = project(case);
    let change = case.blocks.iter().find(|block| block.words[0] == "change").expect("a change");
    let request = Request::parse(&change.content);
    let result = match request.get("change").expect("what to change") {
        "add parameter" => change_signature(&project, &request, |target, extra| {
            let parameter = ParameterSpec {
                name: request.get("name").expect("a name").to_owned(),
                annotation: request.get("annotation").map(str::to_owned),
                default: request.get("default").map(str::to_owned),
                position: match request.get("position") {
                    None => ParameterPosition::Last,
                    Some("keyword-only") => ParameterPosition::KeywordOnly,
                    Some(index) => ParameterPosition::Index(index.parse().expect("a number")),
                },
            };
            add_parameter(&project, target, &parameter, request.get("value"), extra)
        }),
        "remove parameter" => change_signature(&project, &request, |target, extra| {
            let name = request.get("name").expect("a name").to_owned();
            let force = request.get("force").is_some();
            remove_parameter(&project, target, &RemoveParameter { name, force }, extra)
        }),
        "keyword only" => change_signature(&project, &request, |target, extra| {
            let names: Vec<&str> = request.get("names").expect("names").split(", ").collect();
            make_keyword_only(&project, target, &names, extra)
        }),
        "extract function" => extract(case, &project, &request),
        "apply stub" => stub(case, &project, &request),
        other => panic!("{other}"),
    };
    result.unwrap_or_else(|error| vec![error_block(&error)])
}

/// `key: value` lines.
struct Request(Vec<(String, String)>);

impl Request {
    fn parse(text: &str) -> Self {
        let pair = |line: &str| {
            let (key, value) = line.split_once(": ").expect("`key: value`");
            (key.to_owned(), value.to_owned())
        };
        Self(text.lines().map(pair).collect())
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    }
}

fn project(case: &Case) -> Project {
    let mut project = Project::default();
    for block in case.blocks.iter().filter(|block| block.words[0] == "python" && block.words[1] == "before") {
        let path = block.words[2].clone();
        let parsed = parse_module(Source::from_text(block.content.replace(['«', '»'], "")));
        assert!(parsed.is_valid(), "{}: {path}: {:?}", case.name, parsed.diagnostics());
        let dotted = path.trim_end_matches(".py").replace('/', ".");
        let module = match dotted.strip_suffix(".__init__") {
            Some(package) => ModuleName::package(package),
            None => ModuleName::module(dotted),
        };
        project.files.push(ProjectFile { path, module, parsed });
    }
    project
}

fn change_signature(
    project: &Project,
    request: &Request,
    change: impl Fn(&Target, &[Location]) -> Result<SignatureChange, RefactorError>,
) -> Result<Outcome, RefactorError> {
    let target = match (request.get("of"), request.get("at")) {
        (Some(name), _) => Target::Named(name.to_owned()),
        (None, Some(at)) => {
            let (path, offset) = offset(project, at);
            Target::At { path, offset }
        }
        _ => panic!("no target"),
    };
    let extra: Vec<Location> = request
        .get("extra")
        .into_iter()
        .map(|at| {
            let (path, start) = offset(project, at);
            let text = &project.file(&path).expect("the file").parsed.text()[start as usize..];
            let length = text.find(|character: char| !character.is_alphanumeric() && character != '_');
            Location { path, span: Span::new(start, start + length.unwrap_or(text.len()) as u32) }
        })
        .collect();
    let change = change(&target, &extra)?;
    let mut outcome = after(project, &change.files);
    if !change.unsure.is_empty() {
        let lines: String = change.unsure.iter().map(|place| position(project, place) + "\n").collect();
        outcome.push(Block { words: vec!["unsure".to_owned()], content: lines });
    }
    outcome.extend(notes(project, &change.notes));
    Ok(outcome)
}

fn notes(project: &Project, notes: &[Note]) -> Option<Block> {
    let line = |note: &Note| format!("{}: {}\n", position(project, &note.location), note.message);
    let content: String = notes.iter().map(line).collect();
    (!notes.is_empty()).then(|| Block { words: vec!["notes".to_owned()], content })
}

fn stub(case: &Case, project: &Project, request: &Request) -> Result<Outcome, RefactorError> {
    let block = case.blocks.iter().find(|block| block.words[0] == "pyi").expect("a stub");
    let file = &project.files[0];
    let stub = ProjectFile {
        path: block.words[1].clone(),
        module: file.module.clone(),
        parsed: parse_module(Source::from_text(block.content.as_str())),
    };
    let options = StubOptions { overwrite: request.get("overwrite").is_some() };
    let change = apply_stub(file, &stub, &options)?;
    let edits = vec![FileEdits { path: file.path.clone(), edits: change.edits }];
    let mut outcome = if edits[0].edits.is_empty() { Vec::new() } else { after(project, &edits) };
    let mut all = Project::default();
    for (path, text) in [(&file.path, file.parsed.text()), (&stub.path, stub.parsed.text())] {
        let parsed = parse_module(Source::from_text(text));
        all.files.push(ProjectFile { path: path.clone(), module: file.module.clone(), parsed });
    }
    outcome.extend(notes(&all, &change.notes));
    Ok(outcome)
}

fn extract(case: &Case, project: &Project, request: &Request) -> Result<Outcome, RefactorError> {
    let marked = &case.blocks.iter().find(|block| block.words[0] == "python").expect("the file").content;
    let lines = request.get("lines").map(|lines| {
        let (first, last) = lines.split_once('-').expect("FIRST-LAST");
        Selection::Lines { first: first.parse().expect("a number"), last: last.parse().expect("a number") }
    });
    let selection = lines.unwrap_or_else(|| {
        let start = marked.find('«').expect("a start");
        let end = marked.find('»').expect("an end") - '«'.len_utf8();
        Selection::Span(Span::new(start as u32, end as u32))
    });
    let file = &project.files[0];
    let extraction = extract_function(file, selection, request.get("name").expect("a name"))?;
    Ok(after(project, &[FileEdits { path: file.path.clone(), edits: extraction.edits }]))
}

fn after(project: &Project, files: &[FileEdits]) -> Outcome {
    let mut outcome = Vec::new();
    for file in files {
        let before = &project.file(&file.path).expect("a file of the project").parsed;
        let content = edit::apply(before.text(), file.edits.clone()).expect("no conflict");
        let parsed = parse_module(Source::from_text(content.as_str()));
        assert!(parsed.is_valid(), "{content}\n{:?}", parsed.diagnostics());
        let words = ["python", "after", &file.path].map(str::to_owned).to_vec();
        outcome.push(Block { words, content });
    }
    outcome
}

/// `PATH:LINE:COLUMN` as path and offset.
fn offset(project: &Project, place: &str) -> (String, u32) {
    let mut parts = place.rsplitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse().ok()).expect("a number");
    let (column, line) = (number(), number());
    let path = parts.next().expect("a path").to_owned();
    let source = project.file(&path).expect("the file").parsed.source();
    let offset = source.offset(Position { line, column }).expect("the place");
    (path, offset)
}

fn position(project: &Project, location: &Location) -> String {
    let source = project.file(&location.path).expect("the file").parsed.source();
    let position = source.position(location.span.start);
    format!("{}:{}:{}", location.path, position.line, position.column)
}

fn error_block(error: &RefactorError) -> Block {
    let mut content = format!("{error}\n");
    if let Some(hint) = error.hint() {
        writeln!(content, "hint: {hint}").expect("strings take all");
    }
    Block { words: vec!["error".to_owned()], content }
}
