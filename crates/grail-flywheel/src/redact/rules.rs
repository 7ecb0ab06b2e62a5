//! What secrets look like: the forms that their issuers gave them, and the places where others stand.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Captures, Regex};

use super::clues::Clue;
use super::values::{SECRET_NAMES, is_placeholder, is_quoted_secret, is_random};

/// One form of secrets.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) clue: Clue,
    source: String,
    /// Compiled when a text first has the clue: most programs that remember something never meet one.
    pattern: OnceLock<Regex>,
    accept: Accept,
}

/// Whether a match is a secret. What is taken out is the group `secret`, or the whole match without one.
type Accept = fn(text: &str, captures: &Captures<'_>, secret: Range<usize>) -> bool;

impl Rule {
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let pattern =
            self.pattern.get_or_init(|| Regex::new(&self.source).expect("the patterns are constants"));
        pattern.captures_iter(text).filter_map(|captures| {
            let range = captures.name("secret").or_else(|| captures.get(0))?.range();
            (self.accept)(text, &captures, range.clone()).then_some(range)
        })
    }
}

/// All rules. Where two find something at the same place, the first has it.
pub(super) fn rules() -> Vec<Rule> {
    let tokens = TOKENS.iter().map(|(kind, pattern)| rule(kind, Clue::Prefix, pattern, stands_alone));
    let rare = RARE.iter().map(|(kind, pattern)| rule(kind, Clue::Rare, pattern, |_, _, _| true));
    let names = SECRET_NAMES.join("|");
    let assigned =
        format!(r#"(?i)(?<name>{names}){ASSIGNED}\\{{0,4}}["'](?<secret>[^"'\s\\]{{6,}})\\{{0,4}}["']"#);
    let listed = format!(
        r#"(?i)(?:{names})\\{{0,4}}["']\s{{0,20}},\s{{0,20}}\\{{0,4}}["'](?<secret>[^"'\s\\]{{6,}})\\{{0,4}}["']"#
    );
    let bare = format!(
        r#"(?i)(?:{names})(?:\\{{0,4}}["'])?\s{{0,20}}[=:]\s{{0,20}}(?<secret>[A-Z0-9+/=_.~-]{{16,}})"#
    );
    let flag = format!(r#"(?i)--[a-z-]{{0,40}}(?:{names})[ =](?<secret>[A-Z0-9+/=_.~-]{{16,}})"#);
    let places = [
        rule("private-key", Clue::PrivateKey, PRIVATE_KEY, |_, _, _| true),
        rule("private-key", Clue::PrivateKey, OPEN_PRIVATE_KEY, |_, _, _| true),
        rule("password", Clue::Scheme, URL_PASSWORD, is_url_password),
        rule("authorization", Clue::Authorization, AUTHORIZATION, is_credential),
        rule("authorization", Clue::Authorization, BEARER, is_bearer),
        rule("secret", Clue::Name, &assigned, is_assigned),
        rule("secret", Clue::Name, &listed, is_random_value),
        rule("secret", Clue::Name, &bare, is_random_value),
        rule("secret", Clue::Name, &flag, is_random_value),
        rule("email", Clue::At, EMAIL, is_email),
    ];
    tokens.chain(rare).chain(places).collect()
}

/// Tokens that say by their beginning who issued them.
const TOKENS: [(&str, &str); 22] = [
    ("aws-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    ("google-key", r"AIza[0-9A-Za-z_-]{35}"),
    ("google-key", r"GOCSPX-[0-9A-Za-z_-]{24,}"),
    ("google-key", r"ya29\.[0-9A-Za-z_-]{20,}"),
    ("github-token", r"gh[pousr]_[0-9A-Za-z]{30,}"),
    ("github-token", r"github_pat_[0-9A-Za-z_]{22,}"),
    ("gitlab-token", r"gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|oas)-[0-9A-Za-z_.-]{19,}[0-9A-Za-z_-]"),
    ("slack-token", r"xox[a-z](?:\.xox[a-z])?-[0-9A-Za-z-]{10,}"),
    ("slack-token", r"xapp-[0-9]-[0-9A-Za-z-]{10,}"),
    ("stripe-key", r"[sr]k_(?:live|test)_[0-9A-Za-z]{16,}"),
    ("stripe-key", r"whsec_[0-9A-Za-z+/]{24,}={0,2}"),
    ("anthropic-key", r"sk-ant-[0-9A-Za-z_-]{20,}"),
    ("openai-key", r"sk-(?:proj|svcacct|admin|None)-[0-9A-Za-z_-]{20,}"),
    ("openai-key", r"sk-(?:or-v1-)?[0-9A-Za-z]{32,}"),
    ("huggingface-token", r"(?:hf_|api_org_)[0-9A-Za-z]{30,}"),
    ("npm-token", r"npm_[0-9A-Za-z]{36}"),
    ("pypi-token", r"pypi-[0-9A-Za-z_-]{32,}"),
    ("jwt", r"eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*"),
    ("token", r"SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}"),
    ("token", r"do[opr]_v1_[0-9a-f]{64}"),
    ("token", r"(?:gsk_|xai-|lin_api_|dckr_pat_)[0-9A-Za-z_-]{24,}"),
    ("token", r"hvs\.[0-9A-Za-z_-]{24,}"),
];

const RARE: [(&str, &str); 4] = [
    ("slack-token", r"hooks\.slack\.com/(?:services|workflows)/(?<secret>[0-9A-Za-z_/-]{20,})"),
    ("azure-key", r"(?i)AccountKey=(?<secret>[0-9A-Z+/]{40,}={0,2})"),
    ("azure-key", r"(?i)[?&;]sig=(?<secret>[0-9A-Z%+/]{32,}(?:%3D|=)*)"),
    ("azure-key", r"[0-9A-Za-z_~.-]{3}8Q~[0-9A-Za-z_~.-]{31,34}"),
];

/// What stands between a name and its value: `"] = `, `: str = `, `: `, ` == `.
const ASSIGNED: &str =
    r#"(?:\\{0,4}["'])?\]?\s{0,20}(?::\s{0,4}[A-Za-z.\[\]| ]{2,30}=|={1,2}|!=|:=|:|=>)\s{0,20}[rbuRBU]{0,2}"#;

const PRIVATE_KEY: &str = r"(?s)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----";
/// One whose end is missing goes as far as it looks like one.
const OPEN_PRIVATE_KEY: &str = r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----[0-9A-Za-z+/=\s\\]*";

const URL_PASSWORD: &str = r#"(?i)[a-z][a-z0-9+.-]{1,30}://[^\s/?#:@"'<>\\]*:(?<secret>[^\s/?#@"'<>\\]+(?:@[^\s/?#@"'<>\\]+)*)@[a-z0-9\[{$]"#;

const AUTHORIZATION: &str = r#"(?i)authorization\\{0,4}["']?\]?\s{0,20}[:=,]\s{0,20}[bf]?\\{0,4}["']?(?:(?:bearer|basic|token|digest|apikey)\s{1,20})?(?<secret>[a-z0-9._~+/=-]{8,})"#;
const BEARER: &str = r"(?i)bearer\s{1,20}(?<secret>[a-z0-9._~+/=-]{16,})";

/// After `\n` in code, an address begins with the next letter.
const EMAIL: &str = r"(?:\\[nrt])?(?<secret>[0-9A-Za-z][0-9A-Za-z._%+-]*@(?<domain>(?:[0-9A-Za-z](?:[0-9A-Za-z-]*[0-9A-Za-z])?\.)+[A-Za-z]{2,24}))";

/// Ends of domains, beside those of countries, that people have addresses under. Attributes of matrices are not among them.
const DOMAIN_ENDS: [&str; 85] = [
    "com",
    "org",
    "net",
    "edu",
    "gov",
    "mil",
    "int",
    "info",
    "biz",
    "name",
    "pro",
    "dev",
    "app",
    "cloud",
    "tech",
    "xyz",
    "online",
    "site",
    "store",
    "shop",
    "email",
    "agency",
    "company",
    "systems",
    "software",
    "solutions",
    "studio",
    "design",
    "digital",
    "network",
    "academy",
    "group",
    "team",
    "health",
    "bank",
    "legal",
    "engineering",
    "university",
    "local",
    "internal",
    "berlin",
    "hamburg",
    "koeln",
    "cologne",
    "wien",
    "bayern",
    "london",
    "paris",
    "nyc",
    "tokyo",
    "amsterdam",
    "swiss",
    "gmbh",
    "ltd",
    "inc",
    "llc",
    "consulting",
    "ventures",
    "finance",
    "capital",
    "energy",
    "clinic",
    "school",
    "college",
    "institute",
    "foundation",
    "church",
    "global",
    "international",
    "world",
    "media",
    "news",
    "blog",
    "wiki",
    "cafe",
    "hotel",
    "museum",
    "mobi",
    "coop",
    "aero",
    "asia",
    "photography",
    "ngo",
    "charity",
    "community",
];

/// Domains that are nobody's, kept for examples.
const EXAMPLE_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];

fn rule(kind: &'static str, clue: Clue, pattern: &str, accept: Accept) -> Rule {
    Rule { kind, clue, source: pattern.to_owned(), pattern: OnceLock::new(), accept }
}

/// Not the middle of a longer word, which would be no token of that form.
fn stands_alone(text: &str, _captures: &Captures<'_>, secret: Range<usize>) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let before = &text[..secret.start];
    // `\n` in code is two characters, of which the second belongs to no word.
    let is_escaped = [r"\n", r"\r", r"\t"].iter().any(|escape| before.ends_with(escape));
    (is_escaped || !before.ends_with(is_word)) && !text[secret.end..].starts_with(is_word)
}

fn is_assigned(text: &str, captures: &Captures<'_>, secret: Range<usize>) -> bool {
    captures.name("name").is_some_and(|name| is_quoted_secret(name.as_str(), &text[secret]))
}

fn is_random_value(text: &str, _captures: &Captures<'_>, secret: Range<usize>) -> bool {
    is_random(&text[secret])
}

fn is_credential(text: &str, _captures: &Captures<'_>, secret: Range<usize>) -> bool {
    let value = &text[secret];
    !is_placeholder(value) && value.contains(|character: char| character.is_ascii_digit())
}

fn is_bearer(text: &str, _captures: &Captures<'_>, secret: Range<usize>) -> bool {
    let value = &text[secret];
    value.contains(|character: char| character.is_ascii_digit())
        && value.contains(|character: char| character.is_ascii_alphabetic())
}

fn is_url_password(text: &str, _captures: &Captures<'_>, secret: Range<usize>) -> bool {
    !is_placeholder(&text[secret])
}

/// Whether somebody may have that address. `x@y.T`, `w@x.at[0]` and `git@host.org:path` are none.
fn is_email(text: &str, captures: &Captures<'_>, secret: Range<usize>) -> bool {
    let address = &text[secret.clone()];
    let Some(domain) = captures.name("domain").map(|domain| domain.as_str()) else { return false };
    let local = &address[..address.len() - domain.len() - 1];
    if local == "git" || text[secret.end..].starts_with(['(', '[', '_']) {
        return false;
    }
    let lower = domain.to_ascii_lowercase();
    let last = lower.rsplit('.').next().unwrap_or_default();
    let is_reserved = matches!(last, "example" | "test" | "invalid" | "localhost")
        || EXAMPLE_DOMAINS.iter().any(|example| {
            lower.strip_suffix(example).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
    // Countries have two letters; an attribute such as `.mT` has mixed ones.
    let end = &domain[domain.len() - last.len()..];
    let is_one_case = end.chars().all(|character| character.is_ascii_lowercase())
        || end.chars().all(|character| character.is_ascii_uppercase());
    !is_reserved && is_one_case && (last.len() == 2 || DOMAIN_ENDS.contains(&last))
}
