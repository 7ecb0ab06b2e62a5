//! The engine on its own, for the tests that prove the tables: no check in front of it, no pool around it.

use monty_proto::worker::{Child, VecEventSink};
use monty_proto::{FrameReader, PROTOCOL_VERSION, pb};
use monty_types::MontyObject;

/// How a piece of code ended on the bare engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// What it printed, then the `repr` of its value.
    Value(String),
    /// `Type: message`.
    Raised(String),
}

/// Runs harmless code: there are no limits but a deadline.
pub(crate) fn run(code: &str) -> Answer {
    let mut child = Child::default();
    let configure = pb::Configure {
        script_name: "main.py".to_owned(),
        protocol_version: PROTOCOL_VERSION,
        limits: Some(pb::ResourceLimits { max_duration_micros: Some(5_000_000), ..Default::default() }),
        ..Default::default()
    };
    turn(&mut child, pb::parent_request::Kind::Configure(configure));
    let feed = pb::Feed { code: code.to_owned(), ..Default::default() };
    let mut printed = String::new();
    let mut request = pb::parent_request::Kind::Feed(feed);
    loop {
        let mut events = turn(&mut child, request);
        let last = events.pop().expect("a turn ends in an event");
        for event in events {
            if let Some(pb::child_event::Kind::Print(print)) = event.kind {
                printed.push_str(&print.text);
            }
        }
        request = match last.kind {
            Some(pb::child_event::Kind::Complete(complete)) => {
                let value = complete.value.and_then(|value| value.0).unwrap_or(MontyObject::None);
                return Answer::Value(printed + &value.py_repr());
            }
            Some(pb::child_event::Kind::Error(error)) => {
                let exception = error.exception.expect("an error has an exception");
                return Answer::Raised(match exception.message {
                    Some(message) => format!("{}: {message}", exception.exc_type),
                    None => exception.exc_type,
                });
            }
            Some(pb::child_event::Kind::NameLookup(_)) => {
                let undefined = pb::resume_name_lookup::Kind::Undefined(pb::Unit {});
                pb::parent_request::Kind::ResumeNameLookup(pb::ResumeNameLookup { kind: Some(undefined) })
            }
            Some(pb::child_event::Kind::FunctionCall(call)) => {
                let result = pb::ext_function_result::Kind::NotFound(call.function_name);
                let result = Some(pb::ExtFunctionResult { kind: Some(result) });
                pb::parent_request::Kind::ResumeCall(pb::ResumeCall { call_id: call.call_id, result })
            }
            Some(pb::child_event::Kind::OsCall(call)) => {
                let result = pb::ext_function_result::Kind::NotHandled(pb::Unit {});
                let result = Some(pb::ExtFunctionResult { kind: Some(result) });
                pb::parent_request::Kind::ResumeCall(pb::ResumeCall { call_id: call.call_id, result })
            }
            other => return Answer::Raised(format!("{other:?}")),
        };
    }
}

fn turn(child: &mut Child, kind: pb::parent_request::Kind) -> Vec<pb::ChildEvent> {
    let mut sink = VecEventSink::new();
    let request = pb::ParentRequest { kind: Some(kind), ..Default::default() };
    child.handle(request, &mut sink).expect("a buffer takes every event");
    let bytes = sink.take();
    let mut reader = FrameReader::new(bytes.as_slice());
    let mut events = Vec::new();
    while let Some(event) = reader.read().expect("the worker speaks the protocol") {
        events.push(event);
    }
    events
}
