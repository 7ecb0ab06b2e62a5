//! Shapes of results, read back: whether a result has a field.
//!
//! A shape tells less than the result did. What it does not tell may be there.

/// Deeper shapes are not read.
const MAX_DEPTH: usize = 8;
/// Longer names of fields are cut when a result is summarised.
const NAME_CHARACTERS: usize = 40;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A text, a number, a truth value: without fields.
    Plain,
    List(Box<Shape>),
    Object {
        fields: Vec<(String, Shape)>,
        has_more: bool,
    },
    Unknown,
}

pub(super) fn read_shape(text: &str) -> Shape {
    let mut reader = Reader { rest: text };
    let shape = reader.shape(MAX_DEPTH);
    if reader.rest.is_empty() { shape } else { Shape::Unknown }
}

impl Shape {
    /// Whether the path of fields surely does not exist. Lists are looked through.
    pub(super) fn lacks(&self, path: &str) -> bool {
        let mut shape = self;
        for name in path.split('.') {
            while let Shape::List(element) = shape {
                shape = element;
            }
            shape = match shape {
                Shape::Plain => return true,
                Shape::Unknown | Shape::List(_) => return false,
                Shape::Object { fields, has_more } => {
                    let name: String = name.chars().take(NAME_CHARACTERS).collect();
                    match fields.iter().find(|(field, _)| *field == name) {
                        Some((_, field)) => field,
                        None => return !has_more,
                    }
                }
            };
        }
        false
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn takes(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn shape(&mut self, depth: usize) -> Shape {
        if depth == 0 {
            return self.give_up();
        }
        if self.takes("{") {
            return self.object(depth);
        }
        if self.takes("[]") {
            return Shape::Unknown;
        }
        if self.takes("[") {
            let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
            self.rest = &self.rest[digits..];
            if !self.takes(" × ") {
                return self.give_up();
            }
            let element = if self.takes("…") { Shape::Unknown } else { self.shape(depth - 1) };
            return if self.takes("]") { Shape::List(Box::new(element)) } else { self.give_up() };
        }
        if ["string", "int", "float", "bool"].into_iter().any(|name| self.takes(name)) {
            return Shape::Plain;
        }
        if self.takes("null") { Shape::Unknown } else { self.give_up() }
    }

    fn object(&mut self, depth: usize) -> Shape {
        let mut fields = Vec::new();
        if self.takes("}") {
            return Shape::Object { fields, has_more: false };
        }
        // `{3 fields}`
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && self.rest[digits..].starts_with(" fields}") {
            self.rest = &self.rest[digits + " fields}".len()..];
            return Shape::Unknown;
        }
        loop {
            if self.takes("… ") {
                let Some(end) = self.rest.find(" more}") else { return self.give_up() };
                self.rest = &self.rest[end + " more}".len()..];
                return Shape::Object { fields, has_more: true };
            }
            let Some(end) = self.rest.find(": ") else { return self.give_up() };
            let name = self.rest[..end].to_owned();
            self.rest = &self.rest[end + 2..];
            fields.push((name, self.shape(depth - 1)));
            if self.takes("}") {
                return Shape::Object { fields, has_more: false };
            }
            if !self.takes(", ") {
                return self.give_up();
            }
        }
    }

    /// A name may hold anything, so not every shape can be read back: then nothing is known.
    fn give_up(&mut self) -> Shape {
        self.rest = "?";
        Shape::Unknown
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::summarise;

    #[test]
    fn a_field_that_is_not_in_the_shape_is_lacking() {
        let result =
            json!({"items": [{"name": "a", "size": 1}], "total": 1, "next": null, "none": [], "empty": {}});
        let shape = read_shape(&summarise(&result).shape);
        for there in ["items", "items.name", "total", "next", "next.anything", "none.anything"] {
            assert!(!shape.lacks(there), "{there}");
        }
        for absent in ["item", "items.title", "total.value", "empty.a"] {
            assert!(shape.lacks(absent), "{absent}");
        }
    }

    #[test]
    fn what_a_shape_does_not_tell_may_be_there() {
        let deep = json!({"a": {"b": {"c": {"d": 1}}}});
        assert!(!read_shape(&summarise(&deep).shape).lacks("a.b.c.x"));
        let wide: serde_json::Map<String, serde_json::Value> =
            (0..30).map(|number| (format!("f{number:02}"), json!(1))).collect();
        assert!(!read_shape(&summarise(&wide.into()).shape).lacks("f29"));
        for odd in ["", "{", "{a", "{a: ", "[3 × ", "{a: int", "{a: b: int}", "{x: {y: }}", "[[[[[[[[[[[["] {
            assert!(!read_shape(odd).lacks("anything"), "{odd}");
        }
    }
}
