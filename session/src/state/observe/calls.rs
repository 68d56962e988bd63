//! CALL: the proxy asks for the procedure's definition, which says what the procedure has left behind.

use std::rc::Rc;

use sql::{Effects, Flags, Marks, Role, StatementKind};

use super::seen::Seen;
use crate::state::calls::{Call, Settled};
use crate::state::connection::ConnectionState;
use crate::state::pins::Pin;
use crate::state::routine::{Leaves, leaves};
use crate::state::session::SessionState;
use crate::state::variables::OF_SCHEMA;

impl SessionState {
    /// Notes a CALL whose procedure can be asked for. Returns false if it is not known what has run.
    pub(super) fn note_call(&mut self, seen: &Seen<'_>) -> bool {
        let facts = seen.facts;
        let dark = Marks::UNKNOWN_FUNCTION
            .with(Marks::CROWDED)
            .with(Marks::CONDITIONAL)
            .with(Marks::LOST);
        let mut named = facts.mentions_of(Role::Procedure);
        let (Some(mention), None) = (named.next(), named.next()) else {
            return false;
        };
        let current = self.values.schema();
        let schema = match mention.schema.is_empty() {
            true => current.map(<[u8]>::to_vec),
            false => Some(mention.schema.name(seen.text).into_owned()),
        };
        let Some(schema) =
            schema.filter(|_| facts.kind == StatementKind::Call && !facts.marks.has(dark))
        else {
            return false;
        };
        // To read a definition, the server enters its schema and comes back, which would change the collation.
        if self.set_apart.collation || self.doubts.names.iter().any(|name| **name == *OF_SCHEMA) {
            return false;
        }
        self.calls.begin();
        self.calls.is_state_changed |= seen.changes.is_state_changed;
        self.calls.sets_variables |= seen.has(Effects::USER_VARIABLES);
        self.add_call(&schema, &mention.name.name(seen.text))
    }

    fn add_call(&mut self, schema: &[u8], name: &[u8]) -> bool {
        let is_writable = schema.is_ascii() && name.is_ascii();
        is_writable
            && self.calls.add(Call {
                schema: Rc::from(schema),
                name: Rc::from(name),
            })
    }

    /// Takes in a procedure's definition, with the `sql_mode` in which it was created. The
    /// definition is empty if the account may not read it.
    pub(in crate::state) fn learn_definition(
        &mut self,
        connection: &mut ConnectionState,
        call: &Call,
        mode: &[u8],
        definition: &[u8],
    ) {
        self.calls.ask(call);
        let flags = Flags {
            no_backslash_escapes: has_mode(mode, b"NO_BACKSLASH_ESCAPES"),
            ansi_quotes: has_mode(mode, b"ANSI_QUOTES"),
            ignore_space: has_mode(mode, b"IGNORE_SPACE"),
            server: self.server,
            ..Flags::default()
        };
        let results = self.current(b"character_set_results").unwrap_or_default();
        let is_readable =
            (definition.is_ascii() || results.starts_with(b"utf8")) && !has_mode(mode, b"ORACLE");
        let known = leaves(definition, flags).filter(|_| is_readable);
        let is_known = known.is_some_and(|leaves| self.take_over(connection, call, flags, leaves));
        match is_known {
            true if self.calls.settle() == Settled::Explained => {}
            _ => self.pinned.for_life.add(Pin::Routine),
        }
    }

    /// Takes over what the procedure leaves. Returns false if some of it cannot be known.
    fn take_over(
        &mut self,
        connection: &mut ConnectionState,
        call: &Call,
        flags: Flags,
        leaves: Leaves,
    ) -> bool {
        self.calls.uses_tables |= leaves.uses_tables;
        self.calls.sets_variables |= !leaves.user_variables.is_empty();
        for raw in leaves.user_variables {
            let name = sql::user_variable_name(&raw, flags).filter(|name| name.is_ascii());
            let Some(name) = name else {
                return false;
            };
            connection.user_variables.insert(Rc::from(&*name), None);
            self.user_variables.set(&name, None);
            if self.user_variables.has_lookalike(&name) || self.rules.lasting.has(Pin::UserVariable)
            {
                self.pinned.for_life.add(Pin::UserVariable);
            }
        }
        let mut calls = leaves.calls.into_iter();
        calls.all(|(schema, name)| self.add_call(schema.as_deref().unwrap_or(&call.schema), &name))
    }
}

fn has_mode(modes: &[u8], mode: &[u8]) -> bool {
    modes.split(|byte| *byte == b',').any(|it| it == mode)
}
