//! What a sentence asks a skill to do, as far as a template understands it: a request to a service, one of a few tasks on text, or
//! something with named fields.

use std::collections::BTreeSet;

use grail_skills::runnable::{Capability, Credential};

use super::python_text;

/// More fields of a sentence are not looked for.
const MAX_FIELDS: usize = 12;
const MAX_FIELD_CHARACTERS: usize = 40;

pub(super) enum Task {
    Request(Service),
    /// A function on text that is known to work.
    Known(&'static Known),
    Fields(Vec<String>),
}

/// Somebody who is asked over HTTP.
pub(super) struct Service {
    name: String,
    base: Option<&'static str>,
    /// What is asked if the input does not say.
    default: Option<(&'static str, &'static str)>,
}

pub(super) struct Known {
    /// Words that must be there, in this order.
    words: &'static [&'static [&'static str]],
    modules: &'static [&'static str],
    code: &'static str,
}

struct KnownService {
    name: &'static str,
    base: &'static str,
    default: Option<(&'static str, &'static str)>,
}

/// Services that take a bearer token and JSON, and where they are.
const SERVICES: &[KnownService] = &[
    KnownService {
        name: "SendGrid",
        base: "https://api.sendgrid.com/v3",
        default: Some(("POST", "/mail/send")),
    },
    KnownService { name: "Resend", base: "https://api.resend.com", default: Some(("POST", "/emails")) },
    KnownService {
        name: "Slack",
        base: "https://slack.com/api",
        default: Some(("POST", "/chat.postMessage")),
    },
    KnownService { name: "GitHub", base: "https://api.github.com", default: None },
    KnownService { name: "GitLab", base: "https://gitlab.com/api/v4", default: None },
    KnownService { name: "OpenAI", base: "https://api.openai.com/v1", default: None },
];

const KNOWN: &[Known] = &[
    Known {
        words: &[&["count", "counts", "counting"], &["words", "word"]],
        modules: &[],
        code: r#"    return {"words": len(text_of(input, "text").split())}"#,
    },
    Known {
        words: &[&["csv"], &["json"]],
        modules: &["csv", "io"],
        code: r#"    rows = csv.DictReader(io.StringIO(text_of(input, "csv")))
    return {"rows": [dict(row) for row in rows]}"#,
    },
    Known {
        words: &[&["hash", "hashes", "checksum", "sha256", "digest"]],
        modules: &["hashlib"],
        code: r#"    return {"sha256": hashlib.sha256(text_of(input, "text").encode()).hexdigest()}"#,
    },
];

impl Task {
    pub(super) fn understand(intent: &str) -> Self {
        let sentence: String = intent.chars().take(2_000).collect();
        let words: Vec<&str> = sentence
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        if let Some(service) = service(&words) {
            return Self::Request(service);
        }
        let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        match KNOWN.iter().find(|known| follows(&lower, known.words)) {
            Some(known) => Self::Known(known),
            None => Self::Fields(fields(&sentence)),
        }
    }

    pub(super) fn capabilities(&self) -> BTreeSet<Capability> {
        match self {
            Self::Request(_) => BTreeSet::from([Capability::Network]),
            Self::Known(_) | Self::Fields(_) => BTreeSet::new(),
        }
    }

    pub(super) fn credentials(&self) -> Vec<Credential> {
        let Self::Request(service) = self else { return Vec::new() };
        let credential = |name: &str, env_var, description| Credential {
            name: name.to_owned(),
            env_var,
            description,
            required: true,
            default: None,
        };
        let mut credentials =
            vec![credential("api-key", service.key_variable(), format!("Key for {}", service.name))];
        if service.base.is_none() {
            let description = format!("Address of {}, such as https://api.example.com/v1", service.name);
            credentials.push(credential("base-url", service.address_variable(), description));
        }
        credentials
    }

    pub(super) fn modules(&self) -> Vec<&'static str> {
        match self {
            Self::Request(_) => vec!["os", "urllib.error", "urllib.request"],
            Self::Known(known) => known.modules.to_vec(),
            Self::Fields(_) => Vec::new(),
        }
    }

    /// What a person should know before relying on it.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = match self {
            Self::Request(service) => format!(
                "made from a template: it sends requests to {}; what is in them comes with the input",
                service.name
            ),
            Self::Known(_) => return Vec::new(),
            Self::Fields(_) => {
                "made from a template: it takes its input apart and does nothing with it yet; write the work into `run`, \
                 or let a model write it (`--model`)"
                    .to_owned()
            }
        };
        vec![note]
    }

    /// The constants and functions of the task; `run` is one of them.
    pub(super) fn code(&self, sentence: &str) -> String {
        match self {
            Self::Request(service) => service.code(),
            Self::Known(known) => format!(
                "def run(input: Any) -> Any:\n    \"\"\"From the input of a call to its output.\"\"\"\n{}\n\n\n{TEXT_OF}",
                known.code
            ),
            Self::Fields(fields) => {
                let names: Vec<String> = fields.iter().map(|field| python_text(field)).collect();
                let names = match names.as_slice() {
                    [] => "()".to_owned(),
                    [one] => format!("({one},)"),
                    several => format!("({})", several.join(", ")),
                };
                format!("TASK = {sentence}\nFIELDS: tuple[str, ...] = {names}\n\n\n{FIELDS_CODE}")
            }
        }
    }
}

const TEXT_OF: &str = r#"def text_of(input: Any, name: str) -> str:
    if not isinstance(input, dict) or not isinstance(input.get(name), str):
        raise SkillError(f'the input needs a text "{name}"', INVALID_PARAMS)
    return input[name]"#;

const FIELDS_CODE: &str = r#"def run(input: Any) -> Any:
    """From the input of a call to its output. What is to be done with the fields is written here."""
    if not isinstance(input, dict):
        raise SkillError("the input is not an object", INVALID_PARAMS)
    missing = [field for field in FIELDS if field not in input]
    if missing:
        raise SkillError(f"the input needs {', '.join(missing)}", INVALID_PARAMS)
    return {"task": TASK, "given": {field: input[field] for field in FIELDS or input}}"#;

impl Service {
    fn variable(&self, ending: &str) -> String {
        let plain = |character: char| {
            if character.is_ascii_alphanumeric() { character.to_ascii_uppercase() } else { '_' }
        };
        let name: String = self.name.chars().map(plain).collect();
        // Variables that steer the programs round a skill begin so, and no variable begins with a digit.
        let is_reserved = ["LD", "DYLD", "PYTHON", "UV", "PIP"].iter().any(|start| name.starts_with(start))
            || name.starts_with(|first: char| first.is_ascii_digit());
        let prefix = if is_reserved { "SERVICE_" } else { "" };
        format!("{prefix}{name}_{ending}")
    }

    fn key_variable(&self) -> String {
        self.variable("API_KEY")
    }

    fn address_variable(&self) -> String {
        self.variable("BASE_URL")
    }

    fn code(&self) -> String {
        let service = python_text(&self.name);
        let key = python_text(&self.key_variable());
        let base = match self.base {
            Some(base) => format!("    return {}", python_text(base)),
            None => {
                let variable = python_text(&self.address_variable());
                format!(
                    "    base = os.environ.get({variable}, \"\")\n    if not base.startswith((\"https://\", \"http://\")):\n        \
                     raise SkillError(f\"the address of {{SERVICE}} is not set\")\n    return base.rstrip(\"/\")"
                )
            }
        };
        let (method, path) = self.default.unwrap_or(("GET", ""));
        let (method, path) = (python_text(method), python_text(path));
        REQUEST_CODE
            .replacen("__SERVICE__", &service, 1)
            .replacen("__METHOD__", &method, 1)
            .replacen("__PATH__", &path, 1)
            .replacen("__KEY__", &key, 1)
            .replacen("__BASE__", &base, 1)
    }
}

/// A redirect would carry the key to whoever it names, so none is followed. The address never comes with the input for the same reason.
const REQUEST_CODE: &str = r#"SERVICE = __SERVICE__
DEFAULT_METHOD = __METHOD__
DEFAULT_PATH = __PATH__
METHODS_ALLOWED = ("GET", "POST", "PUT", "PATCH", "DELETE")
MAX_RESPONSE_BYTES = 64 * 1024
TIMEOUT_SECONDS = 20


class StayHere(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the key is for this service alone."""

    def redirect_request(self, *details: Any) -> None:
        return None


def base_address() -> str:
__BASE__


def run(input: Any) -> Any:
    """Sends one request. Input: "method", "path", "body"; with "dry_run" the request is only shown."""
    if not isinstance(input, dict):
        raise SkillError("the input is not an object", INVALID_PARAMS)
    method, path = input.get("method", DEFAULT_METHOD), input.get("path", DEFAULT_PATH)
    if method not in METHODS_ALLOWED:
        raise SkillError(f"the method is one of {', '.join(METHODS_ALLOWED)}", INVALID_PARAMS)
    if not isinstance(path, str) or not path.startswith("/") or any(sign <= " " for sign in path):
        raise SkillError('the input needs a "path" that begins with /', INVALID_PARAMS)
    shown = {"service": SERVICE, "method": method, "url": base_address() + path, "body": input.get("body")}
    if input.get("dry_run"):
        return {"request": shown, "sent": False}
    return {"request": shown, "sent": True, "response": send(method, shown["url"], input.get("body"))}


def send(method: str, url: str, body: Any) -> dict[str, Any]:
    key = os.environ.get(__KEY__)
    if not key:
        raise SkillError(f"the key for {SERVICE} is not set")
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "Accept": "application/json"}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    urllib.request.install_opener(urllib.request.build_opener(StayHere()))
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
            return {"status": response.status, "text": text_of(response)}
    except urllib.error.HTTPError as error:
        raise SkillError(f"{SERVICE} answers {error.code}: {text_of(error)[:500]}") from error
    except OSError as error:
        raise SkillError(f"{SERVICE} cannot be reached: {error}") from error


def text_of(response: Any) -> str:
    return response.read(MAX_RESPONSE_BYTES).decode(errors="replace")"#;

/// The service that a sentence names: one that is known, or whatever it is done `via`.
fn service(words: &[&str]) -> Option<Service> {
    let known = SERVICES.iter().find(|known| words.iter().any(|word| word.eq_ignore_ascii_case(known.name)));
    if let Some(known) = known {
        return Some(Service { name: known.name.to_owned(), base: Some(known.base), default: known.default });
    }
    let mut names = words.windows(2).filter_map(|pair| {
        let [before, word] = pair else { return None };
        let is_name = word.starts_with(|first: char| first.is_ascii_uppercase());
        match before.to_lowercase().as_str() {
            "via" | "through" => Some(*word),
            "using" | "with" if is_name => Some(*word),
            _ if word.eq_ignore_ascii_case("api") && before.is_ascii() && *before != "the" => Some(*before),
            _ => None,
        }
    });
    let is_usable = |name: &&str| name.is_ascii() && name.len() <= 40 && !["the", "a", "an"].contains(name);
    let name = names.rfind(is_usable)?;
    Some(Service { name: name.to_owned(), base: None, default: None })
}

/// Whether one of each group is there, in the order of the groups.
fn follows(words: &[String], groups: &[&[&str]]) -> bool {
    let mut rest = words.iter();
    groups.iter().all(|group| rest.any(|word| group.contains(&word.as_str())))
}

/// `… with name, email and age` has the fields `name`, `email` and `age`.
fn fields(sentence: &str) -> Vec<String> {
    let Some((_, list)) = sentence.split_once(" with ") else { return Vec::new() };
    let end = list.find(['.', ';', '\n']).unwrap_or(list.len());
    let parts = list[..end].split(',').flat_map(|part| part.split(" and "));
    let mut fields = Vec::new();
    for part in parts {
        let words =
            part.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
        let words =
            words.map(str::to_lowercase).filter(|word| !["a", "an", "the", "and"].contains(&word.as_str()));
        let field = words.collect::<Vec<_>>().join("_");
        if !field.is_empty() && field.chars().count() <= MAX_FIELD_CHARACTERS && !fields.contains(&field) {
            fields.push(field);
        }
    }
    fields.truncate(MAX_FIELDS);
    fields
}
