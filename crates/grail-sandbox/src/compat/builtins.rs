//! Builtins the engine does not have.

use grail_code::semantic::Origin;
use grail_code::{Context, Kind};

use super::site::Found;
use super::{Construct, Failure};

/// Builtins of CPython that are not there, and what to do without the commoner ones.
pub(super) const MISSING: &[(&str, &str)] = &[
    ("__import__", "use an `import` statement"),
    ("aiter", "await a list and loop over it"),
    ("anext", "await a list and loop over it"),
    ("ascii", "use `repr`"),
    ("breakpoint", "use `print`"),
    ("bytearray", "use `bytes`, or a list of integers"),
    ("callable", "know what you pass; or use `hasattr`"),
    ("classmethod", "write a function outside the class"),
    ("compile", "write the code itself: no code can be made at run time"),
    ("complex", "keep the real and the imaginary part as two numbers"),
    ("delattr", "set the attribute to `None`"),
    ("dir", "keep the names you need in a list"),
    ("eval", "write the code itself; to read data, use `json.loads`"),
    ("exec", "write the code itself: no code can be made at run time"),
    ("exit", "use `return`, or raise an exception"),
    ("format", "use an f-string: `f'{value:.2f}'`"),
    ("globals", "keep values in a dictionary of your own"),
    ("help", "leave it out"),
    ("input", "nobody answers: read from `inputs`, or ask for a tool"),
    ("issubclass", "compare types with `is`"),
    ("locals", "keep values in a dictionary of your own"),
    ("memoryview", "use slices of `bytes`"),
    ("quit", "use `return`, or raise an exception"),
    ("staticmethod", "write a function outside the class"),
    ("super", "write one class with all its methods: there is no inheritance"),
    ("vars", "name the attributes you need"),
    ("BaseExceptionGroup", ""),
    ("BlockingIOError", ""),
    ("BrokenPipeError", ""),
    ("BufferError", ""),
    ("ChildProcessError", ""),
    ("ConnectionAbortedError", ""),
    ("ConnectionError", ""),
    ("ConnectionRefusedError", ""),
    ("ConnectionResetError", ""),
    ("DeprecationWarning", ""),
    ("EOFError", ""),
    ("EnvironmentError", ""),
    ("ExceptionGroup", ""),
    ("FloatingPointError", ""),
    ("FutureWarning", ""),
    ("GeneratorExit", ""),
    ("IOError", ""),
    ("IndentationError", ""),
    ("InterruptedError", ""),
    ("ProcessLookupError", ""),
    ("ReferenceError", ""),
    ("RuntimeWarning", ""),
    ("StopAsyncIteration", ""),
    ("SystemError", ""),
    ("UnicodeError", ""),
    ("UserWarning", ""),
    ("Warning", ""),
];

const OTHER_EXCEPTION: &str =
    "use another built-in exception, such as `OSError`, `ValueError` or `RuntimeError`";

pub(super) const ROWS: &[Construct] = &[Construct {
    name: "builtin",
    title: "Builtins the engine does not have",
    message: "there is no builtin `{}`",
    rewrite: "use a builtin the engine has: see `docs/reference/python-subset.md`",
    example: "format(3.14159, '.2f')",
    rewritten: "f'{3.14159:.2f}'",
    failure: Failure::Raises("NameError"),
    kinds: &[Kind::Name],
    find: |site| {
        let node = site.node;
        let (name, instead) = MISSING.iter().find(|(name, _)| *name == node.text())?;
        // Complaints about decorators and calls of these in a class are made elsewhere.
        let names = site.semantic.qualified_names(node);
        let is_builtin = names.iter().all(|name| name.origin == Origin::Builtin);
        let is_meant = node.context() == Some(Context::Load) && is_builtin && !(site.defines)(name);
        let hint = if instead.is_empty() { OTHER_EXCEPTION } else { instead };
        let found = Found { node, subject: (*name).to_owned(), hint: Some(hint.to_owned()) };
        Some(found).filter(|_| is_meant && !site.is_in_annotation())
    },
}];
