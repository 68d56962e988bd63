//! A connection that is kept to ask a backend about its replication, over and over.
//!
//! ```text
//!   Free ──► Asked ──► Free       answered in time
//!              │
//!              └─────► Asked      not yet: the next attempt goes on waiting
//! ```
//!
//! A server can hang in `SHOW REPLICA STATUS` alone, behind a replication thread that does not stop,
//! and it does not notice a client that leaves meanwhile. So the question is waited for, and not asked
//! again over another connection: these would add up to all that the server has.

use std::sync::Arc;
use std::time::Duration;

use route::Endpoint;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::failure::Failure;
use crate::login::{Access, Destination, Entry};
use crate::question::{Answer, Following, question};

/// A connection to ask over.
pub(crate) struct Line {
    state: State,
    origin: Origin,
}

/// How a line came about, and how long it lasts.
struct Origin {
    opened: Instant,
    /// Then it is replaced.
    expires: Instant,
    /// With another configuration it is of no use any more.
    access: Arc<Access>,
    /// Where it leads to, which a name's new addresses change.
    endpoints: Vec<Endpoint>,
}

/// What stands at its other end.
enum State {
    /// Nothing is owed.
    Free(Connection),
    /// The only task is waiting for an answer; it ends with the line.
    Asked(JoinSet<QueryResult>),
}

type QueryResult = (Connection, Result<Answer, Failure>);

/// What came of waiting.
enum Outcome {
    /// The connection can be used again.
    Answered(Connection, Answer),
    /// The answer is still to come.
    Owed(JoinSet<QueryResult>, Failure),
    /// Nothing is to be had over this connection any more.
    Broken(Failure),
}

/// The longest that a line is used. Privileges and passwords that change are not noticed by a
/// connection that is open.
const AGE_MAX: Duration = Duration::from_secs(60);

/// The same when something could not be asked, for want of a privilege.
const AGE_MAX_IN_NEED: Duration = Duration::from_secs(5);

/// How long an answer is waited for before another connection is made: a network that lost this one
/// does not say so.
const PATIENCE: Duration = Duration::from_secs(300);

/// Asks over `line`, if it was opened after the backend `up_since`, or over a new one; what it returns
/// may be asked over again. A line that has broken meanwhile says nothing of the backend, so it is asked
/// once more over a new one.
pub(crate) async fn ask(
    access: &Arc<Access>,
    destination: &Destination,
    line: Option<Line>,
    up_since: Instant,
) -> (Result<Answer, Failure>, Option<Line>) {
    match line {
        Some(line) if line.is_of_use(access, destination, up_since) => {
            let (answer, line) = line.ask().await;
            if answer.is_ok() || line.is_some() {
                return (answer, line);
            }
        }
        Some(line) => line.hang_up().await,
        None => (),
    }
    match Line::open(access, destination).await {
        Ok(line) => line.ask().await,
        Err(failure) => (Err(failure), None),
    }
}

impl Line {
    async fn open(access: &Arc<Access>, destination: &Destination) -> Result<Line, Failure> {
        let opened = net::clock::now();
        match access.log_in(destination).await? {
            Entry::In(connection) => Ok(Line {
                state: State::Free(connection),
                origin: Origin {
                    opened,
                    expires: opened + AGE_MAX,
                    access: Arc::clone(access),
                    endpoints: destination.endpoints.clone(),
                },
            }),
            Entry::Refused { text, .. } => Err(Failure::AccountRefused(text)),
        }
    }

    fn is_of_use(
        &self,
        access: &Arc<Access>,
        destination: &Destination,
        up_since: Instant,
    ) -> bool {
        let origin = &self.origin;
        let expires = match self.state {
            State::Free(_) => origin.expires,
            State::Asked(_) => origin.opened + AGE_MAX + PATIENCE,
        };
        Arc::ptr_eq(&origin.access, access)
            && origin.endpoints == destination.endpoints
            && origin.opened >= up_since
            && net::clock::now() < expires
    }

    /// Asks; the line comes back unless it has broken. An answer to a former question is not taken:
    /// it may be long out of date.
    async fn ask(self) -> (Result<Answer, Failure>, Option<Line>) {
        let Line { state, mut origin } = self;
        let outcome = match state {
            State::Free(connection) => Outcome::of_question(connection, &origin.access).await,
            State::Asked(asked) => match Outcome::of(asked, &origin.access).await {
                Outcome::Answered(connection, _) => {
                    Outcome::of_question(connection, &origin.access).await
                }
                outcome => outcome,
            },
        };
        let (answer, state) = match outcome {
            Outcome::Answered(connection, answer) => (Ok(answer), State::Free(connection)),
            Outcome::Owed(asked, failure) => (Err(failure), State::Asked(asked)),
            Outcome::Broken(failure) => return (Err(failure), None),
        };
        if matches!(&answer, Ok(it) if matches!(it.following, Following::Untold { .. })) {
            origin.expires = origin.expires.min(net::clock::now() + AGE_MAX_IN_NEED);
        }
        (answer, Some(Line { state, origin }))
    }

    /// Says goodbye, if nothing is owed.
    pub(crate) async fn hang_up(self) {
        let State::Free(connection) = self.state else {
            return;
        };
        let quit = async {
            connection.quit().await;
            Ok(())
        };
        // It is left anyway.
        let _ = self.origin.access.in_time(quit).await;
    }
}

impl Outcome {
    /// Of a new question.
    async fn of_question(mut connection: Connection, access: &Access) -> Outcome {
        let mut asked = JoinSet::new();
        asked.spawn(async move {
            let answer = question(&mut connection).await;
            (connection, answer)
        });
        Outcome::of(asked, access).await
    }

    /// Of waiting for the only task.
    async fn of(mut asked: JoinSet<QueryResult>, access: &Access) -> Outcome {
        match access.in_time(async { Ok(asked.join_next().await) }).await {
            Ok(Some(Ok((connection, Ok(answer))))) => Outcome::Answered(connection, answer),
            Ok(Some(Ok((_, Err(failure))))) => Outcome::Broken(failure),
            Ok(Some(Err(panic))) => {
                Outcome::Broken(Failure::Io(format!("the question failed: {panic}")))
            }
            Ok(None) => Outcome::Broken(Failure::Io("nobody has asked".to_owned())),
            Err(failure) => Outcome::Owed(asked, failure),
        }
    }
}
