//! The patterns of `match`.

use ruff_python_ast as ast;
use ruff_text_size::{Ranged, TextRange};

use super::super::{Field, Kind};
use super::Lowering;
use crate::Span;

impl<'a> Lowering<'a> {
    pub(super) fn pattern(&mut self, pattern: &'a ast::Pattern, field: Field) {
        use ast::Pattern;
        let span = pattern.range();
        match pattern {
            Pattern::MatchValue(node) => {
                let index = self.open(Kind::MatchValue, field, span, 0);
                self.expr(&node.value, Field::Value);
                self.close(index);
            }
            Pattern::MatchSingleton(_) => self.leaf(Kind::MatchSingleton, field, span, 0),
            Pattern::MatchSequence(node) => self.patterns(Kind::MatchSequence, field, span, &node.patterns),
            Pattern::MatchOr(node) => self.patterns(Kind::MatchOr, field, span, &node.patterns),
            Pattern::MatchMapping(node) => {
                let index = self.open(Kind::MatchMapping, field, span, 0);
                for (key, value) in node.keys.iter().zip(&node.patterns) {
                    let item = Span::new(key.range().start().to_u32(), value.range().end().to_u32());
                    let inner = self.open(Kind::MatchMappingItem, Field::Items, item, 0);
                    self.expr(key, Field::Key);
                    self.pattern(value, Field::Pattern);
                    self.close(inner);
                }
                if let Some(rest) = &node.rest {
                    self.identifier(rest, Field::Rest);
                }
                self.close(index);
            }
            Pattern::MatchClass(node) => {
                let index = self.open(Kind::MatchClass, field, span, 0);
                self.expr(&node.cls, Field::Cls);
                for pattern in &node.arguments.patterns {
                    self.pattern(pattern, Field::Patterns);
                }
                for keyword in &node.arguments.keywords {
                    let inner = self.open(Kind::MatchKeyword, Field::Patterns, keyword.range, 0);
                    self.identifier(&keyword.attr, Field::Attr);
                    self.pattern(&keyword.pattern, Field::Pattern);
                    self.close(inner);
                }
                self.close(index);
            }
            Pattern::MatchStar(node) => {
                let index = self.open(Kind::MatchStar, field, span, 0);
                if let Some(name) = &node.name {
                    self.identifier(name, Field::Name);
                }
                self.close(index);
            }
            Pattern::MatchAs(node) => {
                let index = self.open(Kind::MatchAs, field, span, 0);
                if let Some(pattern) = node.pattern.as_deref() {
                    self.pattern(pattern, Field::Pattern);
                }
                if let Some(name) = &node.name {
                    self.identifier(name, Field::Name);
                }
                self.close(index);
            }
        }
    }

    pub(super) fn patterns(
        &mut self,
        kind: Kind,
        field: Field,
        span: TextRange,
        patterns: &'a [ast::Pattern],
    ) {
        let index = self.open(kind, field, span, 0);
        for pattern in patterns {
            self.pattern(pattern, Field::Patterns);
        }
        self.close(index);
    }
}
