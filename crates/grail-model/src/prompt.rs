//! Marked passages of a message: `<intent>…</intent>`. What stands between the marks cannot end them, whoever wrote it.

/// A passage that [`untagged`] finds again. The text is escaped, so that it can hold anything.
pub fn tagged(tag: &str, text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 2 * tag.len() + 5);
    result.push('<');
    result.push_str(tag);
    result.push('>');
    for c in text.chars() {
        match c {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            other => result.push(other),
        }
    }
    result.push_str("</");
    result.push_str(tag);
    result.push('>');
    result
}

/// The text of the first passage with this tag.
pub fn untagged(tag: &str, message: &str) -> Option<String> {
    let (_, rest) = message.split_once(&format!("<{tag}>"))?;
    let (text, _) = rest.split_once(&format!("</{tag}>"))?;
    Some(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}
