//! The resources that a statement has taken, opened, locked or released on its connection, by its text.

use std::rc::Rc;

use sql::{Effects, Facts, Handler, Mention, Role, StatementFacts, StatementKind, Xa};
use wire::StatusFlags;

use super::reported::{is_as_known, is_explained, is_reversing};
use super::seen::{Ran, Seen};
use crate::state::changes::NextTransaction;
use crate::state::connection::ConnectionState;
use crate::state::held::Table;
use crate::state::pins::Pin;
use crate::state::session::{PendingChanges, SessionState};
use crate::state::variables;

/// The maximum number of names of one kind that are kept. Beyond it, the proxy does not see that they end.
const NAMES_MAX: usize = 256;

/// The effects that pin. Some count even if the command ended with an error, the others only after
/// OK.
const PINNING: &[(Effects, Pin, Certainty)] = &[
    (Effects::TABLES_LOCKED, Pin::TableLock, Certainty::AfterOk),
    (Effects::GLOBAL_LOCKED, Pin::GlobalLock, Certainty::Assumed),
    (
        Effects::INSTANCE_LOCKED,
        Pin::InstanceLock,
        Certainty::Assumed,
    ),
    (
        Effects::NAMED_LOCK_TAKEN,
        Pin::NamedLock,
        Certainty::Assumed,
    ),
    (Effects::HANDLER_OPENED, Pin::Handler, Certainty::AfterOk),
    (
        Effects::TEMPORARY_CREATED,
        Pin::TemporaryTable,
        Certainty::AfterOk,
    ),
    (Effects::XA, Pin::Xa, Certainty::Assumed),
    (Effects::SEQUENCE, Pin::Sequence, Certainty::Assumed),
    (Effects::ROLE, Pin::Role, Certainty::AfterOk),
    (
        Effects::RESOURCE_GROUP,
        Pin::ResourceGroup,
        Certainty::AfterOk,
    ),
    (Effects::OPAQUE, Pin::OpaqueSet, Certainty::AfterOk),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    AfterOk,
    Assumed,
}

impl SessionState {
    /// Notes the effects part by part, in order. After an error it is not known which parts ran:
    /// what they take counts as taken, but what they release does not count as released.
    pub(super) fn note_effects(&mut self, connection: &mut ConnectionState, seen: &Seen<'_>) {
        match seen.ran {
            Ran::Unknown => return self.pinned.for_life.add(Pin::Protocol),
            Ran::Prepare if self.rules.lasting.has(Pin::PreparedStatement) => {
                return self.pinned.for_life.add(Pin::PreparedStatement);
            }
            Ran::Statement => {}
            _ => return,
        }
        self.note_next_transaction(seen);
        for part in &seen.facts.statements {
            self.note_part(connection, seen, part);
        }
        let all = seen.facts.effects;
        if has_too_many(seen) || seen.facts.statements.is_empty() {
            self.take(seen, all, seen.facts.kind);
            if all.has(Effects::PREPARED) {
                self.pinned.for_life.add(Pin::PreparedText);
            }
        }
    }

    fn note_part(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
        part: &StatementFacts,
    ) {
        if part.effects.is_empty() {
            return;
        }
        let is_execute = part.kind == StatementKind::Execute;
        if is_execute && self.is_of_nothing(seen) {
            return;
        }
        // Judged by the objects that its text names, it may do anything.
        let is_doubted = seen.facts.is_doubted();
        if is_execute && !is_doubted && self.note_known_execute(connection, seen, part) {
            return;
        }
        if part.effects.has(Effects::PREPARED | Effects::DEALLOCATED) {
            self.note_text(connection, seen, part);
        }
        if seen.is_ok() {
            self.let_go(seen, part);
        }
        self.take(seen, part.effects, part.kind);
        self.note_names(seen, part);
    }

    /// Notes an EXECUTE of a known text, which does what the text says. Returns false if it cannot be noted that way.
    fn note_known_execute(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
        part: &StatementFacts,
    ) -> bool {
        let Some(name) = names_in(seen, part, Role::Prepared).next() else {
            return false;
        };
        let known = self.held.statement(&name).and_then(|statement| {
            let text = Rc::clone(statement.text.as_ref()?);
            Some((sql::facts(&text, statement.flags), text))
        });
        let Some((facts, text)) = known else {
            return false;
        };
        let is_nested = facts.effects.has(Effects::ANYTHING) || facts.statements.len() != 1;
        let inner = Seen {
            facts: &facts,
            text: &text,
            ..*seen
        };
        if is_nested || !self.note_unordered(connection, &inner) {
            return false;
        }
        // An EXECUTE explains any change. The text that it ran does not explain a trigger's or a view's change.
        let may_do_more = facts.tables().next().is_some() && !is_explained(&inner, &self.values);
        if seen.changes.is_state_changed && may_do_more && !self.rules.waived.has(Pin::State) {
            self.pinned.for_life.add(Pin::State);
        }
        for part in &facts.statements {
            self.note_part(connection, &inner, part);
        }
        true
    }

    fn take(&mut self, seen: &Seen<'_>, effects: Effects, kind: StatementKind) {
        let is_certain = seen.is_ok() || seen.facts.kind == StatementKind::Multi;
        // A statement that ends an XA transaction begins none. It may end another session's, or none if it fails.
        let is_ending = matches!(kind, StatementKind::Xa(Xa::Commit | Xa::Rollback));
        for (effect, pin, certainty) in PINNING {
            if is_ending && *pin == Pin::Xa {
                continue;
            }
            if effects.has(*effect) && (is_certain || *certainty == Certainty::Assumed) {
                self.hold(*pin);
            }
        }
        let may_do_anything = effects.has(Effects::ANYTHING);
        if may_do_anything && !self.rules.waived.has(Pin::Routine) && !self.note_call(seen) {
            self.pinned.for_life.add(Pin::Routine);
        }
        if matches!(kind, StatementKind::Xa(Xa::Commit | Xa::Rollback)) && seen.is_ok() {
            self.pinned.now.remove(Pin::Xa);
        }
    }

    fn hold(&mut self, pin: Pin) {
        match pin {
            Pin::Sequence | Pin::Role | Pin::ResourceGroup | Pin::OpaqueSet => {
                self.pinned.for_life.add(pin)
            }
            _ => self.pinned.now.add(pin),
        }
    }

    /// Removes the pins that this part ends, after it succeeded.
    fn let_go(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        let effects = part.effects;
        if effects.has(Effects::TABLES_UNLOCKED) {
            self.pinned.now.remove(Pin::TableLock);
            self.pinned.now.remove(Pin::GlobalLock);
        }
        // BEGIN and COMMIT AND CHAIN unlock tables; the global lock stays.
        if effects.has(Effects::TRANSACTION_BEGUN | Effects::CHAINED) {
            self.pinned.now.remove(Pin::TableLock);
        }
        if effects.has(Effects::INSTANCE_UNLOCKED) {
            self.pinned.now.remove(Pin::InstanceLock);
        }
        // Within an IF, or over no rows, these functions release nothing. One release of a lock taken twice
        // releases nothing either. So the server is asked which of the known locks are gone.
        if effects.has(Effects::NAMED_LOCK_RELEASED | Effects::NAMED_LOCKS_RELEASED) {
            self.held.is_lock_released = true;
        }
        if effects.has(Effects::TEMPORARY_DROPPED) {
            self.drop_tables(seen, part);
        }
        if part.kind == StatementKind::Handler(Handler::Close) {
            let closed = names_in(seen, part, Role::Handler).next();
            self.held
                .handlers
                .retain(|name| closed.as_deref() != Some(name));
            self.pinned
                .now
                .set(Pin::Handler, !self.held.handlers.is_empty());
        }
    }

    fn drop_tables(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        // If one of several statements changes the schema, the schema of a name without one is not known.
        if self.held.temporary_tables.is_empty() || is_schema_moving(seen) {
            return;
        }
        let current = self.values.schema().unwrap_or_default();
        let dropped: Vec<(Vec<u8>, Vec<u8>)> = mentions_in(seen, part, Role::TableDropped)
            .map(|mention| table_of(mention, seen, current))
            .collect();
        let is_dropped = |table: &Table| {
            let mut all = dropped.iter();
            all.any(|(schema, name)| **schema == *table.0 && **name == *table.1)
        };
        self.held
            .temporary_tables
            .retain(|table| !is_dropped(table));
        self.pinned
            .now
            .set(Pin::TemporaryTable, !self.held.temporary_tables.is_empty());
    }

    /// Records the names of the objects that a part has made.
    fn note_names(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        let is_certain = seen.is_ok() || seen.facts.kind == StatementKind::Multi;
        if part.effects.has(Effects::NAMED_LOCK_TAKEN) {
            self.note_locks(seen, part);
        }
        if !is_certain {
            return;
        }
        if part.effects.has(Effects::TEMPORARY_CREATED) {
            self.note_temporary(seen, part);
        }
        if part.effects.has(Effects::TEMPORARY_RENAMED) && !self.held.temporary_tables.is_empty() {
            self.note_renamed(seen, part);
        }
        if part.effects.has(Effects::HANDLER_OPENED)
            && let Some(name) = names_in(seen, part, Role::Handler).last()
        {
            self.held.handlers.push(Rc::from(name));
            self.limit(Pin::Handler, self.held.handlers.len());
        }
    }

    fn note_temporary(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        let current = self.values.schema().unwrap_or_default();
        let mut created = mentions_in(seen, part, Role::TemporaryCreated);
        match created
            .next()
            .map(|mention| table_of(mention, seen, current))
        {
            Some((schema, name)) if !is_schema_moving(seen) => {
                let table = (Rc::from(schema), Rc::from(name));
                if !self.held.temporary_tables.contains(&table) {
                    self.held.temporary_tables.push(table);
                }
                self.limit(Pin::TemporaryTable, self.held.temporary_tables.len());
            }
            _ => self.pinned.for_life.add(Pin::TemporaryTable),
        }
    }

    /// ALTER TABLE a RENAME TO b; RENAME TABLE a TO b, c TO d. MySQL's RENAME TABLE does not take
    /// temporary tables. A new name without a schema is in the current one.
    fn note_renamed(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        let is_rename = matches!(part.kind, StatementKind::Rename(_));
        if is_rename && !variables::is_mariadb(self.server) {
            return;
        }
        let is_known = seen.is_ok() && !is_schema_moving(seen) && !has_too_many(seen);
        if !is_known {
            return self.pinned.for_life.add(Pin::TemporaryTable);
        }
        let current = self.values.schema().unwrap_or_default();
        let named: Vec<Table> = mentions_in(seen, part, Role::TableWritten)
            .map(|mention| table_of(mention, seen, current))
            .map(|(schema, name)| (Rc::from(schema), Rc::from(name)))
            .collect();
        // ALTER TABLE may say RENAME more than once: the last one counts.
        let pairs: Vec<(&Table, &Table)> = match (is_rename, named.as_slice()) {
            (true, all) => all.chunks_exact(2).map(|two| (&two[0], &two[1])).collect(),
            (false, [old, .., new]) => vec![(old, new)],
            (false, _) => return self.pinned.for_life.add(Pin::TemporaryTable),
        };
        for (old, new) in pairs {
            let mut tables = self.held.temporary_tables.iter_mut();
            if let Some(table) = tables.find(|table| *table == old) {
                *table = new.clone();
            }
        }
    }

    /// Records the locks that a part takes, if each is named by a plain string.
    fn note_locks(&mut self, seen: &Seen<'_>, part: &StatementFacts) {
        let mut taken = mentions_in(seen, part, Role::LockTaken).peekable();
        // The facts have no name for a lock that is not named by a plain string.
        let is_unnamed = |mention: &Mention| mention.name.is_empty();
        let mut all = seen.facts.mentions_of(Role::LockTaken);
        self.held.has_other_locks |= taken.peek().is_none() || all.any(is_unnamed);
        for mention in taken.filter(|mention| !is_unnamed(mention)) {
            let name = sql::unquote(mention.name.of(seen.text), self.reading.last_flags);
            match name.filter(|name| name.is_ascii() && self.held.locks.len() < NAMES_MAX) {
                Some(name) if self.held.locks.iter().any(|known| **known == *name) => {}
                Some(name) => self.held.locks.push(Rc::from(&*name)),
                None => self.held.has_other_locks = true,
            }
        }
    }

    pub(super) fn limit(&mut self, pin: Pin, count: usize) {
        if count > NAMES_MAX {
            self.pinned.for_life.add(pin);
        }
    }

    /// SET TRANSACTION lasts until the server reports that a transaction has taken it. MariaDB leaves START TRANSACTION
    /// READ ONLY to the next transaction too when SET autocommit ends the current one.
    fn note_next_transaction(&mut self, seen: &Seen<'_>) {
        let is_pinned = match seen.changes.next_transaction {
            Some(next) => next == NextTransaction::Special,
            None if seen.has(Effects::NEXT_TRANSACTION) => true,
            None => return,
        };
        self.pinned.now.set(Pin::NextTransaction, is_pinned);
    }

    /// The server reported changed state, or still may: after an error it keeps the report for later.
    pub(super) fn note_state_change(&mut self, seen: &Seen<'_>) {
        let has_failed = !seen.is_ok()
            && !seen.is_refused()
            && (seen.facts.access > sql::Access::Read || !seen.facts.effects.is_empty());
        let was_owed = self.untold.pending_changes;
        let is_unexplained = match was_owed {
            PendingChanges::Nothing => !is_explained(seen, &self.values),
            PendingChanges::Reversal => {
                let is_as_before = is_as_known(seen, &self.values, &self.untold.reversed);
                !is_explained(seen, &self.values) && !is_as_before
            }
            PendingChanges::Anything => true,
        };
        if seen.changes.is_state_changed && is_unexplained && !self.rules.waived.has(Pin::State) {
            self.pinned.for_life.add(Pin::State);
        }
        // The end of rows may have no room to report what SET STATEMENT has set and taken back. The
        // server reports it later, and if the statement did more, that report shows it.
        let takes_back = is_reversing(seen) && seen.facts.access == sql::Access::Read;
        let owes = (seen.changes.has_unsent || seen.tally.has_unsent_changes) && !takes_back;
        let kept = if self.has_reported(seen) {
            PendingChanges::Nothing
        } else {
            was_owed
        };
        // When a view is opened, the server enters its schema and comes back. If a read did more, the report shows it.
        let only_reads = seen.facts.access == sql::Access::Read && seen.facts.effects.is_empty();
        self.untold.pending_changes = match has_failed || owes {
            true if !has_failed && only_reads => kept.max(PendingChanges::Reversal),
            true => PendingChanges::Anything,
            false if is_reversing(seen) => kept.max(PendingChanges::Reversal),
            false => kept,
        };
        if self.untold.pending_changes == PendingChanges::Nothing {
            self.untold.reversed.clear();
        } else if is_reversing(seen) {
            self.note_reversal(seen);
        }
    }

    /// Whether the server has reported all that it had noted. MySQL does so with any OK, MariaDB
    /// with an OK that has something to report.
    fn has_reported(&self, seen: &Seen<'_>) -> bool {
        let flags = seen.status();
        flags.is_some_and(|flags| {
            !variables::is_mariadb(self.server)
                || flags.contains(StatusFlags::SESSION_STATE_CHANGED)
        })
    }
}

/// Whether the text names more than the facts hold.
pub(super) fn has_too_many(seen: &Seen<'_>) -> bool {
    seen.facts.marks.has(sql::Marks::CROWDED)
}

fn is_schema_moving(seen: &Seen<'_>) -> bool {
    seen.facts.kind == StatementKind::Multi && seen.has(Effects::SCHEMA)
}

pub(super) fn mentions_in<'a>(
    seen: &Seen<'a>,
    part: &StatementFacts,
    role: Role,
) -> impl Iterator<Item = &'a Mention> {
    let span = part.span;
    let facts: &'a Facts = seen.facts;
    facts.mentions.iter().filter(move |mention| {
        mention.role == role && mention.name.start >= span.start && mention.name.end <= span.end
    })
}

pub(super) fn names_in<'a>(
    seen: &Seen<'a>,
    part: &StatementFacts,
    role: Role,
) -> impl Iterator<Item = Vec<u8>> {
    let text: &'a [u8] = seen.text;
    mentions_in(seen, part, role).map(move |mention| mention.name.name(text).into_owned())
}

fn table_of(mention: &Mention, seen: &Seen<'_>, current: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let schema = match mention.schema.is_empty() {
        true => current.to_vec(),
        false => mention.schema.name(seen.text).into_owned(),
    };
    (schema, mention.name.name(seen.text).into_owned())
}
