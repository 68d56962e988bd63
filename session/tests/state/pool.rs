//! A minimal pool: sessions share backend connections by the state model alone.

use std::rc::Rc;

use e2e::raw::{Login, command};
use e2e::{Product, Server};
use pilotfish_session::state::{
    Answer, Baseline, ConnectionState, Needs, Ran, Restoration, Rules, Seen, SessionState,
    StateQuery, ValuesTable, distance, drop_text, restoration, restored,
};
use sql::{Facts, Flags};
use wire::StatusFlags;

use super::line::{Heard, Line};

/// ER_BAD_DB_ERROR.
const UNKNOWN_SCHEMA: u16 = 1049;

/// A backend connection.
pub struct Backend {
    pub line: Line,
    pub state: ConnectionState,
    /// The session that holds it.
    pub holder: Option<usize>,
}

/// A pooled session.
pub struct Pooled {
    pub id: usize,
    pub state: SessionState,
    /// The index of the connection that the session holds.
    pub on: Option<usize>,
    facts: Facts,
}

/// The outcome of a statement.
#[allow(clippy::large_enum_variant)] // a test's, one at a time
pub enum Turn {
    /// The statement ran.
    Ran(Heard),
    /// The statement did not run: every connection is held, or the schema does not exist any more.
    Full,
}

pub struct Pool {
    pub table: ValuesTable,
    pub backends: Vec<Backend>,
    pub login: Login,
    /// The model's actions, printed if a test fails.
    pub log: Vec<String>,
    /// The number of restorations that assigned a value.
    pub restorations: usize,
    /// The number of text statements that were prepared again.
    pub texts_made: usize,
    server: &'static Server,
}

impl Pool {
    pub fn open(server: &'static Server, login: Login, count: usize) -> Self {
        let mut pool = Self {
            table: super::values_table(),
            backends: Vec::new(),
            login,
            log: Vec::new(),
            restorations: 0,
            texts_made: 0,
            server,
        };
        for _ in 0..count {
            let backend = pool.connect(&pool.login);
            pool.backends.push(backend);
        }
        pool
    }

    fn connect(&self, login: &Login) -> Backend {
        let mut line = Line::open(self.server, login);
        let reader = version(self.server.product);
        line.run(&Baseline::tracking(reader));
        let row = line.row(&Baseline::question());
        let row: Vec<Option<&[u8]>> = row.iter().map(Option::as_deref).collect();
        let baseline = Baseline::read(reader, &row).expect("as many as asked");
        let state = ConnectionState::new(Rc::new(baseline), self.values_of(login));
        Backend {
            line,
            state,
            holder: None,
        }
    }

    fn values_of(&self, login: &Login) -> Rc<pilotfish_session::state::Values> {
        match &login.schema {
            Some(schema) => self.table.in_schema(schema.as_bytes()),
            None => self.table.fresh(),
        }
    }

    pub fn session(&self, id: usize, rules: Rules) -> Pooled {
        let flags = Flags {
            server: version(self.server.product),
            ..Flags::default()
        };
        Pooled {
            id,
            state: SessionState::new(rules, self.values_of(&self.login), flags),
            on: None,
            facts: Facts::default(),
        }
    }

    /// Runs a statement on the connection that the session holds, or on the free one with the nearest state.
    pub fn run(&mut self, session: &mut Pooled, text: &[u8]) -> Turn {
        let flags = session.state.flags();
        session.facts.read(text, flags);
        let needs = Needs::of(&session.facts, text);
        let Some(on) = session.on.or_else(|| self.nearest(session)) else {
            return Turn::Full;
        };
        if needs.wants_texts() {
            self.settle_doubts(on, session);
        }
        let schema = session.state.visit_text(&self.table, &session.facts, text);
        let refused = self.make_texts(on, session, &needs);
        if let Some(heard) = refused.filter(|_| session.facts.kind == sql::StatementKind::Execute) {
            self.return_to(session, schema);
            // Servers sometimes execute a statement that was prepared in a schema that is dropped now.
            return match heard.error {
                Some(UNKNOWN_SCHEMA) => Turn::Full,
                _ => Turn::Ran(heard),
            };
        }
        if let Err(heard) = self.restore(on, session, &needs) {
            self.return_to(session, schema);
            assert_eq!(heard.error, Some(UNKNOWN_SCHEMA));
            return Turn::Full;
        }
        let backend = &mut self.backends[on];
        let heard = backend.line.query(text);
        let seen = Seen {
            ran: Ran::Statement,
            facts: &session.facts,
            text,
            changes: &heard.changes,
            tally: &heard.tally,
            error: heard.error,
        };
        session
            .state
            .observe(&mut backend.state, &self.table, &seen);
        self.log.push(format!(
            "session {} on {on}: {} -> {:?} {:?} pins [{}]",
            session.id,
            String::from_utf8_lossy(text),
            heard.error,
            heard.changes,
            session.state.pins(),
        ));
        session.on = Some(on);
        self.backends[on].holder = Some(session.id);
        self.return_to(session, schema);
        self.ask(on, session);
        if session.state.is_free() {
            session.on = None;
            self.backends[on].holder = None;
        }
        Turn::Ran(heard)
    }

    fn settle_doubts(&mut self, on: usize, session: &mut Pooled) {
        while let Some(state_query) = session.state.variables_query() {
            self.put(on, session, &state_query);
        }
    }

    fn return_to(&self, session: &mut Pooled, schema: Option<Rc<[u8]>>) {
        if let Some(schema) = schema {
            session.state.return_to(&self.table, &schema);
        }
    }

    /// Prepares the session's text statements on the connection, and drops those of other sessions.
    fn make_texts(&mut self, on: usize, session: &mut Pooled, needs: &Needs) -> Option<Heard> {
        if !needs.wants_texts() {
            return None;
        }
        let first = restoration(&session.state, &self.backends[on].state, needs);
        if matches!(first, Restoration::Reset | Restoration::Unfit)
            && let Err(heard) = self.restore(on, session, needs)
        {
            return Some(*heard);
        }
        let backend = &mut self.backends[on];
        for name in session.state.texts_to_hide(&backend.state, needs) {
            backend.line.query(&drop_text(&name));
            backend.state.text_is_gone(&name);
        }
        let mut refused = None;
        for text in session.state.texts_to_make(&backend.state, needs) {
            self.texts_made += 1;
            let then = session.state.values_to_prepare(&self.table, text.values());
            let now = session.state.swap_values(then);
            let equal = self.restore(on, session, &Needs::NONE);
            session.state.swap_values(now);
            if let Err(heard) = equal {
                refused = Some(*heard).filter(|_| needs.names_text(&text)).or(refused);
                continue;
            }
            let backend = &mut self.backends[on];
            let heard = backend.line.query(text.make());
            match heard.error {
                None => backend.state.text_is_made(&text),
                Some(_) => {
                    backend.state.text_is_gone(text.name());
                    refused = Some(heard).filter(|_| needs.names_text(&text)).or(refused);
                }
            }
        }
        refused
    }

    fn nearest(&self, session: &Pooled) -> Option<usize> {
        let free = self
            .backends
            .iter()
            .enumerate()
            .filter(|(_, b)| b.holder.is_none());
        let near = free.map(|(index, b)| (distance(&session.state, &b.state), index));
        near.min().map(|(_, index)| index)
    }

    /// Restores the session's state on a connection. Returns the server's error if the schema is dropped.
    fn restore(
        &mut self,
        on: usize,
        session: &mut Pooled,
        needs: &Needs,
    ) -> Result<(), Box<Heard>> {
        match restoration(&session.state, &self.backends[on].state, needs) {
            Restoration::Nothing => {
                let backend = &mut self.backends[on];
                let none = pilotfish_session::state::Changes::default();
                restored(&mut session.state, &mut backend.state, needs, &none).expect("nothing");
            }
            Restoration::Assign { schema, set, .. } => {
                self.restorations += 1;
                let shown = set.as_deref().map(String::from_utf8_lossy);
                self.log.push(format!(
                    "session {} restored on {on}: {schema:?} {shown:?}",
                    session.id
                ));
                let backend = &mut self.backends[on];
                let mut changes = pilotfish_session::state::Changes::default();
                if let Some(schema) = schema {
                    let heard = backend.line.command(command::INIT_DB, &schema);
                    if heard.error == Some(UNKNOWN_SCHEMA) {
                        return Err(Box::new(heard));
                    }
                    assert_eq!(heard.error, None, "the schema is there");
                }
                if let Some(set) = set {
                    let heard = backend.line.query(&set);
                    assert_eq!(heard.error, None, "{}", String::from_utf8_lossy(&set));
                    changes = heard.changes;
                }
                restored(&mut session.state, &mut backend.state, needs, &changes)
                    .expect("the values are taken");
            }
            Restoration::Reset => {
                self.log.push(format!("session {} resets {on}", session.id));
                let backend = &mut self.backends[on];
                assert_eq!(
                    backend.line.command(command::RESET_CONNECTION, b"").error,
                    None
                );
                let text = backend.state.after_reset();
                assert_eq!(backend.line.query(&text).error, None);
                backend.state.reset(&self.table);
                self.restore(on, session, needs)?;
            }
            Restoration::Unfit => {
                self.log
                    .push(format!("session {} reconnects {on}", session.id));
                // The session has no schema, and a connection cannot leave its schema.
                let mut login = self.login.clone();
                login.schema = None;
                self.backends[on] = self.connect(&login);
                self.restore(on, session, needs)?;
            }
        }
        Ok(())
    }

    /// Sends the state queries that may end the session's pins.
    fn ask(&mut self, on: usize, session: &mut Pooled) {
        for _ in 0..32 {
            let Some(state_query) = session.state.state_query(&self.backends[on].state) else {
                return;
            };
            self.put(on, session, &state_query);
        }
        panic!(
            "asked again and again: {:#?}",
            &self.log[self.log.len().saturating_sub(14)..]
        );
    }

    fn put(&mut self, on: usize, session: &mut Pooled, state_query: &StateQuery) {
        let backend = &mut self.backends[on];
        let heard = backend.line.query(state_query.text());
        let text = String::from_utf8_lossy(state_query.text()).into_owned();
        if heard.error.is_some() {
            return session.state.refused(state_query);
        }
        let row: Vec<Option<&[u8]>> = match heard.rows.first() {
            Some(row) => row.iter().map(Option::as_deref).collect(),
            None => Vec::new(),
        };
        let answer = Answer {
            status: heard.tally.status.unwrap_or(StatusFlags(0)),
            changes: &heard.changes,
            columns: &heard.columns,
            row: &row,
        };
        let table = &self.table;
        session
            .state
            .answer(&mut backend.state, table, state_query, &answer);
        self.log.push(format!(
            "session {} asked {text}: {:?} {:?}",
            session.id,
            heard.texts(),
            heard.changes
        ));
    }

    /// Ends the session.
    pub fn leave(&mut self, session: Pooled) {
        if let Some(on) = session.on {
            self.backends[on].state.forget();
            self.backends[on].holder = None;
            // A reset ends the pins of the connection.
            let backend = &mut self.backends[on];
            assert_eq!(
                backend.line.command(command::RESET_CONNECTION, b"").error,
                None
            );
            let text = backend.state.after_reset();
            assert_eq!(backend.line.query(&text).error, None);
            backend.state.reset(&self.table);
        }
    }
}

/// Returns the server version by which the parser reads statements for this product.
pub fn version(product: Product) -> sql::Server {
    match product {
        Product::MariaDb => sql::Server::MariaDb(101_100),
        Product::MariaDbNext => sql::Server::MariaDb(110_800),
        Product::MySql => sql::Server::MySql(90_700),
    }
}
