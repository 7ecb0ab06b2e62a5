//! `grail check` for people: annotated source, why the rule exists, what a fix would do, and one line at the end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use grail_code::Source;
use grail_rules::layers::{LayerReport, LayerStatus};
use grail_rules::{CheckReport, Finding, Fix, Layer, Library, Safety, Severity};

use super::Outcome;
use super::preview::{PreviewLine, preview};
use super::sources::{Sources, shown_path};
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
    let mut sources = Sources::new(report);
    for finding in &report.findings {
        let why = titles.get(&*finding.rule).copied().filter(|_| finding.layer == Layer::Rules);
        let text = render(finding, shown_path(report, finding), sources.of(finding), why);
        terminal.line(format_args!("{text}\n"))?;
    }
    Ok(())
}

/// A layer of another tool that did not run; one that did says it with its findings.
pub(super) fn layer(report: &LayerReport, terminal: &mut Terminal) -> anyhow::Result<()> {
    let layer = report.layer;
    let (line, hint) = match &report.status {
        LayerStatus::Ran { .. } => return Ok(()),
        LayerStatus::Skipped { reason } => (format!("{layer}: {reason}"), None),
        LayerStatus::Unavailable { tool, hint } => {
            (format!("{layer}: `{tool}` is not installed; this layer was left out"), Some(hint))
        }
        LayerStatus::Failed { message, hint } => {
            return terminal.error(&format!("{layer}: {message}"), hint.as_deref());
        }
    };
    terminal.warning(format_args!("{line}"))?;
    if let Some(hint) = hint {
        terminal.note(format_args!("{BOLD}{CYAN}hint:{RESET} {}", visible(hint)))?;
    }
    Ok(())
}

/// One line on how it went.
pub(super) fn summary(outcome: &Outcome<'_>, terminal: &mut Terminal) -> anyhow::Result<()> {
    let Outcome { arguments, report, .. } = outcome;
    let files = count(report.files.len(), "file");
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
            let _ = write!(line, "nothing found in {files}");
            if outcome.layers.contains(&Layer::Rules) {
                let _ = write!(line, " with {}", count(outcome.rules.rules().len(), "rule"));
            }
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
    terminal.note(format_args!("{line}"))?;
    if outcome.layers.contains(&Layer::Rules) && outcome.rules.is_empty() {
        terminal.note(format_args!(
            "hint: `grail rules list` shows the rules there are; `select` in `[check]` of `grail.toml` brings one into force, and your own go into \
             `.agents/skills/`"
        ))?;
    }
    Ok(())
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
    let number = |line: &PreviewLine| line.number.map(|number| number.to_string()).unwrap_or_default();
    let width = lines.iter().map(|line| number(line).len()).max().unwrap_or(1);
    for line in &lines {
        let (sign, style) = if line.is_added { ('+', GREEN) } else { ('-', RED) };
        let shown = format!("{sign} {}", visible_line(&line.text));
        let _ = write!(text, "\n{:>width$} {style}{}{RESET}", number(line), shown.trim_end());
    }
    if is_cut {
        let _ = write!(text, "\n{:width$} …", "");
    }
}
