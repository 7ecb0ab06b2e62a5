//! One sitting: which example is shown, what a key means, what was decided. It draws nothing and writes nothing.

use grail_flywheel::Example;
use grail_flywheel::event::ReviewVerdict;
use ratatui::crossterm::event::{KeyCode, KeyModifiers};

use crate::render::count;

/// What a key asks for.
#[derive(Debug, PartialEq)]
pub(super) enum Action {
    Wait,
    /// About the example that is shown. Whoever carries it out says [`Session::decided`].
    Decide(ReviewVerdict),
    /// The decision about this example does not count; it is shown again.
    Withdraw(Box<Example>),
    /// Let the person write this answer anew.
    Edit(String),
    Quit,
}

pub(super) struct Session {
    examples: Vec<Example>,
    /// The one that is shown; behind the last one if all were seen.
    at: usize,
    /// What was done to which example, in order.
    history: Vec<(usize, Option<ReviewVerdict>)>,
    /// Lines of the example above the screen.
    pub(super) scroll: u16,
    /// How far it can be scrolled; known when it was drawn.
    pub(super) most_scroll: u16,
    pub(super) shows_help: bool,
    /// A word to the person, until the next key.
    pub(super) message: Option<String>,
}

impl Session {
    pub(super) fn new(examples: Vec<Example>) -> Self {
        Self {
            examples,
            at: 0,
            history: Vec::new(),
            scroll: 0,
            most_scroll: 0,
            shows_help: false,
            message: None,
        }
    }

    pub(super) fn current(&self) -> Option<&Example> {
        self.examples.get(self.at)
    }

    /// From 1, and of how many.
    pub(super) fn place(&self) -> (usize, usize) {
        ((self.at + 1).min(self.examples.len()), self.examples.len())
    }

    pub(super) fn press(&mut self, key: KeyCode, modifiers: KeyModifiers) -> Action {
        self.message = None;
        if modifiers.contains(KeyModifiers::CONTROL) {
            return if key == KeyCode::Char('c') { Action::Quit } else { Action::Wait };
        }
        if self.shows_help {
            self.shows_help = false;
            return Action::Wait;
        }
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('?') | KeyCode::Char('h') => self.shows_help = true,
            KeyCode::Char('u') => return self.undo(),
            KeyCode::Down | KeyCode::Char('j') => self.scroll_by(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll_by(15),
            KeyCode::PageUp => self.scroll_by(-15),
            KeyCode::Home => self.scroll = 0,
            KeyCode::End => self.scroll = self.most_scroll,
            _ => return self.about_current(key),
        }
        Action::Wait
    }

    fn about_current(&mut self, key: KeyCode) -> Action {
        let Some(example) = self.current() else { return Action::Wait };
        match key {
            KeyCode::Char('a') => Action::Decide(ReviewVerdict::Accept),
            KeyCode::Char('r') => Action::Decide(ReviewVerdict::Reject),
            KeyCode::Char('c' | 'e') if !example.calls.is_empty() => {
                self.tell("calls of tools cannot be corrected here; accept or reject them");
                Action::Wait
            }
            KeyCode::Char('c' | 'e') => {
                let answer = example.chosen.as_ref().or(example.rejected.as_ref());
                Action::Edit(answer.cloned().unwrap_or_default())
            }
            KeyCode::Char('s') => {
                self.go_on(None);
                Action::Wait
            }
            KeyCode::Char(other) => {
                self.tell(&format!("`{}` means nothing; `?` tells what does", other.escape_debug()));
                Action::Wait
            }
            _ => Action::Wait,
        }
    }

    /// The decision about the example that is shown was written down.
    pub(super) fn decided(&mut self, verdict: ReviewVerdict) {
        if self.current().is_some() {
            self.go_on(Some(verdict));
            self.tell(verdict_name(verdict));
        }
    }

    pub(super) fn tell(&mut self, message: &str) {
        self.message = Some(message.to_owned());
    }

    /// What came of it, in a sentence.
    pub(super) fn summary(&self) -> String {
        let number = |wanted| self.history.iter().filter(|(_, verdict)| *verdict == Some(wanted)).count();
        let decided = self.history.iter().filter(|(_, verdict)| verdict.is_some()).count();
        format!(
            "{} accepted, {} corrected, {} rejected; {} left",
            number(ReviewVerdict::Accept),
            number(ReviewVerdict::Correct),
            number(ReviewVerdict::Reject),
            count(self.examples.len() - decided, "example")
        )
    }

    fn go_on(&mut self, verdict: Option<ReviewVerdict>) {
        self.history.push((self.at, verdict));
        self.at += 1;
        self.scroll = 0;
    }

    fn undo(&mut self) -> Action {
        let Some((at, verdict)) = self.history.pop() else {
            self.tell("there is nothing to undo");
            return Action::Wait;
        };
        (self.at, self.scroll) = (at, 0);
        self.tell("undone");
        match (verdict, self.current()) {
            (Some(_), Some(example)) => Action::Withdraw(Box::new(example.clone())),
            _ => Action::Wait,
        }
    }

    fn scroll_by(&mut self, lines: i16) {
        self.scroll = self.scroll.saturating_add_signed(lines).min(self.most_scroll);
    }
}

pub(super) fn verdict_name(verdict: ReviewVerdict) -> &'static str {
    match verdict {
        ReviewVerdict::Accept => "accepted",
        ReviewVerdict::Reject => "rejected",
        ReviewVerdict::Correct => "corrected",
        ReviewVerdict::Withdraw => "withdrawn",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use grail_flywheel::event::Problem;
    use grail_flywheel::example::{ExampleType, Origin, Turn, Weight};

    use super::*;

    pub(in super::super) fn example(request: &str) -> Example {
        Example {
            id: request.to_lowercase().replace(' ', "-"),
            example_type: ExampleType::Corrective,
            artifact: Some("service".to_owned()),
            rules: vec!["keyword-only".to_owned()],
            tools: Vec::new(),
            context: Some("Mail goes out once a day.".to_owned()),
            window: vec![Turn { role: "user".to_owned(), text: "We send mail\x1b[2J now.".to_owned() }],
            request: request.to_owned(),
            chosen: Some("class MailService:\n    def __init__(self, *, sender): ...\n".to_owned()),
            calls: Vec::new(),
            rejected: Some("class MailService:\n    def __init__(self, sender): ...\n".to_owned()),
            problems: vec![Problem {
                layer: "rules".to_owned(),
                rule: "keyword-only".to_owned(),
                message: "parameters of a service are keyword-only".to_owned(),
                line: 2,
                hint: None,
            }],
            path: Some("services/mail.py".to_owned()),
            weight: Weight::new(1.5, 1.2),
            origin: Origin {
                source: "project".to_owned(),
                session: Some("monday".to_owned()),
                branch: Some("mail".to_owned()),
                model: Some("qwen".to_owned()),
                ..Origin::default()
            },
        }
    }

    fn press(session: &mut Session, key: char) -> Action {
        session.press(KeyCode::Char(key), KeyModifiers::NONE)
    }

    #[test]
    fn decisions_move_on_and_undoing_takes_them_back() {
        let mut session = Session::new(vec![example("One"), example("Two"), example("Three")]);
        assert_eq!(press(&mut session, 'a'), Action::Decide(ReviewVerdict::Accept));
        // Nothing moves before it is written down.
        assert_eq!(session.place(), (1, 3));
        session.decided(ReviewVerdict::Accept);
        assert_eq!(session.place(), (2, 3));
        assert_eq!(press(&mut session, 's'), Action::Wait);
        assert_eq!(press(&mut session, 'r'), Action::Decide(ReviewVerdict::Reject));
        session.decided(ReviewVerdict::Reject);
        assert!(session.current().is_none());
        assert_eq!(session.summary(), "1 accepted, 0 corrected, 1 rejected; 1 example left");
        assert_eq!(press(&mut session, 'a'), Action::Wait, "nothing is shown that could be accepted");
        assert_eq!(press(&mut session, 'u'), Action::Withdraw(Box::new(example("Three"))));
        assert_eq!(press(&mut session, 'u'), Action::Wait, "a skipped one has no decision to withdraw");
        assert_eq!(press(&mut session, 'u'), Action::Withdraw(Box::new(example("One"))));
        assert_eq!(session.place(), (1, 3));
        assert_eq!(press(&mut session, 'u'), Action::Wait);
        assert_eq!(session.message.as_deref(), Some("there is nothing to undo"));
        assert_eq!(session.summary(), "0 accepted, 0 corrected, 0 rejected; 3 examples left");
    }

    #[test]
    fn keys_that_mean_nothing_say_so() {
        let mut session = Session::new(vec![example("One")]);
        assert_eq!(press(&mut session, 'x'), Action::Wait);
        assert_eq!(session.message.as_deref(), Some("`x` means nothing; `?` tells what does"));
        assert_eq!(press(&mut session, '?'), Action::Wait);
        assert!(session.shows_help);
        assert_eq!(press(&mut session, 'a'), Action::Wait, "the first key closes the help");
        assert_eq!(press(&mut session, 'c'), Action::Edit(example("One").chosen.unwrap_or_default()));
        assert_eq!(session.press(KeyCode::Char('c'), KeyModifiers::CONTROL), Action::Quit);
        assert_eq!(session.press(KeyCode::Esc, KeyModifiers::NONE), Action::Quit);
    }
}
