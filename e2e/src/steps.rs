//! A session as a list of steps, so that the same session can be played at two places and compared step by step.

use std::collections::HashMap;
use std::fmt;

use crate::raw::{
    Address, Execute, Login, LoginFailure, Param, RawConn, Reply, Shape, Transcript, capability,
    command,
};

/// One thing that a client does.
#[derive(Clone, Debug)]
pub enum Step {
    /// A statement over the text protocol.
    Query(Vec<u8>),
    /// Several statements, all sent before the first reply is read.
    Queries(Vec<Vec<u8>>),
    /// COM_STMT_PREPARE. Later steps refer to the statement by this number.
    Prepare(usize, String),
    /// COM_STMT_EXECUTE.
    Execute(Execution),
    /// COM_STMT_SEND_LONG_DATA.
    LongData(usize, u16, Vec<u8>),
    /// COM_STMT_FETCH: this statement, so many rows.
    Fetch(usize, u32),
    /// COM_STMT_RESET.
    ResetStatement(usize),
    /// COM_STMT_CLOSE.
    CloseStatement(usize),
    /// COM_INIT_DB.
    InitDb(String),
    /// COM_FIELD_LIST.
    FieldList(String),
    /// COM_SET_OPTION.
    SetOption(u16),
    /// COM_PING.
    Ping,
    /// COM_RESET_CONNECTION.
    ResetConnection,
    /// COM_CHANGE_USER.
    ChangeUser(Login),
    /// Reads every session variable, except those that always differ.
    Variables,
    /// Whether CONNECTION_ID() equals the id in the greeting.
    ConnectionId,
    /// COM_QUIT, and a new connection.
    Reconnect(Login),
}

/// COM_STMT_EXECUTE, as a step.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The number of the statement.
    pub statement: usize,
    /// Its parameters.
    pub values: Vec<Value>,
    /// Whether the parameters' types are sent.
    pub types: Types,
    /// How the rows are sent.
    pub rows: Rows,
}

/// Whether types are sent along with parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// The types are sent.
    Sent,
    /// The types are not sent: the server knows them from the previous execution.
    Known,
}

/// How a result's rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All at once.
    AtOnce,
    /// By COM_STMT_FETCH.
    ByCursor,
}

/// A parameter that owns its value.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // as `Param`'s
pub enum Value {
    Null,
    Int(i64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Sent,
}

impl Value {
    fn as_param(&self) -> Param<'_> {
        match self {
            Self::Null => Param::Null,
            Self::Int(number) => Param::Int(*number),
            Self::Double(number) => Param::Double(*number),
            Self::Text(text) => Param::Text(text),
            Self::Bytes(bytes) => Param::Bytes(bytes),
            Self::Sent => Param::Sent,
        }
    }
}

impl Step {
    /// A statement.
    pub fn query(sql: impl Into<String>) -> Self {
        Self::Query(sql.into().into_bytes())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(sql) => write!(f, "{}", Shown(sql)),
            Self::Queries(all) => all
                .iter()
                .try_for_each(|sql| write!(f, "{} ⏵ ", Shown(sql))),
            Self::Prepare(statement, sql) => write!(f, "[prepare statement {statement}] {sql}"),
            Self::LongData(statement, parameter, bytes) => write!(
                f,
                "[long data] statement {statement}, parameter {parameter}, {} bytes",
                bytes.len()
            ),
            Self::ChangeUser(login) => {
                write!(f, "[change user] {} {:?}", login.user, login.schema)
            }
            Self::Reconnect(login) => write!(f, "[reconnect] {}", described(login)),
            other => write!(f, "[{other:?}]"),
        }
    }
}

/// Describes a login.
pub fn described(login: &Login) -> String {
    format!(
        "as {} to {:?}, capabilities {:#x}, collation {}, TLS {}, compression {}",
        login.user,
        login.schema,
        login.capabilities,
        login.collation,
        login.tls.is_some(),
        login.compress.is_some(),
    )
}

struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.0) {
            Ok(text) => f.write_str(text),
            Err(_) => write!(f, "b\"{}\"", self.0.escape_ascii()),
        }
    }
}

/// A client that plays steps.
#[derive(Debug)]
pub struct Player {
    address: Address,
    /// None after it was closed. The next reconnect opens a new one.
    conn: Option<RawConn>,
    /// Ids of the statements prepared in this session.
    statements: HashMap<usize, u32>,
}

impl Player {
    /// Logs in.
    pub fn connect(address: &Address, login: &Login) -> Result<Self, LoginFailure> {
        Ok(Self {
            address: address.clone(),
            conn: Some(RawConn::connect(address, login)?),
            statements: HashMap::new(),
        })
    }

    /// The connection, while it is open.
    pub fn conn(&mut self) -> Option<&mut RawConn> {
        self.conn.as_mut()
    }

    /// Plays one step. Returns the packets that were sent and received.
    pub fn play(&mut self, step: &Step) -> Transcript {
        if let Step::Reconnect(login) = step {
            return self.reconnect(login);
        }
        let Some(mut conn) = self.conn.take() else {
            return Transcript::of_closed();
        };
        let result = self.act(&mut conn, step);
        let transcript = conn.transcript();
        if result.is_ok() {
            self.conn = Some(conn);
        }
        transcript
    }

    fn reconnect(&mut self, login: &Login) -> Transcript {
        if let Some(conn) = self.conn.take() {
            conn.quit();
        }
        self.statements.clear();
        match RawConn::connect(&self.address, login) {
            Ok(conn) => {
                self.conn = Some(conn);
                noted("connected")
            }
            Err(error) => noted(error.to_string()),
        }
    }

    fn act(&mut self, conn: &mut RawConn, step: &Step) -> std::io::Result<()> {
        match step {
            Step::Query(sql) => exchange(conn, command::QUERY, sql).map(drop),
            // The numbers of compressed frames begin anew with each command, so the statements are sent one by one.
            Step::Queries(all) if conn.is_compressed() => all
                .iter()
                .try_for_each(|sql| exchange(conn, command::QUERY, sql).map(drop)),
            Step::Queries(all) => {
                for sql in all {
                    send(conn, command::QUERY, sql)?;
                }
                all.iter()
                    .try_for_each(|_| conn.try_reply(Shape::Results).map(drop))
            }
            Step::Prepare(statement, sql) => self.prepare(conn, *statement, sql),
            Step::Execute(execution) => {
                let payload = self.execution(conn, execution);
                conn.try_send(&payload)?;
                conn.try_reply(Shape::Results).map(drop)
            }
            Step::LongData(statement, parameter, bytes) => {
                conn.send_long_data(self.id(*statement), *parameter, bytes);
                Ok(())
            }
            Step::Fetch(statement, rows) => {
                let id = self.id(*statement).to_le_bytes();
                conn.try_send(&[&[command::STMT_FETCH], &id[..], &rows.to_le_bytes()].concat())?;
                conn.try_reply(Shape::Rows).map(drop)
            }
            Step::ResetStatement(statement) => {
                let id = self.id(*statement).to_le_bytes();
                exchange(conn, command::STMT_RESET, &id).map(drop)
            }
            Step::CloseStatement(statement) => {
                conn.close_statement(self.id(*statement));
                Ok(())
            }
            Step::InitDb(schema) => exchange(conn, command::INIT_DB, schema.as_bytes()).map(drop),
            Step::FieldList(table) => {
                conn.try_send(format!("\x04{table}\0").as_bytes())?;
                conn.try_reply(Shape::Columns).map(drop)
            }
            Step::SetOption(option) => {
                exchange(conn, command::SET_OPTION, &option.to_le_bytes()).map(drop)
            }
            Step::Ping => exchange(conn, command::PING, b"").map(drop),
            Step::ResetConnection => {
                self.statements.clear();
                exchange(conn, command::RESET_CONNECTION, b"").map(drop)
            }
            Step::ChangeUser(login) => self.change_user(conn, login),
            Step::Variables => note_variables(conn),
            Step::ConnectionId => connection_id(conn),
            Step::Reconnect(_) => unreachable!("it has no connection to act on"),
        }
    }

    fn prepare(&mut self, conn: &mut RawConn, number: usize, sql: &str) -> std::io::Result<()> {
        conn.try_send(&[&[command::STMT_PREPARE], sql.as_bytes()].concat())?;
        let reply = conn.try_reply(Shape::Prepared)?;
        if reply.error().is_none() {
            self.statements.insert(number, reply.statement());
        }
        Ok(())
    }

    fn execution(&self, conn: &RawConn, execution: &Execution) -> Vec<u8> {
        let params: Vec<Param<'_>> = execution.values.iter().map(Value::as_param).collect();
        let mut execute = Execute::new(self.id(execution.statement), &params);
        if execution.types == Types::Known {
            execute = execute.without_types();
        }
        if execution.rows == Rows::ByCursor {
            execute = execute.cursor();
        }
        execute.payload(conn)
    }

    /// A statement's id. If the statement was not prepared: an id that no statement has.
    fn id(&self, statement: usize) -> u32 {
        let nobodys = 1_000_000_000 + u32::try_from(statement).expect("few statements");
        let known = self.statements.get(&statement);
        known.copied().unwrap_or(nobodys)
    }

    fn change_user(&mut self, conn: &mut RawConn, login: &Login) -> std::io::Result<()> {
        self.statements.clear();
        match conn.change_user(login) {
            Ok(()) | Err(LoginFailure::Refused(_)) => Ok(()),
            Err(LoginFailure::Broken(error)) => Err(error),
        }
    }
}

fn noted(text: impl Into<String>) -> Transcript {
    let mut transcript = Transcript::default();
    transcript.note(text);
    transcript
}

fn send(conn: &mut RawConn, byte: u8, argument: &[u8]) -> std::io::Result<()> {
    let mut payload = vec![byte];
    if byte == command::QUERY && conn.can(capability::QUERY_ATTRIBUTES) {
        payload.extend([0, 1]);
    }
    payload.extend(argument);
    conn.try_send(&payload)
}

fn exchange(conn: &mut RawConn, byte: u8, argument: &[u8]) -> std::io::Result<Reply> {
    send(conn, byte, argument)?;
    conn.try_reply(Shape::Results)
}

/// Session variables that differ between sessions or change with time. The warning count is that of the previous
/// statement, which may be one of the proxy's own statements.
const DIFFER_BY_NATURE: &[&str] = &[
    "pseudo_thread_id",
    "timestamp",
    "error_count",
    "warning_count",
    "statement_id",
    "rand_seed1",
    "rand_seed2",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_owned",
    "gtid_purged",
    "last_gtid",
];

/// Records every session variable in the transcript, except those that always differ.
pub fn note_variables(conn: &mut RawConn) -> std::io::Result<()> {
    let reply = conn.unrecorded(|conn| {
        conn.send_query("SHOW SESSION VARIABLES")?;
        conn.try_reply(Shape::Results)
    })?;
    let mut transcript = conn.transcript();
    if let Some(error) = reply.error() {
        transcript.note(format!("SHOW SESSION VARIABLES: {error}"));
    }
    for row in reply.texts() {
        if !DIFFER_BY_NATURE.contains(&row[0].as_str()) {
            transcript.note(row.join(" = "));
        }
    }
    conn.continue_transcript(transcript);
    Ok(())
}

fn connection_id(conn: &mut RawConn) -> std::io::Result<()> {
    let reply = conn.unrecorded(|conn| {
        conn.send_query("SELECT CONNECTION_ID(), @@pseudo_thread_id")?;
        conn.try_reply(Shape::Results)
    })?;
    let ids = reply.texts().concat();
    let own = conn.id.to_string();
    let mut transcript = conn.transcript();
    transcript.note(format!(
        "{:?}",
        ids.iter().map(|id| *id == own).collect::<Vec<_>>()
    ));
    conn.continue_transcript(transcript);
    Ok(())
}
