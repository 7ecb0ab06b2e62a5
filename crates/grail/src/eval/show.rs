//! Evaluations as people see them: one row for each arm, then kinds, groups and rules of the first.

use std::io::Write;
use std::path::Path;

use grail_agent::Workspace;
use grail_flywheel::evaluation::{Broken, Evaluation, Proportion, Tally};
use grail_flywheel::metrics::report::About;

use crate::render::{BOLD, Failure, RESET, Terminal, count, path_text, visible_line};
use crate::table::Table;

/// Rules that are shown; JSON has all.
const MAX_RULES: usize = 12;
/// What every row of a [`Tally`] says after its name. Mended are those that failed at first and passed in the end.
const SHARES: [&str; 6] = ["first try", "likely", "with fixes", "likely", "mended", "likely"];

pub(crate) fn evaluations(evaluations: &[Evaluation], terminal: &mut Terminal) -> anyhow::Result<()> {
    let Some(first) = evaluations.first() else { return Ok(()) };
    terminal.line(format_args!(
        "{BOLD}{}{RESET} {}, {}, judged by {}",
        visible_line(&first.suite.name),
        count(first.suite.prompts, "prompt"),
        count(first.seeds.len(), "seed"),
        first.layers.join(", ")
    ))?;
    terminal.line(format_args!(""))?;
    let mut arms = Table::new(&[&[""], &SHARES[..], &["retries", "tokens", "s/answer"]].concat());
    for evaluation in evaluations {
        let tally = &evaluation.score().all;
        let costs = [
            format!("{:.2}", tally.retries),
            format!("{:.0}", tally.output_tokens),
            format!("{:.1}", tally.milliseconds / 1000.0),
        ];
        arms.row([part(&evaluation.arm.name, tally), costs.into()].concat());
    }
    print(&arms, terminal)?;
    let score = first.score();
    let name = visible_line(&first.arm.name);
    let mut parts = Table::new(&[&[name.as_str()], &SHARES[..]].concat());
    let rows = score.by_kind.iter().chain(&score.by_group);
    for (name, tally) in rows {
        parts.row(part(name, tally));
    }
    print(&parts, terminal)?;
    let mut rules: Vec<(&String, &Broken)> = score.by_rule.iter().collect();
    rules.sort_by_key(|(rule, broken)| (std::cmp::Reverse(broken.answers), (*rule).clone()));
    let mut table = Table::new(&["broken", "answers", "likely"]);
    for (rule, broken) in rules.iter().take(MAX_RULES) {
        let answers = broken.proportion();
        table.row(vec![visible_line(rule), share(&answers), likely(&answers)]);
    }
    print(&table, terminal)?;
    if rules.len() > MAX_RULES {
        terminal.line(format_args!("… {} more; `--format json` has all", rules.len() - MAX_RULES))?;
    }
    Ok(())
}

fn part(name: &str, tally: &Tally) -> Vec<String> {
    vec![
        visible_line(name),
        share(&tally.first_try),
        likely(&tally.first_try),
        share(&tally.with_fixes),
        likely(&tally.with_fixes),
        share(&tally.mended),
        likely(&tally.mended),
    ]
}

/// Rows under a heading, and an empty line.
pub(crate) fn print(table: &Table, terminal: &mut Terminal) -> anyhow::Result<()> {
    if table.is_empty() {
        return Ok(());
    }
    for (number, line) in table.lines().into_iter().enumerate() {
        match number {
            0 => terminal.line(format_args!("{BOLD}{line}{RESET}"))?,
            _ => terminal.line(format_args!("{line}"))?,
        }
    }
    terminal.line(format_args!(""))
}

/// `86 % (309/360)`.
pub(crate) fn share(proportion: &Proportion) -> String {
    match proportion.share {
        Some(share) => format!("{:.0} % ({}/{})", share * 100.0, proportion.passed, proportion.of),
        None => "-".to_owned(),
    }
}

/// `82–89 %`.
pub(crate) fn likely(proportion: &Proportion) -> String {
    match proportion.share {
        Some(_) => format!("{:.0}–{:.0} %", proportion.low * 100.0, proportion.high * 100.0),
        None => String::new(),
    }
}

pub(crate) fn about(workspace: &Workspace) -> About {
    let root = &workspace.project.root;
    let project = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    About { project, since: None, made_at: workspace.clock.now() }
}

/// All of it or nothing: a page that was opened before stays whole until then.
pub(crate) fn write_page(path: &Path, page: &str, terminal: &mut Terminal) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(page.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().map_err(|error| {
        Failure::with_hint(
            format!("`{}` cannot be written: {}", visible_line(&path_text(path)), error.kind()),
            "name a file in a folder that is there",
        )
    })?;
    terminal.note(format_args!("the report is in `{}`", visible_line(&path_text(path))))
}
