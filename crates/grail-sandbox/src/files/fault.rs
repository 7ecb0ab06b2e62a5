//! What goes wrong with files, in CPython's words.

use monty_types::{
    ExcType, MontyException, StringRepr, UnicodeErrorData, unicode_decode_error_msg, utf8_error_reason,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NotFound,
    Denied,
    Exists,
    CrossDevice,
    NotADirectory,
    IsADirectory,
    NoSpace,
    ReadOnly,
    NameTooLong,
    NotEmpty,
}

impl Fault {
    pub(super) fn at(self, path: &str) -> MontyException {
        self.exception(&StringRepr(path).to_string())
    }

    /// `rename` names both its paths.
    pub(super) fn between(self, source: &str, destination: &str) -> MontyException {
        self.exception(&format!("{} -> {}", StringRepr(source), StringRepr(destination)))
    }

    fn exception(self, what: &str) -> MontyException {
        let (kind, number, text) = match self {
            Self::NotFound => (ExcType::FileNotFoundError, 2, "No such file or directory"),
            Self::Denied => (ExcType::PermissionError, 13, "Permission denied"),
            Self::Exists => (ExcType::FileExistsError, 17, "File exists"),
            Self::CrossDevice => (ExcType::OSError, 18, "Invalid cross-device link"),
            Self::NotADirectory => (ExcType::NotADirectoryError, 20, "Not a directory"),
            Self::IsADirectory => (ExcType::IsADirectoryError, 21, "Is a directory"),
            Self::NoSpace => (ExcType::OSError, 28, "No space left on device"),
            // The engine's mounts raise `PermissionError` for this, where CPython has a plain `OSError`: one answer for both.
            Self::ReadOnly => (ExcType::PermissionError, 30, "Read-only file system"),
            Self::NameTooLong => (ExcType::OSError, 36, "File name too long"),
            Self::NotEmpty => (ExcType::OSError, 39, "Directory not empty"),
        };
        MontyException::new(kind, Some(format!("[Errno {number}] {text}: {what}")))
    }
}

/// A callback's own failure: its message is the host's.
pub(super) fn callback_failed(message: &str, path: &str) -> MontyException {
    MontyException::new(ExcType::OSError, Some(format!("[Errno 5] {message}: {}", StringRepr(path))))
}

pub(super) fn decode(content: &[u8]) -> Result<String, MontyException> {
    match std::str::from_utf8(content) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let start = error.valid_up_to();
            let end = error.error_len().map_or(content.len(), |length| start + length);
            let first = content[start];
            let reason = utf8_error_reason(first, error.error_len());
            Err(MontyException::new(
                ExcType::UnicodeDecodeError,
                Some(unicode_decode_error_msg("utf-8", first, start, end, reason)),
            )
            .with_data(UnicodeErrorData::decode("utf-8", content, start, end, reason)))
        }
    }
}
