//! How each number is counted, in words: what `--explain` and the report say.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Definition {
    pub name: &'static str,
    pub text: &'static str,
}

pub const DEFINITIONS: &[Definition] = &[
    Definition {
        name: "generation",
        text: "One finished artifact, passed or not: one `generation` event, counted once however many attempts it took. Work that broke \
               off without a result, and runs of evaluations, are no generations.",
    },
    Definition {
        name: "validation",
        text: "Generations whose final code passed the rules of its kind, of all generations.",
    },
    Definition {
        name: "types and tests",
        text: "Generations whose types held or whose tests passed, of those where they were checked at all.",
    },
    Definition {
        name: "first try",
        text: "Generations that passed without a retry, of all. Automatic fixes do not count as a retry.",
    },
    Definition { name: "retries", text: "How often the model was told what is wrong, for each generation." },
    Definition {
        name: "interval",
        text: "Wilson's interval at 95 %: where the true share is likely to be. Below 10 cases no verdict is given about a target.",
    },
    Definition {
        name: "active time",
        text: "The time between one event of a session and the next, where that pause is shorter than 5 minutes (`--pause`). A clock that \
               jumps back adds nothing; sessions side by side add up.",
    },
    Definition {
        name: "artifacts and lines per hour",
        text: "Generations that passed, and their lines that are not blank, for each hour of active time; nothing below 6 minutes of it.",
    },
    Definition {
        name: "time saved",
        text: "An estimate: lines of generations that passed and whose proposal was neither rejected nor reverted, divided by 40 lines an hour \
               by hand (`--lines-by-hand`), less the active time. It says nothing about time spent on reading, nor about lines that \
               nobody would have written.",
    },
    Definition {
        name: "tokens per valid artifact",
        text: "All tokens of all generations, in and out, also of those that failed, divided by the number of those that passed.",
    },
    Definition {
        name: "rules",
        text: "A rule fires once for each file that is being made, however many attempts break it. Put right by a fixer if no check ever \
               found it left over; by the model if a later attempt is free of it; it stays if the last check still finds it. \"Fixed\" is the \
               share that was put right, by whomever, of those that fired.",
    },
    Definition {
        name: "overridden",
        text: "A comment in generated code or in a commit silences the rule, or a person edits generated code so that it breaks the rule: of \
               these and of the times the rule fired. A rule with at least 5 of them in all and more than 25 % overridden is marked: it may be \
               wrong.",
    },
    Definition {
        name: "skills",
        text: "In how many sessions a skill was offered, loaded and used (something of it run or read, or an artifact made with it), \
               an artifact made with it passed, its proposal was approved and not reverted, and its branch was merged.",
    },
    Definition {
        name: "groups",
        text: "Weeks begin on Monday, UTC. A generation with several skills counts for each. Events without a model belong to the one that \
               answered before them in the session.",
    },
];
