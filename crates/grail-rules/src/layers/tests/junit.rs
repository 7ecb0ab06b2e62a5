//! Reads pytest's report: JUnit XML of the family `xunit1`, which has the file and line of every test.
//!
//! The report holds whatever the tests print and raise, so it is read as a stream, without document types and with every part bounded.

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{BadTest, on_one_line};

const MAX_BAD: usize = 5000;
const MAX_TEXT: usize = 256 * 1024;

#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) tests: usize,
    pub(super) bad: Vec<BadTest>,
}

#[derive(Default)]
struct TestCase {
    class: String,
    name: String,
    file: String,
    /// From 0, as pytest writes it.
    line: Option<u32>,
}

struct Failure {
    is_error: bool,
    message: String,
    text: String,
}

/// What the report says, or why it cannot be read.
pub(super) fn read(xml: &str) -> Result<Report, String> {
    let mut reader = Reader::from_str(xml);
    let mut report = Report::default();
    let mut case: Option<TestCase> = None;
    let mut failure: Option<Failure> = None;
    let mut depth = 0_usize;
    let mut has_root = false;
    loop {
        match reader.read_event().map_err(|error| error.to_string())? {
            Event::Start(start) => {
                has_root |= check_root(&start, depth)?;
                depth += 1;
                open(&start, &mut report, &mut case, &mut failure)?;
            }
            Event::Empty(start) => {
                has_root |= check_root(&start, depth)?;
                open(&start, &mut report, &mut case, &mut failure)?;
                close(start.name().0, &mut report, &mut case, &mut failure);
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                close(end.name().0, &mut report, &mut case, &mut failure);
            }
            Event::Text(text) => append(&mut failure, &text.xml10_content()),
            Event::CData(text) => append(&mut failure, &text.xml10_content()),
            Event::GeneralRef(reference) => {
                let character = reference.resolve_char_ref().map_err(|error| error.to_string())?;
                match character {
                    Some(character) => append(&mut failure, character.encode_utf8(&mut [0; 4])),
                    None => {
                        append(&mut failure, resolve_xml_entity(&reference.xml10_content()).unwrap_or("?"))
                    }
                }
            }
            Event::DocType(_) => return Err("a document type has no business in a report".to_owned()),
            Event::Eof if !has_root => return Err("it holds no test suite".to_owned()),
            Event::Eof if depth > 0 => return Err("it ends in the middle".to_owned()),
            Event::Eof => return Ok(report),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
}

fn check_root(start: &BytesStart<'_>, depth: usize) -> Result<bool, String> {
    match (depth, start.name().0) {
        (0, "testsuites" | "testsuite") => Ok(true),
        (0, _) => Err("it holds no test suite".to_owned()),
        _ => Ok(false),
    }
}

fn open(
    start: &BytesStart<'_>,
    report: &mut Report,
    case: &mut Option<TestCase>,
    failure: &mut Option<Failure>,
) -> Result<(), String> {
    match start.name().0 {
        "testcase" => {
            report.tests += 1;
            *case = Some(TestCase {
                class: attribute(start, "classname")?,
                name: attribute(start, "name")?,
                file: attribute(start, "file")?.replace('\\', "/"),
                line: attribute(start, "line")?.parse().ok(),
            });
        }
        name @ ("failure" | "error") if case.is_some() => {
            let message = attribute(start, "message")?;
            *failure = Some(Failure { is_error: name == "error", message, text: String::new() });
        }
        _ => {}
    }
    Ok(())
}

fn close(name: &str, report: &mut Report, case: &mut Option<TestCase>, failure: &mut Option<Failure>) {
    match name {
        "testcase" => *case = None,
        "failure" | "error" => {
            if let (Some(case), Some(failure)) = (case.as_ref(), failure.take())
                && report.bad.len() < MAX_BAD
            {
                report.bad.push(describe(case, &failure));
            }
        }
        _ => {}
    }
}

fn append(failure: &mut Option<Failure>, text: &str) {
    if let Some(failure) = failure
        && failure.text.len() + text.len() <= MAX_TEXT
    {
        failure.text.push_str(text);
    }
}

fn attribute(start: &BytesStart<'_>, name: &str) -> Result<String, String> {
    let found = start.try_get_attribute(name).map_err(|error| error.to_string())?;
    let Some(found) = found else {
        return Ok(String::new());
    };
    let value = found.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
    Ok(value.into_owned())
}

fn describe(case: &TestCase, failure: &Failure) -> BadTest {
    let place = failing_line(&failure.text, &case.file);
    let line = place.or_else(|| case.line.and_then(|line| line.checked_add(1)));
    // Pytest gives tests a line and files that it cannot import none.
    let (rule, message) = if failure.is_error && case.line.is_none() {
        let reason = last_error(&failure.text).unwrap_or(&failure.message);
        let what = if case.file.is_empty() { &case.name } else { &case.file };
        ("collection-error", format!("`{what}` could not be collected: {}", on_one_line(reason)))
    } else {
        let (rule, verb) = if failure.is_error { ("test-error", "broke") } else { ("test-failed", "failed") };
        let message = if failure.message.trim().is_empty() { &failure.text } else { &failure.message };
        (rule, format!("`{}` {verb}: {}", full_name(case), on_one_line(message)))
    };
    BadTest { path: case.file.clone(), line, rule, message }
}

/// `TestGroup.test_name`: the class name without the module that the file already names.
fn full_name(case: &TestCase) -> String {
    let module = case.file.trim_end_matches(".py").replace('/', ".");
    let class = case.class.strip_prefix(&module).unwrap_or(&case.class).trim_start_matches('.');
    if class.is_empty() { case.name.clone() } else { format!("{class}.{}", case.name) }
}

/// The first line of the traceback that lies in the test's own file.
fn failing_line(text: &str, file: &str) -> Option<u32> {
    if file.is_empty() {
        return None;
    }
    let marker = format!("{file}\", line ");
    text.lines().find_map(|line| {
        let after = line.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'));
        let after = after.or_else(|| {
            line.starts_with('E').then(|| line.split_once(&marker)).flatten().map(|(_, rest)| rest)
        });
        let after = after?;
        let end = after.find(|character: char| !character.is_ascii_digit()).unwrap_or(after.len());
        after[..end].parse().ok().filter(|&line| line > 0)
    })
}

/// The last line that pytest marks as the error.
fn last_error(text: &str) -> Option<&str> {
    text.lines().rev().find_map(|line| line.strip_prefix("E ")).map(str::trim).filter(|line| !line.is_empty())
}
