//! Compares a session's state with a connection's, and builds what has to be sent before the session's statement.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use sql::Server;

use super::changes::{Changes, TrackedVariable};
use super::connection::ConnectionState;
use super::literal;
use super::lookalikes::are_lookalikes;
use super::needs::{Needs, Which};
use super::pins::Pin;
use super::session::SessionState;
use super::statement_diagnostics::LastInsertId;
use super::user_variables::UserValue;
use super::values::{Values, differences};
use super::variables::{self, INSERT_ID, Policy};

/// The statements that restore the session's state on a connection. They precede the session's statement in the
/// same write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restoration {
    /// Nothing: the connection has the session's state.
    Nothing,
    /// These commands, in this order.
    Assign {
        /// The schema, for COM_INIT_DB.
        schema: Option<Rc<[u8]>>,
        /// Another schema has to be entered first ([`ANOTHER_SCHEMA`]): the connection is in this schema
        /// already, and MariaDB would not read its character set again.
        leaves_first: bool,
        /// One SET statement that means the same in every `sql_mode`, and, being ASCII, in every character
        /// set; only names of user variables may be UTF-8, which the connection reads then.
        set: Option<Vec<u8>>,
        /// Identifies this set of assignments. A set that succeeded once on a backend will succeed
        /// again.
        key: u64,
    },
    /// The connection's state is not known, or names on it cannot be hidden: send
    /// COM_RESET_CONNECTION with [`ConnectionState::after_reset`], and then ask again.
    Reset,
    /// The session has no schema and the connection has one. Only a new login (COM_CHANGE_USER) or
    /// another connection has none, because COM_RESET_CONNECTION keeps the schema.
    Unfit,
}

/// A schema that every server has, and every account may enter.
pub const ANOTHER_SCHEMA: &[u8] = b"information_schema";

/// Returns how many assignments lie between a session and a connection: 0 if they are equal,
/// `u32::MAX` if the connection cannot serve the session.
pub fn distance(session: &SessionState, connection: &ConnectionState) -> u32 {
    let Some(values) = &connection.values else {
        return RESET_DISTANCE;
    };
    let texts = session.texts_missing(connection);
    let user_variables = || {
        let differs = |(name, value): &(&Rc<[u8]>, Option<&UserValue>)| {
            connection.user_variables.get(*name).map(Option::as_ref) != Some(*value)
        };
        session.user_variables.iter().filter(differs).count() as u32
    };
    if Rc::ptr_eq(&session.values, values) && connection.is_schema_known {
        return user_variables() + texts;
    }
    let schema = match session.values.schema() {
        schema if connection.is_in(schema) => 0,
        Some(_) => 1,
        None => return u32::MAX,
    };
    let mut differing = 0;
    differences(&session.values, values, |_, _| differing += 1);
    schema + differing + user_variables() + texts
}

/// A reset costs about as much as this many assignments.
const RESET_DISTANCE: u32 = 1000;

/// Returns what has to be sent on a connection before a statement with these needs.
pub fn restoration(
    session: &SessionState,
    connection: &ConnectionState,
    needs: &Needs,
) -> Restoration {
    // The proxy does not reset a connection on which the session holds something. FOUND_ROWS() holds nothing.
    let mut pins = session.pins();
    pins.remove(Pin::FoundRows);
    let is_held = !pins.is_empty();
    // USE does no harm in a transaction. It may harm what the other pins protect.
    pins.remove(Pin::Transaction);
    let is_mysql = matches!(connection.server(), Server::MySql(_));
    let is_schema_read = needs.is_schema_read || needs.is_schema_changed && !is_mysql;
    let enters_again = is_schema_read && pins.is_empty();
    let Some(values) = &connection.values else {
        return match is_held {
            true => Restoration::Nothing,
            false => Restoration::Reset,
        };
    };
    let is_same = Rc::ptr_eq(&session.values, values) && connection.is_schema_known;
    let enters_again = enters_again && session.values.schema().is_some();
    if is_same && !enters_again && needs.is_met_by_values(session, connection) {
        return Restoration::Nothing;
    }
    let schema = match session.values.schema() {
        schema if connection.is_in(schema) && !enters_again => None,
        Some(schema) => Some(Rc::from(schema)),
        None if is_held => None,
        None => return Restoration::Unfit,
    };
    if !is_held && has_unused_id(&session.values, values, connection) {
        return Restoration::Reset;
    }
    let mut set = Assignments::default();
    if !is_same || schema.is_some() {
        set.variables(&session.values, values, connection, schema.is_some());
    }
    let verdict = set.user_variables(session, connection, &needs.user_variables);
    // The connection reads the SET in the character set that it has now.
    let is_writable = set.text.is_ascii() || connection.is_utf8();
    if (verdict == Verdict::Impossible || !is_writable) && !is_held {
        return Restoration::Reset;
    }
    if needs.is_last_insert_id_needed {
        set.last_insert_id(session, connection);
    }
    let leaves_first = enters_again && !is_mysql;
    set.finish(schema, leaves_first)
}

/// Whether the next row on this connection would get another session's id. MySQL cannot give up an
/// id: it takes no DEFAULT, and 0 is an id like any other.
fn has_unused_id(wanted: &Values, present: &Values, connection: &ConnectionState) -> bool {
    let is_set = |values: &Values| values.variable(INSERT_ID).is_some();
    !variables::is_mariadb(connection.server()) && is_set(present) && !is_set(wanted)
}

/// Records that the server has accepted the restoration: OK to COM_INIT_DB and to SET. `changes` is
/// what the trackers reported for both. If they contradict the wanted values, the connection's state
/// is not known any more.
pub fn restored(
    session: &mut SessionState,
    connection: &mut ConnectionState,
    needs: &Needs,
    changes: &Changes,
) -> Result<(), Mismatch> {
    let contradicts = |(name, value): &TrackedVariable| {
        let kept = variables::canonical(name, connection.server());
        let wanted = session.values.variable(kept);
        wanted.is_some_and(|wanted| !is_same_value(wanted, value))
    };
    if let Some((name, _)) = changes.variables.iter().find(|told| contradicts(told)) {
        let name = name.clone();
        connection.forget();
        return Err(Mismatch(name));
    }
    connection.values = Some(Rc::clone(&session.values));
    connection.is_schema_known = true;
    session.settle(&connection.baseline);
    let concerned = Concerned::of(session, connection, &needs.user_variables);
    for name in concerned.foreign.into_iter().chain(concerned.own) {
        settle_user_variable(session, connection, &name);
    }
    if needs.is_last_insert_id_needed
        && let Some(id) = session.diagnostics.last_insert_id.seen()
    {
        connection.last_insert_id = LastInsertId::Known(id);
    }
    Ok(())
}

impl Needs {
    /// Whether the statement needs no more than equal values: the usual case.
    fn is_met_by_values(&self, session: &SessionState, connection: &ConnectionState) -> bool {
        let names_none = match &self.user_variables {
            Which::Named(names) => names.is_empty(),
            Which::All | Which::Listed => false,
        };
        let exist_none = session.user_variables.is_empty() && connection.user_variables.is_empty();
        let is_same_id = connection.last_insert_id == session.diagnostics.last_insert_id;
        let own = &session.user_variables;
        let are_wide = own.are_wide() || connection.has_foreign_wide(own);
        (names_none || exist_none) && !are_wide && (!self.is_last_insert_id_needed || is_same_id)
    }
}

/// A variable has another value than it was set to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session variable did not take its value: {}", String::from_utf8_lossy(.0))]
pub struct Mismatch(pub Box<[u8]>);

fn settle_user_variable(session: &SessionState, connection: &mut ConnectionState, name: &Rc<[u8]>) {
    match session.user_variables.value(name) {
        Some(Some(value)) => {
            let value = Some(value.clone());
            connection.user_variables.insert(Rc::clone(name), value);
        }
        Some(None) => {}
        None => {
            if let Some(value) = connection.user_variables.get_mut(name) {
                *value = Some(UserValue::unset());
            }
        }
    }
}

/// Whether two values are equal, apart from letter case, trailing zeros (100 is reported as
/// 100.000000) and switches (SELECT says 0, the trackers say OFF).
fn is_same_value(wanted: &[u8], told: &[u8]) -> bool {
    fn short(text: &[u8]) -> &[u8] {
        let is_zero = |byte: &u8| *byte == b'0';
        let is_decimal = literal::is_number(text) && text.contains(&b'.');
        let digits = text.len() - text.iter().rev().take_while(|b| is_zero(b)).count();
        match is_decimal {
            true => text[..digits].strip_suffix(b".").unwrap_or(&text[..digits]),
            false => text,
        }
    }
    fn switched(text: &[u8]) -> &[u8] {
        match text {
            _ if text.eq_ignore_ascii_case(b"OFF") => b"0",
            _ if text.eq_ignore_ascii_case(b"ON") => b"1",
            _ => text,
        }
    }
    switched(short(wanted)).eq_ignore_ascii_case(switched(short(told)))
}

#[derive(PartialEq, Eq)]
enum Sent {
    IfOther,
    Always,
}

/// The user variables that a statement may see, whatever it calls them.
struct Concerned {
    /// The connection's user variables that the session does not have.
    foreign: Vec<Rc<[u8]>>,
    own: Vec<Rc<[u8]>>,
}

impl Concerned {
    fn of(session: &SessionState, connection: &ConnectionState, which: &Which) -> Self {
        let variables = &session.user_variables;
        // All of them now: if the session leaves UTF-8 later, such names can be read but not written.
        let are_wide = variables.are_wide() || connection.has_foreign_wide(variables);
        let which = match are_wide {
            true => &Which::All,
            false => which,
        };
        let own = variables.iter().map(|(name, _)| name);
        let foreign = connection.foreign(variables);
        let may_mean = |name: &&Rc<[u8]>| match which {
            Which::Named(names) => names
                .iter()
                .any(|named| *named == **name || are_lookalikes(named, name)),
            Which::All | Which::Listed => true,
        };
        Self {
            foreign: foreign.filter(may_mean).cloned().collect(),
            own: own.filter(may_mean).cloned().collect(),
        }
    }
}

#[derive(PartialEq, Eq)]
enum Verdict {
    Possible,
    Impossible,
}

/// The variables that SET NAMES sets, in this order: for statements, for results, and for literals.
const NAMES: [&[u8]; 3] = [
    b"character_set_client",
    b"character_set_results",
    b"collation_connection",
];

/// A SET statement under construction.
#[derive(Default)]
struct Assignments {
    text: Vec<u8>,
}

impl Assignments {
    fn next(&mut self) {
        self.text.extend_from_slice(match self.text.is_empty() {
            true => b"SET ",
            false => b",",
        });
    }

    fn variables(
        &mut self,
        wanted: &Values,
        present: &Values,
        connection: &ConnectionState,
        is_schema_sent: bool,
    ) {
        let has_names = self.names(wanted, present, connection);
        differences(wanted, present, |name, value| {
            if has_names && NAMES.contains(&name) {
                return;
            }
            // COM_INIT_DB sets the variables of the schema anew.
            if !(is_schema_sent && variables::is_of_schema(name)) {
                self.variable(name, value, connection);
            }
            // If the follower differs too, it is assigned again later, because it is behind in the alphabet.
            if let Some(follower) = variables::follower_of(name) {
                self.variable(follower, wanted.variable(follower), connection);
            }
        });
        if is_schema_sent && let Some(value) = wanted.variable(b"collation_database") {
            self.variable(b"collation_database", Some(value), connection);
        }
    }

    /// Appends SET NAMES … COLLATE …, if it sets what is wanted. It also gives results the collation that they have
    /// after a login or a SET NAMES. No variable shows that collation (the results' definitions do).
    fn names(&mut self, wanted: &Values, present: &Values, connection: &ConnectionState) -> bool {
        let mut differ = false;
        differences(wanted, present, |name, _| differ |= NAMES.contains(&name));
        let value = |name: &[u8]| {
            let login = || connection.baseline.value(name).map(|value| &**value);
            wanted.variable(name).or_else(login)
        };
        let [Some(client), Some(results), Some(collation)] = NAMES.map(value) else {
            return false;
        };
        let is_of_it = collation
            .strip_prefix(client)
            .is_some_and(|rest| rest.is_empty() || rest.first() == Some(&b'_'));
        let is_plain = |name: &[u8]| {
            let mut bytes = name.iter();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        if !differ || client != results || !is_of_it || !is_plain(collation) {
            return false;
        }
        self.next();
        for part in [b"NAMES '", client, b"' COLLATE '", collation, b"'"] {
            self.text.extend_from_slice(part);
        }
        true
    }

    /// Assigns this value to a variable; without a value, the one that login left.
    fn variable(&mut self, name: &[u8], value: Option<&[u8]>, connection: &ConnectionState) {
        self.next();
        self.text.extend_from_slice(b"SESSION ");
        let spelled = variables::spelled(name, connection.server());
        let login = || connection.baseline.value(name).map(|value| &**value);
        match value.or_else(login) {
            Some(value) => literal::assign(&mut self.text, spelled, value),
            None => {
                self.text.extend_from_slice(spelled);
                self.text.extend_from_slice(b"=DEFAULT");
            }
        }
    }

    fn user_variables(
        &mut self,
        session: &SessionState,
        connection: &ConnectionState,
        which: &Which,
    ) -> Verdict {
        let concerned = Concerned::of(session, connection, which);
        // First, because a server may take one of these names for a variable of the session.
        let mut unset: Vec<&[u8]> = Vec::new();
        for name in &concerned.foreign {
            if self.user_variable(connection, name, &UserValue::unset(), Sent::IfOther) {
                unset.push(name);
            }
        }
        for name in &concerned.own {
            // If only the connection knows the value, the session has never left the connection.
            if let Some(Some(value)) = session.user_variables.value(name) {
                let is_undone = unset.iter().any(|other| are_lookalikes(other, name));
                let sent = if is_undone {
                    Sent::Always
                } else {
                    Sent::IfOther
                };
                self.user_variable(connection, name, value, sent);
            }
        }
        match *which == Which::Listed && !concerned.foreign.is_empty() {
            true => Verdict::Impossible,
            false => Verdict::Possible,
        }
    }

    /// Appends an assignment, if it is needed. Returns whether it is.
    fn user_variable(
        &mut self,
        connection: &ConnectionState,
        name: &[u8],
        wanted: &UserValue,
        sent: Sent,
    ) -> bool {
        let present = connection.user_variables.get(name);
        let is_there = present.is_some_and(|present| present.as_ref() == Some(wanted));
        if is_there && sent == Sent::IfOther {
            return false;
        }
        self.next();
        wanted.assign(&mut self.text, name);
        true
    }

    fn last_insert_id(&mut self, session: &SessionState, connection: &ConnectionState) {
        let Some(id) = session.diagnostics.last_insert_id.seen() else {
            return;
        };
        if connection.last_insert_id != LastInsertId::Known(id) {
            self.next();
            self.text.extend_from_slice(b"SESSION last_insert_id=");
            self.text.extend_from_slice(id.to_string().as_bytes());
        }
    }

    fn finish(self, schema: Option<Rc<[u8]>>, leaves_first: bool) -> Restoration {
        if schema.is_none() && self.text.is_empty() {
            return Restoration::Nothing;
        }
        let mut hasher = DefaultHasher::new();
        (&schema, &self.text).hash(&mut hasher);
        Restoration::Assign {
            schema,
            leaves_first,
            set: (!self.text.is_empty()).then_some(self.text),
            key: hasher.finish(),
        }
    }
}

/// Whether a variable of this name may stand in a SET of the proxy's.
pub(super) fn is_restorable(name: &[u8]) -> bool {
    let policy = variables::policy(name);
    matches!(policy, Policy::Restored | Policy::Timestamp) && variables::is_name(name)
}
