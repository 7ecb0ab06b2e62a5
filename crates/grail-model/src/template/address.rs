//! Paths of routes, as a sentence gives them and as each framework spells them.

use super::field::{Field, FieldType, FieldView};
use super::name::Name;

const MAX_SEGMENTS: usize = 12;

/// A path that every framework accepts: it begins with a slash, its parameters are identifiers, each there once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Fixed(String),
    Parameter(Field),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Address {
    /// Reads `/users/{id}`, `/users/:id` and `/users/<int:id>`. What no path can hold is left out.
    pub fn read(text: &str) -> Option<Self> {
        let path = text.strip_prefix('/')?.split(['?', '#']).next()?;
        let mut address = Self { segments: Vec::new() };
        for part in path.split('/').filter(|part| !part.is_empty()).take(MAX_SEGMENTS) {
            address.segments.extend(Segment::read(part).filter(|segment| !address.has(segment)));
        }
        Some(address)
    }

    /// The path for something of this name: `/user-profile`.
    pub(crate) fn of_name(name: &Name) -> Self {
        Self { segments: Segment::fixed(&name.kebab()).into_iter().collect() }
    }

    pub(crate) fn parameters(&self) -> impl Iterator<Item = &Field> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Parameter(field) => Some(field),
            Segment::Fixed(_) => None,
        })
    }

    /// `/users/{user_id}/orders` → `user orders`.
    pub(crate) fn name(&self) -> Option<Name> {
        let mut words = Vec::new();
        for (index, segment) in self.segments.iter().enumerate() {
            let Segment::Fixed(text) = segment else { continue };
            let Some(name) = Name::read(text) else { continue };
            // A parameter behind it picks one of many.
            let is_one = matches!(self.segments.get(index + 1), Some(Segment::Parameter(_)));
            words.extend(if is_one { name.singular() } else { name }.words().to_vec());
        }
        Name::of_words(&words)
    }

    /// `/users/{user_id}`, with a type in the braces where a framework wants one.
    pub(crate) fn braces(&self, typed: bool) -> String {
        self.spell(|field| match type_word(&field.of).filter(|_| typed) {
            Some(word) => format!("{{{}:{word}}}", field.name.snake()),
            None => format!("{{{}}}", field.name.snake()),
        })
    }

    /// `/users/<int:user_id>`.
    pub(crate) fn angles(&self) -> String {
        self.spell(|field| match type_word(&field.of) {
            Some(word) => format!("<{word}:{}>", field.name.snake()),
            None => format!("<{}>", field.name.snake()),
        })
    }

    /// With the samples of its parameters in their places.
    pub(crate) fn filled(&self, parameters: &[FieldView]) -> String {
        self.spell(|field| {
            let shown = parameters.iter().find(|view| view.name == field.name.snake());
            shown.map_or_else(String::new, |view| view.shown.to_lowercase().replace(' ', "-"))
        })
    }

    fn spell(&self, parameter: impl Fn(&Field) -> String) -> String {
        let mut path = String::new();
        for segment in &self.segments {
            path.push('/');
            match segment {
                Segment::Fixed(text) => path.push_str(text),
                Segment::Parameter(field) => path.push_str(&parameter(field)),
            }
        }
        if path.is_empty() { "/".to_owned() } else { path }
    }

    fn has(&self, segment: &Segment) -> bool {
        let Segment::Parameter(field) = segment else { return false };
        self.parameters().any(|known| known.name.snake() == field.name.snake())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.braces(true))
    }
}

fn type_word(of: &FieldType) -> Option<&'static str> {
    match of {
        FieldType::Whole => Some("int"),
        FieldType::Decimal => Some("float"),
        _ => None,
    }
}

impl Segment {
    fn read(part: &str) -> Option<Self> {
        let within =
            |open: char, close: char| part.strip_prefix(open).and_then(|rest| rest.strip_suffix(close));
        if let Some(inside) = within('{', '}') {
            let (name, of) = inside.split_once(':').unwrap_or((inside, ""));
            return Self::parameter(name, of);
        }
        if let Some(inside) = within('<', '>') {
            let (of, name) = inside.split_once(':').unwrap_or(("", inside));
            return Self::parameter(name, of);
        }
        match part.strip_prefix(':') {
            Some(name) => Self::parameter(name, ""),
            None => Self::fixed(part),
        }
    }

    fn fixed(part: &str) -> Option<Self> {
        let text: String = part
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~'))
            .take(60)
            .collect();
        (!text.trim_matches('.').is_empty()).then_some(Self::Fixed(text))
    }

    fn parameter(name: &str, of: &str) -> Option<Self> {
        let mut field = Field::read(name)?;
        field.of = match of {
            "int" => FieldType::Whole,
            "float" => FieldType::Decimal,
            "str" | "string" | "path" => FieldType::Text,
            // What an address holds is one value.
            _ if matches!(field.of, FieldType::Whole | FieldType::Decimal) => field.of,
            _ => FieldType::Text,
        };
        Some(Self::Parameter(field))
    }
}

impl Method {
    /// Only in capitals: `get` and `put` are words too.
    pub(crate) fn read(word: &str) -> Option<Self> {
        Some(match word {
            "GET" => Self::Get,
            "POST" => Self::Post,
            "PUT" => Self::Put,
            "PATCH" => Self::Patch,
            "DELETE" => Self::Delete,
            _ => return None,
        })
    }

    /// `get`, as decorators are called.
    pub(crate) fn decorator(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
            Self::Put => "put",
            Self::Patch => "patch",
            Self::Delete => "delete",
        }
    }

    /// What a view for it does.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Get => "show",
            Self::Post => "create",
            Self::Put | Self::Patch => "update",
            Self::Delete => "delete",
        }
    }
}
