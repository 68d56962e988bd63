//! A session and a connection, and a scripted server whose replies the test gives.

use std::rc::Rc;

use pilotfish_session::Tally;
use pilotfish_session::state::{
    Answer, Baseline, Changes, ConnectionState, Mismatch, Needs, Ran, Restoration, Rules, Seen,
    SessionState, StateQuery, ValuesTable, restoration, restored,
};
use sql::{Facts, Server};
use wire::StatusFlags;
use wire::reply::OkPacket;

pub const MYSQL: Server = Server::MySql(90_700);
pub const MARIADB_10: Server = Server::MariaDb(101_119);
pub const MARIADB_11: Server = Server::MariaDb(110_809);

/// The values of a fresh connection, in the order of [`Baseline::question`].
pub fn baseline(server: Server) -> Rc<Baseline> {
    let row: Vec<Option<&[u8]>> = [
        "utf8mb4",
        "utf8mb4",
        "utf8mb4_general_ci",
        "STRICT",
        "1",
        "1",
        "1",
        "28800",
    ]
    .map(|value| Some(value.as_bytes()))
    .to_vec();
    Rc::new(Baseline::read(server, &row).expect("eight values"))
}

/// The server's reply to one exchange.
#[derive(Clone, Debug)]
pub struct Said {
    pub changes: Changes,
    pub tally: Tally,
    pub error: Option<u16>,
}

/// An OK with autocommit on and no open transaction.
pub fn ok() -> Said {
    let status = StatusFlags::AUTOCOMMIT;
    Said {
        changes: Changes::default(),
        tally: Tally {
            results: 1,
            ok: OkPacket {
                status,
                ..OkPacket::default()
            },
            status: Some(status),
            ..Tally::default()
        },
        error: None,
    }
}

/// A reply that is only this error.
pub fn err(number: u16) -> Said {
    Said {
        error: Some(number),
        tally: Tally::default(),
        ..ok()
    }
}

/// A result with this many rows.
pub fn rows(count: u64) -> Said {
    let mut said = ok();
    said.tally.had_rows = true;
    said.tally.rows = count;
    said
}

impl Said {
    /// Adds a session tracker that reports this variable, and the flag that state changed.
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.changes.variable(name.as_bytes(), value.as_bytes());
        self.changed()
    }

    pub fn schema(mut self, name: &str) -> Self {
        self.changes.schema(name.as_bytes());
        self.changed()
    }

    /// Attributes the changes that are added after this call to this result.
    pub fn with(mut self, result: u32) -> Self {
        self.changes.ends(result);
        self
    }

    pub fn changed(mut self) -> Self {
        self.changes.state_changed();
        self.status(StatusFlags::SESSION_STATE_CHANGED)
    }

    pub fn transaction(mut self, characteristics: &str) -> Self {
        self.changes
            .transaction_characteristics(characteristics.as_bytes());
        self.status(StatusFlags::SESSION_STATE_CHANGED)
    }

    pub fn status(mut self, more: StatusFlags) -> Self {
        let now = StatusFlags(self.tally.ok.status.0 | more.0);
        self.tally.ok.status = now;
        self.tally.status = Some(now);
        self
    }

    pub fn without_autocommit(mut self) -> Self {
        let now = StatusFlags(self.tally.ok.status.0 & !StatusFlags::AUTOCOMMIT.0);
        self.tally.ok.status = now;
        self.tally.status = Some(now);
        self
    }

    pub fn id(mut self, id: u64) -> Self {
        self.tally.ok.last_insert_id = id;
        self
    }

    pub fn affected(mut self, rows: u64) -> Self {
        self.tally.ok.affected_rows = rows;
        self
    }

    /// Sets the number of results before this one.
    pub fn results(mut self, count: u32) -> Self {
        self.tally.results = count;
        self
    }

    pub fn warnings(mut self, count: u16) -> Self {
        self.tally.warnings = count;
        self
    }
}

pub struct Stage {
    pub table: ValuesTable,
    pub baseline: Rc<Baseline>,
    pub session: SessionState,
    pub connection: ConnectionState,
}

impl Stage {
    pub fn new(server: Server) -> Self {
        Self::with(server, Rules::default())
    }

    pub fn with(server: Server, rules: Rules) -> Self {
        let table = super::values_table();
        let baseline = baseline(server);
        let session = SessionState::new(rules, table.fresh(), baseline.flags());
        let connection = ConnectionState::new(Rc::clone(&baseline), table.fresh());
        let mut stage = Self {
            table,
            baseline,
            session,
            connection,
        };
        stage.restore("").expect("nothing to do");
        stage
    }

    /// Runs a statement of the session, to which the server gives this reply.
    pub fn says(&mut self, text: &str, said: Said) -> &mut Self {
        let facts = sql::facts(text.as_bytes(), self.session.flags());
        self.ran(Ran::Statement, &facts, text, &said)
    }

    pub fn ran(&mut self, ran: Ran, facts: &Facts, text: &str, said: &Said) -> &mut Self {
        let seen = Seen {
            ran,
            facts,
            text: text.as_bytes(),
            changes: &said.changes,
            tally: &said.tally,
            error: said.error,
        };
        self.session
            .observe(&mut self.connection, &self.table, &seen);
        self
    }

    /// Moves the session to a fresh connection and returns the SET that restores it for this statement.
    pub fn moves(&mut self, text: &str) -> String {
        assert_eq!(self.pins(), "", "it is free to move");
        let values = self.table.fresh();
        self.connection = ConnectionState::new(Rc::clone(&self.baseline), values);
        self.set(text)
    }

    /// Gives the connection to another session.
    pub fn gives_way(&mut self) {
        let values = self.table.fresh();
        let flags = self.baseline.flags();
        self.session = SessionState::new(self.session.rules(), values, flags);
    }

    /// Returns the SET that restores the session's state on the connection for this statement;
    /// empty if none is needed.
    pub fn set(&self, text: &str) -> String {
        match restoration(&self.session, &self.connection, &self.needs(text)) {
            Restoration::Nothing => String::new(),
            Restoration::Assign {
                schema,
                leaves_first,
                set,
                ..
            } => {
                let first = if leaves_first {
                    "USE information_schema; "
                } else {
                    ""
                };
                let schema =
                    schema.map(|name| format!("{first}USE {}; ", String::from_utf8_lossy(&name)));
                let set = set.unwrap_or_default();
                schema.unwrap_or_default() + &String::from_utf8(set).expect("names are UTF-8")
            }
            other => format!("{other:?}"),
        }
    }

    pub fn restore(&mut self, text: &str) -> Result<(), Mismatch> {
        self.restore_as(text, &Changes::default())
    }

    pub fn restore_as(&mut self, text: &str, changes: &Changes) -> Result<(), Mismatch> {
        let needs = self.needs(text);
        restored(&mut self.session, &mut self.connection, &needs, changes)
    }

    fn needs(&self, text: &str) -> Needs {
        let facts = sql::facts(text.as_bytes(), self.session.flags());
        Needs::of(&facts, text.as_bytes())
    }

    /// Returns the names of the session's pins.
    pub fn pins(&self) -> String {
        self.session.pins().to_string()
    }

    /// Returns the proxy's state query; empty if there is none.
    pub fn asks(&self) -> String {
        let state_query = self.session.state_query(&self.connection);
        state_query.map_or_else(String::new, |state_query| {
            let text = String::from_utf8(state_query.text().to_vec()).expect("ASCII");
            // Each state query ends with it.
            match text.strip_suffix(" LIMIT 1") {
                Some(question) => question.to_owned(),
                None => text,
            }
        })
    }

    /// Gives the session the server's answer to the state query.
    pub fn hears(&mut self, said: &Said, cells: &[(u8, bool, Option<&str>)]) -> &mut Self {
        let state_query: StateQuery = self.session.state_query(&self.connection).expect("it asks");
        let columns = cells
            .iter()
            .map(|(code, is_unsigned, _)| pilotfish_session::state::Column {
                type_code: *code,
                is_unsigned: *is_unsigned,
            });
        let columns: Vec<_> = columns.collect();
        let row: Vec<_> = cells.iter().map(|cell| cell.2.map(str::as_bytes)).collect();
        let answer = Answer {
            status: said.tally.status.unwrap_or(StatusFlags(0)),
            changes: &said.changes,
            columns: &columns,
            row: &row,
        };
        self.session
            .answer(&mut self.connection, &self.table, &state_query, &answer);
        self
    }

    /// Answers the state query with an error.
    pub fn refused(&mut self) -> &mut Self {
        let state_query = self.session.state_query(&self.connection).expect("it asks");
        self.session.refused(&state_query);
        self
    }

    /// Like [`Self::hears`], with an OK and string columns only.
    pub fn hears_texts(&mut self, cells: &[&str]) -> &mut Self {
        let cells: Vec<_> = cells.iter().map(|text| (253, false, Some(*text))).collect();
        self.hears(&ok(), &cells)
    }
}
