//! The screen: one example, what is wrong with one answer and right with the other, and the keys.

use grail_flywheel::Example;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use similar::TextDiff;

use super::session::Session;
use crate::render::visible;

const KEYS: &str = "a accept  r reject  c correct  s skip  u undo  ? help  q quit";

const HELP: [&str; 10] = [
    "a        accept: it may be learned from",
    "r        reject: it must not be learned from",
    "c, e     correct the answer in your editor",
    "s        skip: it stays in the queue",
    "u        undo the last decision",
    "↑ ↓ j k  scroll",
    "space    a page on, also page down and page up",
    "q, Esc   quit; what was decided is kept",
    "",
    "any key closes this",
];

pub(super) fn draw(frame: &mut Frame<'_>, session: &mut Session) {
    let [top, body, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
            .areas(frame.area());
    let Some(example) = session.current().cloned() else {
        let done = Paragraph::new(vec![
            Line::from("All examples were seen."),
            Line::from(session.summary()),
            Line::from("q quits, u goes back."),
        ]);
        frame.render_widget(done, body);
        return;
    };
    let (number, total) = session.place();
    frame.render_widget(Paragraph::new(title(&example, number, total)), top);
    let text = broken(lines(&example), body.width.into());
    let height = u16::try_from(text.len()).unwrap_or(u16::MAX);
    session.most_scroll = height.saturating_sub(body.height);
    session.scroll = session.scroll.min(session.most_scroll);
    frame.render_widget(Paragraph::new(text).scroll((session.scroll, 0)), body);
    let told = match &session.message {
        Some(message) => Span::styled(shown(message), Style::new().fg(Color::Yellow)),
        None if session.scroll < session.most_scroll => Span::raw(format!("{KEYS}  ↓ more")),
        None => Span::raw(KEYS),
    };
    frame.render_widget(Paragraph::new(Line::from(told)), bottom);
    if session.shows_help {
        help(frame, body);
    }
}

fn help(frame: &mut Frame<'_>, body: Rect) {
    let (width, height) = (52.min(body.width), (HELP.len() as u16 + 2).min(body.height));
    let area =
        Rect { x: body.x + (body.width - width) / 2, y: body.y + (body.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    let lines: Vec<Line<'_>> = HELP.iter().map(|line| Line::from(*line)).collect();
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), area);
}

fn title(example: &Example, number: usize, total: usize) -> Line<'static> {
    let mut told = format!("{number} of {total}  {}", example.example_type.name());
    if let Some(artifact) = &example.artifact {
        told.push_str(&format!("  {}", shown(artifact)));
    }
    let weight = (example.weight.total() * 100.0).round() / 100.0;
    told.push_str(&format!("  weight {weight}  {}", shown(&example.id)));
    Line::styled(told, Style::new().add_modifier(Modifier::BOLD))
}

/// Lines no wider than the screen: what is wider goes on below, so that nothing is out of sight.
fn broken(lines: Vec<Line<'static>>, width: usize) -> Vec<Line<'static>> {
    let mut fitting = Vec::new();
    for line in lines {
        if line.width() <= width {
            fitting.push(line);
            continue;
        }
        let (mut part, mut used) = (String::new(), 0);
        for character in line.to_string().chars() {
            let wide = Span::raw(character.to_string()).width();
            if used + wide > width && !part.is_empty() {
                fitting.push(Line::styled(std::mem::take(&mut part), line.style));
                used = 0;
            }
            part.push(character);
            used += wide;
        }
        fitting.push(Line::styled(part, line.style));
    }
    fitting
}

/// Everything that is to be known about an example.
fn lines(example: &Example) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(context) = &example.context {
        section(&mut lines, "Context", context);
    }
    for turn in &example.window {
        let who = if turn.role == "assistant" { "Before, the model" } else { "Before, a person" };
        section(&mut lines, who, &turn.text);
    }
    section(&mut lines, "Request", &example.request);
    if !example.problems.is_empty() {
        heading(&mut lines, "What was wrong");
        for problem in &example.problems {
            let text = format!("line {}: {} ({})", problem.line, problem.message, problem.rule);
            lines.push(Line::from(shown(&text)));
        }
    }
    answers(&mut lines, example);
    heading(&mut lines, "Where it comes from");
    let origin = &example.origin;
    let parts = [
        Some(origin.source.clone()),
        origin.licence.as_ref().map(|licence| format!("licence {licence}")),
        origin.session.as_ref().map(|session| format!("session {session}")),
        origin.branch.as_ref().map(|branch| format!("branch {branch}")),
        origin.model.as_ref().map(|model| format!("model {model}")),
        example.path.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    lines.push(Line::from(shown(&parts.join(", "))));
    for event in &origin.events {
        lines.push(Line::from(format!("event {event}")));
    }
    lines
}

fn answers(lines: &mut Vec<Line<'static>>, example: &Example) {
    match (&example.rejected, &example.chosen) {
        (Some(rejected), Some(chosen)) => {
            heading(lines, "The wrong answer (-) and the right one (+)");
            let diff = TextDiff::from_lines(rejected.as_str(), chosen.as_str());
            for line in diff.unified_diff().missing_newline_hint(false).to_string().lines() {
                let colour = match line.as_bytes().first() {
                    Some(b'-') => Color::Red,
                    Some(b'+') => Color::Green,
                    Some(b'@') => Color::Cyan,
                    _ => Color::Reset,
                };
                lines.push(Line::styled(shown(line), Style::new().fg(colour)));
            }
        }
        (Some(rejected), None) => section(lines, "What should not be answered", rejected),
        (None, Some(chosen)) => section(lines, "Answer", chosen),
        (None, None) => {}
    }
    if !example.calls.is_empty() {
        heading(lines, "Calls");
        for call in &example.calls {
            lines.push(Line::from(shown(&format!("{}({})", call.tool, call.arguments))));
        }
    }
}

fn section(lines: &mut Vec<Line<'static>>, name: &str, text: &str) {
    heading(lines, name);
    lines.extend(text.lines().map(|line| Line::from(shown(line))));
}

fn heading(lines: &mut Vec<Line<'static>>, name: &str) {
    if !lines.is_empty() {
        lines.push(Line::default());
    }
    lines.push(Line::styled(name.to_owned(), Style::new().fg(Color::Cyan)));
}

/// Text of others on a screen that counts columns.
fn shown(text: &str) -> String {
    visible(text).replace('\t', "    ").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    use super::super::session::tests::example;
    use super::*;

    fn drawn(session: &mut Session, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen in memory");
        terminal.draw(|frame| draw(frame, session)).expect("a screen in memory");
        let text = terminal.backend().to_string();
        let lines = text.lines().map(|line| line.trim_matches('"').trim_end());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_example_with_everything() {
        let mut session = Session::new(vec![example("Let it take a sender"), example("Two")]);
        insta::assert_snapshot!(drawn(&mut session, 78, 24), @r#"
        1 of 2  corrective  service  weight 1.8  let-it-take-a-sender
        Context
        Mail goes out once a day.

        Before, a person
        We send mail\u{1b}[2J now.

        Request
        Let it take a sender

        What was wrong
        line 2: parameters of a service are keyword-only (keyword-only)

        The wrong answer (-) and the right one (+)
        @@ -1,2 +1,2 @@
         class MailService:
        -    def __init__(self, sender): ...
        +    def __init__(self, *, sender): ...

        Where it comes from
        project, session monday, branch mail, model qwen, services/mail.py


        a accept  r reject  c correct  s skip  u undo  ? help  q quit
        "#);
    }

    #[test]
    fn a_small_screen_scrolls() {
        let mut session = Session::new(vec![example("Let it take a sender")]);
        insta::assert_snapshot!(drawn(&mut session, 70, 5), @"
        1 of 1  corrective  service  weight 1.8  let-it-take-a-sender
        Context
        Mail goes out once a day.

        a accept  r reject  c correct  s skip  u undo  ? help  q quit  ↓ more
        ");
        session.press(KeyCode::End, KeyModifiers::NONE);
        insta::assert_snapshot!(drawn(&mut session, 70, 5), @"
        1 of 1  corrective  service  weight 1.8  let-it-take-a-sender

        Where it comes from
        project, session monday, branch mail, model qwen, services/mail.py
        a accept  r reject  c correct  s skip  u undo  ? help  q quit
        ");
    }

    #[test]
    fn the_keys_are_told() {
        let mut session = Session::new(vec![example("Let it take a sender")]);
        session.press(KeyCode::Char('?'), KeyModifiers::NONE);
        insta::assert_snapshot!(drawn(&mut session, 70, 14), @"
        1 of 1  corrective  service  weight 1.8  let-it-take-a-sender
        Context  ┌ Keys ────────────────────────────────────────────┐
        Mail goes│a        accept: it may be learned from           │
                 │r        reject: it must not be learned from      │
        Before, a│c, e     correct the answer in your editor        │
        We send m│s        skip: it stays in the queue              │
                 │u        undo the last decision                   │
        Request  │↑ ↓ j k  scroll                                   │
        Let it ta│space    a page on, also page down and page up    │
                 │q, Esc   quit; what was decided is kept           │
        What was │                                                  │
        line 2: p│any key closes this                               │y)
                 └──────────────────────────────────────────────────┘
        a accept  r reject  c correct  s skip  u undo  ? help  q quit  ↓ more
        ");
        // However small the window is, nothing breaks.
        for (width, height) in [(1, 1), (2, 3), (200, 2)] {
            drawn(&mut session, width, height);
        }
    }

    #[test]
    fn the_end_says_what_came_of_it() {
        let mut session = Session::new(vec![example("One")]);
        session.press(KeyCode::Char('s'), KeyModifiers::NONE);
        insta::assert_snapshot!(drawn(&mut session, 60, 5), @"

        All examples were seen.
        0 accepted, 0 corrected, 0 rejected; 1 example left
        q quits, u goes back.
        ");
    }
}
