//! One client program. It logs in again and again, does random operations, and checks every reply against what it
//! knows of its session.

mod changes;
mod operations;
mod session;
mod transactions;

use std::rc::Rc;
use std::time::Duration;

use crate::books::Books;
use crate::client::{Broken, Client, Login, NotIn, Reply, ServerError};
use crate::network::Hosts;
use crate::patience::Overdue;
use crate::seed::Dice;
use crate::trace::Trace;
use crate::world::WorldKind;
use crate::world::administration::Door;
pub use operations::{NUMBERS, SCHEMAS};
use session::Session;
pub use transactions::{ACCOUNTS, BALANCE};
use wire::reply::OkPacket;
use wire::{Command, StatusFlags};

/// The longest that a command may take, in virtual time: longer than every limit of the proxy and the servers.
const COMMAND_LIMIT: Duration = Duration::from_secs(300);

/// ER_RECORD_FILE_FULL: a table has no room.
const TABLE_FULL: u16 = 1114;
/// EE_WRITE of MariaDB, ER_BINLOG_LOGGING_IMPOSSIBLE of MySQL: the binary log has no room.
const LOG_FULL: [u16; 2] = [3, 1598];

/// The parts from which an actor is built.
pub struct Part {
    /// The actor's number in the trace.
    pub number: usize,
    /// The network.
    pub hosts: Rc<Hosts>,
    /// The actor's account.
    pub login: Login,
    /// The listeners of proxies. Each login chooses one.
    pub doors: Vec<Door>,
    /// The books that all clients share.
    pub books: Books,
    /// The trace of events.
    pub trace: Trace,
    /// The actor's random numbers.
    pub dice: Dice,
    /// The number of operations that the actor does in all.
    pub operations: usize,
    /// The kind of the actor's world.
    pub kind: WorldKind,
    /// Numbers of errors that are allowed even if nothing breaks.
    pub allowed: &'static [u16],
    /// The value of `lock_wait_timeout` in sessions that have not set it.
    pub lock_wait_default: u64,
}

/// An actor while it runs.
pub struct Actor {
    part: Part,
    session: Session,
}

/// Why an actor goes on without its session.
#[derive(Debug)]
pub enum Leave {
    /// The world allows this error.
    Error(ServerError),
    /// The connection has broken.
    Broken,
    /// An invariant does not hold; the world ends.
    Over,
}

impl Leave {
    /// Whether a statement that ended for this reason may have been executed.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            // The proxy says so when a connection has broken within a statement.
            Leave::Error(error) => error.state == "08S01",
            Leave::Broken | Leave::Over => true,
        }
    }
}

impl Actor {
    /// Does all operations, or stops when an invariant does not hold.
    pub async fn live(part: Part) {
        let mut part = part;
        while part.operations > 0 && part.books.what_is_broken().is_none() {
            let Some((client, door)) = part.enter().await else {
                continue;
            };
            let id = part.books.number();
            let mut actor = Actor {
                session: Session::new(client, door, id),
                part,
            };
            let how = actor.work().await;
            part = actor.leave(how).await;
        }
    }

    /// Does operations on one session.
    async fn work(&mut self) -> Result<(), Leave> {
        let length = 1 + self.part.dice.below(40);
        for _ in 0..length {
            if self.part.operations == 0 || self.part.books.what_is_broken().is_some() {
                break;
            }
            self.part.operations -= 1;
            self.operate().await?;
        }
        Ok(())
    }

    async fn leave(self, how: Result<(), Leave>) -> Part {
        let Actor {
            mut part,
            mut session,
        } = self;
        session.forget_lock(&part.books);
        // The session ends at the proxy after this call.
        session.door.proxy.leave();
        let number = part.number;
        match how {
            Ok(()) if part.dice.one_in(4) => part.abandon(session.client),
            Ok(()) => session.client.quit().await,
            Err(why) => {
                part.trace
                    .note(format_args!("client {number} leaves: {why:?}"));
                part.abandon(session.client);
                let pause = part.dice.millis(0, 200);
                tokio::time::sleep(pause).await;
            }
        }
        part
    }

    /// Sends a statement and reads its reply. An error that the world does not allow is a broken invariant.
    async fn run(&mut self, text: &str) -> Result<Reply, Leave> {
        let part = &self.part;
        part.trace
            .note(format_args!("client {} > {text}", part.number));
        let Session {
            client, patience, ..
        } = &mut self.session;
        let ended = patience.bound(COMMAND_LIMIT, client.query(text)).await;
        let reply = self.part.judge(text, ended)?;
        self.check_transaction(text, reply)
    }

    /// Executes a prepared statement.
    async fn execute(&mut self, what: &str, id: u32, values: &[i64]) -> Result<Reply, Leave> {
        let part = &self.part;
        let number = part.number;
        part.trace
            .note(format_args!("client {number} > execute {what} {values:?}"));
        let Session {
            client, patience, ..
        } = &mut self.session;
        let executing = client.execute(id, values);
        let ended = patience.bound(COMMAND_LIMIT, executing).await;
        let reply = self.part.judge(what, ended)?;
        self.check_transaction(what, reply)
    }

    /// Prepares a statement.
    async fn prepare(&mut self, text: &str) -> Result<u32, Leave> {
        let part = &self.part;
        part.trace
            .note(format_args!("client {} > prepare {text}", part.number));
        let Session {
            client, patience, ..
        } = &mut self.session;
        let ended = patience.bound(COMMAND_LIMIT, client.prepare(text)).await;
        let mut id = 0;
        let ended = ended.map(|prepared| {
            prepared.map(|prepared| match prepared {
                Ok(prepared) => {
                    id = prepared;
                    Reply::Done(OkPacket::default())
                }
                Err(error) => Reply::Error(error),
            })
        });
        self.part.judge(text, ended)?;
        Ok(id)
    }

    /// Sends a command that is no statement.
    async fn command(&mut self, command: Command, arguments: &[u8]) -> Result<Reply, Leave> {
        let part = &self.part;
        let number = part.number;
        part.trace
            .note(format_args!("client {number} > {command:?} {arguments:?}"));
        let Session {
            client, patience, ..
        } = &mut self.session;
        let running = client.command(command, arguments);
        let ended = patience.bound(COMMAND_LIMIT, running).await;
        let reply = self.part.judge("a command", ended)?;
        self.check_transaction("a command", reply)
    }

    /// Checks that the reply's status says whether this session has begun a transaction.
    fn check_transaction(&self, during: &str, reply: Reply) -> Result<Reply, Leave> {
        let is_within = reply
            .status()
            .is_some_and(|it| it.contains(StatusFlags::IN_TRANS));
        match (is_within, self.session.is_within) {
            (true, false) => Err(self.broken(format_args!(
                "behind `{during}` a transaction is open that the client has not begun: {reply:?}"
            ))),
            (false, true) => Err(self.broken(format_args!(
                "behind `{during}` no transaction is open: {reply:?}"
            ))),
            _ => Ok(reply),
        }
    }

    /// Reports that an invariant does not hold.
    fn broken(&self, what: std::fmt::Arguments<'_>) -> Leave {
        let number = self.part.number;
        self.part.books.broken(format!("client {number}: {what}"));
        Leave::Over
    }

    /// Checks that the only value of a reply is `wanted`.
    fn expect(&self, during: &str, reply: &Reply, wanted: Option<&str>) -> Result<(), Leave> {
        match reply.value() {
            Some(value) if value.as_deref() == wanted => Ok(()),
            _ => Err(self.broken(format_args!("`{during}` gives {reply:?}, not {wanted:?}"))),
        }
    }
}

impl Part {
    /// Whether anything may break. If so, errors are allowed, and the actor logs in again after an error.
    fn is_rough(&self) -> bool {
        self.kind.is_rough()
    }

    /// Ends a session without COM_QUIT.
    fn abandon(&mut self, client: Client) {
        match self.kind == WorldKind::Links && self.dice.one_in(3) {
            true => client.fall_silent(self.dice.millis(100, 60_000)),
            false => client.vanish(),
        }
    }

    /// Logs in. `None` if this login did not succeed.
    async fn enter(&mut self) -> Option<(Client, Door)> {
        let mut login = self.login.clone();
        let door = self.doors[self.dice.index(self.doors.len())].clone();
        login.address = door.address;
        login.tally = door.tally();
        login.deprecates_eof = self.dice.one_in(2);
        let entering = tokio::time::timeout(COMMAND_LIMIT, Client::log_in(&self.hosts, &login));
        let number = self.number;
        match entering.await {
            Ok(Ok(client)) => {
                let id = client.thread_id;
                self.trace
                    .note(format_args!("client {number} is in as {id}"));
                if let Err(what) = door.proxy.enter(self.is_rough()) {
                    self.books.broken(format!("client {number}: {what}"));
                }
                return Some((client, door));
            }
            Ok(Err(NotIn::Broken(Broken::Protocol(what)))) => {
                self.books
                    .broken(format!("client {number}: a login: {what}"));
            }
            Ok(Err(why)) => {
                self.trace
                    .note(format_args!("client {number} is not in: {why:?}"));
                match why {
                    NotIn::Refused(error) => drop(self.allows(&error, "a login")),
                    NotIn::Broken(_) if self.is_rough() => {}
                    NotIn::Broken(_) | NotIn::AskedInClear => {
                        self.books.broken(format!("client {number}: a login broke"))
                    }
                }
            }
            Err(_) if self.is_rough() => {}
            Err(_) => drop(self.waits_for_ever("a login")),
        }
        self.operations = self.operations.saturating_sub(1);
        tokio::time::sleep(self.dice.millis(10, 500)).await;
        None
    }

    fn judge(
        &self,
        text: &str,
        ended: Result<Result<Reply, Broken>, Overdue>,
    ) -> Result<Reply, Leave> {
        let number = self.number;
        match ended {
            Ok(Ok(Reply::Error(error))) => {
                let (code, text_of) = (error.number, &error.text);
                self.trace
                    .note(format_args!("client {number} < error {code} {text_of}"));
                self.books.count();
                self.allows(&error, text)?;
                Err(Leave::Error(error))
            }
            Ok(Ok(reply)) => {
                self.trace.note(format_args!("client {number} < {reply:?}"));
                self.books.count();
                Ok(reply)
            }
            Ok(Err(Broken::Protocol(what))) => {
                self.books
                    .broken(format!("client {number}: `{text}`: {what}"));
                Err(Leave::Over)
            }
            Ok(Err(Broken::Connection(error))) => {
                self.trace.note(format_args!("client {number} < {error}"));
                if !self.is_rough() {
                    let what = format!("client {number}: `{text}`: the connection broke: {error}");
                    self.books.broken(what);
                }
                Err(Leave::Broken)
            }
            Err(_) => Err(self.waits_for_ever(text)),
        }
    }

    /// Checks that the world allows this error.
    fn allows(&self, error: &ServerError, during: &str) -> Result<(), Leave> {
        // Only statements that write need room on the disk.
        let begins = |words: &[&str]| words.iter().any(|word| during.starts_with(word));
        let is_out_of_place = match error.number {
            TABLE_FULL => !begins(&["INSERT"]),
            number => LOG_FULL.contains(&number) && !begins(&["INSERT", "UPDATE", "COMMIT"]),
        };
        if self.is_rough() && !is_out_of_place || self.allowed.contains(&error.number) {
            self.books.met(error.number);
            return Ok(());
        }
        let number = self.number;
        let (code, text) = (error.number, &error.text);
        self.books.broken(format!(
            "client {number}: `{during}` has error {code}: {text}"
        ));
        Err(Leave::Over)
    }

    fn waits_for_ever(&self, what: &str) -> Leave {
        let number = self.number;
        self.books
            .broken(format!("client {number}: `{what}` waits for ever"));
        Leave::Over
    }
}
