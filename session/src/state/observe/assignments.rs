//! Reads assignments from the text of a SET, if the trackers do not report all of them.

use std::rc::Rc;

use sql::{Assignment, Effects, Mention, Role, Scope, StatementKind, Target, Value};

use super::collation_key::collation_key;
use super::reported::is_assigned;
use super::seen::Seen;
use crate::state::connection::ConnectionState;
use crate::state::literal;
use crate::state::pins::Pin;
use crate::state::session::SessionState;
use crate::state::statement_diagnostics::LastInsertId;
use crate::state::user_variables::UserValue;
use crate::state::values::Values;
use crate::state::variables::{self, Policy};

impl SessionState {
    /// Checks every variable that the text sets: it was reported, or the text gives its value, or
    /// the proxy has to ask for it.
    pub(super) fn note_assignments(&mut self, values: &mut Values, seen: &Seen<'_>) {
        if !seen.has(Effects::VARIABLES | Effects::LAST_INSERT_ID) {
            return;
        }
        for assignment in &seen.facts.assignments {
            match assignment.target {
                Target::Variable { scope, name, .. } if is_of_session(scope) => {
                    let name = name.name(seen.text).to_ascii_lowercase();
                    self.note_assignment(values, seen, &name, assignment.value);
                }
                Target::Names | Target::CharacterSet => {
                    self.expect(seen, b"character_set_client");
                    if self.sets_reported(seen) {
                        self.expect(seen, b"character_set_results");
                        self.expect(seen, b"collation_connection");
                    }
                }
                Target::Isolation(scope) if is_of_session(scope) => {
                    self.expect_either(seen, b"transaction_isolation", b"tx_isolation");
                }
                Target::AccessMode(scope) if is_of_session(scope) => {
                    self.expect_either(seen, b"transaction_read_only", b"tx_read_only");
                }
                _ => {}
            }
        }
    }

    /// Whether the text sets what the server reports. Then the server may not report variables that were
    /// set before that.
    fn sets_reported(&self, seen: &Seen<'_>) -> bool {
        let mut all = seen.facts.assignments.iter();
        all.any(|assignment| match assignment.target {
            Target::Variable { scope, name, .. } if is_of_session(scope) => {
                let name = name.name(seen.text).to_ascii_lowercase();
                variables::policy(&name) == Policy::Followed
            }
            _ => false,
        })
    }

    /// The text sets what the server reports. If only SETs ran, the text names all that they set, and
    /// the proxy restores this setting afterwards. Other statements may have made changes that were not
    /// reported.
    pub(super) fn bind_unless_followed(&mut self, seen: &Seen<'_>, name: &[u8]) {
        let facts = seen.facts;
        let is_set = match facts.kind {
            StatementKind::Set => true,
            StatementKind::Multi => {
                !facts.marks.has(sql::Marks::CROWDED)
                    && facts
                        .statements
                        .iter()
                        .all(|part| part.kind == StatementKind::Set)
            }
            _ => false,
        };
        let is_dark = seen.has(Effects::ANYTHING | Effects::OPAQUE);
        if !is_set || is_dark || !seen.is_statement() || !seen.is_ok() {
            self.bind(name, true);
        }
    }

    fn note_assignment(&mut self, values: &mut Values, seen: &Seen<'_>, name: &[u8], value: Value) {
        let kept = variables::canonical(name, self.server);
        let literal = literal_of(seen, name, value);
        match variables::policy(kept) {
            Policy::News => {}
            Policy::Followed => self.bind_unless_followed(seen, kept),
            Policy::Timestamp => self.note_timestamp(values, seen, literal),
            Policy::LastInsertId => {
                let number = literal.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
                self.diagnostics.last_insert_id = match number {
                    Some(id) if seen.is_ok() => LastInsertId::Known(id),
                    _ => LastInsertId::OnConnection,
                };
            }
            Policy::Bound(_) if self.is_reported(seen, name) => {}
            Policy::Bound(resting) => {
                let is_at_rest = |value: &[u8]| variables::is_at_rest(resting, value);
                let is_resting = literal.is_some_and(|value| {
                    is_at_rest(value) || switched(value).is_some_and(is_at_rest)
                });
                if seen.is_ok() || !is_resting {
                    self.bind(kept, !is_resting);
                }
            }
            Policy::Restored if self.is_reported(seen, name) => {}
            Policy::Restored => self.note_untold(values, seen, kept, literal),
        }
    }

    /// Whether the trackers reported this variable, and no other under its name.
    fn is_reported(&self, seen: &Seen<'_>, name: &[u8]) -> bool {
        let is_placeless = variables::is_placeless(name, self.server);
        let kept = variables::canonical(name, self.server);
        let is_it = |told: &[u8]| {
            variables::canonical(told, self.server) == kept
                || variables::whole_of(name).is_some_and(|whole| told == whole)
        };
        !is_placeless && seen.changes.variables.iter().any(|(told, _)| is_it(told))
    }

    /// Handles a variable that was not reported: after an error, if one variable is reported for
    /// another, or if the variable is not tracked.
    fn note_untold(
        &mut self,
        values: &mut Values,
        seen: &Seen<'_>,
        name: &[u8],
        literal: Option<&[u8]>,
    ) {
        let is_switch = variables::confused(name, self.server) == variables::MARIADB_BITS;
        let is_once = seen
            .facts
            .assignments
            .iter()
            .filter(|a| names(a, seen, name))
            .count()
            == 1;
        match literal.and_then(switched) {
            Some(value) if is_switch && is_once && seen.is_ok() => {
                self.trust(name);
                values.set(name, Rc::from(value));
            }
            // A failed SET sets nothing. If it did, the flush reports it.
            _ if !seen.is_ok() && has_failed(seen, name) => {}
            _ => self.doubt(variables::whole_of(name).unwrap_or(name)),
        }
    }

    fn note_timestamp(&mut self, values: &mut Values, seen: &Seen<'_>, literal: Option<&[u8]>) {
        if !seen.is_ok() {
            return self.bind(b"timestamp", true);
        }
        match literal {
            Some(b"DEFAULT" | b"0") => {
                self.bind(b"timestamp", false);
                values.unset(b"timestamp");
            }
            Some(number) if literal::is_number(number) => {
                self.bind(b"timestamp", false);
                values.set(b"timestamp", Rc::from(number));
            }
            // It may have been 0, and then the clock runs on.
            _ => self.bind(b"timestamp", true),
        }
    }

    fn expect(&mut self, seen: &Seen<'_>, name: &'static [u8]) {
        if seen.is_ok() && seen.changes.value_of(name).is_none() {
            self.doubt(name);
        }
    }

    fn expect_either(&mut self, seen: &Seen<'_>, name: &'static [u8], old: &[u8]) {
        if seen.changes.value_of(old).is_none() {
            self.expect(seen, name);
        }
    }

    /// Returns the collation that comes with a connection character set, if the text names it, or
    /// if it was learned before under the same circumstances.
    pub(super) fn collation_by_text(
        &self,
        values: &Values,
        seen: &Seen<'_>,
        charset: &[u8],
    ) -> Option<Rc<[u8]>> {
        let mut said = seen.facts.assignments.iter().filter(|assignment| {
            assignment.target == Target::Names
                || names(assignment, seen, b"character_set_connection")
        });
        let (Some(assignment), None) = (said.next(), said.next()) else {
            return None;
        };
        let others = [&b"collation_connection"[..], b"character_set_collations"];
        let is_alone = seen.is_statement()
            && !seen.has(Effects::ANYTHING | Effects::OPAQUE)
            && seen
                .facts
                .assignments
                .iter()
                .all(|a| a.target != Target::CharacterSet)
            && others.iter().all(|other| !is_assigned(seen, other));
        if !is_alone {
            return None;
        }
        match assignment.value {
            Value::Charset { collation, .. } if !collation.is_empty() => {
                let collation = collation.name(seen.text).to_ascii_lowercase();
                let is_full = literal::charset_of(&collation) == Some(charset);
                is_full.then(|| Rc::from(collation))
            }
            Value::Charset { .. } | Value::Literal(_) => self
                .baseline
                .as_ref()?
                .collation_of(&collation_key(values, charset)),
            _ => None,
        }
    }

    /// Notes user variables: the proxy knows the value if SET gives a literal; else only the connection knows it.
    pub(super) fn note_user_variables(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
    ) {
        if !seen.has(Effects::USER_VARIABLES) || self.reads_using(seen) {
            return;
        }
        let set = |mention: &&Mention| mention.role == Role::UserVariableSet;
        // If one of several statements has changed the character set, that of the name is not known.
        let may_move = seen.changes.has_deciding() || seen.tally.has_unsent_changes;
        let is_moving =
            |name: &[u8]| may_move && seen.facts.kind == StatementKind::Multi && !name.is_ascii();
        for mention in seen.facts.mentions.iter().filter(set) {
            let raw = mention.name.of(seen.text);
            let Some(name) = self.user_variable_name(raw).filter(|name| !is_moving(name)) else {
                self.pinned.for_life.add(Pin::UserVariable);
                continue;
            };
            let value = self.value_by_text(seen, &name);
            connection
                .user_variables
                .insert(Rc::from(&*name), value.clone());
            self.user_variables.set(&name, value);
            if self.user_variables.has_lookalike(&name) {
                self.pinned.for_life.add(Pin::UserVariable);
            }
            if self.rules.lasting.has(Pin::UserVariable) {
                self.pinned.for_life.add(Pin::UserVariable);
            }
        }
        if seen.facts.marks.has(sql::Marks::CROWDED) {
            self.pinned.for_life.add(Pin::UserVariable);
        }
    }

    /// Returns a user variable's new value, if SET gave it a literal and nothing else set it.
    fn value_by_text(&self, seen: &Seen<'_>, name: &[u8]) -> Option<UserValue> {
        let is_it =
            |span: sql::Span| self.user_variable_name(span.of(seen.text)).as_deref() == Some(name);
        let set = seen.facts.mentions_of(Role::UserVariableSet);
        let is_once = set.filter(|mention| is_it(mention.name)).count() == 1;
        // A literal's value depends on the character sets with which it was read: those before the statement.
        let is_plain =
            !seen.has(Effects::ANYTHING | Effects::OPAQUE) && !seen.changes.has_deciding();
        if !(seen.is_ok() && is_once && is_plain) {
            return None;
        }
        let mut assignments = seen.facts.assignments.iter();
        let found = assignments.find(|a| matches!(a.target, Target::User(span) if is_it(span)))?;
        match found.value {
            Value::Literal(span) if span.of(seen.text).eq_ignore_ascii_case(b"NULL") => {
                match self.user_variables.value(name) {
                    None => Some(UserValue::unset()),
                    Some(before) => before.map(|value| UserValue::null_like(value.literal.clone())),
                }
            }
            Value::Literal(span) => self.literal_anywhere(span.of(seen.text)).map(UserValue::of),
            _ => None,
        }
    }
}

impl SessionState {
    /// Notes the assignments of a text that EXECUTE has run among other statements. Their order is not known, so the
    /// values are asked for. Returns false, and notes nothing, if a value cannot be asked for.
    pub(super) fn note_unordered(
        &mut self,
        connection: &mut ConnectionState,
        seen: &Seen<'_>,
    ) -> bool {
        let crowded = seen.facts.marks.has(sql::Marks::CROWDED);
        if seen.has(Effects::OPAQUE) || crowded {
            return false;
        }
        let mut doubtful: Vec<Vec<u8>> = Vec::new();
        for assignment in &seen.facts.assignments {
            match assignment.target {
                Target::Variable { scope, name, .. } if is_of_session(scope) => {
                    let name = name.name(seen.text).to_ascii_lowercase();
                    let kept = variables::canonical(&name, self.server);
                    match variables::policy(kept) {
                        Policy::Restored => {
                            let whole = variables::whole_of(kept);
                            doubtful.push(whole.map_or_else(|| kept.to_vec(), <[u8]>::to_vec));
                        }
                        _ => return false,
                    }
                }
                Target::Variable { .. } | Target::User(_) => {}
                _ => return false,
            }
        }
        let set = seen.facts.mentions_of(Role::UserVariableSet);
        let names: Option<Vec<Vec<u8>>> = set
            .map(|mention| self.user_variable_name(mention.name.of(seen.text)))
            .collect();
        let Some(names) = names else {
            return false;
        };
        doubtful.iter().for_each(|name| self.doubt(name));
        for name in names {
            connection.user_variables.insert(Rc::from(&*name), None);
            self.user_variables.set(&name, None);
            if self.user_variables.has_lookalike(&name) {
                self.pinned.for_life.add(Pin::UserVariable);
            }
        }
        true
    }

    /// Returns a literal that gives a user variable the same value on any connection as `raw` does
    /// here: integers and decimals as they are written, strings with the connection's collation.
    fn literal_anywhere(&self, raw: &[u8]) -> Option<Rc<[u8]>> {
        let is_number = literal::is_number(raw) && raw.len() <= 18;
        let words: [&[u8]; 2] = [b"TRUE", b"FALSE"];
        if is_number || words.iter().any(|word| raw.eq_ignore_ascii_case(word)) {
            return Some(Rc::from(raw));
        }
        let is_national = matches!(raw.first(), Some(b'n' | b'N'));
        let bytes = sql::unquote(raw, self.reading.last_flags).filter(|_| !is_national)?;
        let collation = self.current(b"collation_connection")?;
        let charset = literal::charset_of(collation)?;
        let is_wide = charset.starts_with(b"utf16") || [&b"utf32"[..], b"ucs2"].contains(&charset);
        let is_same = self.current(b"character_set_client") == Some(charset);
        (is_same || bytes.is_ascii() && !is_wide)
            .then(|| literal::string(&bytes, collation))
            .flatten()
    }
}

const fn is_of_session(scope: Scope) -> bool {
    matches!(scope, Scope::Implicit | Scope::Session)
}

/// Whether an assignment sets the session's variable of this name.
fn names(assignment: &Assignment, seen: &Seen<'_>, name: &[u8]) -> bool {
    match assignment.target {
        Target::Variable {
            scope, name: span, ..
        } => is_of_session(scope) && span.name(seen.text).eq_ignore_ascii_case(name),
        _ => false,
    }
}

/// Whether only a SET that failed, or a statement behind the error, sets the variable. Each of
/// several statements that succeeded has given at least one result.
fn has_failed(seen: &Seen<'_>, name: &[u8]) -> bool {
    let parts = &seen.facts.statements;
    let is_behind = |span: sql::Span| {
        let is_in =
            |part: &sql::StatementFacts| part.span.start <= span.start && span.end <= part.span.end;
        let at = parts.iter().position(is_in);
        let failed = at.and_then(|at| parts.get(at).filter(|_| at >= seen.tally.results as usize));
        failed.is_some_and(|part| part.kind == StatementKind::Set)
    };
    let assignments = seen.facts.assignments.iter();
    match seen.facts.kind {
        StatementKind::Set => true,
        StatementKind::Multi => assignments
            .filter(|assignment| names(assignment, seen, name))
            .all(|assignment| match assignment.target {
                Target::Variable { name, .. } => is_behind(name),
                _ => false,
            }),
        _ => false,
    }
}

/// Returns the value as written if it is a literal, without the quotes of a plain string; `DEFAULT`
/// for DEFAULT. Returns none if the text sets the variable twice.
fn literal_of<'a>(seen: &Seen<'a>, name: &[u8], value: Value) -> Option<&'a [u8]> {
    let count = seen
        .facts
        .assignments
        .iter()
        .filter(|a| names(a, seen, name))
        .count();
    if count != 1 {
        return None;
    }
    match value {
        Value::Default => Some(b"DEFAULT"),
        Value::Literal(span) => {
            let raw = span.of(seen.text);
            Some(plain_string(raw).unwrap_or(raw))
        }
        _ => None,
    }
}

/// Returns a switch as the trackers report it.
fn switched(literal: &[u8]) -> Option<&'static [u8]> {
    let is = |words: [&[u8]; 3]| words.iter().any(|word| literal.eq_ignore_ascii_case(word));
    match literal {
        on if is([b"1", b"ON", b"TRUE"]) && on.len() < 5 => Some(b"ON"),
        off if !off.is_empty() && is([b"0", b"OFF", b"FALSE"]) => Some(b"OFF"),
        _ => None,
    }
}

/// Returns the content of a quoted string without escapes, doubled quotes and high bytes.
fn plain_string(raw: &[u8]) -> Option<&[u8]> {
    let quote = *raw.first().filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let inner = raw.get(1..)?.strip_suffix(&[quote])?;
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != quote && *byte != b'\\';
    inner.iter().all(is_plain).then_some(inner)
}
