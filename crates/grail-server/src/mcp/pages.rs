//! Long lists in pages. A cursor is the number of the first entry of its page.

use rmcp::ErrorData;
use rmcp::model::PaginatedRequestParams;

/// One page of a list, and the cursor of the next one if there is one.
pub(super) fn page<T>(
    items: impl IntoIterator<Item = T>,
    request: Option<&PaginatedRequestParams>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let first = match request.and_then(|request| request.cursor.as_deref()) {
        None => 0,
        Some(cursor) => cursor.parse::<usize>().map_err(|_| {
            let shown: String = cursor.chars().take(40).collect();
            ErrorData::invalid_params(format!("`{shown}` is no cursor of this server"), None)
        })?,
    };
    let mut rest = items.into_iter().skip(first);
    let found: Vec<T> = rest.by_ref().take(size).collect();
    let next = rest.next().map(|_| (first.saturating_add(found.len())).to_string());
    Ok((found, next))
}
