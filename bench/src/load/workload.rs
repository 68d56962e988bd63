//! What a session does over and over. Real servers and the minimal backend understand the same
//! statements, and each reply carries the number that was asked for.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::reply::Reply;
use super::session::Session;
use super::{Failure, Target};

/// One kind of load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// One row by its key, text protocol.
    Point,
    /// `Point`, in a transaction that never ends.
    Held,
    /// One row by its key, a prepared statement executed again and again.
    Prepared,
    /// So many rows from a key on, text protocol.
    Rows(u64),
    /// One row with a value of so many MiB, text protocol.
    Value(u64),
    /// One row by its key, text protocol, each time by another one of so many digests.
    Digests(u64),
    /// `SELECT 1111`, text protocol.
    Constant,
    /// COM_STMT_PREPARE; the statement is closed behind it.
    Prepare,
    /// `Point`, and beside it slow sessions.
    Mix,
    /// One row by its key, once a second, each session at another moment of it.
    Paced,
    /// Connect, log in, one point select, close.
    Connect,
    /// Connect, log in, close.
    LogIn,
    /// `Point` over TLS.
    TlsPoint,
    /// `Connect` over TLS, each time with a whole handshake.
    TlsConnect,
    /// COM_RESET_CONNECTION.
    Reset,
    /// SET of three session variables to what they are.
    Restore,
    /// Sessions that log in, select one row and then do nothing.
    Idle,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Point => f.write_str("point"),
            Self::Held => f.write_str("held"),
            Self::Prepared => f.write_str("prepared"),
            Self::Rows(rows) => write!(f, "rows:{rows}"),
            Self::Value(mib) => write!(f, "value:{mib}"),
            Self::Digests(count) => write!(f, "digests:{count}"),
            Self::Constant => f.write_str("constant"),
            Self::Prepare => f.write_str("prepare"),
            Self::Mix => f.write_str("mix"),
            Self::LogIn => f.write_str("log-in"),
            Self::TlsPoint => f.write_str("tls-point"),
            Self::TlsConnect => f.write_str("tls-connect"),
            Self::Paced => f.write_str("paced"),
            Self::Connect => f.write_str("connect"),
            Self::Reset => f.write_str("reset"),
            Self::Restore => f.write_str("restore"),
            Self::Idle => f.write_str("idle"),
        }
    }
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rows = text
            .strip_prefix("rows:")
            .and_then(|rows| rows.parse().ok());
        let digests = text.strip_prefix("digests:");
        if let Some(count @ 1..) = digests.and_then(|count| count.parse().ok()) {
            return Ok(Self::Digests(count));
        }
        let value = text.strip_prefix("value:");
        if let Some(mib @ 1..) = value.and_then(|mib| mib.parse().ok()) {
            return Ok(Self::Value(mib));
        }
        match (text, rows) {
            ("point", _) => Ok(Self::Point),
            ("held", _) => Ok(Self::Held),
            ("prepared", _) => Ok(Self::Prepared),
            ("constant", _) => Ok(Self::Constant),
            ("prepare", _) => Ok(Self::Prepare),
            ("mix", _) => Ok(Self::Mix),
            ("log-in", _) => Ok(Self::LogIn),
            ("tls-point", _) => Ok(Self::TlsPoint),
            ("tls-connect", _) => Ok(Self::TlsConnect),
            ("paced", _) => Ok(Self::Paced),
            ("connect", _) => Ok(Self::Connect),
            ("reset", _) => Ok(Self::Reset),
            ("restore", _) => Ok(Self::Restore),
            ("idle", _) => Ok(Self::Idle),
            (_, Some(rows @ 1..)) => Ok(Self::Rows(rows)),
            _ => Err(
                "one of point, held, prepared, rows:N, value:N, constant, prepare, mix, paced, connect, log-in, \
                 tls-point, tls-connect, reset, restore, digests:N, idle"
                    .to_owned(),
            ),
        }
    }
}

/// The statement by which a proxy restores three variables. The values are the servers' usual ones, so that
/// a server does the same work every time.
const RESTORE: &str = "SET @@session.sql_mode='STRICT_TRANS_TABLES',\
    @@session.time_zone='+00:00',@@session.group_concat_max_len=1024";

/// So many digests lie between the first of one session and that of the next: 64 of them share 10,000.
const DIGESTS_APART: u64 = 157;

/// The number that `Constant` asks for.
const CONSTANT: u64 = 1111;

/// The statement that is prepared.
const PREPARED: &str = "SELECT id, c FROM sbtest1 WHERE id = ?";

impl Workload {
    /// Whether a connection lasts as long as one exchange.
    fn connects(self) -> bool {
        matches!(self, Self::Connect | Self::LogIn | Self::TlsConnect)
    }

    /// Whether its sessions ask for TLS.
    pub fn is_over_tls(self) -> bool {
        matches!(self, Self::TlsPoint | Self::TlsConnect)
    }

    /// The time from one exchange of a session to its next; none when they follow at once.
    pub fn pace(self) -> Option<Duration> {
        (self == Self::Paced).then_some(Duration::from_secs(1))
    }
}

/// A session at work on a load, opened again when its connection breaks.
pub struct Worker<'a> {
    target: &'a Target,
    workload: Workload,
    keys: Keys,
    /// Which digest is next.
    digest: u64,
    text: String,
    open: Option<(Session, Option<u32>)>,
}

impl<'a> Worker<'a> {
    /// `seed` makes each session ask for other keys.
    pub fn new(target: &'a Target, workload: Workload, seed: u64) -> Self {
        let rows = if let Workload::Rows(rows) = workload {
            rows
        } else {
            1
        };
        let keys = Keys::new(seed, target.table_rows.saturating_sub(rows - 1).max(1));
        Self {
            target,
            workload,
            keys,
            // Sessions begin apart, so that together they have all of them soon.
            digest: seed.wrapping_mul(DIGESTS_APART),
            text: String::new(),
            open: None,
        }
    }

    /// Prepares [`Self::once`], so that its time covers only the exchange.
    pub async fn ready(&mut self) -> Result<(), Failure> {
        if self.open.is_some() || self.workload.connects() {
            return Ok(());
        }
        let mut session = Session::open(self.target).await?;
        let statement = match self.workload {
            Workload::Prepared => Some(session.prepare(PREPARED).await?),
            Workload::Held => {
                session.query("BEGIN", Reply::default()).await?;
                None
            }
            _ => None,
        };
        self.open = Some((session, statement));
        Ok(())
    }

    /// One exchange; for `connect` and `log-in` a whole session. After a failure the connection is gone.
    pub async fn once(&mut self) -> Result<(), Failure> {
        match self.workload {
            Workload::Reset => return self.without_result(None).await,
            Workload::Restore => return self.without_result(Some(RESTORE)).await,
            Workload::Prepare => return self.prepare().await,
            Workload::LogIn => return Session::open(self.target).await?.close().await,
            _ => {}
        }
        let key = match self.workload {
            Workload::Constant => CONSTANT,
            _ => self.keys.next(),
        };
        let expected = Reply {
            rows: self.rows(),
            key: Some(key),
        };
        self.text.clear();
        self.write_statement(key);
        if self.workload.connects() {
            let mut session = Session::open(self.target).await?;
            session.query(&self.text, expected).await?;
            return session.close().await;
        }
        let (mut session, statement) = self.open.take().ok_or(Failure::Closed)?;
        match statement {
            Some(statement) => session.execute(statement, key, expected).await?,
            None => session.query(&self.text, expected).await?,
        }
        self.open = Some((session, statement));
        Ok(())
    }

    /// A statement that is answered with OK, or none: COM_RESET_CONNECTION.
    async fn without_result(&mut self, statement: Option<&str>) -> Result<(), Failure> {
        let (mut session, prepared) = self.open.take().ok_or(Failure::Closed)?;
        match statement {
            Some(text) => session.query(text, Reply::default()).await?,
            None => session.reset().await?,
        }
        self.open = Some((session, prepared));
        Ok(())
    }

    async fn prepare(&mut self) -> Result<(), Failure> {
        let (mut session, _) = self.open.take().ok_or(Failure::Closed)?;
        let statement = session.prepare(PREPARED).await?;
        session.forget(statement).await?;
        self.open = Some((session, None));
        Ok(())
    }

    fn rows(&self) -> u64 {
        if let Workload::Rows(rows) = self.workload {
            rows
        } else {
            1
        }
    }

    fn write_statement(&mut self, key: u64) {
        self.text = match self.workload {
            Workload::Rows(rows) => {
                format!("SELECT id, c FROM sbtest1 WHERE id >= {key} LIMIT {rows}")
            }
            Workload::Value(mib) => {
                let bytes = mib << 20;
                format!("SELECT id, REPEAT('x', {bytes}) FROM sbtest1 WHERE id = {key}")
            }
            Workload::Constant => format!("SELECT {key}"),
            Workload::Digests(count) => {
                self.digest = self.digest.wrapping_add(1);
                let digest = self.digest % count;
                format!("SELECT id, c FROM sbtest1 AS d{digest} WHERE id = {key}")
            }
            _ => format!("SELECT id, c FROM sbtest1 WHERE id = {key}"),
        };
    }
}

/// Keys from 1 to a bound in no particular order (xorshift, Marsaglia 2003).
struct Keys {
    state: u64,
    bound: u64,
}

impl Keys {
    fn new(seed: u64, bound: u64) -> Self {
        Self {
            state: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
            bound,
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % self.bound + 1
    }
}
