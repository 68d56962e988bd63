//! Takes in the changes of variables and of the schema that the session trackers report.

use std::rc::Rc;

use sql::{Access, Assignment, Effects, Facts, Marks, Role, Scope, StatementKind, Target, Value};

use super::collation_key::collation_key;
use super::seen::{Ran, Seen};
use crate::Tally;
use crate::state::changes::Changes;
use crate::state::session::SessionState;
use crate::state::values::Values;
use crate::state::variables::{self, INSERT_ID, OF_SCHEMA, Policy};

impl SessionState {
    /// Gives every variable that was reported the value that was reported, with the exceptions of
    /// [`variables`].
    pub(super) fn note_reported(&mut self, values: &mut Values, seen: &Seen<'_>) {
        for (name, value) in &seen.changes.variables {
            if is_for_statement(seen, name) || self.is_reversal(seen, name) {
                // MariaDB reports at once the value that it takes back, and later the value from before.
                continue;
            }
            let confused = variables::confused(name, self.server);
            if variables::is_placeless(name, self.server) {
                continue;
            }
            if !confused.is_empty() {
                self.note_confused(values, seen, name, value, confused);
                continue;
            }
            self.note_value(values, seen, name, value);
        }
    }

    /// Whether a report says no more than that SET STATEMENT has taken back what it set.
    fn is_reversal(&self, seen: &Seen<'_>, name: &[u8]) -> bool {
        let is_reversed = self
            .untold
            .reversed
            .iter()
            .any(|reversed| **reversed == *name);
        is_reversed && !is_assigned(seen, name) && !seen.has(Effects::ANYTHING | Effects::OPAQUE)
    }

    /// Records the variables that the text sets for one statement.
    pub(super) fn note_reversal(&mut self, seen: &Seen<'_>) {
        for assignment in &seen.facts.assignments {
            if let Target::Variable {
                scope: Scope::Statement,
                name,
                ..
            } = assignment.target
            {
                let name = name.name(seen.text).to_ascii_lowercase();
                self.untold.reversed.push(Rc::from(name));
            }
        }
    }

    /// Takes in variables that were reported late: no text explains them.
    pub(in crate::state) fn note_late(&mut self, values: &mut Values, changes: &Changes) {
        let late = Seen {
            ran: Ran::Nothing,
            facts: &Facts::default(),
            text: b"",
            changes,
            tally: &Tally::default(),
            error: None,
        };
        self.note_reported(values, &late);
        self.note_schema(values, &late);
    }

    /// Takes in the answer for a variable that cannot be restored: it is bound to its value, or at rest.
    pub(in crate::state) fn note_asked(&mut self, name: &[u8], value: &[u8]) {
        if let Policy::Bound(resting) = variables::policy(name) {
            self.bind(name, !variables::is_at_rest(resting, value));
        }
    }

    /// Without a report, a statement that writes may have used up `insert_id`, and a statement may have lost
    /// `collation_database`.
    pub(super) fn note_used_up(&mut self, seen: &Seen<'_>) {
        if self.set_apart.insert_id && seen.is_statement() && seen.facts.access > Access::Read {
            self.doubt(INSERT_ID);
        }
        // When a routine of another schema runs, also for a view or a trigger, the server enters that
        // schema and comes back. Then the variable has the value of the schema.
        let may_call = seen.facts.tables().next().is_some() || seen.has(Effects::ANYTHING);
        if self.set_apart.collation && seen.is_statement() && may_call {
            self.doubt(OF_SCHEMA);
        }
    }

    /// Takes in one variable that was reported under its own name.
    fn note_value(&mut self, values: &mut Values, seen: &Seen<'_>, name: &[u8], value: &[u8]) {
        if let Some(whole) = variables::whole_of(name) {
            if seen.changes.value_of(whole).is_none() {
                self.note_part_of_variable(values, seen, name, value, whole);
            }
            return;
        }
        let name = variables::canonical(name, self.server);
        match variables::policy(name) {
            Policy::News => {}
            Policy::Bound(resting) => self.bind(name, !variables::is_at_rest(resting, value)),
            Policy::Followed => self.bind_unless_followed(seen, name),
            Policy::LastInsertId => self.diagnostics.last_insert_id = parsed(value),
            Policy::Timestamp if is_assigned(seen, name) => {}
            Policy::Timestamp => self.bind(name, true),
            Policy::Restored if name == INSERT_ID && value == b"0" => {
                self.trust(name);
                values.unset(name);
                // To MySQL 0 is an id like any other, and it cannot be asked whether the id was used up.
                self.bind(name, !variables::is_mariadb(self.server));
            }
            Policy::Restored => {
                self.trust(name);
                values.set(name, Rc::from(value));
                if name == INSERT_ID {
                    self.bind(name, false);
                }
                let follower = variables::follower_of(name);
                match follower.filter(|name| seen.changes.value_of(name).is_none()) {
                    Some(b"sql_big_selects") => {
                        let is_unlimited = value == b"18446744073709551615";
                        let big: &[u8] = if is_unlimited { b"ON" } else { b"OFF" };
                        values.set(b"sql_big_selects", Rc::from(big));
                    }
                    Some(other) => self.doubt(other),
                    None => {}
                }
            }
        }
    }

    /// The report may be about any of several variables. The value is that of the variable that it names.
    fn note_confused(
        &mut self,
        values: &mut Values,
        seen: &Seen<'_>,
        name: &[u8],
        value: &[u8],
        confused: &[&'static str],
    ) {
        if values.variable(name).is_some() || is_assigned(seen, name) {
            self.note_value(values, seen, name, value);
        }
        let is_explained = confused
            .iter()
            .any(|other| is_assigned(seen, other.as_bytes()));
        if !is_explained || seen.has(Effects::ANYTHING | Effects::OPAQUE) {
            confused
                .iter()
                .for_each(|other| self.doubt(other.as_bytes()));
        }
    }

    /// Takes in a variable that is a part of another variable, which was not reported. For a
    /// character set, the server does not report the collation.
    fn note_part_of_variable(
        &mut self,
        values: &mut Values,
        seen: &Seen<'_>,
        name: &[u8],
        value: &[u8],
        whole: &'static [u8],
    ) {
        let mut collation = None;
        if name == b"character_set_connection" {
            collation = self.collation_by_text(values, seen, value);
            let is_learned_later = collation.is_none() && is_by_default(seen);
            self.doubts.collation_key = is_learned_later.then(|| collation_key(values, value));
        }
        match collation {
            Some(collation) => {
                self.trust(whole);
                values.set(whole, collation);
            }
            None => self.doubt(whole),
        }
    }

    /// Notes the schema: the one that was reported or, if none was, the one in the text.
    pub(super) fn note_schema(&mut self, values: &mut Values, seen: &Seen<'_>) {
        let is_changed = seen.ran == Ran::InitDb || seen.has(Effects::SCHEMA);
        let named = match seen.ran {
            Ran::InitDb => Some(seen.text.to_vec()),
            _ => {
                let last = seen.facts.mentions_of(Role::Schema).last();
                last.map(|mention| mention.name.name(seen.text).into_owned())
            }
        };
        let schema = match (&seen.changes.schema, named) {
            (Some(told), _) => told.to_vec(),
            (None, Some(named)) if is_changed && seen.is_ok() => named,
            _ => return,
        };
        // This holds even for USE of the current schema. After a routine that was in another schema, the
        // collation depends on the schema in which it was called.
        self.trust(OF_SCHEMA);
        let was_set = values.variable(OF_SCHEMA).is_some();
        let is_told = seen.changes.value_of(OF_SCHEMA).is_some();
        match is_told || was_set && !is_changed {
            true => self.doubt(OF_SCHEMA),
            false => values.unset(OF_SCHEMA),
        }
        values.set_schema(&schema);
    }
}

fn parsed(value: &[u8]) -> crate::state::LastInsertId {
    use crate::state::LastInsertId;
    let text = std::str::from_utf8(value).ok();
    let number = text.and_then(|text| text.parse().ok());
    number.map_or(LastInsertId::OnConnection, LastInsertId::Known)
}

/// Whether SET NAMES without COLLATE, and nothing else, has set the connection's character set.
fn is_by_default(seen: &Seen<'_>) -> bool {
    let is_names = |assignment: &Assignment| {
        let Value::Charset { collation, .. } = assignment.value else {
            return false;
        };
        assignment.target == Target::Names && collation.is_empty()
    };
    let mut all = seen.facts.assignments.iter();
    seen.is_statement()
        && seen.facts.kind == StatementKind::Set
        && all.next().is_some_and(is_names)
        && all.next().is_none()
}

/// Whether the text sets a variable of this name, in the session or by its default scope.
pub(super) fn is_assigned(seen: &Seen<'_>, name: &[u8]) -> bool {
    let is_it = |assignment: &Assignment| match assignment.target {
        Target::Variable {
            scope, name: span, ..
        } => {
            matches!(scope, Scope::Implicit | Scope::Session)
                && span.name(seen.text).eq_ignore_ascii_case(name)
        }
        _ => false,
    };
    seen.is_statement() && seen.facts.assignments.iter().any(is_it)
}

/// Whether the text sets the variable for one statement only.
fn is_for_statement(seen: &Seen<'_>, name: &[u8]) -> bool {
    let is_it = |assignment: &Assignment| match assignment.target {
        Target::Variable {
            scope, name: span, ..
        } => scope == Scope::Statement && span.name(seen.text).eq_ignore_ascii_case(name),
        _ => false,
    };
    seen.is_statement() && seen.facts.assignments.iter().any(is_it)
}

/// The effects of a statement that explain the server's report of changed state.
pub(in crate::state) const EXPLAINING: Effects = Effects::VARIABLES
    .with(Effects::OPAQUE)
    .with(Effects::USER_VARIABLES)
    .with(Effects::SCHEMA)
    .with(Effects::TEMPORARY_CREATED)
    .with(Effects::TEMPORARY_DROPPED)
    .with(Effects::TEMPORARY_RENAMED)
    .with(Effects::PREPARED)
    .with(Effects::DEALLOCATED)
    .with(Effects::ROLE)
    .with(Effects::NEXT_TRANSACTION)
    .with(Effects::ANYTHING);

/// Whether the text explains the server's report of changed state, whatever else was reported.
pub(super) fn is_explained(seen: &Seen<'_>, before: &Values) -> bool {
    let is_set = seen.facts.kind == StatementKind::Set && seen.has(Effects::LAST_INSERT_ID);
    if seen.ran == Ran::InitDb || seen.has(EXPLAINING) || is_set {
        return !may_have_fired(seen);
    }
    // SET_VAR reports the values that it has taken back, SET STATEMENT those that it will take back.
    let is_hinted = seen.facts.marks.has(Marks::HINT) && contains_set_var(seen.text);
    (is_hinted || is_reversing(seen))
        && !seen.changes.variables.is_empty()
        && is_as_known(seen, before, &[])
}

/// Whether a trigger may have caused the report; the text does not explain that. Each of several statements
/// gives one result, except those with which anything may have happened anyway.
fn may_have_fired(seen: &Seen<'_>) -> bool {
    let fires = |kind| {
        matches!(
            kind,
            StatementKind::Insert
                | StatementKind::Replace
                | StatementKind::Update
                | StatementKind::Delete
                | StatementKind::Load
        )
    };
    match seen.facts.kind {
        StatementKind::Multi => {
            let mut parts = seen.facts.statements.iter().enumerate();
            parts.any(|(at, part)| fires(part.kind) && seen.changes.has_changed_with(at))
        }
        kind => seen.is_statement() && fires(kind),
    }
}

/// Whether every variable that was reported has its known value. A variable without a known value
/// counts, too.
pub(super) fn is_as_known(seen: &Seen<'_>, known: &Values, reversed: &[Rc<[u8]>]) -> bool {
    seen.changes.variables.iter().all(|(name, value)| {
        is_for_statement(seen, name)
            || reversed.iter().any(|reversed| **reversed == **name)
            || known.variable(name).is_none_or(|known| known == &**value)
    })
}

/// Whether the text is SET STATEMENT … FOR: the values go back when it is over.
pub(super) fn is_reversing(seen: &Seen<'_>) -> bool {
    let is_it = |assignment: &Assignment| {
        matches!(
            assignment.target,
            Target::Variable {
                scope: Scope::Statement,
                ..
            }
        )
    };
    seen.is_statement() && seen.facts.assignments.iter().any(is_it)
}

fn contains_set_var(text: &[u8]) -> bool {
    text.windows(7)
        .any(|window| window.eq_ignore_ascii_case(b"set_var"))
}
