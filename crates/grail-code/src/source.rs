//! Python source as bytes and as text: decoding by BOM and PEP 263, encoding back, line positions.
//!
//! Invariant: `source.encode(source.text())` gives back exactly the bytes that were decoded. What cannot keep that promise is refused.

use std::borrow::Cow;
use std::sync::OnceLock;

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Files larger than this are refused: offsets are 32 bits wide, and no hand-written module comes near it.
pub const MAX_SOURCE_BYTES: usize = 64 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The decoded text of one Python file, and how to get its bytes back.
#[derive(Clone, Debug)]
pub struct Source {
    text: String,
    codec: Codec,
    has_bom: bool,
    lines: OnceLock<Vec<u32>>,
}

/// A place in the text as people count it: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DecodeError {
    #[error("the file is {size} bytes large; the limit is {MAX_SOURCE_BYTES}")]
    TooLarge { size: usize },
    #[error("the file contains a null byte at offset {offset}, which Python does not allow in source code")]
    NullByte { offset: usize },
    #[error(
        "the file is not valid UTF-8 at line {line} (byte offset {offset}) and declares no other encoding"
    )]
    NotUtf8 { line: usize, offset: usize },
    #[error("the file declares the unknown encoding `{name}`")]
    UnknownEncoding { name: String },
    #[error("the file declares the encoding `{name}` but its bytes do not fit it")]
    Mismatch { name: String },
    #[error("the file starts with a UTF-8 byte-order mark but declares the encoding `{name}`")]
    BomConflict { name: String },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the character `{character}` cannot be written in the file's encoding `{encoding}`")]
pub struct EncodeError {
    pub character: char,
    pub encoding: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Codec {
    Utf8,
    Ascii,
    /// Byte value = code point. `encoding_rs` follows the web and reads latin-1 as windows-1252, Python does not.
    Latin1,
    Other(&'static Encoding),
}

impl Source {
    /// Text that is already decoded, for instance from a model or a test.
    pub fn from_text(text: impl Into<String>) -> Self {
        let text = text.into();
        let (text, has_bom) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (rest.to_owned(), true),
            None => (text, false),
        };
        Self { text, codec: Codec::Utf8, has_bom, lines: OnceLock::new() }
    }

    /// Decodes the bytes of a Python file as the interpreter would.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(DecodeError::TooLarge { size: bytes.len() });
        }
        if let Some(offset) = memchr::memchr(0, bytes) {
            return Err(DecodeError::NullByte { offset });
        }
        let (body, has_bom) = match bytes.strip_prefix(BOM) {
            Some(rest) => (rest, true),
            None => (bytes, false),
        };
        let declared = declared_encoding(body);
        let codec = match &declared {
            None => Codec::Utf8,
            Some(name) => {
                find_codec(name).ok_or_else(|| DecodeError::UnknownEncoding { name: name.clone() })?
            }
        };
        let name = declared.unwrap_or_default();
        if has_bom && codec != Codec::Utf8 {
            return Err(DecodeError::BomConflict { name });
        }
        let text = match codec {
            Codec::Utf8 => std::str::from_utf8(body)
                .map_err(|error| {
                    let offset = error.valid_up_to();
                    let line = 1 + memchr::memchr_iter(b'\n', &body[..offset]).count();
                    DecodeError::NotUtf8 { line, offset }
                })?
                .to_owned(),
            Codec::Ascii if body.is_ascii() => String::from_utf8_lossy(body).into_owned(),
            Codec::Ascii => return Err(DecodeError::Mismatch { name }),
            Codec::Latin1 => body.iter().map(|&byte| char::from(byte)).collect(),
            Codec::Other(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(body)
                .map(Cow::into_owned)
                .ok_or_else(|| DecodeError::Mismatch { name: name.clone() })?,
        };
        let source = Self { text, codec, has_bom, lines: OnceLock::new() };
        let is_exact = matches!(source.codec, Codec::Utf8 | Codec::Ascii | Codec::Latin1)
            || source.encode(&source.text).is_ok_and(|encoded| encoded == bytes);
        if is_exact { Ok(source) } else { Err(DecodeError::Mismatch { name }) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Encodes a changed text the way this file was encoded, byte-order mark included.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let unencodable = |character: char| EncodeError { character, encoding: self.encoding().to_owned() };
        let mut bytes = if self.has_bom { BOM.to_vec() } else { Vec::with_capacity(text.len()) };
        match &self.codec {
            Codec::Utf8 => bytes.extend_from_slice(text.as_bytes()),
            Codec::Ascii => match text.chars().find(|character| !character.is_ascii()) {
                Some(character) => return Err(unencodable(character)),
                None => bytes.extend_from_slice(text.as_bytes()),
            },
            Codec::Latin1 => {
                for character in text.chars() {
                    bytes.push(u8::try_from(character).map_err(|_| unencodable(character))?);
                }
            }
            Codec::Other(encoding) => {
                let (encoded, _, has_errors) = encoding.encode(text);
                if has_errors {
                    let mut buffer = [0; 4];
                    let culprit = text.chars().find(|c| encoding.encode(c.encode_utf8(&mut buffer)).2);
                    return Err(unencodable(culprit.unwrap_or('\u{fffd}')));
                }
                bytes.extend_from_slice(&encoded);
            }
        }
        Ok(bytes)
    }

    /// The encoding's usual name, in lower case.
    pub fn encoding(&self) -> &str {
        match &self.codec {
            Codec::Utf8 => "utf-8",
            Codec::Ascii => "ascii",
            Codec::Latin1 => "latin-1",
            Codec::Other(encoding) => encoding.name(),
        }
    }

    pub fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// The line ending the file uses, judged by its first line.
    pub fn newline(&self) -> &'static str {
        match memchr::memchr2(b'\n', b'\r', self.text.as_bytes()) {
            Some(at) if self.text[at..].starts_with("\r\n") => "\r\n",
            Some(at) if self.text[at..].starts_with('\r') => "\r",
            _ => "\n",
        }
    }

    /// Offsets at which lines start; the first is 0.
    pub fn line_starts(&self) -> &[u32] {
        self.lines.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let mut starts = vec![0];
            for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
                if bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n') {
                    starts.push(at as u32 + 1);
                }
            }
            starts
        })
    }

    /// The line (from 0) that holds `offset`.
    pub fn line_of(&self, offset: u32) -> usize {
        self.line_starts().partition_point(|&start| start <= offset) - 1
    }

    /// Where the line that holds `offset` begins.
    pub fn line_start(&self, offset: u32) -> u32 {
        self.line_starts()[self.line_of(offset)]
    }

    /// Where the line that holds `offset` ends, without its line ending.
    pub fn line_end(&self, offset: u32) -> u32 {
        let rest = &self.text.as_bytes()[offset as usize..];
        offset + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()) as u32
    }

    /// Where the line after the one that holds `offset` begins, or the end of the text.
    pub fn next_line_start(&self, offset: u32) -> u32 {
        let next = self.line_of(offset) + 1;
        self.line_starts().get(next).copied().unwrap_or(self.text.len() as u32)
    }

    pub fn position(&self, offset: u32) -> Position {
        let line = self.line_of(offset);
        let before = &self.text[self.line_starts()[line] as usize..offset as usize];
        Position { line: line as u32 + 1, column: before.chars().count() as u32 + 1 }
    }

    /// The offset of a position, if the text has such a place.
    pub fn offset(&self, position: Position) -> Option<u32> {
        let line = (position.line as usize).checked_sub(1)?;
        let start = *self.line_starts().get(line)?;
        let end = self.line_end(start);
        let line_text = &self.text[start as usize..end as usize];
        let column = (position.column as usize).checked_sub(1)?;
        let mut borders = line_text.char_indices().map(|(at, _)| at).chain([line_text.len()]);
        borders.nth(column).map(|at| start + at as u32)
    }

    /// White space at the start of the line that holds `offset`.
    pub fn indentation(&self, offset: u32) -> &str {
        let line = &self.text[self.line_start(offset) as usize..];
        let line = line.trim_start_matches('\u{c}');
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}

/// The encoding named by a comment in the first two lines (PEP 263); the second counts only if the first is blank or a comment.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let mut rest = bytes;
    for _ in 0..2 {
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = rest[..end].trim_ascii_start();
        let line = line.strip_prefix(b"\x0c").unwrap_or(line).trim_ascii_start();
        if let Some(comment) = line.strip_prefix(b"#") {
            if let Some(name) = encoding_in_comment(comment) {
                return Some(name);
            }
        } else if !line.is_empty() {
            return None;
        }
        let after = rest[end..].strip_prefix(b"\r\n").or_else(|| rest.get(end + 1..))?;
        rest = after;
    }
    None
}

fn encoding_in_comment(comment: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(comment, b"coding")?;
    let rest = &comment[at + b"coding".len()..];
    let rest = rest.strip_prefix(b":").or_else(|| rest.strip_prefix(b"="))?;
    let rest = rest.trim_ascii_start();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let name: Vec<u8> = rest.iter().copied().take_while(is_name).collect();
    String::from_utf8(name).ok().filter(|name| !name.is_empty())
}

fn find_codec(name: &str) -> Option<Codec> {
    let normal = name.to_ascii_lowercase().replace('_', "-");
    match normal.as_str() {
        "utf-8" | "utf8" | "u8" | "utf" | "utf-8-sig" | "cp65001" => Some(Codec::Utf8),
        "ascii" | "us-ascii" | "646" => Some(Codec::Ascii),
        "latin-1" | "latin1" | "latin" | "iso-8859-1" | "iso8859-1" | "8859" | "cp819" | "l1" => {
            Some(Codec::Latin1)
        }
        _ if normal.starts_with("utf-8-") => Some(Codec::Utf8),
        _ if normal.starts_with("latin-1-") || normal.starts_with("iso-8859-1-") => Some(Codec::Latin1),
        _ => {
            let label = match normal.strip_prefix("cp125") {
                Some(page) => format!("windows-125{page}"),
                None => normal.clone(),
            };
            let encoding = Encoding::for_label(label.as_bytes())
                .or_else(|| Encoding::for_label(normal.replace('-', "").as_bytes()))?;
            encoding.is_ascii_compatible().then_some(Codec::Other(encoding))
        }
    }
}
