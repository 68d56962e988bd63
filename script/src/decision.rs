//! Hooks, their decisions, the wishes they wait for, and the facts that they get about replies.

use std::fmt;
use std::time::Duration;

use mlua::{IntoLuaMulti, Lua, LuaString, Table};

use crate::answer::Answer;
use crate::parameters::Parameters;

/// A hook, named for its occasion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// A backend must be chosen.
    ConnectServer,
    /// The backend has sent its greeting.
    ReadHandshake,
    /// The client has answered the greeting.
    ReadAuth,
    /// The backend has answered the client's login.
    ReadAuthResult,
    /// The client has sent a command.
    ReadQuery,
    /// The reply to the script's command has arrived.
    ReadQueryResult,
    /// The session ends.
    DisconnectClient,
}

impl Hook {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ConnectServer,
        Self::ReadHandshake,
        Self::ReadAuth,
        Self::ReadAuthResult,
        Self::ReadQuery,
        Self::ReadQueryResult,
        Self::DisconnectClient,
    ];

    /// The name of the global function that a script defines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectServer => "connect_server",
            Self::ReadHandshake => "read_handshake",
            Self::ReadAuth => "read_auth",
            Self::ReadAuthResult => "read_auth_result",
            Self::ReadQuery => "read_query",
            Self::ReadQueryResult => "read_query_result",
            Self::DisconnectClient => "disconnect_client",
        }
    }
}

/// A hook's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decision {
    /// No decision: the proxy acts as without the hook.
    #[default]
    Nothing,
    /// `PROXY_SEND_QUERY`.
    SendQuery,
    /// `PROXY_SEND_RESULT`.
    SendResult,
    /// `PROXY_IGNORE_RESULT`.
    IgnoreResult,
    /// A number without a meaning.
    Unknown(i64),
    /// None yet: the hook waits for the wish of [`Session::take_wish`](crate::Session::take_wish).
    Waits,
}

impl Decision {
    pub(crate) fn of(number: f64) -> Self {
        match number as i64 {
            0 => Self::Nothing,
            1 => Self::SendQuery,
            2 => Self::SendResult,
            4 => Self::IgnoreResult,
            other => Self::Unknown(other),
        }
    }
}

/// The name that scripts use.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing | Self::Waits => f.write_str("nothing"),
            Self::SendQuery => f.write_str("proxy.PROXY_SEND_QUERY"),
            Self::SendResult => f.write_str("proxy.PROXY_SEND_RESULT"),
            Self::IgnoreResult => f.write_str("proxy.PROXY_IGNORE_RESULT"),
            Self::Unknown(number) => write!(f, "{number}"),
        }
    }
}

/// A script's move of the session's backend connection. The session carries out moves in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The connection is released to its pool.
    Park(u64),
    /// An idle connection becomes the session's.
    Take(u64),
    /// An idle connection is closed, because the pool has too many.
    Close(u64),
    /// A session that gets a connection for each command gets it from this backend from now on; from 1; 0: any.
    Choose(usize),
}

/// A command that the script sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The command's payload.
    pub payload: Vec<u8>,
    /// Whether the script wants to see the reply: it is kept until then.
    pub is_kept: bool,
    /// The route, as a hint; `None`: the route of all commands that are sent for the client's command.
    pub route: Option<Box<[u8]>>,
}

/// A request for which a hook waits.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// `pilotfish.sleep`.
    Sleep(Duration),
    /// `pilotfish.query`.
    Query(ScriptQuery),
}

/// A statement that a script runs by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptQuery {
    /// Its text.
    pub text: Vec<u8>,
    /// The route, as a hint; `None`: the statement runs in the session itself.
    pub hint: Option<Box<[u8]>>,
    /// If given, the statement is prepared, and executed once with these values.
    pub parameters: Option<Parameters>,
}

/// The outcome of a [`Wish`].
#[derive(Debug)]
pub enum WishOutcome {
    /// The time is over.
    Time,
    /// The statement's reply.
    Reply(Box<ReplyFacts>, Answer),
    /// The statement was not run, or its reply is not available: the error's text and number for the script.
    Refusal(String, u16),
}

/// Facts about the reply to an injected command.
#[derive(Debug, Clone, Default)]
pub struct ReplyFacts {
    /// 0 for OK and results, 255 for ERR; `None` while it cannot be known.
    pub query_status: Option<u8>,
    /// The affected rows of an OK.
    pub affected_rows: Option<u64>,
    /// The last insert id of an OK.
    pub insert_id: Option<u64>,
    /// Warnings of the last OK or EOF.
    pub warnings: u16,
    /// Rows of all results.
    pub rows: u64,
    /// Bytes of the rows' packets, including headers.
    pub bytes: u64,
    /// Status flags of the last OK or EOF.
    pub status: u16,
    /// Whether rows are in the binary protocol.
    pub is_binary: bool,
    /// When the first packet arrived, by [`Scripts::now`](crate::Scripts::now), in microseconds.
    pub first_at: f64,
    /// When the last packet arrived, in microseconds.
    pub last_at: f64,
}

impl Wish {
    pub(crate) fn read(wish: &Table) -> Option<Self> {
        let kind = wish.raw_get::<LuaString>(1).ok()?;
        match &*kind.as_bytes() {
            b"sleep" => {
                let seconds = wish.raw_get::<f64>(2).ok()?;
                Some(Self::Sleep(Duration::try_from_secs_f64(seconds).ok()?))
            }
            b"query" => {
                let text = wish.raw_get::<LuaString>(2).ok()?;
                let place = wish.raw_get::<Option<LuaString>>(3).ok()?;
                let parameters = wish.raw_get::<Option<Table>>(4).ok()?;
                Some(Self::Query(ScriptQuery {
                    text: text.as_bytes().to_vec(),
                    hint: place.map(|hint| hint.as_bytes().as_ref().into()),
                    parameters: match parameters {
                        Some(list) => Some(Parameters::read(&list)?),
                        None => None,
                    },
                }))
            }
            _ => None,
        }
    }
}

impl Move {
    pub(crate) fn read(entry: &Table) -> Option<Self> {
        let id = entry.raw_get("id").ok()?;
        let what = entry.raw_get::<LuaString>("what").ok()?;
        match &*what.as_bytes() {
            b"park" => Some(Self::Park(id)),
            b"take" => Some(Self::Take(id)),
            b"close" => Some(Self::Close(id)),
            b"choose" => Some(Self::Choose(usize::try_from(id).ok()?)),
            _ => None,
        }
    }
}

impl ReplyFacts {
    /// The arguments for `M.injection`.
    pub(crate) fn arguments(
        &self,
        lua: &Lua,
        answer: Option<Answer>,
    ) -> mlua::Result<impl IntoLuaMulti + use<>> {
        let answer = answer.map(|answer| lua.create_userdata(answer));
        Ok((
            self.query_status,
            self.affected_rows.map(|count| count as f64),
            self.insert_id.map(|id| id as f64),
            self.warnings,
            self.rows as f64,
            self.bytes as f64,
            self.status,
            self.is_binary,
            self.first_at,
            self.last_at,
            answer.transpose()?,
        ))
    }
}
