//! The senders of statements that change objects, by the connection on which the server executed them.
//! The schema history asks for them, because most events of a binary log do not name the user.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use net::Endpoint;
use route::BackendId;
use sql::{Facts, Object, StatementKind};

use crate::session_info::SessionInfo;

/// The maximum number of entries; the oldest entries are dropped first.
const COUNT_MAX: usize = 16_384;

/// The largest difference between the clocks of a server and the proxy, with the rounding to seconds in a log.
const CLOCK_MARGIN: Duration = Duration::from_secs(5);

/// A backend, and the server's id of a connection there.
pub type BackendThread = (BackendId, u32);

/// A user, and the client's host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// The user name that the client gave.
    pub user: String,
    /// The client's address without its port; `localhost` on a Unix socket.
    pub host: String,
}

/// A change that a server has written into its log.
#[derive(Debug, Clone, Copy)]
pub struct LoggedChange<'a> {
    /// The backends one of which may have executed it first.
    pub backends: &'a [BackendId],
    /// The server's id of the connection that executed it.
    pub thread_id: u32,
    /// When the statement began, since the start of the proxy's process.
    pub time: Duration,
    /// The statement's text.
    pub text: &'a [u8],
}

/// The latest senders; see the module. Workers write if the history is on, and the history reads.
#[derive(Debug, Default)]
pub struct ChangeOrigins {
    is_wanted: AtomicBool,
    latest: Mutex<VecDeque<Origin>>,
}

#[derive(Debug)]
struct Origin {
    thread: BackendThread,
    time: Duration,
    sent: Sent,
    /// `None`: the user of the connection is not known from then on.
    sender: Option<Sender>,
}

/// The use of the connection.
#[derive(Debug, PartialEq, Eq)]
enum Sent {
    /// For all statements from then on: the connection belongs to the session alone.
    All,
    /// One statement: its kind, and the hash of its text.
    Statement(StatementKind, u64),
}

impl ChangeOrigins {
    /// Sets whether the schema history asks from now on.
    pub fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
        if !is_wanted {
            self.latest
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
    }

    /// Whether the schema history asks.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed)
    }

    /// Notes a statement that is about to be sent over a connection that is leased to its session.
    pub fn note_statement(
        &self,
        (facts, text): (&Facts, &[u8]),
        thread: BackendThread,
        time: Duration,
        session: impl FnOnce() -> Option<SessionInfo>,
    ) {
        if facts.kind != StatementKind::Multi {
            if may_change_objects(facts.kind, text) {
                let sent = Sent::Statement(facts.kind, hash(text));
                self.note(thread, time, sent, session().as_ref());
            }
            return;
        }
        // Servers write each statement into their logs.
        let session = session();
        for part in &facts.statements {
            let text = part.span.of(text);
            if may_change_objects(part.kind, text) {
                let sent = Sent::Statement(part.kind, hash(text));
                self.note(thread, time, sent, session.as_ref());
            }
        }
    }

    /// Notes that a session has this connection for itself from now on; `None`: it has none.
    pub fn note_session(
        &self,
        thread: Option<BackendThread>,
        time: impl FnOnce() -> Duration,
        session: Option<&SessionInfo>,
    ) {
        if let Some(thread) = thread.filter(|_| self.is_wanted()) {
            self.note(thread, time(), Sent::All, session);
        }
    }

    fn note(
        &self,
        thread: BackendThread,
        time: Duration,
        sent: Sent,
        session: Option<&SessionInfo>,
    ) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.len() >= COUNT_MAX {
            latest.pop_front();
        }
        latest.push_back(Origin {
            thread,
            time,
            sent,
            sender: session.map(|session| Sender {
                user: session.user.to_string(),
                host: match &session.client {
                    Endpoint::Tcp(address) => address.ip().to_string(),
                    Endpoint::Unix(_) => "localhost".to_owned(),
                },
            }),
        });
    }

    /// Returns the sender of a change; `None` if it is not known, or if several senders are possible.
    pub fn sender_of(&self, change: LoggedChange<'_>) -> Option<Sender> {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let until = change.time + CLOCK_MARGIN;
        let of_thread = |origin: &&Origin| {
            let (backend, thread_id) = origin.thread;
            thread_id == change.thread_id
                && change.backends.contains(&backend)
                && origin.time <= until
        };
        let candidates: Vec<_> = latest.iter().rev().filter(of_thread).collect();
        let since = change.time.saturating_sub(CLOCK_MARGIN);
        let hash = hash(change.text);
        let is_same = |it: &&&Origin| {
            it.time >= since && matches!(it.sent, Sent::Statement(_, it) if it == hash)
        };
        if let Some(same) = candidates.iter().find(is_same) {
            return same.sender.clone();
        }
        let last = candidates.first()?;
        if last.sent == Sent::All {
            return last.sender.clone();
        }
        let statements = candidates
            .iter()
            .take_while(|it| it.time >= since && it.sent != Sent::All);
        // Servers write some statements in a text of their own.
        let kind = sql::facts(change.text, sql::Flags::default()).kind;
        let is_alike = |it: &&&Origin| matches!(it.sent, Sent::Statement(it, _) if it == kind);
        let mut alike = statements.filter(is_alike).map(|it| &it.sender);
        let first = alike.next()?;
        alike.all(|it| it == first).then(|| first.clone())?
    }
}

/// Whether a statement may change objects. A SET may, if it sets a password or a role.
fn may_change_objects(kind: StatementKind, text: &[u8]) -> bool {
    match kind {
        StatementKind::Truncate | StatementKind::Grant | StatementKind::Revoke => true,
        StatementKind::Set => {
            let words = [&b"password"[..], b"default role"];
            let contains = |word: &[u8]| {
                text.windows(word.len())
                    .any(|it| it.eq_ignore_ascii_case(word))
            };
            words.into_iter().any(contains)
        }
        _ => {
            let object = kind.changed_object();
            object.is_some_and(|it| it != Object::TemporaryTable)
        }
    }
}

/// Equal texts have equal hashes. White space and semicolons at the ends do not count.
fn hash(text: &[u8]) -> u64 {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
    let start = text
        .iter()
        .position(|it| !is_blank(it))
        .unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|it| !is_blank(it))
        .map_or(start, |at| at + 1);
    let mut hasher = DefaultHasher::new();
    text[start..end].hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
