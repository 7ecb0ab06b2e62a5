//! The variables of a run that stands at a call, for its timeline.
//!
//! The engine shows no variables, and a run that is being watched must not be disturbed. So its dump is loaded into another worker, the
//! call is aborted *there*, and what is then a session is asked for the value of each name.

use std::time::Duration;

use monty_proto::pb;
use monty_proto::pb::child_event::Kind as Event;
use monty_proto::pb::parent_request::Kind as Request;
use monty_types::MontyObject;

use super::requests;
use crate::pool::{Link, Lost, PrintSink, Workers};

/// More than these nobody reads.
const MOST_NAMES: usize = 30;

const WITHIN: Duration = Duration::from_secs(1);

/// `repr()` of each of the names that has a value.
pub(super) async fn look(workers: &Workers, dump: Vec<u8>, names: &[String]) -> Vec<(String, String)> {
    let Ok(mut link) = workers.observer().await else { return Vec::new() };
    // The worker ran what another worker dumped: it is killed with its link, and never serves another run.
    ask(&mut link, dump, names).await.unwrap_or_default()
}

async fn ask(link: &mut Link, dump: Vec<u8>, names: &[String]) -> Result<Vec<(String, String)>, Lost> {
    let mut prints = PrintSink::silent();
    link.turn(Request::Load(pb::Load { state: dump }), WITHIN, &mut prints).await?;
    link.turn(requests::abort("observed"), WITHIN, &mut prints).await?;
    let mut values = Vec::new();
    for name in names.iter().take(MOST_NAMES) {
        let feed = pb::Feed { code: format!("repr({name})"), inputs: Vec::new(), skip_type_check: true };
        let mut event = link.turn(Request::Feed(feed), WITHIN, &mut prints).await?;
        if let Some(Event::NameLookup(_)) = event.kind {
            event = link.turn(requests::undefined(), WITHIN, &mut prints).await?;
        }
        match event.kind {
            Some(Event::Complete(complete)) => {
                if let Some(MontyObject::String(shown)) = complete.value.and_then(|value| value.0) {
                    values.push((name.clone(), shown));
                }
            }
            // A name without a value yet.
            Some(Event::Error(_)) => {}
            // A `repr` that calls a tool: whoever only looks must not call it.
            _ => break,
        }
    }
    Ok(values)
}
