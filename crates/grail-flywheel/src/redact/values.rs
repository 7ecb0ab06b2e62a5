//! Whether a value that stands where a secret would stand is one: `password = "form"` is none.

use std::sync::LazyLock;

/// Names that secrets are given, alone or as the end of a longer name.
pub(super) static SECRET_NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let words = ["password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials"]
        .map(str::to_owned);
    let owners = ["api", "access", "secret", "private", "account", "signing", "encryption", "auth"];
    let keys = owners.into_iter().flat_map(|owner| ["_", "-", ""].map(|line| format!("{owner}{line}key")));
    words.into_iter().chain(keys).collect()
});

/// Whether a field of that name holds a secret.
pub(super) fn is_secret_field(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| lower.ends_with(secret.as_str())) && is_quoted_secret(&lower, value)
}

/// Whether a text in quotes is a secret, by the name that it is given to.
pub(super) fn is_quoted_secret(name: &str, value: &str) -> bool {
    if is_placeholder(value) || value.contains(char::is_whitespace) {
        return false;
    }
    let has_letter = value.contains(|character: char| character.is_alphabetic());
    let has_digit = value.contains(|character: char| character.is_ascii_digit());
    if is_password_name(name) {
        let has_sign = value.contains(|character: char| "!@#$%^&*+?".contains(character));
        return value.len() >= 6 && has_letter && (has_digit || has_sign || value.len() >= 20);
    }
    value.len() >= 8 && has_letter && has_digit && entropy(value) >= 2.5
}

/// Whether a bare text is a secret and no name of something: nothing but chance makes a part of it so mixed.
pub(super) fn is_random(value: &str) -> bool {
    let is_mixed = |part: &str| {
        let kinds = part.as_bytes().windows(2).filter(|pair| {
            let [before, after] = [pair[0], pair[1]];
            before.is_ascii_alphabetic() && after.is_ascii_digit()
                || before.is_ascii_digit() && after.is_ascii_alphabetic()
        });
        part.len() >= 12 && kinds.count() >= 3 && entropy(part) >= 3.0
    };
    value.len() >= 16 && !is_placeholder(value) && value.split(['_', '.']).any(is_mixed)
}

/// Something that stands for a secret, or a marker that has taken its place.
pub(super) fn is_placeholder(value: &str) -> bool {
    let is_open = value.starts_with(['{', '$', '<', '%', '[']);
    let first = value.chars().next();
    is_open || value.chars().all(|character| Some(character) == first) || value.contains("[redacted:")
}

fn is_password_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["password", "passwd", "pwd", "passphrase"].iter().any(|word| lower.contains(word))
}

/// Bits for each byte.
fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum()
}
