//! What stands between nodes, as plain text: blanks, comments, and the tokens of the syntax among them.

/// The place behind these tokens, with blanks and comments before and between them.
pub(super) fn take_tokens(text: &str, start: u32, bound: u32, tokens: &str) -> Option<u32> {
    let mut cursor = start;
    for token in tokens.split_whitespace() {
        cursor = skip_trivia(text, cursor, bound);
        let rest = text.get(cursor as usize..bound as usize)?;
        if !rest.starts_with(token) {
            return None;
        }
        cursor += token.len() as u32;
    }
    Some(cursor)
}

/// The place behind blanks, line breaks and comments.
pub(super) fn skip_trivia(text: &str, start: u32, bound: u32) -> u32 {
    let bytes = text.as_bytes();
    let mut cursor = start as usize;
    while cursor < bound as usize {
        match bytes[cursor] {
            b' ' | b'\t' | b'\n' | b'\r' | b'\x0c' => cursor += 1,
            b'\\' if matches!(bytes.get(cursor + 1), Some(b'\n' | b'\r')) => cursor += 2,
            b'#' => {
                let rest = &bytes[cursor..bound as usize];
                cursor += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            }
            _ => break,
        }
    }
    cursor.min(bound as usize) as u32
}

/// Where the comments begin that stand directly above what follows `text`, each on a line of its own (at that indentation), with no blank
/// line between; the end of `text` if there are none.
pub(super) fn attached_comments(text: &str, indent: Option<&str>, starts_line: bool) -> usize {
    let Some(last_line) = text.rfind(['\n', '\r']) else { return text.len() };
    if !text.contains('#') || !is_blank(&text[last_line + 1..]) {
        return text.len();
    }
    let mut attached = text.len();
    let mut line_end = last_line;
    loop {
        let content_end = if text[..line_end].ends_with('\r') { line_end - 1 } else { line_end };
        let (line_start, is_whole) = match text[..content_end].rfind(['\n', '\r']) {
            Some(at) => (at + 1, true),
            None => (0, starts_line),
        };
        let line = &text[line_start..content_end];
        let margin = line.len() - line.trim_start().len();
        let is_comment = line[margin..].starts_with('#');
        if !is_comment || !is_whole || indent.is_some_and(|indent| indent != &line[..margin]) {
            return attached;
        }
        attached = line_start + margin;
        if line_start == 0 {
            return attached;
        }
        line_end = line_start - 1;
    }
}

/// Whether the statement before this text ends its line, rather than being followed by another on it.
pub(super) fn ends_line(text: &str) -> bool {
    let mut previous = ' ';
    for character in text.chars() {
        if matches!(character, '\n' | '\r') && previous != '\\' {
            return true;
        }
        if character == '#' {
            return true;
        }
        if !(previous == '\\' && character == '\r') {
            previous = character;
        }
    }
    false
}

/// How much of the text behind a block are comments indented like the block.
pub(super) fn comments_of_block(text: &str, indent: &str) -> usize {
    let mut taken = 0;
    let mut cursor = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        if cursor > 0 {
            let is_own = content.starts_with(indent) && content.trim_start().starts_with('#');
            if is_own {
                taken = cursor + content.len();
            } else if !content.trim().is_empty() {
                break;
            }
        } else if !content.trim().is_empty() {
            break;
        }
        cursor += line.len();
    }
    taken
}

pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\x0c'))
}
