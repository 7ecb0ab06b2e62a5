//! What happened in a run, in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value as Json;

use super::redactor::Redactor;
use crate::outcome::{Ending, Printed};
use crate::tool::{Call, ToolError};
use crate::value::Value;

/// The steps of a run. Secrets are redacted, long values are cut, and of a long run only the beginning and the end are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    pub steps: Vec<TimelineStep>,
    /// How many steps were left out before the last.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineStep {
    /// Microseconds since the run began, or was loaded to go on.
    pub at_micros: u64,
    #[serde(flatten)]
    pub event: TimelineEvent,
}

/// Values are JSON text, cut with `…` where they are long.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum TimelineEvent {
    Started {
        policy: String,
    },
    /// The checks before the run found nothing, and a worker is ready.
    Checked,
    /// Stands where the code called; the answer is filled in when it comes.
    ToolCall {
        tool: String,
        arguments: Vec<String>,
        /// In the form `name=value`.
        keywords: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// The exception that the code saw instead of a result.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Top-level variables at the call, in the form `name = repr`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        variables: Vec<String>,
        /// Until the driver had the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        took_micros: Option<u64>,
    },
    /// A file, the clock or the environment was asked for.
    SystemCall {
        operation: String,
    },
    /// Output since the step before.
    Printed {
        bytes: u64,
    },
    /// The run stands still until this call is answered from outside.
    Suspended {
        tool: String,
    },
    Resumed,
    Finished {
        ending: &'static str,
    },
}

/// Writes a timeline, if one is wanted, and knows the secrets of the run.
#[derive(Debug)]
pub(crate) struct Recorder {
    redactor: Redactor,
    recording: Option<Box<Recording>>,
}

#[derive(Debug)]
struct Recording {
    begun: Instant,
    policy: String,
    timeline: Timeline,
    /// Where the steps of unanswered calls are, by the call's number.
    open_calls: BTreeMap<u32, (usize, Instant)>,
    /// Bytes of output that are in the timeline.
    printed: usize,
}

const MAX_STEPS: usize = 1000;
const MAX_VALUE_LENGTH: usize = 1000;
/// Of positional and of keyword arguments.
const MAX_ARGUMENTS: usize = 50;

impl Recorder {
    pub(crate) fn off(redactor: Redactor) -> Self {
        Self { redactor, recording: None }
    }

    pub(crate) fn on(redactor: Redactor, policy: String, begun: Instant) -> Self {
        let timeline = Timeline::default();
        let recording = Recording { begun, policy, timeline, open_calls: BTreeMap::new(), printed: 0 };
        Self { redactor, recording: Some(Box::new(recording)) }
    }

    /// What hides the secrets of this run, those among its inputs included. A run that was loaded from a snapshot knows these by name
    /// only.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The beginning of a run, or of a session's snippet, whose checks are done. `inputs` are what the code sees under that name.
    pub(crate) fn started(&mut self, begun: Instant, inputs: impl FnOnce() -> Json) {
        if self.redactor.has_names() {
            self.redactor = self.redactor.for_inputs(&inputs());
        }
        let Some(recording) = &mut self.recording else { return };
        recording.begun = begun;
        let event = TimelineEvent::Started { policy: cut(&recording.policy) };
        recording.timeline.steps.push(TimelineStep { at_micros: 0, event });
        self.add(|_| TimelineEvent::Checked);
    }

    pub(crate) fn called(&mut self, id: u32, call: &Call) {
        let next = self.recording.as_ref().map_or(0, |recording| recording.timeline.steps.len());
        let is_added = self.add(|redactor| TimelineEvent::ToolCall {
            tool: cut(&call.tool),
            arguments: call.arguments.iter().take(MAX_ARGUMENTS).map(|value| show(redactor, value)).collect(),
            keywords: call
                .keywords
                .iter()
                .take(MAX_ARGUMENTS)
                .map(|(name, value)| format!("{}={}", cut(name), show_field(redactor, name, value)))
                .collect(),
            result: None,
            error: None,
            variables: Vec::new(),
            took_micros: None,
        });
        if is_added && let Some(recording) = &mut self.recording {
            recording.open_calls.insert(id, (next, Instant::now()));
        }
    }

    pub(crate) fn answered(&mut self, id: u32, answer: &Result<Value, ToolError>) {
        let Some(recording) = &mut self.recording else { return };
        let Some((place, called)) = recording.open_calls.remove(&id) else { return };
        let Some(step) = recording.timeline.steps.get_mut(place) else { return };
        if let TimelineEvent::ToolCall { result, error, took_micros, .. } = &mut step.event {
            *took_micros = Some(micros(called.elapsed()));
            match answer {
                Ok(value) => *result = Some(show(&self.redactor, value)),
                Err(failure) => *error = Some(cut(&self.redactor.text(&failure.to_string()))),
            }
        }
    }

    /// The top-level variables when the call was made.
    pub(crate) fn variables(&mut self, id: u32, values: Vec<(String, String)>) {
        let Some(recording) = &mut self.recording else { return };
        let Some((place, _)) = recording.open_calls.get(&id) else { return };
        if let Some(TimelineStep { event: TimelineEvent::ToolCall { variables, .. }, .. }) =
            recording.timeline.steps.get_mut(*place)
        {
            *variables = values
                .iter()
                .map(|(name, shown)| cut(&self.redactor.text(&format!("{name} = {shown}"))))
                .collect();
        }
    }

    pub(crate) fn system_call(&mut self, operation: &str) {
        self.add(|_| TimelineEvent::SystemCall { operation: cut(operation) });
    }

    pub(crate) fn suspended(&mut self, call: &Call) {
        self.add(|_| TimelineEvent::Suspended { tool: cut(&call.tool) });
    }

    pub(crate) fn resumed(&mut self) {
        self.add(|_| TimelineEvent::Resumed);
    }

    /// To be told now and then how many bytes the run has printed in all.
    pub(crate) fn printed(&mut self, total: usize) {
        let Some(recording) = &mut self.recording else { return };
        let new = total.saturating_sub(recording.printed);
        recording.printed = total;
        if new > 0 {
            self.add(|_| TimelineEvent::Printed { bytes: new as u64 });
        }
    }

    /// Adds the last step and hands the timeline over. What is recorded then begins another.
    pub(crate) fn finish(&mut self, ending: &Ending, printed: &Printed) -> Option<Timeline> {
        self.printed(printed.text.len());
        let recording = self.recording.as_mut()?;
        recording.printed = 0;
        recording.open_calls.clear();
        if recording.timeline.steps.len() >= MAX_STEPS {
            recording.timeline.steps.truncate(MAX_STEPS - 1);
            recording.timeline.dropped += 1;
        }
        self.add(|_| TimelineEvent::Finished { ending: ending.name() });
        self.recording.as_mut().map(|recording| std::mem::take(&mut recording.timeline))
    }

    fn add(&mut self, event: impl FnOnce(&Redactor) -> TimelineEvent) -> bool {
        let Some(recording) = &mut self.recording else { return false };
        if recording.timeline.steps.len() >= MAX_STEPS {
            recording.timeline.dropped += 1;
            return false;
        }
        let at_micros = micros(recording.begun.elapsed());
        let event = event(&self.redactor);
        recording.timeline.steps.push(TimelineStep { at_micros, event });
        true
    }
}

/// Redacted as a whole before it is cut: half a secret would not be recognised.
fn show(redactor: &Redactor, value: &Value) -> String {
    show_json(&redactor.json(&value.to_json()))
}

/// A value that is hidden if its name is.
fn show_field(redactor: &Redactor, name: &str, value: &Value) -> String {
    let record = Json::Object([(name.to_owned(), value.to_json())].into_iter().collect());
    let redacted = redactor.json(&record);
    redacted.as_object().and_then(|record| record.values().next()).map(show_json).unwrap_or_default()
}

fn show_json(value: &Json) -> String {
    let mut text = Bounded(Vec::new());
    // Ends early with an error once the text is long enough.
    let _ = serde_json::to_writer(&mut text, value);
    cut(&String::from_utf8_lossy(&text.0))
}

struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A character takes up to four bytes.
        if self.0.len() > 4 * MAX_VALUE_LENGTH {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(8 * MAX_VALUE_LENGTH);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(steps: impl FnOnce(&mut Recorder)) -> Timeline {
        let redactor = Redactor::default().secret("hunter22").expect("long enough");
        let redactor = redactor.secret_input("api_key", &Json::from("k-123456"));
        let mut recorder = Recorder::on(redactor, "default".to_owned(), Instant::now());
        recorder.started(Instant::now(), || Json::Null);
        steps(&mut recorder);
        finish(&mut recorder).expect("it is wanted")
    }

    fn finish(recorder: &mut Recorder) -> Option<Timeline> {
        let printed = Printed { text: "seven..".to_owned(), truncated: false };
        recorder.finish(&Ending::Value { value: Value::None }, &printed)
    }

    fn call(tool: &str, arguments: Vec<Value>) -> Call {
        Call { tool: tool.to_owned(), arguments, keywords: Vec::new() }
    }

    /// The steps as JSON lines, without times.
    fn lines(timeline: &Timeline) -> String {
        let mut timeline = timeline.clone();
        for step in &mut timeline.steps {
            step.at_micros = 0;
            if let TimelineEvent::ToolCall { took_micros: Some(took), .. } = &mut step.event {
                *took = 1;
            }
        }
        let lines: Vec<String> =
            timeline.steps.iter().map(|step| serde_json::to_string(step).expect("plain data")).collect();
        lines.join("\n").replace("\"at_micros\":0,", "")
    }

    #[test]
    fn steps_come_in_order_without_secrets() {
        let timeline = record(|recorder| {
            let mut login = call("login", vec![Value::str("anna"), Value::str("password hunter22!")]);
            login.keywords =
                vec![("api_key".to_owned(), Value::Int(7)), ("retries".to_owned(), Value::Int(3))];
            recorder.called(1, &login);
            recorder.printed(3);
            recorder.printed(3);
            recorder.called(2, &call("fetch", vec![]));
            recorder.answered(2, &Err(ToolError::value_error("no hunter22")));
            recorder.answered(1, &Ok(Value::Dict(vec![(Value::str("token"), Value::str("k-123456"))])));
            recorder.system_call("Path.read_text");
            let approve = call("approve", vec![]);
            recorder.called(3, &approve);
            recorder.suspended(&approve);
            recorder.resumed();
        });
        insta::assert_snapshot!(lines(&timeline), @r#"
        {"step":"started","policy":"default"}
        {"step":"checked"}
        {"step":"tool-call","tool":"login","arguments":["\"anna\"","\"password [redacted]!\""],"keywords":["api_key=\"[redacted]\"","retries=3"],"result":"{\"token\":\"[redacted]\"}","took_micros":1}
        {"step":"printed","bytes":3}
        {"step":"tool-call","tool":"fetch","arguments":[],"keywords":[],"error":"ValueError: no [redacted]","took_micros":1}
        {"step":"system-call","operation":"Path.read_text"}
        {"step":"tool-call","tool":"approve","arguments":[],"keywords":[]}
        {"step":"suspended","tool":"approve"}
        {"step":"resumed"}
        {"step":"printed","bytes":4}
        {"step":"finished","ending":"value"}
        "#);
    }

    #[test]
    fn times_never_go_back() {
        let timeline = record(|recorder| (0..100).for_each(|_| recorder.resumed()));
        assert!(timeline.steps.is_sorted_by_key(|step| step.at_micros));
    }

    #[test]
    fn a_long_run_keeps_its_beginning_and_its_end() {
        let timeline = record(|recorder| {
            for id in 0..5000 {
                recorder.called(id, &call("fetch", vec![]));
                recorder.answered(id, &Ok(Value::None));
            }
        });
        assert_eq!(timeline.steps.len(), MAX_STEPS);
        // Started, checked, the calls, printed, finished.
        assert_eq!(timeline.dropped, 5004 - 1000);
        assert_eq!(timeline.steps[0].event, TimelineEvent::Started { policy: "default".to_owned() });
        assert_eq!(timeline.steps[MAX_STEPS - 1].event, TimelineEvent::Finished { ending: "value" });
    }

    #[test]
    fn long_values_are_cut_after_they_were_redacted() {
        let long = "é".repeat(MAX_VALUE_LENGTH - 5) + "hunter22" + &"x".repeat(1_000_000);
        let many = vec![Value::Int(1); 10_000];
        let timeline = record(|recorder| {
            recorder.called(1, &call("t", vec![Value::str(long.as_str())]));
            recorder.called(2, &call("t", many.clone()));
            recorder.answered(2, &Ok(Value::List(many)));
        });
        let TimelineEvent::ToolCall { arguments, .. } = &timeline.steps[2].event else { panic!("a call") };
        assert_eq!(arguments[0], format!("\"{}[red…", "é".repeat(MAX_VALUE_LENGTH - 5)));
        let TimelineEvent::ToolCall { arguments, result, .. } = &timeline.steps[3].event else {
            panic!("a call")
        };
        assert_eq!(arguments.len(), MAX_ARGUMENTS);
        assert_eq!(result.as_ref().map(|text| text.chars().count()), Some(MAX_VALUE_LENGTH + 1));
    }

    #[test]
    fn a_session_has_one_timeline_for_each_snippet() {
        let mut recorder = Recorder::on(Redactor::default(), "default".to_owned(), Instant::now());
        for _ in 0..2 {
            recorder.started(Instant::now(), || Json::Null);
            let timeline = finish(&mut recorder).expect("it is wanted");
            let names = ["started", "checked", "printed", "finished"].map(|name| format!("\"{name}\""));
            let lines = lines(&timeline);
            assert!(lines.lines().zip(names).all(|(line, name)| line.contains(&name)), "{lines}");
            assert_eq!(timeline.steps.len(), 4);
        }
    }

    #[test]
    fn unwanted_it_records_nothing() {
        let mut recorder = Recorder::off(Redactor::default());
        recorder.started(Instant::now(), || Json::Null);
        recorder.called(1, &call("fetch", vec![]));
        recorder.printed(1);
        assert_eq!(finish(&mut recorder), None);
    }
}
