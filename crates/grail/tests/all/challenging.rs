//! Two phases in daily work: one that answers, and one that is on trial for a share of the intents, openly or in the shadow.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use grail_flywheel::phase::{Phase, PhaseState, Phases, Why, hash_adapter};
use grail_flywheel::suite::{SuitePrompt, load_suite};
use grail_flywheel::{Event, EventKind, Filter, read_events};
use serde_json::{Value as Json, json};

use crate::scratch::has_python;
use crate::wheel::Wheel;

impl Wheel {
    /// A phase that knows the answers, without the time that training takes.
    fn phase(&self) -> String {
        let phases = Phases::new(self.0.root());
        let begun: Phase = serde_json::from_value(json!({
            "format": 1,
            "id": "",
            "base": {"name": "tiny", "sha256": "0123456789abcdef".repeat(4)},
            "trainer": "local",
            "seed": 0,
            "started": "2026-11-16T00:00:00Z",
            "state": {"state": "training"},
        }))
        .unwrap();
        let mut phase = phases.begin(begun).unwrap();
        let folder = phases.adapter_folder(&phase.id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("adapters.safetensors"), "{}").unwrap();
        phase.adapter = Some(hash_adapter(&folder).unwrap());
        phase.identity = Some("0123456789abcdef+feedfeedfeedfeed".to_owned());
        phase.state = PhaseState::Trained;
        phases.save(&phase).unwrap();
        phase.id
    }

    /// One phase that is promoted, and another one.
    fn two_phases(&self) -> (Phases, String, String) {
        let phases = Phases::new(self.0.root());
        let (current, challenger) = (self.phase(), self.phase());
        phases.promote(&current, Why::default()).unwrap();
        (phases, current, challenger)
    }

    /// The first prompt like this, of those that phases know.
    fn prompt(&self, is_meant: impl Fn(&str) -> bool) -> SuitePrompt {
        let prompts = load_suite(self.0.root(), "cards").unwrap().prompts;
        prompts.into_iter().find(|prompt| is_meant(&prompt.prompt)).unwrap()
    }

    fn generate(&self, prompt: &SuitePrompt) -> Json {
        let (intent, kind) = (prompt.prompt.as_str(), prompt.kind.as_str());
        self.json(&["generate", intent, "--kind", kind, "--layer", "syntax", "--layer", "rules"])
    }

    /// What a host is answered that wants the same.
    fn generate_for_host(&self, prompt: &SuitePrompt) -> Json {
        let payload = json!({"intent": prompt.prompt, "kind": prompt.kind, "layers": ["syntax", "rules"]});
        let envelope = json!({"v": 1, "request_id": "1", "command": "generate", "payload": payload});
        let mut process = self
            .0
            .command(&["host"])
            .env("GRAIL_LOCAL_PROGRAM", self.0.path("bin/grail-local"))
            .env("GRAIL_TEST_ANSWERS", self.0.path("answers.json"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        process.stdin.take().unwrap().write_all(envelope.to_string().as_bytes()).unwrap();
        serde_json::from_slice(&process.wait_with_output().unwrap().stdout).unwrap()
    }

    fn events(&self) -> Vec<Event> {
        let read = read_events(self.0.root(), &Filter::default()).unwrap();
        read.map(|stored| stored.unwrap().event).collect()
    }

    /// What was wanted and made, and the phase that answered it, as events say.
    fn answered(&self) -> Vec<(String, Option<String>)> {
        let told = self.events().into_iter().filter_map(|event| match event.kind {
            EventKind::Intent { request, .. } | EventKind::Generation { request, .. } => {
                Some((request, event.context.phase))
            }
            _ => None,
        });
        let mut answered: Vec<_> = told.collect();
        answered.sort();
        answered
    }

    /// Who answered in the shadow, and whether it passed.
    fn unseen(&self) -> Vec<(String, bool)> {
        let told = self.events().into_iter().filter_map(|event| match event.kind {
            EventKind::Shadow { challenger, answer, .. } => {
                let passed = matches!(answer.as_deref(), Some(EventKind::Generation { validated: true, .. }));
                Some((challenger, passed))
            }
            _ => None,
        });
        let mut unseen: Vec<_> = told.collect();
        unseen.sort();
        unseen
    }
}

#[test]
fn a_challenger_answers_its_share_of_generations_and_events_name_who_answered() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    let (phases, current, challenger) = wheel.two_phases();
    let shared = phases.challenge(&challenger, 0.4).unwrap();
    let mut expected = Vec::new();
    for phase in [&current, &challenger] {
        let prompt = wheel.prompt(|prompt| shared.assign(prompt).phase() == Some(phase.as_str()));
        for _ in 0..2 {
            assert_eq!(wheel.generate(&prompt)["proposal"]["model"]["name"], format!("phase:{phase}"));
        }
        // What a host wants is shared out as well.
        let answer = wheel.generate_for_host(&prompt);
        assert_eq!(answer["ok"], true, "{answer:#}");
        // Three times, and each is an intent and a generation.
        expected.extend(vec![(prompt.prompt, Some(phase.clone())); 6]);
    }
    expected.sort();
    assert_eq!(wheel.answered(), expected);
    assert_eq!(wheel.asked(), BTreeMap::from([(current, 3), (challenger, 3)]));
}

#[test]
fn a_phase_in_the_shadow_answers_as_well_and_leaves_nothing_but_events() {
    if !has_python() {
        return;
    }
    let wheel = Wheel::new();
    let (phases, current, challenger) = wheel.two_phases();
    assert_eq!(
        wheel.run(&["promote", &challenger, "--challenge", "0.4", "--shadow"]),
        format!(
            "{challenger} answers 40 % of the intents in the shadow\n\
             ! `grail events show SESSION` tells what came of it; `grail promote --end-challenge` ends it\n\
             exit 0\n"
        )
    );
    let shared = phases.current().unwrap();
    let shadowed = wheel.prompt(|prompt| shared.shadow(prompt).is_some());
    let other = wheel.prompt(|prompt| shared.shadow(prompt).is_none());
    for prompt in [&shadowed, &other] {
        assert_eq!(wheel.generate(prompt)["proposal"]["model"]["name"], format!("phase:{current}"));
    }
    assert_eq!(wheel.asked(), BTreeMap::from([(current.clone(), 2), (challenger.clone(), 1)]));
    assert!(wheel.answered().iter().all(|(_, phase)| phase.as_ref() == Some(&current)));
    assert_eq!(wheel.unseen(), [(challenger.clone(), true)]);
    let tail = wheel.run(&["events", "tail"]);
    assert!(tail.contains(&format!("shadow  {challenger} ")), "{tail}");
    // Only what was shown waits, and only that counts.
    let waiting = wheel.json(&["proposals", "list"]);
    assert_eq!(waiting["proposals"].as_array().unwrap().len(), 2);
    let stats = wheel.json(&["events", "stats", "--by", "phase"]);
    let groups = stats["stats"]["phases"].as_array().unwrap().iter();
    let made: Vec<&Json> =
        groups.filter(|group| group["generations"] != 0).map(|group| &group["name"]).collect();
    assert_eq!(made, [current.as_str()]);
    // Where the one that answers fails, the other one is asked all the same: here neither knows the answer.
    let mut unknown = (0..).map(|number| format!("a kettle badge component with colour {number}"));
    let unknown = unknown.find(|intent| shared.shadow(intent).is_some()).unwrap();
    let seen = wheel.run(&["generate", &unknown, "--layer", "syntax", "--layer", "rules"]);
    assert!(seen.ends_with("exit 2\n"), "{seen}");
    assert_eq!(wheel.unseen(), [(challenger.clone(), false), (challenger, true)]);
}
