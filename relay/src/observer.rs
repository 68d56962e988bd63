//! Observes the statements of a relayed session by their texts, if that is configured. A statement is
//! not seen if it does not arrive in one piece, or if it arrives before the last reply has ended.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use route::BackendId;
use session::{Outcome, Tally};
use sql::{Facts, Flags, Server};
use wire::query::Query;
use wire::{Capabilities, Command, HEADER_BYTES, Header, StatusFlags};

use crate::relay_env::RelayEnv;
use crate::relay_env::session_of;
use backend::times::{StatementPath, Traffic};
use registry::session_info::SessionInfo;
use stats::attribution::Attribution;
use stats::counts::Ended;
use stats::statement_stats::{Answer, StatementEnd, Subject};

/// The maximum number of known prepared statements of a session.
const PREPARED_MAX: usize = 256;

/// The observed state of one session.
pub struct Observer {
    env: Rc<RelayEnv>,
    info: SessionInfo,
    attribution: Arc<Attribution>,
    backend: Option<BackendId>,
    capabilities: Capabilities,
    facts: Facts,
    current: Option<Current>,
    /// Digests of the session's prepared statements, by the server's ids.
    prepared: HashMap<u32, (u64, Arc<str>)>,
}

/// A command whose reply has not ended.
struct Current {
    command: Command,
    subject: Subject,
    came: Duration,
    first_byte: Option<Duration>,
    bytes_out: u64,
    /// The statement id in the reply to COM_STMT_PREPARE.
    id: Option<u32>,
}

impl Observer {
    /// Returns an observer for a session that has logged in, if statistics want its statements.
    pub fn of(env: &Rc<RelayEnv>, info: Option<SessionInfo>) -> Option<Box<Self>> {
        let insight = &env.recorder.stats;
        let info = info.filter(|_| insight.wants().transparent)?;
        let schema = info.schema.as_bytes();
        let attribution =
            Attribution::new(&insight.keys, info.user.to_string(), &info.user, schema);
        Some(Box::new(Self {
            env: Rc::clone(env),
            attribution: Arc::new(attribution),
            info,
            backend: None,
            capabilities: Capabilities::default(),
            facts: Facts::default(),
            current: None,
            prepared: HashMap::new(),
        }))
    }

    /// Notes the backend and the capabilities of the connection on which the next statements run.
    pub fn runs_on(&mut self, backend: BackendId, capabilities: Capabilities) {
        self.capabilities = capabilities;
        if self.backend.replace(backend) != Some(backend) {
            self.prepared.clear();
        }
    }

    /// Notes bytes that the client has sent between two commands.
    pub fn begins(&mut self, bytes: &[u8], status: StatusFlags) {
        self.current = None;
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return;
        };
        let header = Header::decode(*header);
        if header.length != payload.len() || header.is_continued() {
            return;
        }
        let Some((command, argument)) = payload.split_first() else {
            return;
        };
        let command = Command(*command);
        let subject = match command {
            Command::QUERY => Query::decode(argument, self.capabilities)
                .ok()
                .map(|query| self.subject(query.text, bytes.len(), status)),
            Command::STMT_PREPARE => Some(self.subject(argument, bytes.len(), status)),
            Command::STMT_EXECUTE => self.executed(argument, bytes.len()),
            Command::STMT_CLOSE => {
                let id = argument.first_chunk().map(|id| u32::from_le_bytes(*id));
                self.prepared.remove(&id.unwrap_or_default());
                None
            }
            _ => None,
        };
        let came = self.env.pool.now().0;
        self.current = subject.map(|subject| Current {
            command,
            subject,
            came,
            first_byte: None,
            bytes_out: 0,
            id: None,
        });
    }

    /// Returns the digest of the current command; 0 if it has none.
    pub fn digest(&self) -> u64 {
        self.current.as_ref().map_or(0, |it| it.subject.digest)
    }

    fn subject(&mut self, text: &[u8], bytes: usize, status: StatusFlags) -> Subject {
        let flags = Flags {
            no_backslash_escapes: status.contains(StatusFlags::NO_BACKSLASH_ESCAPES),
            ansi_quotes: status.contains(StatusFlags::ANSI_QUOTES),
            ..Flags::default()
        };
        let insight = &self.env.recorder.stats;
        let (digest, known) = insight.read(&mut self.facts, text, flags);
        Subject {
            digest,
            text: known.unwrap_or_else(|| Arc::from("")),
            bytes: bytes as u64,
            sample: insight.wants().some_values().then(|| text.into()),
            parent: insight.parent_of(text, &self.facts),
            answer: Answer::default(),
        }
    }

    fn executed(&self, argument: &[u8], bytes: usize) -> Option<Subject> {
        let id = u32::from_le_bytes(*argument.first_chunk()?);
        let (digest, text) = self.prepared.get(&id)?;
        Some(Subject {
            digest: *digest,
            text: Arc::clone(text),
            bytes: bytes as u64,
            sample: None,
            parent: None,
            answer: Answer::default(),
        })
    }

    /// Notes bytes of the reply.
    pub fn observe(&mut self, bytes: &[u8]) {
        let Some(current) = &mut self.current else {
            return;
        };
        current.bytes_out += bytes.len() as u64;
        if current.first_byte.is_some() {
            return;
        }
        current.first_byte = Some(self.env.pool.now().0);
        if current.command == Command::STMT_PREPARE
            && let Some([0, a, b, c, d]) = bytes.get(HEADER_BYTES..).and_then(|it| it.first_chunk())
        {
            current.id = Some(u32::from_le_bytes([*a, *b, *c, *d]));
        }
    }

    /// Notes the id of the statement that was prepared.
    pub fn is_prepared(&mut self, id: u32) {
        if let Some(current) = &mut self.current {
            current.id = Some(id);
        }
    }

    /// Notes the end of the reply; `tally`: the counts of the reply, if they are known.
    pub fn ends(&mut self, outcome: Outcome, tally: Option<&Tally>) {
        let Some(current) = self.current.take() else {
            return;
        };
        if current.command == Command::STMT_PREPARE {
            return self.keep_prepared(current);
        }
        let now = self.env.pool.now().0;
        let error = match outcome {
            Outcome::Ok => None,
            Outcome::Err(number) => Some((
                number,
                tally.and_then(|it| it.error).map(|(_, state)| state),
            )),
        };
        let first_byte = current.first_byte.unwrap_or(now);
        let taken = now.saturating_sub(current.came);
        let received = tally.map_or(current.bytes_out, |it| it.bytes);
        if let Some(backend) = self.backend {
            let (times, took) = (&self.env.times, (Duration::ZERO, taken));
            let traffic = Traffic {
                sent: current.subject.bytes,
                received,
            };
            times.note(backend, StatementPath::Relayed, took, traffic);
        }
        let end = StatementEnd {
            error,
            message: b"",
            backend: self.backend,
            ended: Ended {
                has_failed: error.is_some(),
                rows_sent: tally.map_or(0, |it| it.rows_before.saturating_add(it.rows)),
                rows_affected: tally.map_or(0, |it| it.affected_rows),
                bytes_in: current.subject.bytes,
                bytes_out: received,
                proxy: Duration::ZERO,
                queue: Duration::ZERO,
                first_byte: first_byte.saturating_sub(current.came),
                backend: taken,
                at: now,
            },
        };
        let session = || session_of(Some(&self.info), Server::Unknown);
        let (env, topology) = (&self.env, &self.env.pool.topology);
        env.recorder
            .note(&current.subject, &end, &self.attribution, topology, session);
    }

    fn keep_prepared(&mut self, current: Current) {
        let Some(id) = current.id else {
            return;
        };
        if self.prepared.len() >= PREPARED_MAX {
            self.prepared.clear();
        }
        let subject = current.subject;
        self.prepared.insert(id, (subject.digest, subject.text));
    }
}
