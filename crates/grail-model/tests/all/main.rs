//! One binary for all tests of models.

mod conversations;
mod tool_text;
