//! Which identifiers refer to a target, for certain or perhaps.

use ruff_db::parsed::parsed_module;
use ruff_python_ast as ast;
use ruff_text_size::TextRange;
use rustc_hash::FxHashSet;
use ty_python_core::ProgramFile;
use ty_python_semantic::{Db, SemanticModel};

use super::keywords::may_reach;
use super::occurrences::{Occurrence, visit_occurrences};
use super::resolve::{Place, Resolution, is_module, resolve};
use super::target::{Target, TargetKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Certain,
    Unsure,
    Unrelated,
}

/// The related identifiers of one file, in source order.
pub(super) fn references_in_file<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
    target: &Target,
) -> Vec<(TextRange, Verdict)> {
    let parsed = parsed_module(db, file.python_file(db)).load(db);
    let model = SemanticModel::new(db, file);
    let mut found = Vec::new();
    visit_occurrences(&model, parsed.suite(), &target.name, &mut |model, occurrence| {
        let verdict = judge(model, occurrence, target);
        if verdict != Verdict::Unrelated {
            found.push((occurrence.range(), verdict));
        }
    });
    found
}

fn judge(model: &SemanticModel<'_>, occurrence: Occurrence<'_>, target: &Target) -> Verdict {
    if target.places.contains(&(model.file(), occurrence.range())) {
        return Verdict::Certain;
    }
    match (occurrence, &target.kind) {
        (Occurrence::Name(_) | Occurrence::Imported { .. } | Occurrence::Forwarded { .. }, _) => {
            compare(&resolve(model, occurrence), &target.places)
        }
        (Occurrence::Attribute { attribute, .. }, TargetKind::Member) => {
            let resolution = resolve(model, occurrence);
            if resolution.is_empty() && !is_module(model, &attribute.value) {
                Verdict::Unsure
            } else {
                compare(&resolution, &target.places)
            }
        }
        (Occurrence::Attribute { .. }, TargetKind::Name) => {
            compare(&resolve(model, occurrence), &target.places)
        }
        (
            Occurrence::Keyword { .. } | Occurrence::PatternKeyword { .. } | Occurrence::Slot { .. },
            TargetKind::Member,
        )
        | (Occurrence::ClassKeyword { .. }, TargetKind::Parameter { .. }) => {
            compare(&resolve(model, occurrence), &target.places)
        }
        (Occurrence::Reflection { call, .. }, TargetKind::Member) => {
            let resolution = resolve(model, occurrence);
            let related = compare(&resolution, &target.places) != Verdict::Unrelated;
            if related || resolution.is_empty() && is_reflective(call) {
                Verdict::Unsure
            } else {
                Verdict::Unrelated
            }
        }
        (Occurrence::Keyword { call, .. }, TargetKind::Parameter { functions, callee }) => {
            let resolution = resolve(model, occurrence);
            if resolution.is_empty() && may_reach(model, call, functions, callee) {
                Verdict::Unsure
            } else {
                compare(&resolution, &target.places)
            }
        }
        _ => Verdict::Unrelated,
    }
}

/// Whether a builtin is called that takes the name of an attribute as a string.
fn is_reflective(call: &ast::ExprCall) -> bool {
    call.func
        .as_name_expr()
        .is_some_and(|name| matches!(name.id.as_str(), "getattr" | "setattr" | "hasattr" | "delattr"))
}

/// Certain if nothing but the target is meant, unsure if something else may be as well.
fn compare(resolution: &Resolution, places: &FxHashSet<Place>) -> Verdict {
    let hits = resolution.places.iter().filter(|place| places.contains(place)).count();
    if hits == 0 {
        Verdict::Unrelated
    } else if hits == resolution.places.len() && !resolution.outside && !resolution.doubtful {
        Verdict::Certain
    } else {
        Verdict::Unsure
    }
}
