//! Fields: what an artifact shows, keeps or takes, with a type that is guessed from its name where the sentence does not say.

use serde::Serialize;

use super::name::{Name, is_plural};

/// More are not read.
pub(crate) const MAX_FIELDS: usize = 40;

/// One field or parameter of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: Name,
    pub of: FieldType,
    pub is_optional: bool,
    /// The sentence said what it is; a guess may be corrected, this may not.
    pub(crate) is_typed: bool,
}

/// The types that a template knows how to show, to fill and to leave empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldType {
    Text,
    Whole,
    Decimal,
    /// `decimal.Decimal`, where somebody asks for it.
    Exact,
    Truth,
    Date,
    Moment,
    Identifier,
    Bytes,
    Anything,
    /// `tuple[…, ...]`.
    Many(Box<FieldType>),
    /// `dict[str, …]`.
    Table(Box<FieldType>),
}

/// A field as a template sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FieldView {
    /// `unit_price`.
    pub name: String,
    /// `unit-price`.
    pub kebab: String,
    /// `Unit price`.
    pub title: String,
    /// `float | None`.
    pub annotation: String,
    /// `float`, also of what is optional.
    pub base: String,
    pub is_optional: bool,
    /// What it is to a reader: `image`, `link`, `heading`, `list`, `table`, `flag`, `number` or `text`.
    pub role: &'static str,
    /// `{unit_price}`, to stand in a template string.
    pub slot: String,
    /// `unit_price: float | None = None`.
    pub parameter: String,
    /// `unit_price: float | None`.
    pub declaration: String,
    /// `unit_price=unit_price`.
    pub keyword: String,
    /// `unit_price=1.5`.
    pub sample_keyword: String,
    /// A value in Python that differs from field to field.
    pub sample: String,
    /// Another one.
    pub other_sample: String,
    /// What `html` and `str` make of the sample's first value.
    pub shown: String,
    /// The empty value in Python.
    pub empty: String,
    /// One of them, for the list.
    pub item: String,
}

impl Field {
    /// With the type that the name suggests.
    pub fn guess(name: Name) -> Self {
        let of = guess_type(&name);
        Self { name, of, is_optional: false, is_typed: false }
    }

    /// `Field::read("unit price")`.
    pub fn read(name: &str) -> Option<Self> {
        Name::read(name).map(Self::guess)
    }

    /// As a template sees the field at this place of the list.
    pub(crate) fn view(&self, place: usize) -> FieldView {
        let name = self.name.snake();
        let base = self.of.annotation();
        let annotation = if self.is_optional { format!("{base} | None") } else { base.clone() };
        let declaration = format!("{name}: {annotation}");
        let sample = self.of.sample(&self.name, 2 * place);
        let default = if self.is_optional { " = None" } else { "" };
        let item = match self.name.singular().snake() {
            same if same == name => format!("{same}_item"),
            one => one,
        };
        FieldView {
            kebab: self.name.kebab(),
            title: self.name.title(),
            base,
            is_optional: self.is_optional,
            role: self.role(),
            slot: format!("{{{name}}}"),
            parameter: format!("{declaration}{default}"),
            declaration,
            keyword: format!("{name}={name}"),
            sample_keyword: format!("{name}={sample}"),
            sample,
            other_sample: self.of.sample(&self.name, 2 * place + 1),
            shown: self.of.shown(&self.name, 2 * place),
            empty: if self.is_optional { "None" } else { self.of.empty() }.to_owned(),
            item,
            annotation,
            name,
        }
    }

    fn role(&self) -> &'static str {
        let last = self.name.words().last().map_or("", String::as_str);
        match &self.of {
            FieldType::Many(_) => "list",
            FieldType::Table(_) => "table",
            FieldType::Truth => "flag",
            FieldType::Whole | FieldType::Decimal | FieldType::Exact => "number",
            FieldType::Text if IMAGES.contains(&last) => "image",
            FieldType::Text if LINKS.contains(&last) => "link",
            FieldType::Text if HEADINGS.contains(&last) => "heading",
            _ => "text",
        }
    }
}

impl FieldType {
    pub fn annotation(&self) -> String {
        match self {
            Self::Text => "str".to_owned(),
            Self::Whole => "int".to_owned(),
            Self::Decimal => "float".to_owned(),
            Self::Exact => "decimal.Decimal".to_owned(),
            Self::Truth => "bool".to_owned(),
            Self::Date => "datetime.date".to_owned(),
            Self::Moment => "datetime.datetime".to_owned(),
            Self::Identifier => "uuid.UUID".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Anything => "object".to_owned(),
            Self::Many(item) => format!("tuple[{}, ...]", item.annotation()),
            Self::Table(item) => format!("dict[str, {}]", item.annotation()),
        }
    }

    fn empty(&self) -> &'static str {
        match self {
            Self::Text => "\"\"",
            Self::Whole => "0",
            Self::Decimal => "0.0",
            Self::Exact => "decimal.Decimal(0)",
            Self::Truth => "False",
            Self::Date => "datetime.date.min",
            Self::Moment => "datetime.datetime.min",
            Self::Identifier => "uuid.UUID(int=0)",
            Self::Bytes => "b\"\"",
            Self::Anything => "None",
            Self::Many(_) => "()",
            Self::Table(_) => "{}",
        }
    }

    /// A value in Python; different numbers give different ones, truths apart.
    fn sample(&self, name: &Name, number: usize) -> String {
        let count = number + 1;
        match self {
            Self::Text | Self::Anything => format!("\"{}\"", self.shown(name, number)),
            Self::Whole => count.to_string(),
            Self::Decimal => format!("{count}.5"),
            Self::Exact => format!("decimal.Decimal(\"{count}.50\")"),
            Self::Truth => if number.is_multiple_of(2) { "True" } else { "False" }.to_owned(),
            Self::Date => format!("datetime.date(2024, 1, {})", 1 + number % 28),
            Self::Moment => format!("datetime.datetime(2024, 1, {}, 12, 30)", 1 + number % 28),
            Self::Identifier => format!("uuid.UUID(int={count})"),
            Self::Bytes => format!("b\"{count}\""),
            Self::Many(item) => format!("({},)", item.sample(&name.singular(), number)),
            Self::Table(item) => format!("{{\"key {count}\": {}}}", item.sample(&name.singular(), number)),
        }
    }

    /// The sample as text; only letters, digits, spaces and a point or two, so that nothing has to be escaped anywhere.
    fn shown(&self, name: &Name, number: usize) -> String {
        let count = number + 1;
        match self {
            Self::Text | Self::Anything => {
                let title = name.title();
                if number.is_multiple_of(2) { title } else { format!("Other {}", title.to_lowercase()) }
            }
            Self::Whole => count.to_string(),
            Self::Decimal => format!("{count}.5"),
            Self::Exact => format!("{count}.50"),
            Self::Truth => if number.is_multiple_of(2) { "True" } else { "False" }.to_owned(),
            Self::Date => format!("2024-01-{:02}", 1 + number % 28),
            Self::Moment => format!("2024-01-{:02} 12:30:00", 1 + number % 28),
            Self::Identifier => format!("00000000-0000-0000-0000-{count:012x}"),
            Self::Bytes => count.to_string(),
            Self::Many(item) => item.shown(&name.singular(), number),
            Self::Table(item) => item.shown(&name.singular(), number),
        }
    }
}

const IMAGES: &[&str] =
    &["avatar", "image", "photo", "picture", "logo", "icon", "thumbnail", "portrait", "banner"];
const LINKS: &[&str] = &["url", "link", "website", "homepage", "href"];
const HEADINGS: &[&str] = &["title", "name", "heading", "headline"];

const DECIMALS: &[&str] = &[
    "price",
    "cost",
    "amount",
    "total",
    "subtotal",
    "rate",
    "ratio",
    "weight",
    "height",
    "width",
    "length",
    "score",
    "percent",
    "percentage",
    "temperature",
    "latitude",
    "longitude",
    "balance",
    "tax",
    "discount",
    "distance",
    "salary",
    "fee",
    "budget",
    "speed",
    "threshold",
    "timeout",
    "seconds",
    "duration",
    "rating",
    "volume",
    "probability",
];
const WHOLES: &[&str] = &[
    "count", "quantity", "age", "number", "size", "level", "year", "index", "position", "port", "limit",
    "id", "page", "stock", "points", "minutes", "hours", "days", "weeks", "months", "years", "retries",
    "attempts", "offset", "depth", "rank", "capacity", "views", "likes", "votes", "floor", "quota",
];
const TRUTHS: &[&str] = &[
    "active",
    "enabled",
    "disabled",
    "visible",
    "hidden",
    "public",
    "private",
    "published",
    "done",
    "completed",
    "verified",
    "archived",
    "featured",
    "open",
    "closed",
    "paid",
    "deleted",
    "checked",
    "selected",
    "required",
    "available",
    "finished",
    "online",
    "subscribed",
];
const TRUTH_STARTS: &[&str] =
    &["is", "has", "can", "should", "was", "allow", "allows", "needs", "wants", "uses", "in"];
/// Plurals that are one text.
const TEXTS: &[&str] = &[
    "options",
    "settings",
    "details",
    "contents",
    "instructions",
    "terms",
    "credentials",
    "preferences",
    "comments",
];
const DATES: &[&str] = &["date", "birthday", "deadline", "birthdate", "anniversary"];
const MOMENTS: &[&str] = &["timestamp", "datetime"];
const PAST: &[&str] = &[
    "created",
    "updated",
    "modified",
    "published",
    "sent",
    "received",
    "started",
    "ended",
    "finished",
    "deleted",
    "closed",
    "opened",
    "expires",
    "due",
    "joined",
    "paid",
    "shipped",
    "ordered",
    "placed",
    "logged",
    "seen",
    "changed",
    "issued",
];

fn guess_type(name: &Name) -> FieldType {
    let words = name.words();
    let last = words.last().map_or("", String::as_str);
    let first = words.first().map_or("", String::as_str);
    let is = |list: &[&str]| list.contains(&last);
    if words.len() > 1 && TRUTH_STARTS.contains(&first) {
        FieldType::Truth
    } else if (words.len() > 1 && last == "at") || is(MOMENTS) {
        FieldType::Moment
    } else if is(DATES) || (words.len() > 1 && last == "on" && PAST.contains(&first)) {
        FieldType::Date
    } else if first == "number" && words.get(1).is_some_and(|word| word == "of") || is(WHOLES) {
        FieldType::Whole
    } else if is(DECIMALS) {
        FieldType::Decimal
    } else if is(TRUTHS) {
        FieldType::Truth
    } else if is_plural(last) && !is(TEXTS) {
        match guess_type(&name.singular()) {
            FieldType::Many(_) | FieldType::Truth => FieldType::Many(Box::new(FieldType::Text)),
            item => FieldType::Many(Box::new(item)),
        }
    } else {
        FieldType::Text
    }
}

/// Reads a type from the words of an annotation or of a sentence: `str`, `list[int]`, `float | None`, `list of numbers`, `text`.
/// The second value says that it may be `None`.
pub(crate) fn read_type(words: &[&str]) -> Option<(FieldType, bool)> {
    let mut reader = TypeReader { words, at: 0, depth: 0 };
    let mut is_optional = reader.take("optional");
    let (of, may_be_none) = reader.read_one()?;
    is_optional |= may_be_none;
    while reader.take("|") || reader.take("or") {
        if !(reader.take("None") || reader.take("none") || reader.take("nothing")) {
            return None;
        }
        is_optional = true;
    }
    (reader.at == words.len()).then_some((of, is_optional))
}

struct TypeReader<'w> {
    words: &'w [&'w str],
    at: usize,
    depth: usize,
}

impl TypeReader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|next| *next == word);
        self.at += usize::from(is_next);
        is_next
    }

    fn read_one(&mut self) -> Option<(FieldType, bool)> {
        self.depth += 1;
        if self.depth > 5 {
            return None;
        }
        while self.take("a") || self.take("an") || self.take("the") {}
        let word = self.words.get(self.at)?.to_lowercase();
        self.at += 1;
        let of = match word.as_str() {
            "str" | "string" | "text" | "strings" | "texts" | "words" => FieldType::Text,
            "int" | "integer" | "integers" | "ints" => FieldType::Whole,
            "number" | "numbers" | "float" | "floats" => FieldType::Decimal,
            "decimal" | "decimals" => FieldType::Exact,
            "bool" | "boolean" | "flag" | "booleans" => FieldType::Truth,
            "date" | "dates" => FieldType::Date,
            "datetime" | "timestamp" => FieldType::Moment,
            "uuid" | "uuids" => FieldType::Identifier,
            "bytes" => FieldType::Bytes,
            "any" | "object" => FieldType::Anything,
            "optional" if self.take("[") => {
                let of = self.read_one()?.0;
                return self.take("]").then_some((of, true));
            }
            "list" | "tuple" | "set" | "sequence" | "collection" | "array" => return self.read_many(),
            "dict" | "mapping" | "dictionary" => return self.read_table(),
            _ => return None,
        };
        Some((of, false))
    }

    fn read_many(&mut self) -> Option<(FieldType, bool)> {
        let item = if self.take("[") {
            let item = self.read_one()?.0;
            if self.take(",") && !self.take("...") {
                return None;
            }
            if !self.take("]") {
                return None;
            }
            item
        } else if self.take("of") {
            self.read_one()?.0
        } else {
            FieldType::Text
        };
        Some((FieldType::Many(Box::new(item)), false))
    }

    fn read_table(&mut self) -> Option<(FieldType, bool)> {
        let mut item = FieldType::Text;
        if self.take("[") {
            let key = self.read_one()?.0;
            if key != FieldType::Text || !self.take(",") {
                return None;
            }
            item = self.read_one()?.0;
            if !self.take("]") {
                return None;
            }
        }
        Some((FieldType::Table(Box::new(item)), false))
    }
}
