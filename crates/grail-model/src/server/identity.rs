//! Whether the model that answered is the one that was asked.
//!
//! Servers do not agree on how to name a model in an answer. Taken for the same, apart from exactly the same name or a configured alias, is
//! a name that differs only in
//! - upper and lower case,
//! - the tag `:latest`, which says nothing,
//! - the folder and the ending `.gguf` of a file: llama.cpp names the file it has loaded,
//! - the organisation before a slash, if one of the two has none,
//! - the date of a snapshot at the end of the answer's name (`-2026-05-01` or `-20260501`): hosted servers say which one it was.
//!
//! Sizes, quantisations and other tags make another model.

/// Whether `answered` names the model that was asked.
pub(super) fn is_same_model(asked: &str, aliases: &[String], answered: &str) -> bool {
    if answered == asked || aliases.iter().any(|alias| alias == answered) {
        return true;
    }
    if answered.trim().is_empty() {
        return false;
    }
    let (asked, answered) = (Name::read(asked), Name::read(answered));
    let organisations_agree = match (&asked.organisation, &answered.organisation) {
        (Some(asked), Some(answered)) => asked == answered,
        _ => true,
    };
    organisations_agree && (asked.model == answered.model || asked.model == without_date(&answered.model))
}

struct Name {
    organisation: Option<String>,
    model: String,
}

impl Name {
    fn read(text: &str) -> Self {
        let text = text.trim().to_lowercase().replace('\\', "/");
        let text = text.strip_suffix(":latest").unwrap_or(&text);
        let file = text.strip_suffix(".gguf");
        let is_path = file.is_some() || text.starts_with(['/', '.']) || text.get(1..3) == Some(":/");
        let text = file.unwrap_or(text).trim_end_matches('/');
        match text.rsplit_once('/') {
            Some((_, model)) if is_path => Self { organisation: None, model: model.to_owned() },
            Some((organisation, model)) => {
                Self { organisation: Some(organisation.to_owned()), model: model.to_owned() }
            }
            None => Self { organisation: None, model: text.to_owned() },
        }
    }
}

/// A name without the date at its end.
fn without_date(name: &str) -> &str {
    let shapes: [&[usize]; 2] = [&[4, 2, 2], &[8]];
    for shape in shapes {
        let mut rest = name;
        let matches = shape.iter().rev().all(|length| match rest.rsplit_once('-') {
            Some((before, digits))
                if digits.len() == *length && digits.bytes().all(|b| b.is_ascii_digit()) =>
            {
                rest = before;
                true
            }
            _ => false,
        });
        if matches && !rest.is_empty() {
            return rest;
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::is_same_model;

    #[test]
    fn names_are_compared_as_servers_write_them() {
        let same = [
            ("llama3.2:1b", "llama3.2:1b"),
            ("qwen3", "qwen3:latest"),
            ("qwen3:latest", "qwen3"),
            ("Qwen/Qwen3-8B", "qwen3-8b"),
            ("SmolLM2-135M-Instruct.Q4_1", "/models/SmolLM2-135M-Instruct.Q4_1.gguf"),
            ("smollm2.gguf", r"C:\models\smollm2.gguf"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("claude-x", "claude-x-20260501"),
            ("mlx-community/Qwen3-8B-4bit", "mlx-community/Qwen3-8B-4bit"),
        ];
        for (asked, answered) in same {
            assert!(is_same_model(asked, &[], answered), "{asked} {answered}");
        }
        let other = [
            ("llama3.2:1b", "llama3.2:3b"),
            ("llama3.2", "llama3.2:1b"),
            ("qwen3", "qwen3-coder"),
            ("mine/Qwen3-8B", "theirs/Qwen3-8B"),
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("SmolLM2.Q4_1", "SmolLM2.Q8_0.gguf"),
            ("a", ""),
            ("é", "-20260501"),
        ];
        for (asked, answered) in other {
            assert!(!is_same_model(asked, &[], answered), "{asked} {answered}");
        }
    }

    #[test]
    fn an_alias_is_taken_exactly() {
        let aliases = ["default".to_owned(), String::new()];
        assert!(is_same_model("qwen3", &aliases, "default"));
        assert!(is_same_model("qwen3", &aliases, ""));
        assert!(!is_same_model("qwen3", &aliases, "Default"));
    }
}
