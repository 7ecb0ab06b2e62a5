//! The tree as data: nested JSON-like nodes that hold all of the text, and back.
