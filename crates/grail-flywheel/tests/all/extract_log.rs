//! Examples from files that others write to meanwhile.

use std::collections::BTreeSet;

use grail_flywheel::extract::{ExtractSettings, extract_log};

use crate::project::{Project, line};
use crate::script::session;

#[test]
fn what_is_written_while_files_are_read_is_for_the_next_time() {
    let project = Project::new();
    let script = session("a").wants("make a card").makes("card.py", "card", 0);
    let lines: String = script.events.iter().map(line).collect();
    project.write("2026-03-02-a.jsonl", &lines);
    let more = line(&script.confirms().makes("page.py", "page", 0).events[3]);
    let mut seen = 0;
    let made = extract_log(project.root(), &ExtractSettings::default(), |read| {
        seen += usize::from(read.is_ok());
        if seen == 2 {
            project.write("2026-03-02-a.jsonl", format!("{lines}{more}"));
        }
    });
    // The reader saw the file as it was, or as it is; either way no event is learned from that was not shown.
    let learned: BTreeSet<_> =
        made.unwrap().examples.into_iter().flat_map(|example| example.origin.events).collect();
    assert!(learned.len() <= seen, "{} of {seen}", learned.len());
}
