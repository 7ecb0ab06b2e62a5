//! Names that exist. In the Python that a model writes, a name in the braces of a template, behind the `=` of an argument or in the annotations of a
//! function is one that the answer has written before, or a built-in one; so is what a class of the answer is made with, and its keywords are the fields
//! of that class. And what no Python can be is not written: two names in a row, a bracket that closes another one, a parameter that is there already.
//!
//! A small model writes a rare word right four times and slips at the fifth (`spit_ valve`); what it may not write, it does not get wrong. Only places
//! are held where a name that nobody gives is an error whatever the program means, as far as that can be told from left to right: nested templates
//! are left alone, because what a comprehension binds stands behind its use. Text outside of a fenced block of Python is free.

mod walk;

use std::collections::BTreeSet;
use std::ops::Bound;

use toktrie::{SimpleVob, TokTrie};

use self::walk::Walk;

/// What is there without being given, and may stand in a template; and beginnings of literals.
const BUILT_IN: &str = "True False None not lambda await self cls t f r b u rt tr fr rf rb br \
    abs all any bool bytes dict enumerate float format getattr int isinstance len list max min range repr reversed round sorted str sum tuple zip";

/// What is there as well, and is nothing to show.
const BUILT_IN_ELSEWHERE: &str = "Ellipsis NotImplemented \
    aiter anext ascii bin breakpoint bytearray callable chr classmethod compile complex delattr dir divmod \
    eval exec filter frozenset globals hasattr hash help hex id input issubclass iter locals map \
    memoryview next object oct open ord pow print property set setattr slice staticmethod super \
    type vars BaseException Exception ArithmeticError AssertionError AttributeError EOFError ImportError IndexError KeyError \
    KeyboardInterrupt LookupError MemoryError NameError NotImplementedError OSError OverflowError RecursionError RuntimeError StopIteration \
    StopAsyncIteration SyntaxError SystemExit TimeoutError TypeError UnicodeError ValueError ZeroDivisionError";

/// Words that another one may follow, and those that may follow another one. Some are names as well.
const LEADING: &str = "and as assert async await class def del elif else except finally for from global if import in is lambda nonlocal not or raise \
    return try while with yield match case type";
const FOLLOWING: [&str; 11] = ["and", "as", "else", "for", "from", "if", "import", "in", "is", "not", "or"];

/// What brackets of annotations are written behind.
const GENERIC: [&str; 6] = ["list", "dict", "tuple", "set", "frozenset", "type"];

/// An answer as far as it was written.
#[derive(Clone, Debug)]
pub struct Names {
    known: BTreeSet<Vec<u8>>,
    /// Names that are known everywhere but in templates.
    known_elsewhere: BTreeSet<Vec<u8>>,
    /// The line so far, where no code is: it may open a fence.
    line: Vec<u8>,
    is_code: bool,
    is_comment: bool,
    /// What is open: brackets, strings, fields of templates.
    open: Vec<Open>,
    /// The name that is being written.
    word: Vec<u8>,
    /// The two names before.
    last_words: [Vec<u8>; 2],
    is_held: bool,
    /// The last two characters in code that are no blanks.
    before: [u8; 2],
    /// A backslash stands before.
    is_escaped: bool,
    /// Only blanks are between the last name and here.
    is_behind_word: bool,
    /// The name that is being written follows another one that none can follow, unless this one is a word of Python.
    is_second: bool,
    /// What the function under way takes so far, and whether a lone star is among it.
    parameters: Vec<Vec<u8>>,
    has_star: bool,
    /// Nothing but blanks is in the line so far, and so many.
    is_line_new: bool,
    indent: usize,
    /// The word that is being written is the first of its line.
    is_first: bool,
    /// Classes that are made with their fields and nothing else, as far as the answer says.
    records: Vec<Record>,
    /// The last of them is under way.
    is_in_record: bool,
    /// No Python goes on like that.
    is_broken: bool,
}

/// A class without a constructor of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    name: Vec<u8>,
    fields: BTreeSet<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    /// What it is for, and what closes it.
    Bracket(Bracket, u8),
    Text {
        quote: u8,
        is_template: bool,
        /// Quotes in a row: at its beginning, where it may be one of three or nothing at all; then at its end.
        quotes: u8,
        form: TextForm,
    },
    /// A field of a template; behind a colon or an exclamation mark is its format.
    Field { is_format: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextForm {
    Begun,
    Short,
    Long,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Call,
    /// The making of a record, by its place among them.
    Making(usize),
    Parameters,
    Generic,
    Other,
}

impl Default for Names {
    fn default() -> Self {
        let names =
            |names: &str| names.split_ascii_whitespace().map(|name| name.as_bytes().to_vec()).collect();
        Self {
            known: names(BUILT_IN),
            known_elsewhere: names(BUILT_IN_ELSEWHERE),
            line: Vec::new(),
            is_code: false,
            is_comment: false,
            open: Vec::new(),
            word: Vec::new(),
            last_words: [Vec::new(), Vec::new()],
            is_held: false,
            before: [b'\n'; 2],
            is_escaped: false,
            is_behind_word: false,
            is_second: false,
            parameters: Vec::new(),
            has_star: false,
            is_line_new: true,
            indent: 0,
            is_first: false,
            records: Vec::new(),
            is_in_record: false,
            is_broken: false,
        }
    }
}

impl Names {
    /// The tokens that may come next; `None` where all may.
    pub fn mask(&self, vocabulary: &TokTrie) -> Option<SimpleVob> {
        let is_held = if self.word.is_empty() { self.holds_next() } else { self.is_held };
        if !is_held {
            return None;
        }
        let mut mask = vocabulary.alloc_token_set();
        vocabulary.add_bias(&mut Walk::new(self), &mut mask, &[]);
        (!mask.is_zero()).then_some(mask)
    }

    /// Takes what was written.
    pub fn push(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.push_byte(*byte));
        self.is_broken = false;
    }

    /// Whether Python can go on so. Not for every token of a vocabulary: it is worth asking of those that are about to be taken.
    pub fn permits(&self, bytes: &[u8]) -> bool {
        let mut after = self.clone();
        bytes.iter().for_each(|byte| after.push_byte(*byte));
        !after.is_broken
    }

    fn is_known(&self, word: &[u8]) -> bool {
        self.sets().any(|known| known.contains(word))
    }

    fn begins(&self, word: &[u8]) -> bool {
        let from = (Bound::Included(word), Bound::Unbounded);
        self.sets()
            .any(|known| known.range::<[u8], _>(from).next().is_some_and(|name| name.starts_with(word)))
    }

    /// The names that are known here.
    fn sets(&self) -> impl Iterator<Item = &BTreeSet<Vec<u8>>> {
        let is_field = matches!(self.open.last(), Some(Open::Field { .. }));
        [&self.known, &self.known_elsewhere].into_iter().take(if is_field { 1 } else { 2 })
    }

    /// Whether a name that began here would have to be known.
    fn holds_next(&self) -> bool {
        if !self.is_code || self.is_comment {
            return false;
        }
        let is_outer = self.open.iter().filter(|open| matches!(open, Open::Text { .. })).count() == 1;
        match self.open.last() {
            Some(Open::Field { is_format }) => !is_format && is_outer && self.before[1] == b'{',
            Some(Open::Bracket(Bracket::Making(_), _)) if matches!(self.before[1], b'(' | b',') => true,
            Some(Open::Bracket(Bracket::Call | Bracket::Making(_), _)) => {
                self.before[1] == b'=' && is_part(self.before[0])
            }
            Some(Open::Bracket(Bracket::Parameters, _)) => self.before[1] == b':',
            Some(Open::Bracket(Bracket::Generic, _)) => matches!(self.before[1], b'[' | b','),
            Some(Open::Bracket(Bracket::Other, _) | Open::Text { .. }) => false,
            None => self.before == *b"->",
        }
    }

    fn push_byte(&mut self, byte: u8) {
        if !self.is_code {
            return self.push_outside(byte);
        }
        if self.is_comment {
            self.is_comment = byte != b'\n';
            return;
        }
        if let Some(Open::Text { .. }) = self.open.last() {
            return self.push_text(byte);
        }
        if let Some(Open::Field { is_format: true }) = self.open.last() {
            if byte == b'}' {
                self.open.pop();
            }
            return;
        }
        if is_part(byte) {
            if self.word.is_empty() {
                self.is_held = self.holds_next();
                let last = &self.last_words[1];
                let leads = LEADING.split_ascii_whitespace().any(|word| word.as_bytes() == last);
                self.is_second = self.is_behind_word && !leads;
                self.is_first = self.is_line_new;
                self.is_line_new = false;
            }
            self.word.push(byte);
            let word = self.word.as_slice();
            self.is_broken |= self.is_second && !FOLLOWING.iter().any(|it| it.as_bytes().starts_with(word));
            return;
        }
        let ended = !self.word.is_empty();
        if ended {
            self.end_word(byte);
        }
        self.push_mark(byte, ended);
        match byte {
            b'\n' if self.open.is_empty() => (self.is_line_new, self.indent) = (true, 0),
            b' ' if self.is_line_new => self.indent += 1,
            _ if byte.is_ascii_whitespace() => {}
            _ => self.is_line_new = false,
        }
        if !byte.is_ascii_whitespace() {
            self.before = [self.before[1], byte];
        }
        // Within brackets, a new line is a blank.
        let is_blank = byte.is_ascii_whitespace() && (byte != b'\n' || !self.open.is_empty());
        self.is_behind_word = is_blank && (ended || self.is_behind_word);
    }

    fn push_outside(&mut self, byte: u8) {
        if byte != b'\n' {
            self.line.push(byte);
            return;
        }
        let line = std::mem::take(&mut self.line);
        self.is_code = [&b"```python"[..], b"```py"].contains(&line.trim_ascii());
    }

    fn end_word(&mut self, next: u8) {
        let word = std::mem::take(&mut self.word);
        let is_attribute = self.before[1] == b'.';
        // `name=` in a call says what the other side calls it.
        let is_keyword = next == b'='
            && match self.open.last() {
                Some(Open::Bracket(Bracket::Making(place), _)) => {
                    self.is_broken |=
                        self.records.get(*place).is_some_and(|record| !record.fields.contains(&word));
                    true
                }
                open => matches!(open, Some(Open::Bracket(Bracket::Call, _))),
            };
        self.end_record_word(&word, next);
        self.is_broken |= self.is_second && !FOLLOWING.iter().any(|it| it.as_bytes() == word);
        if matches!(self.open.last(), Some(Open::Bracket(Bracket::Parameters, _)))
            && matches!(self.before[1], b'(' | b',' | b'*')
        {
            self.is_broken |= self.parameters.contains(&word);
            self.parameters.push(word.clone());
        }
        self.before = [self.before[1], word.last().copied().unwrap_or(b' ')];
        if !is_attribute && !is_keyword && !word[0].is_ascii_digit() {
            self.known.insert(word.clone());
        }
        self.last_words = [std::mem::take(&mut self.last_words[1]), word];
        self.is_held = false;
    }

    /// Keeps account of classes and their fields.
    fn end_record_word(&mut self, word: &[u8], next: u8) {
        let is_after = |keyword: &[u8]| self.last_words[1] == keyword;
        if is_after(b"class") {
            self.records.retain(|record| record.name != word);
            self.records.push(Record { name: word.to_owned(), fields: BTreeSet::new() });
            self.is_in_record = true;
            return;
        }
        if !self.is_in_record {
            return;
        }
        if is_after(b"def") {
            // Who has a constructor is made as that says.
            if word == b"__init__" {
                self.records.pop();
            }
            self.is_in_record = word != b"__init__" && self.indent > 0;
        } else if self.is_first && next == b':' && self.open.is_empty() {
            let is_field = !LEADING.split_ascii_whitespace().any(|keyword| keyword.as_bytes() == word);
            if let Some(record) = self.records.last_mut().filter(|_| is_field) {
                record.fields.insert(word.to_owned());
            }
        }
    }

    fn push_mark(&mut self, byte: u8, follows_word: bool) {
        let last_word = str::from_utf8(&self.last_words[1]).unwrap_or_default();
        match byte {
            b'"' | b'\'' => {
                let is_prefix = follows_word
                    && last_word.bytes().all(|byte| b"tfrbu".contains(&byte.to_ascii_lowercase()));
                let is_template = is_prefix && last_word.contains(['t', 'f', 'T', 'F']);
                self.open.push(Open::Text { quote: byte, is_template, quotes: 1, form: TextForm::Begun });
            }
            b'#' => self.is_comment = true,
            b'(' => {
                let is_attribute = self.before[0] == b'.';
                let record = self.records.iter().position(|record| {
                    record.name == last_word.as_bytes() && !record.fields.is_empty() && !is_attribute
                });
                let bracket = match follows_word {
                    true if self.last_words[0] == b"def" => Bracket::Parameters,
                    true if self.last_words[0] == b"class" => {
                        // What it inherits, it is made with as well.
                        self.records.pop();
                        self.is_in_record = false;
                        Bracket::Call
                    }
                    true => record.map_or(Bracket::Call, Bracket::Making),
                    false => Bracket::Other,
                };
                if bracket == Bracket::Parameters {
                    (self.parameters, self.has_star) = (Vec::new(), false);
                }
                self.open.push(Open::Bracket(bracket, b')'));
            }
            b'[' => {
                let is_generic = follows_word && GENERIC.contains(&last_word);
                let bracket = if is_generic { Bracket::Generic } else { Bracket::Other };
                self.open.push(Open::Bracket(bracket, b']'));
            }
            b'{' => match self.open.last() {
                // Two of them are one of the text.
                Some(Open::Field { .. }) if self.before[1] == b'{' => drop(self.open.pop()),
                _ => self.open.push(Open::Bracket(Bracket::Other, b'}')),
            },
            b')' | b']' | b'}' => {
                self.push_star(byte);
                let closes = match self.open.pop() {
                    Some(Open::Bracket(_, close)) => byte == close,
                    Some(Open::Field { .. }) => byte == b'}',
                    Some(Open::Text { .. }) | None => false,
                };
                self.is_broken |= !closes;
            }
            b',' => self.push_star(byte),
            b':' if matches!(self.open.last(), Some(Open::Bracket(Bracket::Making(_), _))) => {
                self.is_broken |= !self.last_words.iter().any(|word| word == b"lambda");
            }
            b':' | b'!' => {
                if let Some(Open::Field { is_format }) = self.open.last_mut() {
                    *is_format = true;
                }
            }
            b'`' if self.before == *b"``" => {
                *self = Self { known: std::mem::take(&mut self.known), ..Self::default() }
            }
            _ => {}
        }
    }

    /// A star alone among parameters: once, and something behind it.
    fn push_star(&mut self, next: u8) {
        let is_alone = self.before[1] == b'*' && matches!(self.before[0], b'(' | b',');
        if is_alone && matches!(self.open.last(), Some(Open::Bracket(Bracket::Parameters, _))) {
            self.is_broken |= self.has_star || next != b',';
            self.has_star = true;
        }
    }

    fn push_text(&mut self, byte: u8) {
        let Some(Open::Text { quote, is_template, quotes, form }) = self.open.last_mut() else { return };
        if std::mem::take(&mut self.is_escaped) {
            return;
        }
        match (*form, byte) {
            (TextForm::Begun, _) if byte == *quote => {
                *quotes += 1;
                if *quotes == 3 {
                    (*form, *quotes) = (TextForm::Long, 0);
                }
                return;
            }
            (TextForm::Begun, _) if *quotes == 2 => {
                // It was empty, and this stands behind it.
                self.open.pop();
                self.before = [b'"', b'"'];
                return self.push_byte(byte);
            }
            (TextForm::Begun, _) => (*form, *quotes) = (TextForm::Short, 0),
            _ => {}
        }
        if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == *quote {
            *quotes += 1;
            if *form == TextForm::Short || *quotes == 3 {
                self.open.pop();
                self.before = [b'"', b'"'];
            }
        } else if byte == b'\n' && *form == TextForm::Short {
            self.open.pop();
        } else {
            *quotes = 0;
            if byte == b'{' && *is_template {
                self.open.push(Open::Field { is_format: false });
                self.before = [b' ', b'{'];
            }
        }
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use toktrie::TokRxInfo;

    use super::*;

    const VIEW: &str = "```python\n\"\"\"A castle view with moat and heir.\"\"\"\n\nfrom tdom import html\n\n\n\
        def castle_view(*, moat: str, heir_count: int) -> str:\n    page = t\"\"\"\n        <p class=\"mot\">{";

    /// Which of these may come next.
    fn allowed<'t>(written: &str, tokens: &[&'t str]) -> Vec<&'t str> {
        let mut names = Names::default();
        names.push(written.as_bytes());
        let words: Vec<Vec<u8>> = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
        let vocabulary = TokTrie::from(&TokRxInfo::new(words.len() as u32, 0), &words);
        let mask = names.mask(&vocabulary);
        let is_allowed = |token: usize| mask.as_ref().is_none_or(|mask| mask.is_allowed(token as u32));
        (0..tokens.len()).filter(|token| is_allowed(*token)).map(|token| tokens[token]).collect()
    }

    #[test]
    fn a_name_in_braces_has_been_written_before() {
        let tokens = [
            "mo",
            "moat",
            "moat}</p>",
            "mot",
            "moats",
            "castle_view(",
            "heir",
            "heir}",
            " moat",
            "[t",
            "len",
            "page",
            "main",
        ];
        let right = ["mo", "moat", "moat}</p>", "castle_view(", "heir", " moat", "[t", "len", "page"];
        assert_eq!(allowed(VIEW, &tokens), right);
        assert_eq!(allowed(&format!("{VIEW}mo"), &["at", "ats", "a", "t", "}", "at}"]), ["at", "a", "at}"]);
        assert_eq!(allowed(&format!("{VIEW}moat"), &["}", "s", ".x", " "]), ["}", ".x", " "]);
    }

    #[test]
    fn text_and_nested_templates_and_formats_are_free() {
        let any = ["anything", "else"];
        for rest in ["{", "moat}</p><p>", "moat:", "[t\"<li>{", "moat}</p>\"\"\"\n    return "] {
            assert_eq!(allowed(&format!("{VIEW}{rest}"), &any), any, "{rest}");
        }
        for written in [
            "",
            "Here is t\"{",
            "```text\nt\"{",
            "```python\n# t\"{",
            "```python\nx = \"{",
            "```python\nx = t\"\"\nt\"{x}\" {",
        ] {
            assert_eq!(allowed(written, &any), any, "{written}");
        }
        // What stands behind the block is no code.
        assert_eq!(allowed("```python\nx = 1\n```\nNow t\"{", &any), any);
    }

    #[test]
    fn arguments_and_annotations_have_been_written_before() {
        let service =
            "```python\nimport datetime\n\n\nclass Petal:\n    name: str\n\n\ndef keep(self, *, name: ";
        assert_eq!(
            allowed(service, &["str", "Petal", "Petals", " datetime", "dat", "Pet\n"]),
            ["str", "Petal", " datetime", "dat"]
        );
        let body = format!("{service}str) -> ");
        assert_eq!(allowed(&body, &["Petal", "Petall", "None"]), ["Petal", "None"]);
        let call = format!("{body}Petal:\n    records: list[");
        assert_eq!(allowed(&call, &["Petal", "Pedal"]), ["Petal"]);
        let call = format!("{body}Petal:\n    return Petal(");
        assert_eq!(allowed(&call, &["name", "nme", "na", "\"x\"", "**"]), ["name", "na", "\"x\"", "**"]);
        assert_eq!(
            allowed(&format!("{call}nme="), &["name", "nme", "\"x\"", "3", "self"]),
            ["name", "\"x\"", "3", "self"]
        );
        assert_eq!(allowed(&format!("{call}name == "), &["nme"]), ["nme"]);
        let call = format!("{body}Petal:\n    return other(");
        assert_eq!(allowed(&call, &["name", "nme"]), ["name", "nme"], "a keyword is the other side's");
    }

    #[test]
    fn a_class_is_made_with_its_fields() {
        let petal = "class Petal:\n    name: str\n    hue: int\n\n\n";
        let made = format!("{petal}def pick(name, length):\n    return Petal(");
        assert_eq!(
            permitted(&made, &["name=", "hue=", "length=", "length,", "name: ", "lambda x: x"]),
            ["name=", "hue=", "length,", "lambda x: x"]
        );
        assert_eq!(permitted(&format!("{made}name=name, "), &["hue=", "length="]), ["hue="]);
        // Another class takes what it says, inherits or is handed on.
        let anything = ["length="];
        let own = "class Petal:\n    name: str\n\n    def __init__(self, length): ...\n\n\nx = Petal(";
        let heir = "class Petal(Leaf):\n    name: str\n\n\nx = Petal(";
        let empty = "class Petal:\n    pass\n\n\nx = Petal(";
        for written in [own, heir, empty, &format!("{petal}x = leaf.Petal(")] {
            assert_eq!(permitted(written, &anything), anything, "{written}");
        }
        // What a function annotates is no field, though inside of a method nobody can tell.
        let after = format!("{petal}def f():\n    length: int = 3\n    return Petal(");
        assert_eq!(permitted(&after, &["length=", "name="]), ["name="]);
    }

    /// Which of these Python may go on with.
    fn permitted<'t>(written: &str, tokens: &[&'t str]) -> Vec<&'t str> {
        let mut names = Names::default();
        names.push(format!("```python\n{written}").as_bytes());
        tokens.iter().copied().filter(|token| names.permits(token.as_bytes())).collect()
    }

    #[test]
    fn no_name_follows_another_one() {
        let parameters = "def f(*, spit_";
        assert_eq!(permitted(parameters, &["valve", " valve", ":", " Valve"]), ["valve", ":"]);
        assert_eq!(permitted("def f(*, ice", &[" cube", "_cube", ":", "\n    cube"]), ["_cube", ":"]);
        assert_eq!(permitted("x = f(a=t", &[" tuition", "\"<p>", ",", " if"]), ["\"<p>", ",", " if"]);
        assert_eq!(
            permitted("x = a ", &["if", "i", "is not", "b", "= b", "\nb"]),
            ["if", "i", "is not", "= b", "\nb"]
        );
        let words = [" x", " not x", " *"];
        for keyword in ["return", "import", "x = y if", "async", "[x for", "raise"] {
            assert_eq!(permitted(keyword, &words), words, "{keyword}");
        }
        assert_eq!(permitted("x = 1\ny", &[" = 2\nz = 3", " z"]), [" = 2\nz = 3"]);
        assert_eq!(permitted("\"\"\"A kiln", &[" service.\"\"\"\n"]), [" service.\"\"\"\n"]);
        assert_eq!(permitted("# a", &[" comment"]), [" comment"]);
    }

    #[test]
    fn brackets_close_what_they_opened_and_parameters_come_once() {
        assert_eq!(permitted("x = (a[0", &["]", ")", "])", "])\n", "]))"]), ["]", "])", "])\n"]);
        assert_eq!(permitted("def f(self, *,", &[" *,", " **k", " a", " self,"]), [" **k", " a"]);
        assert_eq!(permitted("def f(*", &[")", ", a", "a)"]), [", a", "a)"]);
        assert_eq!(permitted("def f(a, b", &["):", ", a)", ", c)"]), ["):", ", c)"]);
        assert_eq!(permitted("def f(a):\n    def g(", &["a)", "*, a)"]), ["a)", "*, a)"]);
        assert_eq!(permitted("t\"{a", &["}", ")", "}\")", "}\""]), ["}", "}\""]);
    }

    #[test]
    fn a_template_shows_no_function() {
        assert_eq!(allowed(VIEW, &["pow", "slice}", "print", "len", "sum"]), ["len", "sum"]);
        assert_eq!(allowed("```python\nx = f(y=", &["pow", "print", "len"]), ["pow", "print", "len"]);
    }

    proptest::proptest! {
        /// Whatever a model writes is read to its end, and it does not matter in which pieces it came.
        #[test]
        fn text_may_come_in_any_pieces(
            pieces in proptest::collection::vec("[\\[\\](){}`'\"=:>. \n\\\\#a-dtf-]{0,6}|```python\n|def a\\(|t\"\"\"|é", 0..40)
        ) {
            let (mut at_once, mut piecewise) = (Names::default(), Names::default());
            at_once.push(pieces.concat().as_bytes());
            pieces.iter().for_each(|piece| piecewise.push(piece.as_bytes()));
            proptest::prop_assert_eq!(at_once.holds_next(), piecewise.holds_next());
            proptest::prop_assert_eq!((at_once.known, at_once.open), (piecewise.known, piecewise.open));
        }
    }
}
