//! Sessions and branches get the outcome that was meant for them.

use grail_flywheel::event::{Event, EventKind, MergeWay};
use grail_flywheel::outcome::{Outcome, branch_outcomes, session_outcomes};

fn work(session: &str, branch: &str) -> Event {
    let mut event = Event::new(session, 1, EventKind::UserMessage { text: "hello".to_owned() });
    event.context.branch = Some(branch.to_owned());
    event
}

fn merged(branch: &str, sessions: &[&str]) -> Event {
    let sessions = sessions.iter().map(|session| (*session).to_owned()).collect();
    let (merged, into) = (branch.to_owned(), "main".to_owned());
    Event::new(
        "git-1",
        1,
        EventKind::BranchMerged { merged, into, way: MergeWay::Merge, tip: None, sessions },
    )
}

fn closed(branch: &str, sessions: &[&str]) -> Event {
    let sessions = sessions.iter().map(|session| (*session).to_owned()).collect();
    Event::new(
        "git-1",
        1,
        EventKind::BranchClosed { closed: branch.to_owned(), reported: true, tip: None, sessions },
    )
}

/// `session@branch outcome` for each, then `branch outcome`.
fn told(events: &[Event]) -> String {
    let sessions = session_outcomes(events).by_session.into_iter();
    let sessions =
        sessions.map(|((session, branch), outcome)| format!("{session}@{branch} {}", outcome.name()));
    let branches =
        branch_outcomes(events).into_iter().map(|(branch, outcome)| format!("{branch} {}", outcome.name()));
    sessions.chain(branches).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_branch_that_nobody_judged_is_open() {
    insta::assert_snapshot!(told(&[work("a", "cards"), work("b", "main")]), @"
    a@cards open
    b@main open
    cards open
    main open
    ");
}

#[test]
fn merged_beats_closed_whichever_came_last() {
    insta::assert_snapshot!(told(&[work("a", "cards"), merged("cards", &["a"]), closed("cards", &["a"])]), @"
    a@cards merged
    cards merged
    ");
    insta::assert_snapshot!(told(&[work("a", "cards"), closed("cards", &[]), merged("cards", &[])]), @"
    a@cards merged
    cards merged
    ");
}

#[test]
fn a_name_that_is_used_again_is_another_branch() {
    let events = [
        work("a", "cards"),
        merged("cards", &[]),
        work("b", "cards"),
        closed("cards", &[]),
        work("c", "cards"),
    ];
    insta::assert_snapshot!(told(&events), @"
    a@cards merged
    b@cards closed
    c@cards open
    cards open
    ");
    insta::assert_snapshot!(told(&events[..4]), @"
    a@cards merged
    b@cards closed
    cards closed
    ");
}

#[test]
fn the_order_of_files_does_not_matter_where_sessions_are_named() {
    let mut events =
        [work("a", "cards"), merged("cards", &["a"]), work("b", "cards"), closed("cards", &["b"])];
    let told_in_order = told(&events);
    events.reverse();
    assert_eq!(told(&events), told_in_order);
    insta::assert_snapshot!(told_in_order, @"
    a@cards merged
    b@cards closed
    cards closed
    ");
}

#[test]
fn a_session_may_work_on_several_branches() {
    let events = [work("a", "cards"), work("a", "lists"), merged("cards", &[])];
    insta::assert_snapshot!(told(&events), @"
    a@cards merged
    a@lists open
    cards merged
    lists open
    ");
    assert_eq!(session_outcomes(&events).of("a", None), Outcome::Open);
}
