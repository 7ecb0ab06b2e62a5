//! Sessions as scripts: what was asked, what went wrong, what people said, line by line.

use grail_flywheel::event::{
    CorrectionSource, EventContext, EventKind, Problem, ProposalDecision, ReviewVerdict, Tokens, summarise,
};
use grail_flywheel::{Event, Example};
use serde_json::Value as Json;
use uuid::Uuid;

/// A session that is being told. Everything in it has fixed names, so that the same script gives the same events.
pub(crate) struct Script {
    session: String,
    context: EventContext,
    pub(crate) events: Vec<Event>,
    request: String,
}

pub(crate) fn session(name: &str) -> Script {
    Script {
        session: name.to_owned(),
        context: EventContext { model: Some("small".to_owned()), ..EventContext::default() },
        events: Vec::new(),
        request: String::new(),
    }
}

pub(crate) fn problem(rule: &str) -> Problem {
    Problem {
        layer: "rules".to_owned(),
        rule: rule.to_owned(),
        message: format!("breaks {rule}"),
        line: 1,
        hint: None,
    }
}

/// A phase on trial made the same, and nobody saw it.
pub(crate) fn shadow(path: &str, code: &str) -> EventKind {
    let answer = EventKind::Generation {
        artifact: "component".to_owned(),
        request: "a card".to_owned(),
        code: code.to_owned(),
        validated: true,
        types: None,
        tests: None,
        problems: vec![problem("title")],
        retries: 1,
        path: path.to_owned(),
        skills: vec!["grail-tdom".to_owned()],
        tokens: Tokens { input: 5, output: 7 },
        milliseconds: 1,
    };
    EventKind::Shadow { challenger: "p2-abcdef".to_owned(), answer: Some(Box::new(answer)), failure: None }
}

/// The names of events follow from the session and their number: sessions happen in the order of the alphabet.
pub(crate) fn event_id(session: &str, number: u64) -> Uuid {
    let name = session.bytes().chain([0; 8]).take(8).fold(0, |name, byte| (name << 8) | u128::from(byte));
    Uuid::from_u128((name << 64) | u128::from(number))
}

impl Script {
    pub(crate) fn on(mut self, branch: &str) -> Self {
        self.context.branch = Some(branch.to_owned());
        self
    }

    pub(crate) fn by_spec(mut self, spec: &str) -> Self {
        self.context.spec = Some(spec.to_owned());
        self
    }

    pub(crate) fn event(mut self, kind: EventKind) -> Self {
        let number = self.events.len() as u64 + 1;
        let mut event = Event::new(&self.session, number, kind);
        event.id = event_id(&self.session, number);
        event.at = "2026-03-02T10:00:00.000Z".to_owned();
        event.context = self.context.clone();
        self.events.push(event);
        self
    }

    pub(crate) fn wants(mut self, request: &str) -> Self {
        self.request = request.to_owned();
        let request = request.to_owned();
        self.event(EventKind::Intent { request, artifact: None })
    }

    pub(crate) fn says(self, text: &str) -> Self {
        self.event(EventKind::UserMessage { text: text.to_owned() })
    }

    pub(crate) fn answers(self, text: &str) -> Self {
        let tokens = Tokens::default();
        self.event(EventKind::ModelAnswer { text: text.to_owned(), tools: Vec::new(), tokens })
    }

    pub(crate) fn confirms(self) -> Self {
        self.event(EventKind::UserConfirmation { text: "perfect".to_owned(), subject: None })
    }

    pub(crate) fn objects(self, text: &str) -> Self {
        self.corrects(text, CorrectionSource::Words, None, None, None)
    }

    pub(crate) fn corrects(
        self,
        text: &str,
        source: CorrectionSource,
        path: Option<&str>,
        original: Option<&str>,
        corrected: Option<&str>,
    ) -> Self {
        self.event(EventKind::UserCorrection {
            text: text.to_owned(),
            source,
            subject: None,
            path: path.map(str::to_owned),
            original: original.map(str::to_owned),
            corrected: corrected.map(str::to_owned),
            violates: Vec::new(),
        })
    }

    /// An attempt that broke rules, and what was tried next.
    pub(crate) fn retries(
        self,
        path: &str,
        attempt: u32,
        rules: &[&str],
        original: &str,
        corrected: &str,
        passed: bool,
    ) -> Self {
        let query = self.request.clone();
        self.event(EventKind::Retry {
            query,
            artifact: "component".to_owned(),
            path: path.to_owned(),
            attempt,
            problems: rules.iter().map(|rule| problem(rule)).collect(),
            original: original.to_owned(),
            corrected: corrected.to_owned(),
            passed,
        })
    }

    pub(crate) fn makes(self, path: &str, code: &str, retries: u32) -> Self {
        self.generation(path, code, retries, true)
    }

    pub(crate) fn gives_up(self, path: &str, code: &str, retries: u32) -> Self {
        self.generation(path, code, retries, false)
    }

    fn generation(self, path: &str, code: &str, retries: u32, validated: bool) -> Self {
        let request = self.request.clone();
        self.event(EventKind::Generation {
            artifact: "component".to_owned(),
            request,
            code: code.to_owned(),
            validated,
            types: None,
            tests: None,
            problems: Vec::new(),
            retries,
            path: path.to_owned(),
            skills: Vec::new(),
            tokens: Tokens::default(),
            milliseconds: 1,
        })
    }

    pub(crate) fn validates(self, path: &str, code: &str, rules: &[&str]) -> Self {
        self.event(EventKind::DomainValidation {
            validator: "components".to_owned(),
            artifact: "component".to_owned(),
            path: path.to_owned(),
            code: code.to_owned(),
            passed: rules.is_empty(),
            problems: rules.iter().map(|rule| problem(rule)).collect(),
            fixed: Vec::new(),
            suppressed: Vec::new(),
            types: None,
            tests: None,
        })
    }

    pub(crate) fn proposal(self, name: &str, decision: ProposalDecision, paths: &[&str]) -> Self {
        self.event(EventKind::Proposal {
            proposal: name.to_owned(),
            decision,
            reason: None,
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        })
    }

    pub(crate) fn calls(self, tool: &str, arguments: Json, result: Json, fields: &[&str]) -> Self {
        let query = self.request.clone();
        self.event(EventKind::ToolCall {
            query,
            tool: tool.to_owned(),
            arguments,
            result: summarise(&result),
            fields_accessed: fields.iter().map(|field| (*field).to_owned()).collect(),
            microseconds: 1,
        })
    }

    pub(crate) fn runs(self, code: &str, tools: &[&str]) -> Self {
        let query = self.request.clone();
        self.event(EventKind::SandboxRun {
            query,
            code: code.to_owned(),
            result: summarise(&Json::Null),
            tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
            fields_accessed: grail_flywheel::extract::fields_accessed(code, tools),
            microseconds: 1,
        })
    }

    pub(crate) fn reviews(self, example: &str, verdict: ReviewVerdict, corrected: Option<&str>) -> Self {
        self.event(EventKind::ExampleReview {
            example: example.to_owned(),
            verdict,
            corrected: corrected.map(str::to_owned),
        })
    }
}

/// One line for each example.
pub(crate) fn told(examples: &[Example]) -> String {
    let line = |example: &Example| {
        let quoted =
            |text: &Option<String>| text.as_deref().map_or("-".to_owned(), |text| format!("{text:?}"));
        let events: Vec<String> =
            example.origin.events.iter().map(|event| (event.as_u128() as u64).to_string()).collect();
        format!(
            "{} {} [{}] {} not {} ×{:.2} from {}\n",
            example.example_type.name(),
            example.request.replace('\n', " | "),
            example.rules.iter().chain(&example.tools).cloned().collect::<Vec<_>>().join(" "),
            quoted(&example.chosen),
            quoted(&example.rejected),
            example.weight.total(),
            events.join(",")
        )
    };
    examples.iter().map(line).collect()
}
