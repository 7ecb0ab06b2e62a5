//! Scripted sessions, and the exact numbers that follow from them.

use grail_flywheel::event::{EventKind, ProposalDecision, SkillStage};
use grail_flywheel::index::Days;
use grail_flywheel::metrics::report::{self, About};
use grail_flywheel::metrics::{self, Group, Grouping, Metrics, Period, Verdict, day_number};

use crate::index::open;
use crate::script::shadow;
use crate::scripted::{Project, Session};

fn numbers(project: &Project, period: &Period) -> Metrics {
    metrics::compute(&open(project.root()), period).unwrap()
}

fn brief(group: &Group) -> String {
    let rate = |rate: &metrics::Rate| format!("{}/{}", rate.passed, rate.of);
    format!(
        "{:?}: {} made, validation {}, types {}, tests {}, first try {}, retries {}/{}, {} lines, {:?} tokens, {:?} h",
        group.name,
        group.generations,
        rate(&group.validation),
        rate(&group.types),
        rate(&group.tests),
        rate(&group.first_try),
        group.retries.sum,
        group.retries.of,
        group.lines,
        group.tokens_per_valid,
        group.active_hours
    )
}

#[test]
fn three_generations_in_three_weeks() {
    let metrics = numbers(&Project::scripted(), &Period::default());
    let groups = [&metrics.weeks, &metrics.skills, &metrics.kinds, &metrics.models, &metrics.phases];
    let groups = groups.map(|groups| groups.iter().map(brief).collect::<Vec<_>>());
    insta::assert_debug_snapshot!((metrics.events, metrics.sessions, brief(&metrics.total), groups), @r#"
    (
        25,
        4,
        "\"\": 3 made, validation 2/3, types 2/3, tests 1/1, first try 1/3, retries 3/3, 60 lines, Some(1500.0) tokens, Some(0.3333) h",
        [
            [
                "\"2026-11-02\": 1 made, validation 1/1, types 1/1, tests 1/1, first try 1/1, retries 0/1, 20 lines, Some(1000.0) tokens, Some(0.1) h",
                "\"2026-11-09\": 1 made, validation 1/1, types 1/1, tests 0/0, first try 0/1, retries 2/1, 40 lines, Some(1000.0) tokens, Some(0.1167) h",
                "\"2026-11-16\": 1 made, validation 0/1, types 0/1, tests 0/0, first try 0/1, retries 1/1, 0 lines, None tokens, Some(0.1167) h",
            ],
            [
                "\"services\": 2 made, validation 2/2, types 2/2, tests 1/1, first try 1/2, retries 2/2, 60 lines, Some(1000.0) tokens, None h",
                "\"views\": 2 made, validation 1/2, types 1/2, tests 0/0, first try 0/2, retries 3/2, 40 lines, Some(2000.0) tokens, None h",
            ],
            [
                "\"\": 0 made, validation 0/0, types 0/0, tests 0/0, first try 0/0, retries 0/0, 0 lines, None tokens, None h",
                "\"component\": 2 made, validation 1/2, types 1/2, tests 0/0, first try 0/2, retries 3/2, 40 lines, Some(2000.0) tokens, None h",
                "\"service\": 1 made, validation 1/1, types 1/1, tests 1/1, first try 1/1, retries 0/1, 20 lines, Some(1000.0) tokens, None h",
            ],
            [
                "\"\": 0 made, validation 0/0, types 0/0, tests 0/0, first try 0/0, retries 0/0, 0 lines, None tokens, Some(0.05) h",
                "\"small-1\": 2 made, validation 2/2, types 2/2, tests 1/1, first try 1/2, retries 2/2, 60 lines, Some(1000.0) tokens, Some(0.2167) h",
                "\"small-2\": 1 made, validation 0/1, types 0/1, tests 0/0, first try 0/1, retries 1/1, 0 lines, None tokens, Some(0.0667) h",
            ],
            [
                "\"\": 2 made, validation 2/2, types 2/2, tests 1/1, first try 1/2, retries 2/2, 60 lines, Some(1000.0) tokens, Some(0.2667) h",
                "\"phase-2\": 1 made, validation 0/1, types 0/1, tests 0/0, first try 0/1, retries 1/1, 0 lines, None tokens, Some(0.0667) h",
            ],
        ],
    )
    "#);
}

#[test]
fn rules_end_in_one_of_three_ways_and_people_may_disagree() {
    let metrics = numbers(&Project::scripted(), &Period::default());
    let rules: Vec<String> = metrics
        .rules
        .iter()
        .map(|rule| {
            format!(
                "{} ({}): fired {}, fixer {}, model {}, stays {}; silenced {} + {} + {}, doubtful {}",
                rule.rule,
                rule.layer,
                rule.fired,
                rule.by_fixer,
                rule.by_model,
                rule.stays,
                rule.suppressed_in_generated,
                rule.suppressed_in_commits,
                rule.violated_by_hand,
                rule.doubtful
            )
        })
        .collect();
    insta::assert_debug_snapshot!(rules, @r#"
    [
        "long-lines (rules): fired 0, fixer 0, model 0, stays 0; silenced 1 + 1 + 1, doubtful false",
        "no-html (rules): fired 2, fixer 0, model 1, stays 1; silenced 0 + 0 + 0, doubtful false",
        "no-print (rules): fired 2, fixer 1, model 1, stays 0; silenced 0 + 0 + 0, doubtful false",
    ]
    "#);
}

#[test]
fn rules_and_skills_told_apart_add_up_to_all_of_them() {
    let metrics = numbers(&Project::scripted(), &Period::default());
    let against = |rule: &metrics::Rule| {
        rule.suppressed_in_generated + rule.suppressed_in_commits + rule.violated_by_hand
    };
    for grouping in [Grouping::Week, Grouping::Kind, Grouping::Model, Grouping::Phase] {
        let shares = metrics.rules_by(grouping);
        for rule in &metrics.rules {
            let of_rule = || shares.iter().filter(|share| share.rule == rule.rule);
            assert_eq!(of_rule().map(|share| share.fired).sum::<u64>(), rule.fired, "{grouping:?}");
            assert_eq!(of_rule().map(|share| share.fixed.passed).sum::<u64>(), rule.fixed.passed);
            assert_eq!(of_rule().map(|share| share.overridden.passed).sum::<u64>(), against(rule));
        }
        let groups = metrics.by(grouping);
        let fixed: u64 = groups.iter().map(|group| group.fixed.passed).sum();
        assert_eq!(fixed, metrics.total.fixed.passed, "{grouping:?}");
    }
    assert_eq!((metrics.total.fixed.passed, metrics.total.fixed.of), (3, 4));
    assert_eq!((metrics.total.overridden.passed, metrics.total.overridden.of), (3, 7));
    assert!(metrics.rules_by(Grouping::Skill).is_empty());
    for skill in &metrics.funnel {
        let weeks = || metrics.funnel_by_week.iter().filter(|week| week.skill == skill.skill);
        assert_eq!(weeks().map(|week| week.offered).sum::<u64>(), skill.offered);
        assert_eq!(weeks().map(|week| week.passed).sum::<u64>(), skill.passed);
    }
}

#[test]
fn skills_come_as_far_as_their_artifacts() {
    let metrics = numbers(&Project::scripted(), &Period::default());
    let funnel: Vec<String> = metrics
        .funnel
        .iter()
        .map(|skill| {
            let stages =
                [skill.offered, skill.loaded, skill.used, skill.passed, skill.approved, skill.merged];
            format!("{} {stages:?}", skill.skill)
        })
        .collect();
    insta::assert_debug_snapshot!(funnel, @r#"
    [
        "charts [1, 0, 0, 0, 0, 0]",
        "services [2, 2, 2, 2, 1, 1]",
        "views [2, 2, 2, 1, 0, 0]",
    ]
    "#);
}

#[test]
fn time_is_worked_between_events_that_are_close() {
    let project = Project::scripted();
    let metrics = numbers(&project, &Period::default());
    // Pauses of a minute each; the one of 91 minutes is none. 60 lines passed, of which 40 were rejected.
    insta::assert_debug_snapshot!(metrics.time, @r#"
    Time {
        active_hours: Some(
            0.3333,
        ),
        pause_minutes: 5,
        kept_lines: 20,
        lines_by_hand: 40.0,
        hours_by_hand: Some(
            0.5,
        ),
        saved_hours: Some(
            0.1667,
        ),
        method: "20 lines that passed and were kept, at 40 lines an hour by hand, less the time that was worked (pauses under 5 minutes)",
    }
    "#);
    let other = Period { pause_minutes: 1, lines_by_hand: 10.0, ..Period::default() };
    let time = numbers(&project, &other).time;
    assert_eq!((time.active_hours, time.hours_by_hand, time.saved_hours), (None, None, None));
}

#[test]
fn a_period_counts_its_own_days() {
    let since = Days { from: day_number("2026-11-10"), to: day_number("2026-11-15") };
    let metrics = numbers(&Project::scripted(), &Period { days: since, ..Period::default() });
    assert_eq!((metrics.events, metrics.total.generations), (8, 1));
    assert_eq!(metrics.weeks.len(), 1);
}

#[test]
fn too_few_cases_are_said_to_be_too_few() {
    let metrics = numbers(&Project::scripted(), &Period::default());
    assert!(metrics.targets.iter().all(|target| target.verdict == Verdict::TooFew));
    let project = Project::empty();
    let mut session = Session::new("many", "2026-11-16", "b", "m");
    for number in 0..20 {
        session.generation("component", &format!("a{number}.py"), number > 0, 0, 1, &[]);
    }
    project.write(&session);
    let metrics = numbers(&project, &Period::default());
    let verdicts: Vec<_> =
        metrics.targets.iter().map(|target| (target.name, target.value, target.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            ("validation", Some(0.95), Verdict::Met),
            ("types", Some(0.95), Verdict::Missed),
            // Nobody ran tests: that is not the same as none that pass.
            ("tests", None, Verdict::TooFew),
            ("retries", Some(0.0), Verdict::Met),
        ]
    );
}

#[test]
fn a_rule_that_people_keep_silencing_is_marked() {
    let project = Project::empty();
    let mut session = Session::new("many", "2026-11-16", "b", "m");
    session.validation("a.py", false, &["strict", "fine"], &[], &[]);
    for number in 0..4 {
        session.validation(&format!("b{number}.py"), true, &[], &["fine"], &["strict"]);
    }
    project.write(&session);
    let metrics = numbers(&project, &Period::default());
    let rules: Vec<_> = metrics.rules.iter().map(|rule| (rule.rule.as_str(), rule.doubtful)).collect();
    assert_eq!(rules, [("fine", false), ("strict", true)]);
    assert_eq!((metrics.rules[1].overridden.passed, metrics.rules[1].overridden.of), (4, 5));
}

#[test]
fn a_clock_that_jumps_back_changes_no_order_and_adds_no_time() {
    let project = Project::empty();
    let mut session = Session::new("clock", "2026-11-16", "b", "m");
    session.skill("s", SkillStage::Offered).skill("s", SkillStage::Loaded);
    session.validation("a.py", false, &["late"], &[], &[]);
    session.generation("component", "a.py", true, 1, 1, &[]);
    project.write(&session);
    let right = numbers(&project, &Period::default());
    // The second event of four says it happened a year before, the third does not say when.
    let text = session
        .text()
        .replace("2026-11-16T09:01", "2025-11-16T09:01")
        .replace("2026-11-16T09:02:00.000Z", "soon");
    std::fs::write(project.file(&session.file_name()), text).unwrap();
    let metrics = numbers(&project, &Period::default());
    assert_eq!(metrics.rules, right.rules);
    assert_eq!(right.time.active_hours, Some(0.05));
    assert_eq!(metrics.time.active_hours, None);
}

#[test]
fn what_was_answered_in_the_shadow_counts_for_nothing() {
    let told = |is_shadowed: bool| {
        let project = Project::empty();
        let mut session = Session::new("work", "2026-11-16", "b", "m");
        session.validation("a.py", true, &[], &["fine"], &[]);
        session.generation("component", "a.py", true, 0, 20, &["views"]);
        session.proposal("p-1", ProposalDecision::Made, &["a.py"]);
        session.proposal("p-1", ProposalDecision::Approved, &[]);
        if is_shadowed {
            session.event(shadow("a.py", "x = 1\n"));
        }
        project.write(&session);
        numbers(&project, &Period::default())
    };
    let (without, with) = (told(false), told(true));
    assert_eq!(with.events, without.events + 1);
    assert!(with.kinds_of_events.contains(&("shadow".to_owned(), 1)));
    let kinds_of_events = without.kinds_of_events.clone();
    assert_eq!(Metrics { events: without.events, kinds_of_events, ..with }, without);
}

#[test]
fn hostile_numbers_do_not_break_sums() {
    let project = Project::empty();
    let mut session = Session::new("huge", "2026-11-16", "b", "m");
    session.generation("component", "a.py", true, u32::MAX, 1, &[]);
    session.generation("component", "b.py", true, u32::MAX, 1, &[]);
    let text = session.text().replace("\"input\":900", &format!("\"input\":{}", u64::MAX));
    project.write(&session);
    std::fs::write(project.file(&session.file_name()), text).unwrap();
    let metrics = numbers(&project, &Period::default());
    assert_eq!(metrics.total.generations, 2);
    assert_eq!(metrics.total.retries.sum, 2 * u64::from(u32::MAX));
}

/// Parses as XML: every element is closed, every attribute quoted, every text escaped.
fn elements(page: &str) -> Vec<String> {
    let mut reader = quick_xml::Reader::from_str(page);
    reader.config_mut().check_end_names = true;
    let mut elements = Vec::new();
    let mut depth = 0;
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Eof => break,
            quick_xml::events::Event::Start(start) => {
                start.attributes().for_each(|attribute| drop(attribute.unwrap()));
                elements.push(start.name().as_ref().to_owned());
                depth += 1;
            }
            quick_xml::events::Event::Empty(start) => {
                start.attributes().for_each(|attribute| drop(attribute.unwrap()));
                elements.push(start.name().as_ref().to_owned());
            }
            quick_xml::events::Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    assert_eq!(depth, 0);
    elements
}

#[test]
fn the_report_is_one_page_without_scripts_or_anything_from_elsewhere() {
    let about = About {
        project: "shop".to_owned(),
        since: Some("2026-11-01".to_owned()),
        made_at: "2026-11-16".to_owned(),
    };
    let page = report::html(&numbers(&Project::scripted(), &Period::default()), &about).unwrap();
    let elements = elements(&page);
    let count = |name: &str| elements.iter().filter(|element| *element == name).count();
    // Five panels: all of them have data. A dot for each week, and for tests one.
    assert_eq!((count("figure"), count("svg"), count("circle")), (5, 5, 13));
    for missing in ["script", "link", "img", "iframe", "object"] {
        assert_eq!(count(missing), 0, "{missing}");
    }
    for address in page.split("http").skip(1) {
        assert!(address.starts_with("://www.w3.org/") || address.starts_with("-equiv="), "{address:.40}");
    }
    let empty = report::html(&numbers(&Project::empty(), &Period::default()), &about).unwrap();
    assert!(self::elements(&empty).contains(&"footer".to_owned()) && empty.contains("No events yet"));
}

#[test]
fn hostile_names_stay_text() {
    let evil = "<script>alert('\"&\u{1b}[2J\u{202e}')</script>";
    let project = Project::empty();
    let mut session = Session::new("evil", "2026-11-16", evil, evil);
    session.skill(evil, SkillStage::Offered);
    session.validation(evil, false, &[evil], &[evil], &[evil]);
    session.generation(evil, evil, true, 0, 1, &[evil]);
    session.event(EventKind::Failed { reason: evil.to_owned() });
    project.write(&session);
    let about = About { project: evil.to_owned(), since: Some(evil.to_owned()), made_at: evil.to_owned() };
    let page = report::html(&numbers(&project, &Period::default()), &about).unwrap();
    assert!(!elements(&page).contains(&"script".to_owned()));
    assert!(!page.contains(['\u{1b}', '\u{202e}']));
}
