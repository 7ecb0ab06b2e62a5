//! The reference of node kinds, from the schema.

use std::fmt::Write;

use crate::Kind;
use crate::tree::Arity;

/// A page on every kind: what it is, its fields and attributes.
pub fn node_reference() -> String {
    let mut page = String::from(
        "# Nodes\n\nGenerated from the schema by `just gen`; edits here are lost.\n\n\
         Every node has a `type`. Fields hold nodes and are listed in source order: `name` holds one node, `name?` one or none, `name*` a\n\
         list. Attributes are facts about a node. A kind without fields is a leaf and has a `text`.\n",
    );
    for (title, is_member) in groups() {
        let _ = write!(page, "\n## {title}\n\n| type | fields | attributes | |\n| --- | --- | --- | --- |\n");
        for &kind in Kind::ALL.iter().filter(|kind| is_member(**kind)) {
            let fields: Vec<String> = kind
                .fields()
                .iter()
                .map(|spec| {
                    let mark = match spec.arity {
                        Arity::One => "",
                        Arity::Optional => "?",
                        Arity::Many => "*",
                    };
                    format!("`{}{mark}`", spec.field.name())
                })
                .collect();
            let attributes: Vec<String> = kind.attributes().iter().map(|name| format!("`{name}`")).collect();
            let what = kind.documentation().trim().replace('|', "\\|");
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {what} |",
                kind.name(),
                fields.join(" "),
                attributes.join(" ")
            );
        }
    }
    page.push_str("\n## Code\n\n`{\"type\": \"Code\", \"text\": …}` stands for any code where a node may stand. It is never made from source.\n");
    page
}

type Group = (&'static str, fn(Kind) -> bool);

fn groups() -> [Group; 4] {
    const fn is_part_of_statement(kind: Kind) -> bool {
        matches!(kind, Kind::Module | Kind::WithItem | Kind::Alias) || super::is_clause(kind)
    }
    const fn is_pattern(kind: Kind) -> bool {
        (kind as u8) >= (Kind::MatchValue as u8) && (kind as u8) <= (Kind::MatchOr as u8)
    }
    [
        ("Statements and their clauses", |kind| kind.is_statement() || is_part_of_statement(kind)),
        ("Expressions", |kind| kind.is_expression()),
        ("Patterns", is_pattern),
        ("Parts", |kind| {
            !kind.is_statement() && !is_part_of_statement(kind) && !kind.is_expression() && !is_pattern(kind)
        }),
    ]
}
