//! `optional-to-or-none`: `Optional[X]` becomes `X | None` (Python 3.10).

use super::{Command, unions};

pub(super) const COMMAND: Command = Command {
    name: "optional-to-or-none",
    summary: "Turn `Optional[X]` into `X | None`",
    libcst: None,
    arguments: &[],
    run: |context, _| Ok(unions::convert(context, unions::Form::Optional)),
};
