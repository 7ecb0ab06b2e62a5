//! Which part of a range of versions counts.
//!
//! Versions are dense, ranges are made of a few borders: it is enough to look at the borders that either range names, just beside them, and
//! beyond them all.

use pep440_rs::{Version, VersionSpecifiers};

use super::Applicability;

/// Larger than any part of a real version.
const BEYOND: u64 = 999_999_999;
/// Ranges with more parts than this are nobody's work.
const MAX_SPECIFIERS: usize = 64;
const MAX_RELEASE_PARTS: usize = 8;

/// The newest version of a range: `Some(None)` if it has no upper end, `None` if it has no versions at all.
pub(super) fn newest(range: &VersionSpecifiers) -> Option<Option<Version>> {
    let newest = newest_of(range, range)?;
    Some(Some(newest).filter(|version| !version.release().starts_with(&[BEYOND])))
}

/// Whether the newest version of `range` is one of `wanted`.
pub(super) fn of_range(range: &VersionSpecifiers, wanted: &VersionSpecifiers) -> Applicability {
    match newest_of(range, wanted) {
        Some(version) if wanted.contains(&version) => Applicability::Yes,
        Some(_) => Applicability::No,
        None => Applicability::Unknown,
    }
}

/// The newest version of `range` that can be told apart from others by the borders of `range` and `other`.
fn newest_of(range: &VersionSpecifiers, other: &VersionSpecifiers) -> Option<Version> {
    if range.len() + other.len() > MAX_SPECIFIERS {
        return None;
    }
    let mut candidates = vec![Version::new([BEYOND])];
    for specifier in range.iter().chain(other.iter()) {
        candidates.extend(around(specifier.version()));
    }
    candidates.into_iter().filter(|version| range.contains(version)).max()
}

/// The border itself, its neighbours, and the last version of every series it belongs to (`0.1.*`, `0.*`).
fn around(border: &Version) -> Vec<Version> {
    let release: Vec<u64> = border.release().iter().copied().take(MAX_RELEASE_PARTS).collect();
    let epoch = border.epoch();
    let make = |parts: Vec<u64>| Version::new(parts).with_epoch(epoch);
    let mut versions = vec![border.clone(), make(vec![BEYOND]), make(release.clone())];
    for length in 1..=release.len() {
        let series = &release[..length];
        versions.push(make([series, &[BEYOND]].concat()));
        if let Some((last @ 1.., before)) = series.split_last() {
            versions.push(make([before, &[last - 1, BEYOND]].concat()));
        }
    }
    // Just above: later than the border, earlier than every other version that could be named.
    versions.push(make([release.as_slice(), &[0, 0, 1]].concat()));
    versions
}
