//! Requirements as they are written: PEP 508 in requirement files and `pyproject.toml`, Poetry's own notation in its tables.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifier, VersionSpecifiers};

use super::Constraint;

/// No requirement of a person is longer.
const MAX_LENGTH: usize = 1000;

/// The name that all spellings of a library share (PEP 503): `Svcs_DI` is `svcs-di`.
pub fn normalize_name(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '-' | '_' | '.' if normal.ends_with('-') => {}
            '-' | '_' | '.' => normal.push('-'),
            _ => normal.push(character.to_ascii_lowercase()),
        }
    }
    normal
}

pub(super) fn is_name(text: &str) -> bool {
    let is_border = |character: char| character.is_ascii_alphanumeric();
    text.len() <= 200
        && text.starts_with(is_border)
        && text.ends_with(is_border)
        && text.chars().all(|character| is_border(character) || "-_.".contains(character))
}

pub(super) fn parse_version(text: &str) -> Option<Version> {
    Some(text.trim()).filter(|text| text.len() <= MAX_LENGTH).and_then(|text| Version::from_str(text).ok())
}

/// Reads `name[extra] >=1,<2; marker # comment`. A library that is wanted from an address is wanted in any version.
pub(super) fn parse_requirement(text: &str) -> Option<(String, Constraint)> {
    let text = text.trim();
    if text.len() > MAX_LENGTH {
        return None;
    }
    let text = text.split_once(" #").map_or(text, |(before, _)| before);
    let text = text.split_once(" --").map_or(text, |(before, _)| before);
    let end = text.find(|character: char| !(character.is_ascii_alphanumeric() || "-_.".contains(character)));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    if !is_name(name) {
        return None;
    }
    let mut rest = rest.trim_start();
    if let Some(extras) = rest.strip_prefix('[') {
        rest = extras.split_once(']')?.1.trim_start();
    }
    let constraint = if rest.starts_with('@') {
        Constraint::Range(VersionSpecifiers::empty())
    } else {
        let specifiers = rest.split(';').next().unwrap_or_default().trim();
        let inner = specifiers.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        parse_specifiers(inner.unwrap_or(specifiers))?
    };
    Some((normalize_name(name), constraint))
}

/// `==1.2` alone is an exact version, everything else a range.
pub(super) fn parse_specifiers(text: &str) -> Option<Constraint> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let specifiers = VersionSpecifiers::from_str(text.trim()).ok()?;
    Some(match exact_version(&specifiers) {
        Some(version) => Constraint::Exact(version),
        None => Constraint::Range(specifiers),
    })
}

/// Poetry's notation: `^1.2`, `~1.2`, `1.2.*`, `*`, `1.2`, and what PEP 440 knows; parts are joined with commas.
pub(super) fn parse_poetry(text: &str) -> Option<Constraint> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    // Alternatives stand for the last one, which is the newest by habit.
    let text = text.rsplit("||").next().unwrap_or_default();
    let mut specifiers = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != "*") {
        specifiers.extend(poetry_part(part)?);
    }
    let specifiers = VersionSpecifiers::from_iter(specifiers);
    Some(match exact_version(&specifiers) {
        Some(version) => Constraint::Exact(version),
        None => Constraint::Range(specifiers),
    })
}

fn poetry_part(part: &str) -> Option<Vec<VersionSpecifier>> {
    let between = |lower: Version, upper: Vec<u64>| {
        vec![
            VersionSpecifier::greater_than_equal_version(lower),
            VersionSpecifier::less_than_version(Version::new(upper)),
        ]
    };
    if let Some(version) = part.strip_prefix('^') {
        let version = parse_version(version)?;
        let release = version.release().to_vec();
        // The first part that is not zero may not change.
        let fixed = release.iter().position(|&part| part != 0).unwrap_or(release.len().saturating_sub(1));
        let upper = bump(&release[..=fixed])?;
        return Some(between(version, upper));
    }
    if let Some(version) = part.strip_prefix('~').filter(|rest| !rest.starts_with('=')) {
        let version = parse_version(version)?;
        let release = version.release().to_vec();
        let upper = bump(&release[..release.len().min(2)])?;
        return Some(between(version, upper));
    }
    if part.starts_with(|character: char| character.is_ascii_digit()) {
        return VersionSpecifier::from_str(&format!("=={part}")).ok().map(|specifier| vec![specifier]);
    }
    VersionSpecifiers::from_str(part).ok().map(|specifiers| specifiers.iter().cloned().collect())
}

fn bump(release: &[u64]) -> Option<Vec<u64>> {
    let (last, before) = release.split_last()?;
    Some([before, &[last.checked_add(1)?]].concat())
}

fn exact_version(specifiers: &VersionSpecifiers) -> Option<Version> {
    let mut exact = specifiers.iter().filter(|specifier| {
        matches!(specifier.operator(), pep440_rs::Operator::Equal | pep440_rs::Operator::ExactEqual)
    });
    let version = exact.next()?.version().clone();
    specifiers.contains(&version).then_some(version)
}
