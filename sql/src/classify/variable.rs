//! Variables, read or set.

use crate::facts::{Effects, Role};
use crate::lexer::TokenKind;
use crate::question::{About, QuestionForm};
use crate::scan::{Scan, Watcher};
use crate::span::Span;
use crate::uses::Uses;

impl<W: Watcher> Scan<'_, W> {
    /// `@x`, read or set.
    pub fn user_variable(&mut self) {
        if self.ahead.kind == TokenKind::Assign {
            return self.set_user_variable();
        }
        let name = self.here.span;
        self.facts.uses.add(Uses::USER_VARIABLES);
        self.facts
            .mention(Role::UserVariableRead, Span::default(), name);
        if self.sets_variables {
            self.set_user_variable();
        } else {
            self.advance();
        }
    }

    /// `@x` that is set.
    pub fn set_user_variable(&mut self) {
        let name = self.advance().span;
        self.facts.effects.add(Effects::USER_VARIABLES);
        self.facts
            .mention(Role::UserVariableSet, Span::default(), name);
    }

    /// `@@x`, `@@session.x`, `@@global.keycache.x`
    pub fn system_variable(&mut self) {
        let first = self.advance().span;
        let (mut scope, mut name) = (Span::default(), first);
        while self.here.kind == TokenKind::Dot {
            self.advance();
            if self.is_name() {
                scope = first;
                name = self.advance().span;
            }
        }
        let own_name = name.name(self.text).to_ascii_lowercase();
        let is_global = scope.name(self.text).eq_ignore_ascii_case(b"global");
        let about = About::of_variable(&own_name).filter(|_| !is_global);
        self.facts.uses.add(match about {
            Some(about) => about.uses(),
            None if own_name == b"insert_id" => Uses::LAST_INSERT_ID,
            None => Uses::VARIABLES,
        });
        self.facts.mention(Role::VariableRead, scope, name);
        if let Some(about) = about {
            let span = self.span_from(first);
            self.ask(about, QuestionForm::Variable, span);
        }
    }
}
