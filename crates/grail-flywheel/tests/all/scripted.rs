//! Sessions written down by hand: fixed ids and times, in the files where Grail would have put them.

use std::fs;
use std::path::{Path, PathBuf};

use grail_flywheel::event::{
    CorrectionSource, Event, EventContext, EventKind, MergeWay, Problem, ProposalDecision, SkillStage, Tokens,
};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) struct Project {
    folder: TempDir,
}

/// One session of one day, minute by minute.
pub(crate) struct Session {
    name: String,
    day: String,
    minute: u32,
    number: u64,
    context: EventContext,
    lines: Vec<String>,
}

impl Project {
    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Four sessions of three weeks: a service made at once, a component that took two retries, one that never passed, and what became of
    /// the branches.
    pub(crate) fn scripted() -> Self {
        let project = Self::empty();
        scripted_sessions().iter().for_each(|session| project.write(session));
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root().join(".grail/grail.db")
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.root().join(".grail/events").join(name)
    }

    pub(crate) fn write(&self, session: &Session) {
        let path = self.file(&session.file_name());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, session.text()).unwrap();
    }
}

pub(crate) fn scripted_sessions() -> Vec<Session> {
    let mut service = Session::new("alpha", "2026-11-02", "feature/prices", "small-1");
    service.skill("services", SkillStage::Offered).skill("services", SkillStage::Loaded);
    service.skill("charts", SkillStage::Offered);
    service.validation("app/prices.py", true, &[], &["no-print"], &[]);
    service.generation("service", "app/prices.py", true, 0, 20, &["services"]);
    service.proposal("p-1", ProposalDecision::Made, &["app/prices.py"]);
    service.proposal("p-1", ProposalDecision::Approved, &[]);

    let mut component = Session::new("beta", "2026-11-10", "feature/page", "small-1");
    component.skill("views", SkillStage::Offered).skill("views", SkillStage::Used);
    component.validation("app/page.py", false, &["no-html", "no-print"], &[], &["long-lines"]);
    component.retry("app/page.py", 1, &["no-html", "no-print"], false);
    component.validation("app/page.py", false, &["no-html"], &[], &["long-lines"]);
    component.retry("app/page.py", 2, &["no-html"], true);
    component.generation("component", "app/page.py", true, 2, 40, &["views", "services"]);
    component.proposal("p-2", ProposalDecision::Made, &["app/page.py"]);

    let mut broken = Session::new("gamma", "2026-11-16", "feature/page", "small-2");
    broken.skill("views", SkillStage::Loaded);
    broken.validation("app/form.py", false, &["no-html"], &[], &[]);
    broken.retry("app/form.py", 1, &["no-html"], false);
    broken.generation("component", "app/form.py", false, 1, 30, &["views"]);
    broken.pause(90).event(EventKind::Failed { reason: "gave up".to_owned() });
    broken.proposal("p-2", ProposalDecision::Rejected, &[]);

    let mut outcome = Session::new("hooks-1", "2026-11-16", "main", "");
    outcome.event(EventKind::Commit {
        commit: "c0ffee".to_owned(),
        patch: None,
        paths: vec!["app/prices.py".to_owned()],
        suppressed: vec!["long-lines".to_owned()],
    });
    outcome.event(EventKind::UserCorrection {
        text: String::new(),
        source: CorrectionSource::HandEdit,
        path: Some("app/prices.py".to_owned()),
        original: None,
        corrected: None,
        subject: None,
        violates: vec!["long-lines".to_owned()],
    });
    outcome.event(EventKind::BranchMerged {
        merged: "feature/prices".to_owned(),
        into: "main".to_owned(),
        way: MergeWay::Squash,
        tip: None,
        sessions: Vec::new(),
    });
    outcome.event(EventKind::BranchClosed {
        closed: "feature/page".to_owned(),
        reported: false,
        tip: None,
        sessions: Vec::new(),
    });
    vec![service, component, broken, outcome]
}

impl Session {
    pub(crate) fn new(name: &str, day: &str, branch: &str, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            day: day.to_owned(),
            minute: 9 * 60,
            number: 0,
            context: EventContext {
                branch: Some(branch.to_owned()),
                model: (!model.is_empty()).then(|| model.to_owned()),
                phase: (model == "small-2").then(|| "phase-2".to_owned()),
                ..EventContext::default()
            },
            lines: Vec::new(),
        }
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}-{}.jsonl", self.day, self.name)
    }

    pub(crate) fn text(&self) -> String {
        self.lines.concat()
    }

    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }

    pub(crate) fn event(&mut self, kind: EventKind) -> &mut Self {
        self.number += 1;
        let clock = format!("{:02}:{:02}:00.000Z", self.minute / 60 % 24, self.minute % 60);
        self.minute += 1;
        let mut event = Event::new(self.name.clone(), self.number, kind);
        event.at = format!("{}T{clock}", self.day);
        event.id = id(&self.day, &self.name, self.number);
        event.context = self.context.clone();
        self.lines.push(serde_json::to_string(&event).unwrap() + "\n");
        self
    }

    pub(crate) fn pause(&mut self, minutes: u32) -> &mut Self {
        self.minute += minutes;
        self
    }

    pub(crate) fn skill(&mut self, skill: &str, stage: SkillStage) -> &mut Self {
        self.event(EventKind::Skill { skill: skill.to_owned(), version: "1.2.0".to_owned(), stage })
    }

    pub(crate) fn validation(
        &mut self,
        path: &str,
        passed: bool,
        problems: &[&str],
        fixed: &[&str],
        suppressed: &[&str],
    ) -> &mut Self {
        self.event(EventKind::DomainValidation {
            validator: "house".to_owned(),
            artifact: "component".to_owned(),
            path: path.to_owned(),
            code: "print()".to_owned(),
            passed,
            problems: problems.iter().map(|rule| problem(rule)).collect(),
            fixed: owned(fixed),
            suppressed: owned(suppressed),
            types: None,
            tests: None,
        })
    }

    pub(crate) fn retry(&mut self, path: &str, attempt: u32, problems: &[&str], passed: bool) -> &mut Self {
        self.event(EventKind::Retry {
            query: "make it".to_owned(),
            artifact: "component".to_owned(),
            path: path.to_owned(),
            attempt,
            problems: problems.iter().map(|rule| problem(rule)).collect(),
            original: String::new(),
            corrected: String::new(),
            passed,
        })
    }

    pub(crate) fn generation(
        &mut self,
        artifact: &str,
        path: &str,
        validated: bool,
        retries: u32,
        lines: usize,
        skills: &[&str],
    ) -> &mut Self {
        self.event(EventKind::Generation {
            artifact: artifact.to_owned(),
            request: "make it".to_owned(),
            code: "x = 1\n\n".repeat(lines),
            validated,
            types: Some(validated),
            tests: (artifact == "service").then_some(true),
            problems: if validated { Vec::new() } else { vec![problem("no-html")] },
            retries,
            path: path.to_owned(),
            skills: owned(skills),
            tokens: Tokens { input: 900, output: 100 },
            milliseconds: 1500,
        })
    }

    pub(crate) fn proposal(&mut self, name: &str, decision: ProposalDecision, paths: &[&str]) -> &mut Self {
        self.event(EventKind::Proposal {
            proposal: name.to_owned(),
            decision,
            reason: None,
            paths: owned(paths),
        })
    }
}

fn problem(rule: &str) -> Problem {
    Problem {
        layer: "rules".to_owned(),
        rule: rule.to_owned(),
        message: "no".to_owned(),
        line: 1,
        hint: None,
    }
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// As one that was made at that time, and the same in every run.
fn id(day: &str, session: &str, number: u64) -> Uuid {
    let hash = blake3::hash(format!("{day}/{session}/{number}").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    let millisecond = format!("{day}T09:00:00Z").parse::<jiff::Timestamp>().unwrap().as_millisecond() as u64;
    bytes[..6].copy_from_slice(&(millisecond + number * 60_000).to_be_bytes()[2..]);
    bytes[6] = 0x70 | bytes[6] & 0x0f;
    bytes[8] = 0x80 | bytes[8] & 0x3f;
    Uuid::from_bytes(bytes)
}
