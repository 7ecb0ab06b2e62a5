//! What people say code must not do, and what that looks like in code.

/// One phrase: its words, patterns of what it forbids, an example of that, and what to do instead.
pub(super) struct Phrase {
    /// Each group must have one of its words in the sentence.
    pub(super) words: &'static [&'static [&'static str]],
    /// Structural patterns, in YAML on one line each.
    pub(super) patterns: &'static [&'static str],
    /// An expression that breaks the rule.
    pub(super) bad: &'static str,
    /// One that does not.
    pub(super) good: &'static str,
    pub(super) help: &'static str,
}

pub(super) const PHRASES: &[Phrase] = &[
    Phrase {
        words: &[&["database", "db", "sql", "orm"]],
        patterns: &[
            r#"{type: Call, func: {type: Attribute, attr: {regex: "^(execute|executemany|query|fetchone|fetchall|scalars?|commit|raw)$"}}}"#,
            r#"{type: Attribute, attr: {regex: "^objects$"}}"#,
        ],
        bad: "connection.execute(\"SELECT 1\")",
        good: "find_orders(request)",
        help: "ask something whose work it is to query",
    },
    Phrase {
        words: &[&["print", "prints", "printed"]],
        patterns: &["{type: Call, func: {qualified_name: builtins.print}}"],
        bad: "print(\"hello\")",
        good: "log.info(\"hello\")",
        help: "log it",
    },
    Phrase {
        words: &[&["sleep", "sleeps"]],
        patterns: &["{type: Call, func: time.sleep}"],
        bad: "time.sleep(1)",
        good: "wait_until(is_ready)",
        help: "wait for what you wait for",
    },
    Phrase {
        words: &[&["environment", "env"]],
        patterns: &["{type: Attribute, value: os, attr: {regex: \"^(environ|environb|getenv|getenvb)$\"}}"],
        bad: "os.environ[\"KEY\"]",
        good: "settings.key",
        help: "take it from the settings",
    },
    Phrase {
        words: &[
            &["http", "network", "requests", "web"],
            &["requests", "request", "call", "calls", "network", "http", "use"],
        ],
        patterns: &[
            r#"{type: Call, func: {qualified_name: ["requests.*", "httpx.*", "urllib.request.*", "aiohttp.*", "http.client.*"]}}"#,
        ],
        bad: "requests.get(\"https://example.com\")",
        good: "client.fetch(\"https://example.com\")",
        help: "let a client that is handed in do it",
    },
    Phrase {
        words: &[
            &["files", "file", "disk"],
            &["open", "opens", "read", "reads", "write", "writes", "touch", "access"],
        ],
        patterns: &[
            "{type: Call, func: {qualified_name: builtins.open}}",
            r#"{type: Call, func: {type: Attribute, attr: {regex: "^(read_text|read_bytes|write_text|write_bytes)$"}}}"#,
        ],
        bad: "open(\"orders.csv\")",
        good: "store.load(\"orders\")",
        help: "let something whose work it is read and write",
    },
    Phrase {
        words: &[&["eval", "exec", "evaluate"]],
        patterns: &["{type: Call, func: {qualified_name: [builtins.eval, builtins.exec]}}"],
        bad: "eval(text)",
        good: "parse(text)",
        help: "parse it",
    },
];
