//! Trees on their way to scripts: as JSON text, no deeper than the sandbox reads.

use grail_code::Parsed;
use grail_code::data::{codegen, tree};
use serde_json::{Map, Value as Json};

/// The sandbox reads JSON of 200 levels. What lies deeper is one leaf with its text.
const MAX_LEVELS: usize = 190;

/// A parsed file as JSON text. `None` if it nests too deeply to be shown even so.
pub(crate) fn tree_text(parsed: &Parsed) -> Option<String> {
    let mut data = tree(parsed).ok()?;
    if cut(&mut data, parsed.text(), MAX_LEVELS) && codegen(&data) != parsed.text() {
        return None;
    }
    serde_json::to_string(&data).ok()
}

/// Makes leaves of nodes below so many levels, and tells whether there were any.
fn cut(value: &mut Json, text: &str, levels: usize) -> bool {
    let mut is_cut = false;
    match value {
        Json::Object(node) if levels <= LEAF_LEVELS => is_cut = make_leaf(node, text),
        Json::Object(node) => {
            for (_, field) in node.iter_mut() {
                is_cut |= cut(field, text, levels.saturating_sub(1));
            }
        }
        Json::Array(items) => {
            for item in items {
                is_cut |= cut(item, text, levels.saturating_sub(1));
            }
        }
        _ => {}
    }
    is_cut
}

/// A leaf holds lists of strings at most: ranges, parentheses.
const LEAF_LEVELS: usize = 4;

fn make_leaf(node: &mut Map<String, Json>, text: &str) -> bool {
    if node.get("text").is_some_and(Json::is_string) {
        return false;
    }
    let offset = |index: usize| usize::try_from(node.get("range")?.get(index)?.as_u64()?).ok();
    let (Some(start), Some(end)) = (offset(0), offset(1)) else { return false };
    let Some(code) = text.get(start..end) else { return false };
    let code = Json::String(code.to_owned());
    node.retain(|key, _| {
        ["type", "id", "range", "before", "gap", "after", "parens", "indent"].contains(&key.as_str())
    });
    node.insert("text".to_owned(), code);
    true
}
