//! The index: the same answers however it came about, and an answer whatever is wrong with its file.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use grail_flywheel::event::SkillStage;
use grail_flywheel::index::{self, Days, Index};
use grail_flywheel::metrics::{self, Period};

use crate::scripted::{Project, Session, scripted_sessions};

/// Every question, with every answer.
pub(crate) fn everything(index: &Index) -> String {
    let days = Days::default();
    let mut generations = Vec::new();
    index
        .generations(days, |fact| {
            let names = [fact.artifact, fact.model, fact.phase, fact.branch, fact.skills, fact.proposal];
            let names = names.map(|word| word.map(|word| index.word(word).unwrap()));
            let session = index.word(fact.session).unwrap();
            generations.push(format!(
                "{session} {names:?} {:?} {} {:?} {:?} {} {} {}",
                fact.day, fact.validated, fact.types, fact.tests, fact.retries, fact.lines, fact.tokens
            ));
        })
        .unwrap();
    generations.sort();
    let mut worked: Vec<String> = index
        .worked(days, 60)
        .unwrap()
        .iter()
        .map(|worked| {
            let name = |word: Option<i64>| word.map(|word| index.word(word).unwrap());
            format!(
                "{:?} {:?} {:?} {}",
                worked.week,
                name(worked.model),
                name(worked.phase),
                worked.milliseconds
            )
        })
        .collect();
    worked.sort();
    let decided =
        ["approved", "rejected", "reverted", "merged", "closed", "session_merged", "session_closed"].map(
            |decision| {
                let words = index.decided(decision).unwrap();
                let mut names: Vec<String> = words.iter().map(|word| index.word(*word).unwrap()).collect();
                names.sort();
                (decision, names)
            },
        );
    let sessions = index.find_sessions("", 1000).unwrap();
    let stories: Vec<_> = sessions.iter().map(|session| index.session_events(session).unwrap()).collect();
    let metrics = metrics::compute(index, &Period::default()).unwrap();
    format!(
        "{generations:#?}\n{worked:#?}\n{decided:#?}\n{:#?}\n{:#?}\n{:?}\n{:#?}\n{:#?}\n{stories:#?}\n{}",
        index.rule_counts(days).unwrap(),
        index.funnels(days).unwrap(),
        index.event_counts(days).unwrap(),
        index.unreadable().unwrap(),
        index.latest(1000).unwrap(),
        serde_json::to_string_pretty(&metrics).unwrap()
    )
}

pub(crate) fn open(root: &Path) -> Index {
    let mut index = Index::open(root).unwrap();
    index.catch_up().unwrap();
    index
}

/// What a new database says about the same files.
fn rebuilt(root: &Path) -> String {
    let mut index = Index::open(root).unwrap();
    index.rebuild().unwrap();
    everything(&index)
}

#[test]
fn growing_line_by_line_gives_the_answers_of_a_rebuild() {
    let project = Project::empty();
    fs::create_dir_all(project.file("")).unwrap();
    let mut index = Index::open(project.root()).unwrap();
    // Files come in an order of their own, and lines in pieces that are torn anywhere.
    let mut sessions = scripted_sessions();
    sessions.reverse();
    for session in &sessions {
        let mut file = fs::File::create(project.file(&session.file_name())).unwrap();
        for line in session.lines() {
            let (start, end) = line.split_at(line.len() / 2);
            file.write_all(start.as_bytes()).unwrap();
            index.catch_up().unwrap();
            file.write_all(end.as_bytes()).unwrap();
            index.catch_up().unwrap();
        }
    }
    let grown = everything(&index);
    assert_eq!(index.notes(), [] as [&str; 0]);
    assert_eq!(grown, rebuilt(project.root()));
    // And of one that another program makes of the same files.
    let copy = Project::scripted();
    assert_eq!(grown, everything(&open(copy.root())));
}

#[test]
fn only_new_bytes_are_read() {
    let project = Project::scripted();
    let mut index = Index::open(project.root()).unwrap();
    let first = index.catch_up().unwrap();
    assert_eq!((first.events, first.files), (25, 4));
    assert_eq!(index.catch_up().unwrap().bytes, 0);
    let mut session = Session::new("alpha", "2026-11-02", "b", "m");
    session.skill("late", SkillStage::Offered);
    let mut file = fs::File::options().append(true).open(project.file("2026-11-02-alpha.jsonl")).unwrap();
    // Another id and number than those that are there.
    let line = session.text().replace("\"number\":1,", "\"number\":99,").replace("01", "02");
    file.write_all(line.as_bytes()).unwrap();
    let second = index.catch_up().unwrap();
    assert_eq!((second.events, second.bytes), (1, line.len() as u64));
    assert_eq!(everything(&index), rebuilt(project.root()));
}

#[test]
fn rewritten_shortened_and_removed_files_are_noticed() {
    let project = Project::scripted();
    let mut index = open(project.root());
    let sessions = scripted_sessions();
    // Another file of the same length.
    let text = sessions[1].text().replace("small-1", "small-9");
    fs::write(project.file(&sessions[1].file_name()), text).unwrap();
    // Only its first lines.
    fs::write(project.file(&sessions[2].file_name()), sessions[2].lines()[..3].concat()).unwrap();
    fs::remove_file(project.file(&sessions[3].file_name())).unwrap();
    assert_eq!(index.catch_up().unwrap().removed, 3);
    let grown = everything(&index);
    assert!(grown.contains("small-9") && !grown.contains("c0ffee"));
    assert_eq!(grown, rebuilt(project.root()));
}

#[test]
fn what_is_gone_leaves_no_trace_in_the_database() {
    let project = Project::scripted();
    let mut index = open(project.root());
    fs::remove_file(project.file("2026-11-02-alpha.jsonl")).unwrap();
    index.catch_up().unwrap();
    drop(index);
    for name in ["grail.db", "grail.db-wal"] {
        let bytes = fs::read(project.root().join(".grail").join(name)).unwrap_or_default();
        for word in ["alpha", "p-1", "app/prices.py.", "charts"] {
            let is_there = bytes.windows(word.len()).any(|window| window == word.as_bytes());
            assert!(!is_there, "`{word}` is still in {name}");
        }
    }
}

#[test]
fn an_event_that_stands_in_two_files_counts_once_wherever_it_was_read_first() {
    let sessions = scripted_sessions();
    let copied = sessions[0].text();
    let (early, late) = ("2026-11-01-alpha.jsonl", "2026-11-02-alpha.jsonl");
    let answers = [[early, late], [late, early]].map(|order| {
        let project = Project::empty();
        fs::create_dir_all(project.file("")).unwrap();
        let mut index = Index::open(project.root()).unwrap();
        for name in order {
            fs::write(project.file(name), &copied).unwrap();
            index.catch_up().unwrap();
        }
        let both = everything(&index);
        assert_eq!(both, rebuilt(project.root()));
        fs::remove_file(project.file(early)).unwrap();
        index.catch_up().unwrap();
        let one = everything(&index);
        assert_eq!(one, rebuilt(project.root()));
        assert_eq!(metrics::compute(&index, &Period::default()).unwrap().total.generations, 1);
        (both, one)
    });
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn lines_that_are_no_events_are_told_and_the_rest_counts() {
    let project = Project::scripted();
    let session = &scripted_sessions()[0];
    let mut bytes = b"not json\n\xff\xfe\n{\"version\":99}\n".to_vec();
    bytes.extend(session.text().as_bytes());
    bytes.extend(b"{\"version\":1,\"half of a li");
    fs::write(project.file(&session.file_name()), bytes).unwrap();
    let index = open(project.root());
    let unreadable = index.unreadable().unwrap();
    assert_eq!(unreadable.iter().map(|(_, line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(
        index.event_counts(Days::default()).unwrap().iter().map(|(_, number)| number).sum::<u64>(),
        25
    );
    assert_eq!(everything(&index), rebuilt(project.root()));
}

#[test]
fn a_damaged_database_is_made_anew() {
    let project = Project::scripted();
    let right = everything(&open(project.root()));
    // Not a database at all, cut off, and with other bytes in the middle.
    let whole = fs::read(project.database()).unwrap();
    let mut scrambled = whole.clone();
    let end = scrambled.len();
    scrambled[4096..end].fill(0xa5);
    for bytes in [b"hello".to_vec(), b"hello world".repeat(1000), whole[..5000].to_vec(), scrambled] {
        fs::write(project.database(), bytes).unwrap();
        let mut index = Index::open(project.root()).unwrap();
        index.catch_up().unwrap();
        let answer = index.answer(|index| metrics::compute(index, &Period::default())).unwrap();
        assert_eq!(answer.events, 25);
        assert_eq!(everything(&index), right);
        assert!(!index.notes().is_empty());
        drop(index);
        assert_eq!(everything(&open(project.root())), right);
    }
}

#[test]
fn a_database_that_is_deleted_while_in_use_is_made_anew() {
    let project = Project::scripted();
    let mut index = open(project.root());
    let right = everything(&index);
    for name in ["grail.db", "grail.db-wal", "grail.db-shm"] {
        let _ = fs::remove_file(project.root().join(".grail").join(name));
    }
    index.catch_up().unwrap();
    assert_eq!(everything(&index), right);
    assert_eq!(index.notes(), ["`.grail/grail.db` was deleted; it was made anew from the events"]);
    assert!(index.is_kept() && project.database().exists());
}

#[test]
fn the_database_of_a_newer_grail_and_of_others_is_left_alone() {
    let project = Project::scripted();
    let right = everything(&open(project.root()));
    rusqlite::Connection::open(project.database()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let index = open(project.root());
    assert_eq!(everything(&index), right);
    assert_eq!(
        index.notes(),
        [format!(
            "`.grail/grail.db` was written by a newer Grail (version 99; this one knows {}); the events were read anew for this answer",
            index::current_version()
        )]
    );
    fs::remove_file(project.database()).unwrap();
    let foreign = rusqlite::Connection::open(project.database()).unwrap();
    foreign.execute_batch("CREATE TABLE theirs(a); INSERT INTO theirs VALUES (1);").unwrap();
    let mut index = open(project.root());
    assert_eq!(everything(&index), right);
    assert_eq!(foreign.query_row("SELECT a FROM theirs", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    drop(foreign);
    // Only who asks for it gets it replaced.
    index.rebuild().unwrap();
    assert!(index.is_kept());
    assert_eq!(everything(&open(project.root())), right);
}

#[test]
fn a_locked_database_does_not_keep_an_answer_back() {
    let project = Project::scripted();
    let other = open(project.root());
    let right = everything(&other);
    let mut session = Session::new("late", "2026-11-17", "b", "m");
    session.skill("late", SkillStage::Offered);
    project.write(&session);
    let lock = rusqlite::Connection::open(project.database()).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut index = Index::open_with_patience(project.root(), Duration::ZERO).unwrap();
    index.catch_up().unwrap();
    assert_eq!(
        index.notes(),
        ["`.grail/grail.db` is in use by another Grail; the events were read anew for this answer"]
    );
    assert_eq!(metrics::compute(&index, &Period::default()).unwrap().events, 26);
    // Whoever only reads is not kept from it.
    assert_eq!(everything(&other), right);
}

#[test]
fn without_a_place_to_write_the_answer_comes_from_memory() {
    let project = Project::scripted();
    // A folder where the file should be: nobody, not even root, can open that.
    fs::create_dir(project.database()).unwrap();
    let index = open(project.root());
    assert!(!index.is_kept());
    assert_eq!(
        index.notes(),
        ["`.grail/grail.db` cannot be written; the events were read anew for this answer"]
    );
    assert_eq!(metrics::compute(&index, &Period::default()).unwrap().events, 25);
    let mut index = Index::open(project.root()).unwrap();
    assert_eq!(index.rebuild().unwrap().events, 25);
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_the_database_is_not_followed() {
    let project = Project::scripted();
    let elsewhere = project.root().join("elsewhere.db");
    std::os::unix::fs::symlink(&elsewhere, project.database()).unwrap();
    let index = open(project.root());
    assert_eq!(metrics::compute(&index, &Period::default()).unwrap().events, 25);
    assert!(!elsewhere.exists());
}

#[test]
fn asking_a_project_without_a_memory_makes_none() {
    let project = Project::empty();
    let index = open(project.root());
    assert!(metrics::compute(&index, &Period::default()).unwrap().is_empty());
    assert_eq!(index.notes(), [] as [&str; 0]);
    assert!(!project.root().join(".grail").exists());
}

#[test]
fn two_that_catch_up_at_once_count_everything_once() {
    let project = Project::scripted();
    let right = everything(&open(Project::scripted().root()));
    let root = project.root();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(|| everything(&open(root)))).collect();
        for reader in readers {
            assert_eq!(reader.join().unwrap(), right);
        }
    });
    assert_eq!(rebuilt(root), right);
}

#[test]
fn an_older_database_grows_into_the_newest() {
    let project = Project::scripted();
    let right = everything(&open(project.root()));
    // What version 1 did not have yet.
    let older = rusqlite::Connection::open(project.database()).unwrap();
    for table in ["generations", "fates", "funnel", "activity", "decisions"] {
        older.execute_batch(&format!("DROP TABLE {table}")).unwrap();
    }
    older.pragma_update(None, "user_version", 1).unwrap();
    assert_eq!(index::inspect(&older).unwrap(), index::Found::Ours { version: 1 });
    drop(older);
    let mut index = Index::open(project.root()).unwrap();
    // Nothing is read again, and everything is counted.
    assert_eq!(index.catch_up().unwrap().events, 0);
    assert_eq!(everything(&index), right);
    assert_eq!(index.notes(), [] as [&str; 0]);
}

#[test]
fn tables_that_are_not_ours_are_not_trusted() {
    let project = Project::scripted();
    let right = everything(&open(project.root()));
    let changed = rusqlite::Connection::open(project.database()).unwrap();
    changed
        .execute_batch("CREATE TRIGGER bad AFTER INSERT ON events BEGIN DELETE FROM events; END;")
        .unwrap();
    assert_eq!(index::inspect(&changed).unwrap(), index::Found::Foreign);
    drop(changed);
    let index = open(project.root());
    assert_eq!(everything(&index), right);
    assert!(!index.is_kept());
}
