//! A proposal as people see it: the change, then what was checked, then who made it.

use grail_agent::{FileChecks, Proposal};

use crate::render::{BOLD, GREEN, RED, RESET, Terminal, YELLOW, count, visible, visible_line};

pub(crate) fn proposal(proposal: &Proposal, terminal: &mut Terminal) -> anyhow::Result<()> {
    for file in &proposal.files {
        terminal.diff(&visible(&file.diff()))?;
    }
    terminal.line(format_args!(""))?;
    for checks in &proposal.checks {
        file_checks(checks, terminal)?;
    }
    for remark in &proposal.review {
        let (weight, topic) = (visible_line(&remark.weight), visible_line(&remark.topic));
        terminal.line(format_args!("review, {weight}, {topic}: {}", visible_line(&remark.message)))?;
    }
    if !proposal.capabilities.is_empty() {
        let capabilities = visible_line(&proposal.capabilities.join(", "));
        terminal.line(format_args!("{YELLOW}can reach beyond itself:{RESET} {capabilities}"))?;
    }
    terminal.line(format_args!("{}", origin(proposal)))
}

fn file_checks(checks: &FileChecks, terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.line(format_args!("{BOLD}{}{RESET}", visible_line(&checks.path)))?;
    for layer in &checks.layers {
        let (colour, word) = match layer.status.as_str() {
            "passed" => (GREEN, "passed"),
            "failed" => (RED, "failed"),
            other => (YELLOW, other),
        };
        let detail = visible_line(&layer.detail);
        let detail = if detail.is_empty() { detail } else { format!(" ({detail})") };
        terminal.line(format_args!(
            "  {:<7}{colour}{}{RESET}{detail}",
            visible_line(&layer.layer),
            visible_line(word)
        ))?;
    }
    for problem in &checks.problems {
        let (line, message, rule) =
            (problem.line, visible_line(&problem.message), visible_line(&problem.rule));
        terminal.line(format_args!("  line {line}: {message} [{rule}]"))?;
    }
    if !checks.fixed.is_empty() {
        let fixed: Vec<String> =
            checks.fixed.iter().map(|(rule, times)| format!("{} ({times})", visible_line(rule))).collect();
        terminal.line(format_args!("  fixed  {}", fixed.join(", ")))?;
    }
    Ok(())
}

/// One line: the model, what it took, the proposal's name.
fn origin(proposal: &Proposal) -> String {
    let model = match proposal.model.answered == proposal.model.name || proposal.model.answered.is_empty() {
        true => visible_line(&proposal.model.name),
        false => visible_line(&format!("{} ({})", proposal.model.name, proposal.model.answered)),
    };
    let mut parts = vec![format!("by {model}"), count(proposal.turns, "turn"), retries(proposal.retries)];
    let tokens = proposal.usage.input_tokens + proposal.usage.output_tokens;
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    if let Some(cost) = proposal.cost {
        parts.push(format!("cost {cost:.4}"));
    }
    format!("proposal {} · {}", proposal.id, parts.join(" · "))
}

fn retries(number: usize) -> String {
    match number {
        1 => "1 retry".to_owned(),
        _ => format!("{number} retries"),
    }
}
