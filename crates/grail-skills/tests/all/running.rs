//! Conversations with real Python processes: what a skill does right, and every way in which one goes wrong. The host always stays alive,
//! and no process is left.

use std::time::Duration;

use grail_skills::runnable::{
    Backoff, Daemon, Ending, Leave, RunFailure, RunnableSkill, Wall, check_health_once,
};
use serde_json::json;

#[cfg(target_os = "linux")]
use crate::runnable_skill::is_gone;
use crate::runnable_skill::{Scratch, told};

#[test]
fn a_skill_made_from_the_template_shakes_hands_answers_and_ends() {
    let Some(scratch) = Scratch::template() else { return };
    let mut connection = scratch.open().unwrap();
    connection.health().unwrap();
    let answer = connection.invoke(&json!({"text": "one two three"})).unwrap();
    assert_eq!(answer.output, json!({"words": 3}));
    assert_eq!(answer.notifications, []);
    assert_eq!(connection.close(), Leave::Ended(Ending::Code(0)));
}

#[test]
fn one_invocation_is_start_handshake_request_and_end() {
    let Some(scratch) = Scratch::template() else { return };
    let invocation = scratch.invoke(json!({"text": "one two"})).unwrap();
    assert_eq!(invocation.answer.output, json!({"words": 2}));
    assert_eq!(invocation.stderr, "");
    assert_eq!(invocation.leave, Leave::Ended(Ending::Code(0)));
    if cfg!(target_os = "linux") {
        assert_eq!(invocation.fence.limits, Wall::Stands);
    }
    check_health_once(&scratch.skill, &scratch.credentials, &scratch.settings).unwrap();
}

#[test]
fn what_the_template_does_not_like_is_its_own_error() {
    let Some(scratch) = Scratch::template() else { return };
    assert_eq!(
        scratch.failure(json!({"words": 1})),
        "the skill `example` answers `skill.invoke` with an error: the input needs a \"text\" (-32602)"
    );
}

#[test]
fn a_script_without_metadata_is_no_runnable_skill() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("bare");
    std::fs::create_dir(&skill).unwrap();
    std::fs::write(skill.join("skill.py"), "print('hello')\n").unwrap();
    std::fs::write(skill.join("manifest.toml"), "id = \"bare\"\nname = \"Bare\"\ndescription = \"Bare.\"\n")
        .unwrap();
    let problem = RunnableSkill::open(&skill).unwrap_err();
    assert_eq!(problem.message, "the script has no inline metadata (PEP 723)");
    assert_eq!(problem.path, skill.join("skill.py"));
}

#[test]
fn garbage_on_stdout_is_shown() {
    let Some(scratch) = Scratch::new("prints-garbage") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `prints-garbage` prints what is not JSON: `Counting words ...`\n\
         hint: only responses go to stdout; everything else the script and its libraries print belongs on stderr"
    );
}

#[test]
fn a_script_that_never_greets_is_ended() {
    let Some(mut scratch) = Scratch::new("never-greets") else { return };
    scratch.settings.handshake_timeout = Duration::from_millis(400);
    let told = scratch.failure(json!({}));
    // On a slow machine the time is over before the script has said a word.
    let first = told.lines().next().unwrap();
    assert_eq!(first, "the skill `never-greets` has not answered `skill.handshake` within 400 ms");
}

#[test]
fn a_script_that_never_answers_is_ended() {
    let Some(mut scratch) = Scratch::new("never-answers") else { return };
    scratch.settings.request_timeout = Duration::from_millis(50);
    let mut connection = scratch.open().unwrap();
    let process = connection.process_id();
    assert_eq!(
        told(&connection.invoke(&json!({})).unwrap_err()),
        "the skill `never-answers` has not answered `skill.invoke` within 50 ms\n\
         hint: every response is flushed, and nothing long happens before the loop that reads requests"
    );
    assert_group_is_gone(process);
}

#[test]
fn an_answer_to_another_request_is_refused() {
    let Some(scratch) = Scratch::new("answers-another") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `answers-another` answers request 41 when it was asked 1\n\
         hint: a response carries the `id` of its request"
    );
}

#[test]
fn a_line_without_an_end_is_refused_while_it_is_read() {
    let Some(scratch) = Scratch::new("endless-line") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `endless-line` prints a line of more than 100 KiB\n\
         hint: return a part of the result and say that it is one"
    );
}

#[test]
fn a_gigabyte_of_lines_is_not_listened_to() {
    let Some(scratch) = Scratch::new("endless-lines") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `endless-lines` prints more than 16 MiB without an answer to `skill.invoke`\n\
         hint: return a part of the result and say that it is one"
    );
}

#[test]
fn of_stderr_the_end_is_kept() {
    let Some(mut scratch) = Scratch::new("endless-errors") else { return };
    scratch.settings.start.stderr_bytes = 1000;
    let invocation = scratch.invoke(json!({})).unwrap();
    assert_eq!(invocation.answer.output, json!("done"));
    let problem = scratch.open().and_then(|mut connection| {
        connection.invoke(&json!({}))?;
        assert!(connection.errors().len() <= 1000);
        Ok(())
    });
    problem.unwrap();
}

#[test]
fn a_script_that_dies_is_reported_with_its_last_words() {
    let Some(scratch) = Scratch::new("raises") else { return };
    let problem = scratch.invoke(json!({})).unwrap_err();
    assert_eq!(
        told(&problem),
        "the skill `raises` ended with code 1 before it answered `skill.invoke`\n\
         hint: stderr ends with `ZeroDivisionError: division by zero`"
    );
    assert!(problem.stderr.starts_with("Traceback (most recent call last):\n"), "{}", problem.stderr);
}

#[cfg(unix)]
#[test]
fn a_script_that_is_killed_is_reported_with_the_signal() {
    let Some(scratch) = Scratch::new("killed") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `killed` was ended by signal 9 before it answered `skill.invoke`"
    );
}

#[test]
fn a_script_that_closes_its_output_is_ended() {
    let Some(scratch) = Scratch::new("closes-output") else { return };
    let mut connection = scratch.open().unwrap();
    let process = connection.process_id();
    assert_eq!(
        told(&connection.invoke(&json!({})).unwrap_err()),
        "the skill `closes-output` closed its output before it answered `skill.invoke`"
    );
    assert_group_is_gone(process);
}

#[test]
fn another_name_in_the_handshake_is_refused() {
    let Some(scratch) = Scratch::new("other-name") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `other-name` calls itself `somebody-else` in the handshake\n\
         hint: `NAME` and `VERSION` of the script are the `id` and `version` of its manifest"
    );
}

#[test]
fn another_version_in_the_handshake_is_refused() {
    let Some(scratch) = Scratch::new("other-version") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `other-version` says in the handshake that it is version `0.2.0`; its manifest says `0.1.0`\n\
         hint: `NAME` and `VERSION` of the script are the `id` and `version` of its manifest"
    );
}

#[test]
fn a_result_without_an_output_is_refused() {
    let Some(scratch) = Scratch::new("no-output") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `no-output` answers `skill.invoke` without an `output`"
    );
}

#[test]
fn another_protocol_is_refused() {
    let Some(scratch) = Scratch::new("old-protocol") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `old-protocol` does not speak JSON-RPC 2.0: a message has `\"jsonrpc\": \"2.0\"`"
    );
}

#[test]
fn a_skill_cannot_ask_the_host() {
    let Some(scratch) = Scratch::new("asks-back") else { return };
    assert_eq!(
        scratch.failure(json!({})),
        "the skill `asks-back` does not speak JSON-RPC 2.0: it asks for `host.secrets`, but a skill only answers"
    );
}

#[test]
fn a_skill_may_say_that_it_is_not_well() {
    let Some(scratch) = Scratch::new("unwell") else { return };
    let problem = check_health_once(&scratch.skill, &scratch.credentials, &scratch.settings).unwrap_err();
    assert_eq!(told(&problem), "the skill `unwell` is not well: it says `degraded: no disk`");
}

#[test]
fn an_input_that_is_too_long_for_a_line_is_not_sent() {
    let Some(scratch) = Scratch::template() else { return };
    let mut connection = scratch.open().unwrap();
    let problem = connection.invoke(&json!({"text": "word ".repeat(25_000)})).unwrap_err();
    assert!(matches!(problem.failure, RunFailure::InputTooLong { .. }), "{problem}");
    assert_eq!(connection.invoke(&json!({"text": "a b"})).unwrap().output, json!({"words": 2}));
}

#[test]
fn notifications_are_collected_up_to_a_bound() {
    let Some(scratch) = Scratch::new("notifies") else { return };
    let answer = scratch.invoke(json!({})).unwrap().answer;
    assert_eq!(answer.output, json!("done"));
    assert_eq!(answer.notifications.len(), 100);
    assert_eq!(answer.notifications[99].method, "progress");
    assert_eq!(answer.notifications[99].params, json!({"step": 99}));
    assert_eq!(answer.dropped_notifications, 150);
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_skill_started_ends_with_it() {
    let Some(scratch) = Scratch::new("forks") else { return };
    let invocation = scratch.invoke(json!({})).unwrap();
    assert_eq!(invocation.leave, Leave::Ended(Ending::Code(0)));
    assert!(is_gone(invocation.answer.output.as_u64().unwrap()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_skill_that_dies_takes_with_it_what_holds_its_output() {
    let Some(scratch) = Scratch::new("forks-and-dies") else { return };
    let problem = scratch.invoke(json!({})).unwrap_err();
    assert_eq!(
        problem.to_string(),
        "the skill `forks-and-dies` ended with code 7 before it answered `skill.invoke`"
    );
    assert!(is_gone(problem.stderr.trim().parse().unwrap()));
}

#[test]
fn a_skill_that_stays_is_killed() {
    let Some(mut scratch) = Scratch::new("stays") else { return };
    scratch.settings.shutdown_timeout = Duration::from_millis(50);
    let connection = scratch.open().unwrap();
    let process = connection.process_id();
    assert_eq!(connection.close(), Leave::Killed);
    assert_group_is_gone(process);
}

#[test]
fn a_connection_that_is_dropped_leaves_nothing() {
    let Some(scratch) = Scratch::new("stays") else { return };
    let connection = scratch.open().unwrap();
    let process = connection.process_id();
    drop(connection);
    assert_group_is_gone(process);
}

#[cfg(target_os = "linux")]
#[test]
fn a_skill_that_moves_to_another_group_is_ended_too() {
    let Some(mut scratch) = Scratch::new("moves-away") else { return };
    // Behind the fence it could not move.
    scratch.settings.start.launcher = None;
    let connection = scratch.open().unwrap();
    let process = connection.process_id();
    drop(connection);
    assert!(is_gone(u64::from(process)));
}

#[test]
fn a_daemon_answers_many_requests_with_one_process() {
    let Some(scratch) = Scratch::new("obeys") else { return };
    let mut daemon = daemon(&scratch, Backoff::default());
    let process = |daemon: &mut Daemon| daemon.invoke(&json!("hello")).unwrap().output["process"].clone();
    let first = process(&mut daemon);
    assert_eq!(first, json!(daemon.process_id()));
    daemon.health().unwrap();
    assert_eq!(process(&mut daemon), first);
    // An error of the skill's own is no reason to start again.
    let refused = daemon.invoke(&json!({"fail": "no such city"})).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the skill `obeys` answers `skill.invoke` with an error: no such city (-32000)"
    );
    assert_eq!(process(&mut daemon), first);
    assert_eq!(daemon.failures(), 0);
    assert_eq!(daemon.stop(), Some(Leave::Ended(Ending::Code(0))));
}

#[test]
fn a_daemon_that_breaks_is_started_again_and_success_is_forgiven() {
    let Some(scratch) = Scratch::new("obeys") else { return };
    let mut daemon = daemon(&scratch, Backoff { first: Duration::ZERO, longest: Duration::ZERO });
    for failures in 1..=3 {
        let problem = daemon.invoke(&json!({"die": failures})).unwrap_err();
        assert_eq!(
            problem.to_string(),
            format!("the skill `obeys` ended with code {failures} before it answered `skill.invoke`")
        );
        assert_eq!((daemon.failures(), daemon.process_id()), (failures, None));
    }
    daemon.invoke(&json!("hello")).unwrap();
    assert_eq!(daemon.failures(), 0);
}

#[test]
fn a_daemon_that_broke_rests_before_it_is_started_again() {
    let Some(scratch) = Scratch::new("obeys") else { return };
    let hour = Duration::from_secs(3600);
    let mut daemon = daemon(&scratch, Backoff { first: hour, longest: hour });
    daemon.invoke(&json!({"die": 1})).unwrap_err();
    let problem = daemon.invoke(&json!("hello")).unwrap_err();
    assert!(matches!(problem.failure, RunFailure::Resting { failures: 1, .. }), "{problem}");
    assert_eq!(daemon.failures(), 1);
}

#[test]
fn rests_double_up_to_the_longest() {
    let backoff = Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(60) };
    let waits: Vec<u128> =
        [0, 1, 2, 3, 7, 8, 40, u32::MAX].map(|failures| backoff.wait(failures).as_millis()).to_vec();
    assert_eq!(waits, [0, 500, 1000, 2000, 32_000, 60_000, 60_000, 60_000]);
}

#[test]
fn many_skills_at_once_do_not_disturb_each_other() {
    let Some(scratch) = Scratch::new("obeys") else { return };
    let outputs: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                scope.spawn({
                    let scratch = &scratch;
                    move || scratch.invoke(json!(number)).unwrap().answer.output["input"].clone()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(outputs, (0..8).map(|number| json!(number)).collect::<Vec<_>>());
}

fn daemon(scratch: &Scratch, backoff: Backoff) -> Daemon {
    Daemon::new(scratch.skill.clone(), scratch.credentials.clone(), scratch.settings.clone(), backoff)
}

/// The process was waited for, so its group is gone unless something in it lives on.
fn assert_group_is_gone(process: u32) {
    #[cfg(target_os = "linux")]
    assert!(is_gone(u64::from(process)));
    #[cfg(unix)]
    {
        use rustix::process::{Pid, test_kill_process_group};
        let group = Pid::from_raw(i32::try_from(process).unwrap()).unwrap();
        assert_eq!(test_kill_process_group(group), Err(rustix::io::Errno::SRCH));
    }
}
