//! `convert-union-to-or`: `Union[X, Y]` becomes `X | Y` (Python 3.10).

use super::{Command, unions};

pub(super) const COMMAND: Command = Command {
    name: "convert-union-to-or",
    summary: "Turn `Union[X, Y]` into `X | Y`",
    libcst: Some("ConvertUnionToOrCommand"),
    arguments: &[],
    run: |context, _| Ok(unions::convert(context, unions::Form::Union)),
};
