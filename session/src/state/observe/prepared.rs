//! PREPARE, EXECUTE and DEALLOCATE in SQL text: which statement has which name, on the connection and in the session.

use std::rc::Rc;

use sql::{Effects, Role, StatementFacts, StatementKind};

use super::effects::{has_too_many, mentions_in, names_in};
use super::seen::Seen;
use crate::state::connection::ConnectionState;
use crate::state::held::Prepared;
use crate::state::pins::Pin;
use crate::state::session::SessionState;
use crate::state::text_statement::Source;

/// ER_UNKNOWN_STMT_HANDLER.
const UNKNOWN_HANDLER: u16 = 1243;

impl SessionState {
    /// Notes a PREPARE or DEALLOCATE. PREPARE frees a statement's name before it reads the new text: if the server
    /// refuses that, no statement has the name. After an error among several statements it is not known.
    pub(super) fn note_text(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
        part: &StatementFacts,
    ) {
        let Some(name) = names_in(seen, part, Role::Prepared).next() else {
            return self.pinned.for_life.add(Pin::PreparedText);
        };
        let key: Rc<[u8]> = Rc::from(name.to_ascii_lowercase());
        if !key.is_ascii() {
            // The name may be another name for one of these statements.
            self.held.prepared.iter_mut().for_each(|it| it.made = None);
        }
        let is_prepare = part.effects.has(Effects::PREPARED);
        if is_prepare && self.rules.lasting.has(Pin::PreparedStatement) {
            self.pinned.for_life.add(Pin::PreparedStatement);
        }
        let is_whole = !is_prepare || mentions_in(seen, part, Role::PreparedText).next().is_some();
        match seen.is_ok() {
            true if is_prepare => self.note_prepared(connection, seen, part, &name),
            true => {
                self.forget_text(&key);
                connection.texts.remove(&key);
            }
            false if seen.facts.kind == StatementKind::Multi || !is_whole => {
                self.forget_text(&key);
                self.hold_text(&name, None);
                connection.texts.insert(key, None);
            }
            false if is_prepare => {
                self.forget_text(&key);
                connection.texts.insert(key, None);
            }
            // No statement has this name.
            false => self.forget_text(&key),
        }
    }

    fn note_prepared(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
        part: &StatementFacts,
        name: &[u8],
    ) {
        let key: Rc<[u8]> = Rc::from(name.to_ascii_lowercase());
        self.forget_text(&key);
        let prepared = self.prepared_by(seen, part, name);
        let made = prepared.as_ref().and_then(|prepared| prepared.made.clone());
        connection.texts.insert(key, made);
        self.hold_text(name, prepared);
    }

    fn forget_text(&mut self, key: &[u8]) {
        let is_it = |known: &Prepared| known.name.eq_ignore_ascii_case(key);
        self.held.prepared.retain(|known| !is_it(known));
    }

    fn hold_text(&mut self, name: &[u8], prepared: Option<Prepared>) {
        let unknown = || Prepared {
            name: Rc::from(name),
            text: None,
            flags: self.reading.last_flags,
            made: None,
        };
        let prepared = prepared.unwrap_or_else(unknown);
        self.held.prepared.push(prepared);
        self.limit(Pin::PreparedText, self.held.prepared.len());
    }

    /// Returns the statement that a part has prepared, if its text is known: a literal, or a
    /// variable with a known value.
    fn prepared_by(&self, seen: &Seen<'_>, part: &StatementFacts, name: &[u8]) -> Option<Prepared> {
        let raw = mentions_in(seen, part, Role::PreparedText).next()?;
        let raw = raw.name.of(seen.text);
        let flags = self.reading.last_flags;
        let is_variable = raw.first() == Some(&b'@');
        let is_multi = seen.facts.kind == StatementKind::Multi;
        let text: Rc<[u8]> = match is_variable {
            // Among several statements, the variable may have had another value then.
            true if is_multi => return None,
            true => Rc::from(self.text_of_variable(raw)?),
            false => Rc::from(&*sql::unquote(raw, flags)?),
        };
        let is_moving = is_multi && (seen.tally.has_unsent_changes || seen.changes.has_deciding());
        let source = Source {
            name: mentions_in(seen, part, Role::Prepared)
                .next()?
                .name
                .of(seen.text),
            literal: (!is_variable).then_some(raw),
            text: &text,
            flags,
        };
        let is_known = !is_moving && !has_too_many(seen) && self.doubts.names.is_empty();
        let statement = is_known.then(|| source.statement(&self.values)).flatten();
        Some(Prepared {
            name: Rc::from(name),
            text: Some(text),
            flags,
            made: statement.map(Rc::new),
        })
    }

    /// Whether EXECUTE named no statement, and so ran none.
    pub(super) fn is_of_nothing(&self, seen: &Seen<'_>) -> bool {
        let mut names = seen.facts.mentions_of(Role::Prepared);
        let is_alone =
            seen.facts.kind == StatementKind::Execute && seen.error == Some(UNKNOWN_HANDLER);
        is_alone && names.all(|it| self.held.statement(&it.name.name(seen.text)).is_none())
    }

    /// Whether the command runs a statement that only reads the variables behind USING.
    pub(super) fn reads_using(&self, seen: &Seen<'_>) -> bool {
        let is_execute = seen.is_statement() && seen.facts.kind == StatementKind::Execute;
        let name = seen.facts.mentions_of(Role::Prepared).next();
        let Some(mention) = name.filter(|_| is_execute) else {
            return false;
        };
        let statement = self.held.statement(&mention.name.name(seen.text));
        let made = statement.and_then(|statement| statement.made.as_ref());
        made.is_some_and(|made| !made.runs_others())
    }
}
