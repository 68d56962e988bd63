//! The state model against a naive model of servers: sessions run random statements on few
//! connections, and no session sees the value of another.
//!
//! The naive server keeps the state of each connection as a real server does, reports changes in its session
//! trackers, and reads the SET statements of the proxy. Each session has a twin that runs alone.

use std::collections::{BTreeMap, BTreeSet};

use super::stage::{MARIADB_10, MARIADB_11, MYSQL, Said, baseline, err, ok, rows};
use pilotfish_session::state::{
    Answer, Changes, Column, ConnectionState, Needs, Ran, Restoration, Rules, Seen, SessionState,
    ValuesTable, distance, restoration, restored,
};
use proptest::prelude::*;
use wire::StatusFlags;

/// Variables with their values after login.
const VARIABLES: [(&str, &str); 4] = [
    ("sort_buffer_size", "262144"),
    ("time_zone", "SYSTEM"),
    ("foreign_key_checks", "ON"),
    ("unique_checks", "ON"),
];
const USER_VARIABLES: [&str; 3] = ["a", "b", "c"];
const SCHEMAS: [&str; 2] = ["one", "two"];
const TABLES: [&str; 2] = ["s", "t"];

/// The state that a server keeps for one connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct Kept {
    schema: Option<String>,
    variables: BTreeMap<String, String>,
    user_variables: BTreeMap<String, String>,
    temporary: BTreeSet<(String, String)>,
    in_transaction: bool,
    /// Variables that changed and were not reported yet, because an error came in between.
    untold: Vec<String>,
    is_state_untold: bool,
}

impl Kept {
    fn fresh() -> Self {
        let variables = VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            schema: Some("one".to_owned()),
            variables: variables.into(),
            ..Self::default()
        }
    }

    /// Returns the state that the session can see: without user variables that are NULL.
    fn seen(&self) -> Self {
        let user_variables = self.user_variables.iter();
        let set = user_variables.filter(|(_, value)| *value != "NULL");
        Self {
            user_variables: set.map(|(k, v)| (k.clone(), v.clone())).collect(),
            untold: Vec::new(),
            is_state_untold: false,
            ..self.clone()
        }
    }
}

/// A statement of a session.
#[derive(Clone, Debug)]
enum Does {
    Set(usize, u8),
    SetByExpression(usize, u8),
    SetTwo(u8, u8),
    SetUser(usize, u8),
    SetUserNull(usize),
    SelectUser(usize, u8),
    ReadUsers,
    Use(usize),
    CreateTemporary(usize),
    DropTemporary(usize),
    Begin,
    Commit,
    /// A trigger sets a user variable and a system variable; the statement fails if the flag says so.
    Triggered(usize, u8, bool),
    Fails,
    /// A command of two statements of which the second one fails.
    HalfFails(usize, u8),
    Call,
    Ends,
}

fn does() -> impl Strategy<Value = Does> {
    prop_oneof![
        4 => (0..4usize, 0..3u8).prop_map(|(v, n)| Does::Set(v, n)),
        2 => (0..4usize, 0..3u8).prop_map(|(v, n)| Does::SetByExpression(v, n)),
        2 => (0..2u8, 0..2u8).prop_map(|(a, b)| Does::SetTwo(a, b)),
        4 => (0..3usize, 0..3u8).prop_map(|(v, n)| Does::SetUser(v, n)),
        1 => (0..3usize).prop_map(Does::SetUserNull),
        2 => (0..3usize, 0..3u8).prop_map(|(v, n)| Does::SelectUser(v, n)),
        4 => Just(Does::ReadUsers),
        2 => (0..2usize).prop_map(Does::Use),
        1 => (0..2usize).prop_map(Does::CreateTemporary),
        2 => (0..2usize).prop_map(Does::DropTemporary),
        1 => Just(Does::Begin),
        2 => Just(Does::Commit),
        1 => (0..3usize, 0..3u8, any::<bool>()).prop_map(|(v, n, e)| Does::Triggered(v, n, e)),
        2 => Just(Does::Fails),
        1 => (0..3usize, 0..3u8).prop_map(|(v, n)| Does::HalfFails(v, n)),
        1 => Just(Does::Call),
        1 => Just(Does::Ends),
    ]
}

/// The `n`th value that tests give a variable.
fn value(variable: usize, n: u8) -> String {
    match variable {
        0 => format!("{}", 65536 + u32::from(n)),
        1 => format!("+0{n}:00"),
        _ => ["ON", "OFF", "ON"][usize::from(n)].to_owned(),
    }
}

struct World {
    server: sql::Server,
    table: ValuesTable,
    connections: Vec<(ConnectionState, Kept, Option<usize>)>,
    sessions: Vec<(SessionState, Kept, Option<usize>)>,
    ran: usize,
}

impl World {
    fn new(server: sql::Server, sessions: usize, connections: usize) -> Self {
        let table = super::values_table();
        let mut world = Self {
            server,
            connections: Vec::new(),
            sessions: Vec::new(),
            ran: 0,
            table,
        };
        for _ in 0..connections {
            let values = world.table.in_schema(b"one");
            let state = ConnectionState::new(baseline(server), values);
            world.connections.push((state, Kept::fresh(), None));
        }
        for _ in 0..sessions {
            let session = world.session();
            world.sessions.push(session);
        }
        world
    }

    fn session(&self) -> (SessionState, Kept, Option<usize>) {
        let values = self.table.in_schema(b"one");
        let flags = baseline(self.server).flags();
        (
            SessionState::new(Rules::default(), values, flags),
            Kept::fresh(),
            None,
        )
    }

    /// Runs one statement of one session, if there is a connection for it.
    fn step(&mut self, id: usize, what: &Does) {
        if matches!(what, Does::Ends) {
            return self.end(id);
        }
        let free = (0..self.connections.len()).filter(|at| self.connections[*at].2.is_none());
        let near = free.min_by_key(|at| distance(&self.sessions[id].0, &self.connections[*at].0));
        let Some(at) = self.sessions[id].2.or(near) else {
            return;
        };
        self.ran += 1;
        let text = text_of(what);
        let facts = sql::facts(text.as_bytes(), self.sessions[id].0.flags());
        let needs = Needs::of(&facts, text.as_bytes());
        self.restore(id, at, &needs);
        let (session, twin, on) = &mut self.sessions[id];
        let (state, kept, holder) = &mut self.connections[at];
        assert_visible(twin, kept, what);
        let said = execute(self.server, kept, what);
        // The twin has a connection of its own, so it has no unreported changes.
        let mut alone = twin.clone();
        alone.untold.clear();
        execute(self.server, &mut alone, what);
        *twin = alone.seen();
        let seen = Seen {
            ran: Ran::Statement,
            facts: &facts,
            text: text.as_bytes(),
            changes: &said.changes,
            tally: &said.tally,
            error: said.error,
        };
        session.observe(state, &self.table, &seen);
        (*on, *holder) = (Some(at), Some(id));
        self.ask(id, at);
        if self.sessions[id].0.is_free() {
            self.sessions[id].2 = None;
            self.connections[at].2 = None;
        }
    }

    fn restore(&mut self, id: usize, at: usize, needs: &Needs) {
        let (session, ..) = &mut self.sessions[id];
        let (state, kept, _) = &mut self.connections[at];
        let mut changes = Changes::default();
        match restoration(session, state, needs) {
            Restoration::Nothing => {}
            Restoration::Assign { schema, set, .. } => {
                if let Some(schema) = schema {
                    kept.schema = Some(String::from_utf8(schema.to_vec()).expect("ASCII"));
                }
                let set = set.unwrap_or_default();
                assign(
                    kept,
                    std::str::from_utf8(&set).expect("ASCII"),
                    &mut changes,
                );
            }
            Restoration::Reset => {
                kept.variables = Kept::fresh().variables;
                kept.user_variables.clear();
                kept.temporary.clear();
                kept.in_transaction = false;
                kept.untold.clear();
                kept.is_state_untold = false;
                state.reset(&self.table);
                return self.restore(id, at, needs);
            }
            Restoration::Unfit => unreachable!("every session has a schema"),
        }
        restored(session, state, needs, &changes).expect("the values are taken");
    }

    fn ask(&mut self, id: usize, at: usize) {
        let (session, ..) = &mut self.sessions[id];
        let (state, kept, _) = &mut self.connections[at];
        for _ in 0..6 {
            let Some(state_query) = session.state_query(state) else {
                return;
            };
            let text = String::from_utf8(state_query.text().to_vec()).expect("ASCII");
            let (said, cells) = answer(self.server, kept, &text);
            let columns: Vec<Column> = cells
                .iter()
                .map(|(code, _)| Column {
                    type_code: *code,
                    is_unsigned: false,
                })
                .collect();
            let row: Vec<Option<&[u8]>> = cells
                .iter()
                .map(|(_, cell)| cell.as_deref().map(str::as_bytes))
                .collect();
            let answer = Answer {
                status: said.tally.status.expect("OK"),
                changes: &said.changes,
                columns: &columns,
                row: &row,
            };
            session.answer(state, &self.table, &state_query, &answer);
        }
        panic!("asked again and again");
    }

    fn end(&mut self, id: usize) {
        if let Some(at) = self.sessions[id].2 {
            let (state, _, holder) = &mut self.connections[at];
            state.forget();
            *holder = None;
            let schema = self.connections[at].1.schema.clone();
            let (state, kept, _) = &mut self.connections[at];
            state.reset(&self.table);
            *kept = Kept {
                schema,
                ..Kept::fresh()
            };
        }
        self.sessions[id] = self.session();
    }
}

/// Asserts that a session sees on a connection the same state as its twin, except for the user
/// variables that the statement does not mention.
fn assert_visible(twin: &Kept, kept: &Kept, what: &Does) {
    let (mut twin, mut kept) = (twin.clone(), kept.seen());
    let mentioned = mentioned(what);
    twin.user_variables
        .retain(|name, _| mentioned.contains(&&**name));
    kept.user_variables
        .retain(|name, _| mentioned.contains(&&**name));
    assert_eq!(twin, kept, "before {what:?}");
}

fn mentioned(what: &Does) -> Vec<&'static str> {
    match what {
        Does::SetUser(v, _)
        | Does::SetUserNull(v)
        | Does::SelectUser(v, _)
        | Does::HalfFails(v, _) => {
            vec![USER_VARIABLES[*v]]
        }
        Does::ReadUsers | Does::Triggered(..) | Does::Call => USER_VARIABLES.to_vec(),
        _ => vec![],
    }
}

fn text_of(what: &Does) -> String {
    match what {
        Does::Set(v, n) => format!("SET {} = '{}'", VARIABLES[*v].0, value(*v, *n)),
        Does::SetByExpression(v, _) => {
            format!("SET SESSION {} = CONCAT(@@version, '')", VARIABLES[*v].0)
        }
        Does::SetTwo(a, b) => format!(
            "SET foreign_key_checks = {}, @@unique_checks = {}",
            value(2, *a),
            value(3, *b)
        ),
        Does::SetUser(v, n) => format!("SET @{} = {n}", USER_VARIABLES[*v]),
        Does::SetUserNull(v) => format!("SET @{} = NULL", USER_VARIABLES[*v]),
        Does::SelectUser(v, n) => format!("SELECT @{} := {n} + 0", USER_VARIABLES[*v]),
        Does::ReadUsers => "SELECT @a, @b, @c".to_owned(),
        Does::Use(s) => format!("USE {}", SCHEMAS[*s]),
        Does::CreateTemporary(t) => format!("CREATE TEMPORARY TABLE {} (x INT)", TABLES[*t]),
        Does::DropTemporary(t) => format!("DROP TABLE {}", TABLES[*t]),
        Does::Begin => "BEGIN".to_owned(),
        Does::Commit => "COMMIT".to_owned(),
        Does::Triggered(..) => "INSERT INTO triggered VALUES ('x')".to_owned(),
        Does::Fails => "SELECT nosuch FROM t".to_owned(),
        Does::HalfFails(v, n) => format!("SET @{} = {n}; SELECT nosuch", USER_VARIABLES[*v]),
        Does::Call => "CALL p()".to_owned(),
        Does::Ends => String::new(),
    }
}

/// Executes a statement on the naive server and returns the reply.
fn execute(server: sql::Server, kept: &mut Kept, what: &Does) -> Said {
    let mut names = Vec::new();
    let mut is_changed = true;
    let mut said = ok();
    match what {
        Does::Set(v, n) | Does::SetByExpression(v, n) => {
            kept.variables
                .insert(VARIABLES[*v].0.to_owned(), value(*v, *n));
            names.push(VARIABLES[*v].0.to_owned());
        }
        Does::SetTwo(a, b) => {
            for (variable, n) in [(2, a), (3, b)] {
                kept.variables
                    .insert(VARIABLES[variable].0.to_owned(), value(variable, *n));
                names.push(VARIABLES[variable].0.to_owned());
            }
        }
        Does::SetUser(v, n) => {
            kept.user_variables
                .insert(USER_VARIABLES[*v].to_owned(), n.to_string());
        }
        Does::SetUserNull(v) => {
            kept.user_variables
                .insert(USER_VARIABLES[*v].to_owned(), "NULL".to_owned());
        }
        Does::SelectUser(v, n) => {
            kept.user_variables
                .insert(USER_VARIABLES[*v].to_owned(), n.to_string());
            is_changed = false;
            said = rows(1);
        }
        Does::ReadUsers => {
            is_changed = false;
            said = rows(1);
        }
        Does::Use(s) => {
            kept.schema = Some(SCHEMAS[*s].to_owned());
            said.changes.schema(SCHEMAS[*s].as_bytes());
        }
        Does::CreateTemporary(t) => {
            let table = (
                kept.schema.clone().unwrap_or_default(),
                TABLES[*t].to_owned(),
            );
            if !kept.temporary.insert(table) {
                return err(1050);
            }
        }
        Does::DropTemporary(t) => {
            let table = (
                kept.schema.clone().unwrap_or_default(),
                TABLES[*t].to_owned(),
            );
            if !kept.temporary.remove(&table) {
                return err(1051);
            }
        }
        Does::Begin => {
            kept.in_transaction = true;
            is_changed = false;
        }
        Does::Commit => {
            kept.in_transaction = false;
            is_changed = false;
        }
        Does::Triggered(v, n, fails) => {
            kept.user_variables
                .insert(USER_VARIABLES[*v].to_owned(), n.to_string());
            kept.variables.insert("time_zone".to_owned(), value(1, *n));
            kept.is_state_untold = true;
            kept.untold.push("time_zone".to_owned());
            if *fails {
                return err(1062);
            }
        }
        Does::Fails => return err(1054),
        Does::HalfFails(v, n) => {
            kept.user_variables
                .insert(USER_VARIABLES[*v].to_owned(), n.to_string());
            said = err(1054);
            said.changes.state_changed();
            return said;
        }
        Does::Call => {
            // SELECT … INTO reports no change.
            kept.user_variables
                .insert(USER_VARIABLES[0].to_owned(), "9".to_owned());
            is_changed = false;
        }
        Does::Ends => is_changed = false,
    }
    finish(server, kept, said, names, is_changed)
}

/// Adds the session trackers to an OK.
fn finish(
    server: sql::Server,
    kept: &mut Kept,
    mut said: Said,
    names: Vec<String>,
    is_changed: bool,
) -> Said {
    let is_mysql = matches!(server, sql::Server::MySql(_));
    let tells = is_mysql || is_changed || !names.is_empty();
    if tells {
        let untold = std::mem::take(&mut kept.untold);
        for name in untold.into_iter().chain(names) {
            // MariaDB 11 reports one of these two variables under the name of the other.
            let is_confused = server == MARIADB_11 && name == "unique_checks";
            let name = if is_confused {
                "foreign_key_checks"
            } else {
                &name
            };
            said.changes
                .variable(name.as_bytes(), kept.variables[name].as_bytes());
        }
        if is_changed || std::mem::take(&mut kept.is_state_untold) {
            said = said.changed();
        }
    }
    match kept.in_transaction {
        true => said.status(StatusFlags::IN_TRANS),
        false => said,
    }
}

/// Returns the naive server's answer to a state query of the proxy.
fn answer(server: sql::Server, kept: &mut Kept, text: &str) -> (Said, Vec<(u8, Option<String>)>) {
    if text.starts_with("SHOW CREATE PROCEDURE ") {
        let body = format!(
            "CREATE PROCEDURE `p`() SELECT 9 INTO @{}",
            USER_VARIABLES[0]
        );
        let cells = ["p", "", &body].map(|cell| (253, Some(cell.to_owned())));
        let said = finish(server, kept, rows(1), Vec::new(), false);
        return (said, cells.into());
    }
    if !text.starts_with("SELECT ") {
        // Only MariaDB needs something to tell; a transaction's end is.
        let is_telling = text.starts_with("BEGIN NOT ATOMIC");
        assert!(!(is_telling && kept.in_transaction), "that would commit");
        let is_state = kept.is_state_untold;
        let mut said = finish(server, kept, ok(), Vec::new(), false);
        if is_telling {
            for name in std::mem::take(&mut kept.untold) {
                said.changes
                    .variable(name.as_bytes(), kept.variables[&name].as_bytes());
            }
            kept.is_state_untold = false;
            if is_state {
                said = said.changed();
            }
        }
        return (said, Vec::new());
    }
    let mut cells = Vec::new();
    let asked = text.strip_suffix(" LIMIT 1").expect("it asks for one row");
    for asked in asked["SELECT ".len()..].split(',') {
        if let Some(name) = asked.strip_prefix("@@session.") {
            let value = kept.variables.get(name).cloned().unwrap_or_default();
            let value = match &*value {
                "ON" => "1".to_owned(),
                "OFF" => "0".to_owned(),
                _ => value,
            };
            cells.push((253, Some(value)));
        } else if asked == "LAST_INSERT_ID()" {
            cells.push((8, Some("0".to_owned())));
        } else if asked.starts_with("COLLATION(") {
            cells.push((253, Some("binary".to_owned())));
        } else {
            let name = asked.split('`').nth(1).expect("a user variable");
            let value = kept
                .user_variables
                .get(name)
                .filter(|value| *value != "NULL");
            let code = if asked.starts_with("HEX(") { 253 } else { 8 };
            cells.push((code, value.cloned()));
        }
    }
    (finish(server, kept, rows(1), Vec::new(), false), cells)
}

/// Applies a SET of the proxy that restores a session.
fn assign(kept: &mut Kept, set: &str, changes: &mut Changes) {
    let Some(list) = set.strip_prefix("SET ") else {
        return assert_eq!(set, "");
    };
    for assignment in list.split(',') {
        let (name, literal) = assignment.split_once('=').expect("an assignment");
        if let Some(name) = name.strip_prefix("@`") {
            let name = name.trim_end_matches('`').to_owned();
            kept.user_variables.insert(name, literal.to_owned());
            continue;
        }
        let name = name.strip_prefix("SESSION ").expect("a session variable");
        if name == "last_insert_id" {
            continue;
        }
        let fresh = || Kept::fresh().variables[name].clone();
        let value = match literal {
            "DEFAULT" => fresh(),
            hex if hex.starts_with("0x") => {
                let bytes = (2..hex.len())
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16));
                String::from_utf8(bytes.map(|byte| byte.expect("hex")).collect()).expect("text")
            }
            number => number.to_owned(),
        };
        changes.variable(name.as_bytes(), value.as_bytes());
        kept.variables.insert(name.to_owned(), value);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn sessions_on_shared_connections_see_only_their_own_values(
        server in prop_oneof![Just(MYSQL), Just(MARIADB_10), Just(MARIADB_11)],
        steps in prop::collection::vec((0..5usize, does()), 1..120),
    ) {
        let mut world = World::new(server, 5, 3);
        for (id, what) in &steps {
            world.step(*id, what);
        }
        prop_assert!(world.ran <= steps.len());
    }
}
