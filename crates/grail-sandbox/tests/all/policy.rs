//! Policies: what they say, how they combine, what is refused where it is written down.

use std::time::Duration;

use grail_sandbox::{
    Field, FileAccess, Limits, Policies, Policy, PolicyError, Preset, ResolvedPolicy, ResourceGuard,
    ToolAccess,
};
use insta::assert_snapshot;
use proptest::prelude::*;

fn policies(toml: &str) -> Policies {
    read(toml).unwrap()
}

fn read(toml: &str) -> Result<Policies, PolicyError> {
    Policies::from_toml(&toml::from_str(toml).unwrap())
}

/// The error of a `grail.toml`'s policies, with its hint.
fn refused(toml: &str) -> String {
    report(&read(toml).expect_err("the policies are wrong"))
}

fn report(error: &PolicyError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}\nhint: {hint}"),
        None => error.to_string(),
    }
}

fn guard(json: &str) -> ResourceGuard {
    serde_json::from_str(json).unwrap()
}

mod execution_policies {
    use super::*;

    #[test]
    fn named_policies_apply_their_limits() {
        assert_snapshot!(Preset::table(), @r#"
        | | `strict` | `default` | `permissive` | `ai-agent` |
        | --- | --- | --- | --- | --- |
        | `max-duration` | 1s | 5s (up to 60s) | 60s (up to 24h) | 10s (up to 60s) |
        | `max-memory` | 16MiB | 64MiB (up to 512MiB) | 1GiB (up to 64GiB) | 128MiB (up to 512MiB) |
        | `max-recursion` | 100 | 500 | 1000 | 500 |
        | `max-suspensions` | 100 | 1000 | 100000 (up to 1000000) | 200 (up to 1000) |
        | `max-output` | 64KiB | 1MiB | 16MiB (up to 1GiB) | 256KiB |
        | `max-result` | 256KiB | 8MiB | 64MiB (up to 128MiB) | 1MiB |
        | `max-source` | 64KiB | 256KiB | 1MiB | 128KiB |
        | `check-timeout` | 2s | 5s | 30s (up to 600s) | 5s |
        | `tool-timeout` | 5s | 30s (up to 300s) | 300s (up to 24h) | 60s (up to 600s) |
        | `tools` | none | all | all | all |
        | `files` | none | overlay | write | overlay |
        "#);
    }

    #[test]
    fn with_nothing_configured_the_default_applies() {
        let default = ResolvedPolicy::default();
        assert_eq!(default, Policies::default().resolve("default").unwrap());
        assert_eq!(default.limits, Limits::default());
        assert_eq!(default.limits.max_duration, Duration::from_secs(5));
        assert_snapshot!(default.describe(), @r#"
        policy: default
        max-duration: 5s, may be loosened to 60s
        max-memory: 64MiB, may be loosened to 512MiB
        max-recursion: 500
        max-suspensions: 1000
        max-output: 1MiB
        max-result: 8MiB
        max-source: 256KiB
        check-timeout: 5s
        tool-timeout: 30s, may be loosened to 300s
        tools: all
        files: overlay
        network: none
        "#);
    }

    #[test]
    fn presets_differ_and_say_how() {
        for preset in Preset::ALL {
            let policy = preset.policy();
            assert!(policy.describe().starts_with(preset.summary()));
            let same = Preset::ALL.iter().filter(|other| other.policy() == policy);
            assert_eq!(same.count(), 1);
        }
    }

    #[test]
    fn the_agents_preset_may_be_written_with_an_underscore() {
        let all = Policies::default();
        assert_eq!(all.resolve("ai_agent").unwrap(), all.resolve("ai-agent").unwrap());
    }

    #[test]
    fn custom_policies_can_be_defined_in_a_file() {
        let all = policies(
            r#"
            [reports]
            description = "Monthly reports"
            inherits = ["default"]
            max-duration = "1500ms"
            max-memory = 33554432
            tools = ["fetch_*", "today"]
            files = "read"
            network = "none"
            may-loosen = { max-duration = 10, max-memory = "64MiB" }
            "#,
        );
        assert_snapshot!(all.resolve("reports").unwrap().describe(), @r#"
        policy: reports
        max-duration: 1500ms, may be loosened to 10s
        max-memory: 32MiB, may be loosened to 64MiB
        max-recursion: 500
        max-suspensions: 1000
        max-output: 1MiB
        max-result: 8MiB
        max-source: 256KiB
        check-timeout: 5s
        tool-timeout: 30s, may be loosened to 300s
        tools: `fetch_*`, `today`
        files: read
        network: none
        "#);
    }

    #[test]
    fn custom_policies_can_be_defined_in_code() {
        let reports = Policy::builder()
            .inherits("default")
            .max_duration(Duration::from_secs(2))
            .limit(Field::MaxSuspensions, 3)
            .may_loosen(Field::MaxDuration, 4_000_000)
            .files(FileAccess::None)
            .tools(ToolAccess::only(["fetch"]).unwrap())
            .build()
            .unwrap();
        let resolved = Policies::define([("reports", reports)]).unwrap().resolve("reports").unwrap();
        assert_eq!(resolved.limits.max_duration, Duration::from_secs(2));
        assert_eq!(resolved.limits.max_suspensions, 3);
        assert_eq!(resolved.limits.max_memory, 64 << 20);
        assert_eq!(resolved.ceiling(Field::MaxDuration), 4_000_000);
        assert!(resolved.tools.allows("fetch") && !resolved.tools.allows("send"));
    }

    #[test]
    fn a_policy_without_parents_may_be_looser_than_the_default() {
        let all = policies("slow.max-duration = '2min'");
        let slow = all.resolve("slow").unwrap();
        assert_eq!(slow.limits, Limits { max_duration: Duration::from_secs(120), ..Limits::default() });
    }

    #[test]
    fn what_is_left_open_is_not_looser_in_company() {
        let all = policies("slow.max-duration = '2min'\nsmall.max-memory = '2MiB'");
        let both = all.compose(&["slow", "small"]).unwrap();
        assert_eq!(both.limits.max_duration, Duration::from_secs(5));
        assert_eq!(both.limits.max_memory, 2 << 20);
    }

    #[test]
    fn inheritance_takes_the_strictest() {
        let all = policies(
            r#"
            [parent]
            max-duration = "2s"
            max-memory = "8MiB"
            tools = ["fetch_*"]
            files = "read"
            [child]
            inherits = ["parent", "permissive"]
            max-duration = "1min"
            max-memory = "4MiB"
            tools = ["fetch_page", "send"]
            files = "write"
            "#,
        );
        let child = all.resolve("child").unwrap();
        assert_eq!(child.limits.max_duration, Duration::from_secs(2));
        assert_eq!(child.limits.max_memory, 4 << 20);
        assert_eq!(child.tools, ToolAccess::only(["fetch_page"]).unwrap());
        assert_eq!(child.files, FileAccess::Read);
    }

    #[test]
    fn a_parent_reached_twice_counts_once() {
        let all = policies(
            r#"
            base.max-duration = "3s"
            left.inherits = ["base"]
            right.inherits = ["base"]
            both.inherits = ["left", "right"]
            "#,
        );
        assert_eq!(all.resolve("both").unwrap().limits, all.resolve("base").unwrap().limits);
    }

    #[test]
    fn composition_takes_the_strictest_of_all() {
        let all = Policies::default();
        let both = all.compose(&["permissive", "strict"]).unwrap();
        assert_eq!(both.limits, all.resolve("strict").unwrap().limits);
        assert_eq!(both.name(), "permissive + strict");
        assert_eq!(all.compose(&[]), Err(PolicyError::NothingToCompose));
    }

    #[test]
    fn a_long_chain_of_parents_is_no_problem() {
        let mut toml = String::from("p0.max-duration = '1s'\n");
        for number in 1..5000 {
            toml.push_str(&format!("p{number}.inherits = ['p{}']\n", number - 1));
        }
        assert_eq!(policies(&toml).resolve("p4999").unwrap().limits.max_duration, Duration::from_secs(1));
    }

    #[test]
    fn a_policy_is_written_back_as_people_write_it() {
        let text = r#"description = "Monthly reports"
inherits = ["default"]
max-duration = "1500ms"
max-memory = "32MiB"
max-recursion = 50
max-output = "1000B"
check-timeout = "90s"
tools = ["fetch_*", "today"]
files = "read"

[may-loosen]
max-duration = "10s"
"#;
        let policy: Policy = toml::from_str(text).unwrap();
        assert_eq!(toml::to_string(&policy).unwrap(), text);
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }
}

mod invalid_policies_are_rejected_at_construction {
    use super::*;

    #[test]
    fn values_outside_their_range() {
        let cases = [
            "max-duration = -1",
            "max-duration = '-5s'",
            "max-duration = 0",
            "max-duration = '0.0001ms'",
            "max-duration = nan",
            "max-duration = '99999999999999999999h'",
            "max-duration = '1000000000h'",
            "max-memory = '512KiB'",
            "max-memory = 0",
            "max-memory = 9223372036854775807",
            "max-recursion = 0",
            "max-recursion = 1001",
            "max-recursion = 1.5",
            "max-suspensions = -1",
            "max-output = '2GiB'",
            "max-result = 0",
            "max-source = '2MiB'",
            "check-timeout = '1ms'",
            "tool-timeout = 0",
            "may-loosen = { max-duration = '48h' }",
        ];
        assert_snapshot!(cases.map(|case| refused(&format!("[p]\n{case}"))).join("\n"), @r#"
        policy `p`: `max-duration` is `-1`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `-5s`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `0s`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `0s`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `NaN`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `99999999999999999999h`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `1000000000h`, permitted is 1ms to 24h
        policy `p`: `max-memory` is `512KiB`, permitted is 1MiB to 64GiB
        policy `p`: `max-memory` is `0B`, permitted is 1MiB to 64GiB
        policy `p`: `max-memory` is `9223372036854775807`, permitted is 1MiB to 64GiB
        policy `p`: `max-recursion` is `0`, permitted is 1 to 1000
        policy `p`: `max-recursion` is `1001`, permitted is 1 to 1000
        policy `p`: `max-recursion` is `1.5`, permitted is 1 to 1000
        policy `p`: `max-suspensions` is `-1`, permitted is 0 to 1000000
        policy `p`: `max-output` is `2GiB`, permitted is 0B to 1GiB
        policy `p`: `max-result` is `0B`, permitted is 1B to 128MiB
        policy `p`: `max-source` is `2MiB`, permitted is 1B to 1MiB
        policy `p`: `check-timeout` is `1ms`, permitted is 10ms to 600s
        policy `p`: `tool-timeout` is `0s`, permitted is 1ms to 24h
        policy `p`: `max-duration` is `48h`, permitted is 1ms to 24h
        "#);
    }

    #[test]
    fn values_that_are_no_amounts() {
        let cases = [
            "max-duration = 'soon'",
            "max-duration = '5 parsecs'",
            "max-duration = 'inf'",
            "max-duration = '1e3s'",
            "max-duration = '1.2.3s'",
            "max-duration = ''",
            "max-duration = true",
            "max-memory = '5s'",
            "max-recursion = 'deep'",
            "may-loosen = 5",
        ];
        assert_snapshot!(cases.map(|case| refused(&format!("[p]\n{case}"))).join("\n"), @r#"
        policy `p`: `max-duration` is `soon`, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: `max-duration` is `5 parsecs`, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: `max-duration` is `inf`, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: `max-duration` is `1e3s`, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: `max-duration` is `1.2.3s`, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: `max-duration` is ``, expected a time such as `5s`, `500ms` or `2min`, or a number of seconds
        policy `p`: invalid type: boolean `true`, expected an amount for `max-duration`
        policy `p`: `max-memory` is `5s`, expected a size such as `64MiB` or `1KB`, or a number of bytes
        policy `p`: `max-recursion` is `deep`, expected a whole number
        policy `p`: invalid type: integer `5`, expected a table of limits
        "#);
    }

    #[test]
    fn misspelt_keys_and_wrong_permissions() {
        let cases = [
            "max-durations = 5",
            "max_duration = 5",
            "colour = 'red'",
            "may-loosen = { tools = 'all' }",
            "tools = 'some'",
            "tools = ['']",
            "tools = ['rm -rf']",
            "files = 'everything'",
            "network = 'all'",
            "inherits = 'strict'",
        ];
        assert_snapshot!(cases.map(|case| refused(&format!("[p]\n{case}"))).join("\n"), @r#"
        policy `p`: unknown key `max-durations`; did you mean `max-duration`?
        policy `p`: unknown key `max_duration`; did you mean `max-duration`?
        policy `p`: unknown key `colour`; known here: `max-duration`, `max-memory`, `max-recursion`, `max-suspensions`, `max-output`, `max-result`, `max-source`, `check-timeout`, `tool-timeout`, `description`, `inherits`, `tools`, `files`, `network`, `may-loosen`
        policy `p`: unknown key `tools`; known here: `max-duration`, `max-memory`, `max-recursion`, `max-suspensions`, `max-output`, `max-result`, `max-source`, `check-timeout`, `tool-timeout`
        policy `p`: invalid value: string "some", expected `all`, `none` or a list of tool names for `tools`
        policy `p`: `` is not a tool name or a pattern with `*`
        policy `p`: `rm -rf` is not a tool name or a pattern with `*`
        policy `p`: unknown variant `everything`, expected one of `none`, `read`, `overlay`, `write`
        policy `p`: `network` is `all`, only `none` is possible; give the code a tool that makes the request
        policy `p`: invalid type: string "strict", expected a sequence
        "#);
    }

    #[test]
    fn values_outside_their_range_in_code() {
        let error = Policy::builder().max_memory(1000).max_duration(Duration::ZERO).build().unwrap_err();
        assert_eq!(error.to_string(), "`max-memory` is `1000B`, permitted is 1MiB to 64GiB");
        let error = ResourceGuard::builder().max_duration(Duration::MAX).build().unwrap_err();
        assert!(matches!(error, PolicyError::OutOfRange { field: Field::MaxDuration, .. }));
    }

    #[test]
    fn a_ceiling_below_its_limit() {
        assert_snapshot!(refused("[p]\nmax-duration = 5\nmay-loosen = { max-duration = 3 }"), @"policy `p`: `may-loosen` gives `max-duration` the ceiling `3s`, below its limit `5s`");
    }

    #[test]
    fn an_unknown_parent() {
        assert_snapshot!(refused("[p]\ninherits = ['stict']"), @r#"
        policy `p` inherits from `stict`, which does not exist
        hint: did you mean `strict`?
        "#);
        assert_snapshot!(refused("[p]\ninherits = ['zzzzzzzzz']"), @r#"
        policy `p` inherits from `zzzzzzzzz`, which does not exist
        hint: known here: `ai-agent`, `default`, `permissive`, `strict`
        "#);
    }

    #[test]
    fn a_cycle_of_parents() {
        assert_snapshot!(refused("a.inherits = ['b']\nb.inherits = ['c']\nc.inherits = ['b']"), @r#"
        policies inherit from each other: b → c → b
        hint: remove one of these from the `inherits` of another
        "#);
        assert_snapshot!(refused("a.inherits = ['a']"), @r#"
        policies inherit from each other: a → a
        hint: remove one of these from the `inherits` of another
        "#);
    }

    #[test]
    fn names_that_are_taken_or_malformed() {
        assert_snapshot!(refused("strict.max-duration = 1"), @r#"
        `strict` is a preset and cannot be defined again
        hint: choose another name and write `inherits = ["strict"]`
        "#);
        assert_snapshot!(refused("ai_agent.max-duration = 1"), @r#"
        `ai-agent` is a preset and cannot be defined again
        hint: choose another name and write `inherits = ["ai-agent"]`
        "#);
        assert_snapshot!(refused("a-b.max-duration = 1\na_b.max-duration = 1"), @r#"
        policy `a-b` is defined twice
        hint: `-` and `_` are the same in names of policies
        "#);
        assert_snapshot!(refused("'a b'.max-duration = 1"), @r#"
        `a b` cannot name a policy
        hint: use letters, digits, `-` and `_`, at most 64
        "#);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_likeliest() {
        let error = Policies::default().resolve("permisive").unwrap_err();
        assert_snapshot!(report(&error), @r#"
        there is no policy `permisive`
        hint: did you mean `permissive`?
        "#);
    }
}

mod resource_guard {
    use super::*;

    #[test]
    fn limit_ranges_are_validated() {
        for text in [r#"{"max-memory": "1KiB"}"#, r#"{"max-duration": -1}"#, r#"{"tools": "all"}"#, "5", "[]"]
        {
            assert!(serde_json::from_str::<ResourceGuard>(text).is_err(), "{text}");
        }
        let parsed = guard(r#"{"max-duration": 0.5, "max-memory": "16MiB", "max-suspensions": 3}"#);
        let built = ResourceGuard::builder()
            .max_duration(Duration::from_millis(500))
            .max_memory(16 << 20)
            .max_suspensions(3)
            .build()
            .unwrap();
        assert_eq!(parsed, built);
        assert_eq!(
            serde_json::to_string(&built).unwrap(),
            r#"{"max-duration":"500ms","max-memory":"16MiB","max-suspensions":3}"#
        );
    }

    #[test]
    fn a_guard_and_then_a_call_tighten() {
        let site = ResolvedPolicy::default()
            .tighten(&guard(r#"{"max-duration": "2s", "max-recursion": 10}"#))
            .unwrap();
        let call = site.tighten(&guard(r#"{"max-duration": "1s"}"#)).unwrap();
        assert_eq!(
            call.limits,
            Limits { max_duration: Duration::from_secs(1), max_recursion: 10, ..Limits::default() }
        );
    }

    #[test]
    fn a_guard_loosens_where_the_policy_says_so() {
        let site = ResolvedPolicy::default().tighten(&guard(r#"{"max-duration": "60s"}"#)).unwrap();
        assert_eq!(site.limits.max_duration, Duration::from_secs(60));
    }

    #[test]
    fn a_call_may_loosen_again_up_to_the_policys_ceiling() {
        let site = ResolvedPolicy::default().tighten(&guard(r#"{"max-duration": "1s"}"#)).unwrap();
        assert_eq!(
            site.tighten(&guard(r#"{"max-duration": "60s"}"#)).unwrap().limits.max_duration,
            Duration::from_secs(60)
        );
    }

    #[test]
    fn loosening_beyond_the_ceiling_is_refused() {
        let error = ResolvedPolicy::default().tighten(&guard(r#"{"max-duration": "90s"}"#)).unwrap_err();
        assert_snapshot!(report(&error), @r#"
        `max-duration` is `90s`, but policy `default` allows at most `60s`
        hint: ask for at most `60s`, or run under a policy whose `may-loosen` has a higher `max-duration`
        "#);
        let error = ResolvedPolicy::default().tighten(&guard(r#"{"max-recursion": 501}"#)).unwrap_err();
        assert_snapshot!(report(&error), @r#"
        `max-recursion` is `501`, but policy `default` allows at most `500`
        hint: ask for at most `500`, or run under a policy whose `may-loosen` has a higher `max-recursion`
        "#);
    }

    #[test]
    fn the_policy_that_forbids_is_named_also_when_it_was_inherited() {
        let all = policies(
            "firm.max-duration = '1s'\nchild.inherits = ['firm']\nchild.may-loosen = { max-duration = '9s' }",
        );
        let child = all.resolve("child").unwrap();
        let error = child.tighten(&guard(r#"{"max-duration": "2s"}"#)).unwrap_err();
        assert_snapshot!(report(&error), @r#"
        `max-duration` is `2s`, but policy `firm` allows at most `1s`
        hint: ask for at most `1s`, or run under a policy whose `may-loosen` has a higher `max-duration`
        "#);
    }

    #[test]
    fn a_child_may_lower_a_ceiling_and_not_raise_it() {
        let all = policies(
            r#"
            lower.inherits = ["default"]
            lower.may-loosen = { max-duration = "10s" }
            higher.inherits = ["default"]
            higher.may-loosen = { max-duration = "20min" }
            firm.inherits = ["default"]
            firm.max-duration = "2s"
            "#,
        );
        let ceiling = |name| all.resolve(name).unwrap().ceiling(Field::MaxDuration) / 1_000_000;
        assert_eq!([ceiling("lower"), ceiling("higher"), ceiling("firm")], [10, 60, 2]);
    }
}

mod tool_access {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        let access = ToolAccess::only(["fetch_*", "*.read", "a*b*c", "today"]).unwrap();
        for allowed in ["fetch_", "fetch_page", "files.read", "abc", "a--b--b--c", "today"] {
            assert!(access.allows(allowed), "{allowed}");
        }
        for refused in ["fetch", "prefetch_page", "files.reader", "ab", "acb", "todays", ""] {
            assert!(!access.allows(refused), "{refused}");
        }
    }

    #[test]
    fn all_and_none_have_one_spelling() {
        assert_eq!(ToolAccess::only(["*", "fetch"]).unwrap(), ToolAccess::all());
        assert_eq!(ToolAccess::only([""; 0]).unwrap(), ToolAccess::none());
        let disjoint = ToolAccess::only(["a"]).unwrap().and(&ToolAccess::only(["b"]).unwrap());
        assert_eq!(disjoint, ToolAccess::none());
    }

    #[test]
    fn two_lists_allow_what_both_allow() {
        let both = ToolAccess::only(["get_*", "set_*"]).unwrap().and(&ToolAccess::only(["*_page"]).unwrap());
        assert!(both.allows("get_page") && !both.allows("get_user") && !both.allows("del_page"));
        assert_eq!(both.to_string(), "`*_page` and `get_*`, `set_*`");
        let json = serde_json::to_string(&both).unwrap();
        assert_eq!(serde_json::from_str::<ToolAccess>(&json).unwrap(), both);
    }

    #[test]
    fn a_pattern_of_stars_is_answered_at_once() {
        let pattern = "*a".repeat(99) + "b";
        assert!(!ToolAccess::only([pattern]).unwrap().allows(&"a".repeat(10_000)));
    }
}

/// In microseconds, bytes or counts that are permitted for every field they are used with.
fn amount(field: Field) -> BoxedStrategy<u64> {
    match field {
        Field::MaxDuration | Field::ToolTimeout => (1000..86_400_000_000_u64).boxed(),
        Field::CheckTimeout => (10_000..600_000_000_u64).boxed(),
        Field::MaxMemory => ((1 << 20)..(64_u64 << 30)).boxed(),
        Field::MaxRecursion => (1..1000_u64).boxed(),
        Field::MaxSuspensions => (0..1_000_000_u64).boxed(),
        Field::MaxOutput => (0..(1_u64 << 30)).boxed(),
        Field::MaxResult => (1..(128_u64 << 20)).boxed(),
        Field::MaxSource => (1..(1_u64 << 20)).boxed(),
    }
}

fn some_amounts() -> impl Strategy<Value = Vec<(Field, u64)>> {
    let field = (0..Field::ALL.len()).prop_map(|position| Field::ALL[position]);
    prop::collection::vec(
        field.prop_flat_map(|field| amount(field).prop_map(move |amount| (field, amount))),
        0..8,
    )
}

fn some_policy() -> impl Strategy<Value = Policy> {
    let files = prop::sample::select(vec![
        FileAccess::None,
        FileAccess::Read,
        FileAccess::Overlay,
        FileAccess::Write,
    ]);
    let tools = prop::collection::vec(prop::sample::select(vec!["a", "b", "a*", "*b", "*"]), 0..3);
    let parents = prop::sample::subsequence(vec!["strict", "default", "permissive", "ai-agent"], 0..2);
    (some_amounts(), some_amounts(), prop::option::of(files), prop::option::of(tools), parents).prop_map(
        |(limits, ceilings, files, tools, parents)| {
            let mut builder = Policy::builder();
            for (field, limit) in &limits {
                builder = builder.limit(*field, *limit);
            }
            for (field, ceiling) in ceilings {
                let least =
                    limits.iter().filter(|(limited, _)| *limited == field).map(|(_, limit)| *limit).max();
                builder = builder.may_loosen(field, ceiling.max(least.unwrap_or(0)));
            }
            if let Some(files) = files {
                builder = builder.files(files);
            }
            if let Some(tools) = tools {
                builder = builder.tools(ToolAccess::only(tools).unwrap());
            }
            for parent in parents {
                builder = builder.inherits(parent);
            }
            builder.build().unwrap()
        },
    )
}

/// Every limit, in the order of `Field::ALL`.
fn amounts(policy: &ResolvedPolicy) -> [u64; 9] {
    let limits = &policy.limits;
    [
        u64::try_from(limits.max_duration.as_micros()).unwrap(),
        limits.max_memory,
        limits.max_recursion.into(),
        limits.max_suspensions.into(),
        limits.max_output,
        limits.max_result,
        limits.max_source,
        u64::try_from(limits.check_timeout.as_micros()).unwrap(),
        u64::try_from(limits.tool_timeout.as_micros()).unwrap(),
    ]
}

fn assert_not_looser(part: &ResolvedPolicy, whole: &ResolvedPolicy) {
    for (field, (whole, part)) in Field::ALL.into_iter().zip(amounts(whole).into_iter().zip(amounts(part))) {
        assert!(whole <= part, "{}", field.name());
    }
    for field in Field::ALL {
        assert!(whole.ceiling(field) <= part.ceiling(field), "{}", field.name());
    }
    assert!(whole.files <= part.files);
    for tool in ["a", "b", "ab", "aa", "bb", "c"] {
        assert!(!whole.tools.allows(tool) || part.tools.allows(tool), "{tool}");
    }
}

proptest! {
    #[test]
    fn composition_is_commutative_idempotent_and_never_looser(one in some_policy(), two in some_policy()) {
        let all = Policies::define([("one", one), ("two", two)]).unwrap();
        let both = all.compose(&["one", "two"]).unwrap();
        prop_assert_eq!(&both, &all.compose(&["two", "one"]).unwrap());
        prop_assert_eq!(&both, &all.compose(&["one", "two", "one", "two"]).unwrap());
        assert_not_looser(&all.resolve("one").unwrap(), &both);
        assert_not_looser(&all.resolve("two").unwrap(), &both);
    }

    #[test]
    fn a_child_is_never_looser_than_a_parent(parent in some_policy(), child in some_amounts()) {
        let mut builder = Policy::builder().inherits("parent");
        for (field, limit) in child {
            builder = builder.limit(field, limit);
        }
        let all = Policies::define([("parent", parent), ("child", builder.build().unwrap())]).unwrap();
        assert_not_looser(&all.resolve("parent").unwrap(), &all.resolve("child").unwrap());
    }

    #[test]
    fn guards_never_loosen_beyond_the_ceilings(
        policy in some_policy(), site in some_amounts(), call in some_amounts(),
    ) {
        let resolved = Policies::define([("p", policy)]).unwrap().resolve("p").unwrap();
        let mut current = resolved.clone();
        for layer in [site, call] {
            let mut builder = ResourceGuard::builder();
            for (field, limit) in layer {
                builder = builder.limit(field, limit);
            }
            let guard = builder.build().unwrap();
            let asks_too_much = Field::ALL.into_iter().any(|field| guard.get(field) > Some(resolved.ceiling(field)));
            let tightened = current.tighten(&guard);
            prop_assert_eq!(tightened.is_err(), asks_too_much);
            current = tightened.unwrap_or(current);
            for (field, amount) in Field::ALL.into_iter().zip(amounts(&current)) {
                prop_assert!(amount <= resolved.ceiling(field));
            }
        }
    }

    #[test]
    fn policies_survive_being_written_down(policy in some_policy()) {
        let text = toml::to_string(&policy).unwrap();
        prop_assert_eq!(toml::from_str::<Policy>(&text).unwrap(), policy);
    }
}
