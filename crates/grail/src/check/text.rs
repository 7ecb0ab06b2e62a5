//! `grail check` for people: annotated source, why the rule exists, what a fix would do, and one line at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use grail_code::Source;
use grail_project::{DEFAULT_MAX_BYTES, read_source};
use grail_rules::{CheckReport, Finding, Fix, Library, RuleSet, Safety, Severity};

use super::Arguments;
use super::preview::preview;
use crate::render::{BOLD, CYAN, GREEN, RED, RESET, Terminal, count, visible, visible_line};

/// Longer findings are pointed at by their first line.
const ANNOTATED_LINES: usize = 6;

/// Every finding, by path and place.
pub(super) fn findings(
    library: &Library,
    report: &CheckReport,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let titles: BTreeMap<&str, &str> =
        library.rules().map(|(_, rule)| (&*rule.id, rule.title.as_str())).collect();
    let mut open: Option<(Arc<str>, Option<Source>)> = None;
    for finding in &report.findings {
        let shown = report.paths.get(&finding.path).map_or(Path::new(&*finding.path), |path| path.as_path());
        if open.as_ref().is_none_or(|(path, _)| *path != finding.path) {
            let source = read_source(shown, DEFAULT_MAX_BYTES).ok().map(|file| file.source);
            open = Some((Arc::clone(&finding.path), source));
        }
        let source = open.as_ref().and_then(|(_, source)| source.as_ref());
        let why = titles.get(&*finding.rule).copied();
        terminal.line(format_args!("{}\n", render(finding, shown, source, why)))?;
    }
    Ok(())
}

/// One line on how it went.
pub(super) fn summary(
    arguments: &Arguments,
    rules: &RuleSet,
    report: &CheckReport,
    terminal: &mut Terminal,
) -> anyhow::Result<()> {
    let files = count(report.files, "file");
    if arguments.diff {
        return match report.changes.len() {
            0 => terminal.note(format_args!("nothing to fix in {files}")),
            changes => {
                let changed = count(changes, "file");
                terminal.note(format_args!("{changed} would change; `--fix` applies it"))
            }
        };
    }
    let mut line = String::new();
    let fixed: usize = report.fixed.values().sum();
    if fixed > 0 {
        let _ =
            write!(line, "fixed {} in {}; ", count(fixed, "finding"), count(report.changes.len(), "file"));
    }
    let counts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Info]
        .into_iter()
        .filter_map(|severity| {
            let number = report.findings.iter().filter(|finding| finding.severity == severity).count();
            let word = if severity == Severity::Info { "note" } else { severity.name() };
            (number > 0).then(|| count(number, word))
        })
        .collect();
    match counts.as_slice() {
        [] if fixed > 0 => line.push_str("nothing is left"),
        [] => {
            let _ = write!(line, "nothing found in {files} with {}", count(rules.rules().len(), "rule"));
        }
        counts => {
            let _ = write!(line, "found {} in {files}", counts.join(", "));
            let of = |safety| {
                let is_it = |fix: &Fix| fix.safety == safety;
                report.findings.iter().filter(|finding| finding.fix.as_ref().is_some_and(is_it)).count()
            };
            let (safe, other) = match arguments.unsafe_fixes {
                true => (of(Safety::Safe) + of(Safety::Unsafe), 0),
                false => (of(Safety::Safe), of(Safety::Unsafe)),
            };
            if safe > 0 {
                let _ = write!(line, "; `--fix` fixes {safe}");
            }
            if other > 0 {
                let _ = write!(line, "; `--unsafe-fixes` allows {other} more");
            }
        }
    }
    terminal.note(format_args!("{line}"))
}

fn render(finding: &Finding, shown: &Path, source: Option<&Source>, why: Option<&str>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let path = visible_line(&shown.to_string_lossy());
    let place = format!("{path}:{}:{}", finding.start.line, finding.start.column);
    let title = level.primary_title(visible(&finding.message)).id(visible_line(&finding.rule));
    let window = source.and_then(|source| Window::new(source, finding));
    let mut group = match &window {
        Some(window) => title.element(
            Snippet::source(&window.text)
                .line_start(window.line)
                .path(path)
                .annotation(AnnotationKind::Primary.span(window.start..window.end)),
        ),
        None => title.element(Level::NOTE.with_name(Some("at")).message(place)),
    };
    if let Some(why) = why {
        group = group.element(Level::NOTE.with_name(Some("why")).message(visible_line(why)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let mut text = Renderer::styled().render(&[group]);
    if let (Some(fix), Some(source)) = (&finding.fix, source) {
        show_fix(fix, source, &mut text);
    }
    text
}

/// The lines a finding is on.
struct Window {
    text: String,
    line: usize,
    start: usize,
    end: usize,
}

impl Window {
    /// `None` if the finding has no place in this text, which may have changed meanwhile.
    fn new(source: &Source, finding: &Finding) -> Option<Self> {
        let span = finding.span?;
        let text = source.text();
        text.get(span.start as usize..span.end as usize)?;
        let from = source.line_start(span.start) as usize;
        let start = span.start as usize;
        let is_long = source.line_of(span.end) - source.line_of(span.start) >= ANNOTATED_LINES;
        let end = if is_long { source.line_end(span.start) } else { span.end } as usize;
        let to = source.line_end(end as u32) as usize;
        // The renderer makes other controls visible. One character for another keeps the columns.
        let harmless = |part: &str| part.replace(|c| matches!(c, '\u{80}'..='\u{9f}'), "\u{fffd}");
        let (before, marked) = (harmless(&text[from..start]), harmless(&text[start..end]));
        let (start, end_marked) = (before.len(), before.len() + marked.len());
        let text = before + &marked + &harmless(&text[end..to]);
        Some(Self { text, line: source.line_of(span.start) + 1, start, end: end_marked })
    }
}

/// What the fix does, as lines taken away and put in.
fn show_fix(fix: &Fix, source: &Source, text: &mut String) {
    let safety = match fix.safety {
        Safety::Safe => "safe",
        Safety::Unsafe => "unsafe",
        Safety::DisplayOnly => "to be made by hand",
    };
    let (lines, is_cut) = preview(source, &fix.edits);
    let _ = write!(text, "\n{BOLD}{CYAN}fix{RESET}: {} ({safety})", visible_line(&fix.title));
    let width = lines.iter().map(|line| line.number.to_string().len()).max().unwrap_or(1);
    for line in &lines {
        let number = line.number;
        let (sign, style) = if line.is_added { ('+', GREEN) } else { ('-', RED) };
        let content = visible_line(&line.text);
        let line = format!("{sign} {content}");
        let _ = write!(text, "\n{:width$} {style}{}{RESET}", number, line.trim_end());
    }
    if is_cut {
        let _ = write!(text, "\n{:width$} …", "");
    }
}
