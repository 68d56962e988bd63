//! The state of a backend connection.

use std::collections::BTreeMap;
use std::rc::Rc;

use sql::Server;

use super::baseline::Baseline;
use super::literal;
use super::statement_diagnostics::LastInsertId;
use super::text_statement::Made;
use super::user_variables::{UserValue, UserVariables};
use super::values::{Values, ValuesTable, differences};

/// The known state of a backend connection between two exchanges.
#[derive(Debug)]
pub struct ConnectionState {
    pub(super) baseline: Rc<Baseline>,
    /// None if the values are not known.
    pub(super) values: Option<Rc<Values>>,
    /// The user variables that exist on the connection; none if the value is not known.
    pub(super) user_variables: BTreeMap<Rc<[u8]>, Option<UserValue>>,
    /// The statements that were prepared from text on the connection.
    pub(super) texts: Made,
    pub(super) last_insert_id: LastInsertId,
    /// Whether the connection is in its schema as after USE. It is not after a reset of a connection
    /// whose state was not known, nor after a reset by which MariaDB forgot the schema's collation.
    pub(super) is_schema_known: bool,
}

impl ConnectionState {
    /// A connection directly after login and [`Baseline::tracking`].
    pub fn new(baseline: Rc<Baseline>, values: Rc<Values>) -> Self {
        Self {
            baseline,
            values: Some(values),
            user_variables: BTreeMap::new(),
            texts: Made::new(),
            last_insert_id: LastInsertId::default(),
            is_schema_known: true,
        }
    }

    /// The values that the login left.
    pub fn baseline(&self) -> &Rc<Baseline> {
        &self.baseline
    }

    /// The server's family and version.
    pub fn server(&self) -> Server {
        self.baseline.server()
    }

    /// The connection's values; none if they are not known, and the connection has to be reset first.
    pub fn values(&self) -> Option<&Rc<Values>> {
        self.values.as_ref()
    }

    /// Whether the connection's values are not known.
    pub fn is_unknown(&self) -> bool {
        self.values.is_none()
    }

    /// Forgets the values: something happened on the connection that is not understood.
    pub fn forget(&mut self) {
        self.values = None;
    }

    /// Records that the connection could not enter a schema, and may have left its own.
    pub fn is_astray(&mut self) {
        self.is_schema_known = false;
    }

    /// Returns what to send directly behind COM_RESET_CONNECTION, in the same write. A reset turns
    /// the trackers off, and gives MySQL the server's character sets instead of the handshake's.
    pub fn after_reset(&self) -> Vec<u8> {
        let mut text = Baseline::tracking(self.server()).into_bytes();
        for (name, value) in self.baseline.values() {
            text.push(b',');
            literal::assign(&mut text, name.as_bytes(), value);
        }
        text
    }

    /// COM_RESET_CONNECTION and [`Self::after_reset`] are on their way. If one of them is not answered
    /// with OK, the connection is of no more use. The servers keep the schema. But MariaDB sets
    /// `collation_database`, by which LOAD DATA reads its file, to the server's value, so the schema
    /// has to be entered again.
    pub fn reset(&mut self, table: &ValuesTable) {
        self.user_variables.clear();
        self.texts.clear();
        self.last_insert_id = LastInsertId::default();
        let schema = self.values.as_ref().map(|values| values.schema());
        self.is_schema_known &= match schema {
            None => false,
            Some(None) => true,
            Some(Some(_)) => matches!(self.server(), Server::MySql(_)),
        };
        let values = match schema.flatten() {
            Some(schema) => table.in_schema(schema),
            None => table.fresh(),
        };
        self.values = Some(values);
    }

    /// Applies the changes that the session has taken over from an answer on this connection. The connection may be in
    /// another schema than its session, after a statement ran that was prepared there.
    pub(super) fn follow(&mut self, table: &ValuesTable, before: &Rc<Values>, after: &Rc<Values>) {
        let Some(own) = &self.values else {
            return;
        };
        if Rc::ptr_eq(own, before) {
            self.values = Some(Rc::clone(after));
            return;
        }
        let mut values = Values::clone(own);
        differences(after, before, |name, value| match value {
            Some(value) => values.set(name, Rc::from(value)),
            None => values.unset(name),
        });
        self.values = Some(table.intern(values));
    }

    /// Whether the connection reads statements as UTF-8.
    pub(super) fn is_utf8(&self) -> bool {
        let set = self.values.as_ref();
        let client = set.and_then(|values| values.variable(b"character_set_client"));
        client.map_or(self.baseline.is_utf8(), |client| {
            client.starts_with(b"utf8")
        })
    }

    /// The connection's user variables that are not among these.
    pub(super) fn foreign<'a>(
        &'a self,
        own: &'a UserVariables,
    ) -> impl Iterator<Item = &'a Rc<[u8]>> {
        let all = self.user_variables.keys();
        all.filter(|name| own.value(name).is_none())
    }

    /// Whether a foreign variable has a value and a name that is not ASCII. A server may find it by another name.
    pub(super) fn has_foreign_wide(&self, own: &UserVariables) -> bool {
        let mut foreign = self.foreign(own);
        foreign.any(|name| !name.is_ascii() && !self.is_unset(name))
    }

    fn is_unset(&self, name: &[u8]) -> bool {
        let value = self.user_variables.get(name).and_then(Option::as_ref);
        value.is_some_and(|value| *value == UserValue::unset())
    }

    /// Whether the connection is in this schema.
    pub(super) fn is_in(&self, schema: Option<&[u8]>) -> bool {
        let own = self.values.as_ref().map(|values| values.schema());
        self.is_schema_known && own == Some(schema)
    }
}
