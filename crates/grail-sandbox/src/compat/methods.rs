//! Methods that values of CPython have and the engine's have not.

use grail_code::{Context, Field, Kind};

use super::calls::is_defined;
use super::site::Found;
use super::{Construct, Failure};

/// A type, an expression of it, and the methods it lacks. No other type of the engine has a method of such a name, so that a call of
/// one cannot work, whatever it is called on.
pub(super) const MISSING: &[(&str, &str, &[&str])] = &[
    ("str", "'a'", &["format_map", "isprintable", "maketrans", "translate"]),
    (
        "int",
        "(1)",
        &["as_integer_ratio", "bit_count", "bit_length", "conjugate", "from_bytes", "is_integer", "to_bytes"],
    ),
    ("float", "(1.5)", &["as_integer_ratio", "conjugate", "is_integer"]),
    ("set", "{1}", &["difference_update", "intersection_update", "symmetric_difference_update"]),
    ("datetime.date", "datetime.date(2024, 1, 2)", &["ctime", "isocalendar", "timetuple", "toordinal"]),
    (
        "datetime.datetime",
        "datetime.datetime(2024, 1, 2)",
        &["astimezone", "ctime", "isocalendar", "timetuple", "toordinal", "utctimetuple"],
    ),
    ("re.Pattern", "re.compile('a')", &["scanner", "subn"]),
    ("re.Match", "re.match('a', 'a')", &["expand"]),
    ("Exception", "ValueError('a')", &["add_note", "with_traceback"]),
    (
        "pathlib.Path",
        "pathlib.Path('/a')",
        &[
            "as_uri",
            "chmod",
            "expanduser",
            "full_match",
            "glob",
            "is_relative_to",
            "lstat",
            "owner",
            "readlink",
            "relative_to",
            "rglob",
            "samefile",
            "symlink_to",
            "touch",
            "walk",
        ],
    ),
];

/// What to do without the commoner ones.
const INSTEAD: &[(&str, &str)] = &[
    ("add_note", "say it in the message of the exception"),
    ("astimezone", "keep times in one time zone"),
    ("bit_length", "use `len(f'{value:b}')`"),
    ("difference_update", "use `first -= second`"),
    ("format_map", "use `.format(**mapping)`"),
    ("glob", "loop over `.iterdir()` and test the names"),
    ("intersection_update", "use `first &= second`"),
    ("is_integer", "use `value == int(value)`"),
    ("isocalendar", "compute the week from `.weekday()` and a `timedelta`"),
    ("maketrans", "use a dictionary and a comprehension"),
    ("relative_to", "use `str(path).removeprefix(…)`"),
    ("rglob", "write a function that goes through `.iterdir()`"),
    ("subn", "use `len(pattern.findall(text))` and `pattern.sub(…)`"),
    ("symmetric_difference_update", "use `first ^= second`"),
    ("to_bytes", "use `bytes.fromhex(f'{value:08x}')`"),
    ("touch", "use `.write_text('')`"),
    ("translate", "use `''.join(table.get(character, character) for character in text)`"),
    ("with_traceback", "raise the exception as it is"),
];

pub(super) const ROWS: &[Construct] = &[Construct {
    name: "missing-method",
    title: "Methods that values lack",
    message: "no value has a method `{}`",
    rewrite: "do without it: see `docs/reference/python-subset.md`",
    example: "'a-b'.translate({45: ' '})",
    rewritten: "'a-b'.replace('-', ' ')",
    failure: Failure::Raises("AttributeError"),
    kinds: &[Kind::Call],
    find: |site| {
        let func = site.node.child(Field::Func).filter(|func| func.kind() == Kind::Attribute)?;
        let attribute = func.child(Field::Attr)?;
        let name = attribute.text();
        let is_missing = MISSING.iter().any(|(_, _, names)| names.contains(&name));
        if !is_missing || (site.defines)(name) || is_defined(site, name) || is_assigned(site, name) {
            return None;
        }
        // Classes and modules are told more exactly by other rows.
        let value = func.child(Field::Value)?;
        let hint = INSTEAD.iter().find(|(method, _)| *method == name).map(|(_, hint)| (*hint).to_owned());
        Some(Found { node: attribute, subject: name.to_owned(), hint })
            .filter(|_| site.global_name(value).is_none())
    },
}];

/// Whether the program sets an attribute or class variable of this name, which may be what is called.
fn is_assigned(site: super::site::Site<'_>, name: &str) -> bool {
    site.node.parsed().nodes().any(|node| {
        node.context() == Some(Context::Store)
            && match node.kind() {
                Kind::Name => node.text() == name,
                Kind::Attribute => node.child(Field::Attr).is_some_and(|attribute| attribute.text() == name),
                _ => false,
            }
    })
}
