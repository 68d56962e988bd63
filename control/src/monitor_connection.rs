//! A connection that stays open to ask a backend about its replication, over and over.
//!
//! ```text
//!   Free ──► Asked ──► Free       answered in time
//!              │
//!              └─────► Asked      not yet: the next attempt goes on waiting
//! ```
//!
//! A server can hang in `SHOW REPLICA STATUS` alone, behind a replication thread that does not stop, and does not
//! notice that a client disconnects in the meantime. So the proxy waits for the answer, and does not ask again over
//! another connection, because such connections would add up to the server's `max_connections`.

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

/// When a line was opened, for which settings and addresses, and when it expires.
struct Origin {
    opened: Instant,
    /// When the line is replaced by a new one.
    expires: Instant,
    /// The settings it was opened with. A line is not used with another configuration.
    access: Arc<Access>,
    /// The addresses of the backend when the line was opened; a name can resolve to others later.
    endpoints: Vec<Endpoint>,
}

/// Whether an answer is pending on the connection.
enum State {
    /// No answer is pending.
    Free(Connection),
    /// The only task waits for an answer; the task ends when the line is dropped.
    Asked(JoinSet<QueryResult>),
}

type QueryResult = (Connection, Result<Answer, Failure>);

/// The result of waiting for an answer.
enum Outcome {
    /// The connection can be used again.
    Answered(Connection, Answer),
    /// The answer has not come yet.
    Owed(JoinSet<QueryResult>, Failure),
    /// The connection is broken.
    Broken(Failure),
}

/// The longest time that a line is used. An open connection does not notice that its account's privileges or
/// password have changed.
const AGE_MAX: Duration = Duration::from_secs(60);

/// The longest time that a line is used after a question that lacked a privilege.
const AGE_MAX_IN_NEED: Duration = Duration::from_secs(5);

/// The longest wait for an answer. After it the proxy opens another connection, because a network that lost this
/// connection does not report that.
const PATIENCE: Duration = Duration::from_secs(300);

/// Asks over `line`, or over a new connection if the line is outdated or older than `up_since`. Returns the line for
/// the next question. A line that is found broken says nothing about the backend, so the backend is asked once more
/// over a new connection.
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

    /// Asks, and returns the line unless it is broken. The answer to an earlier question is discarded, because
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

    /// Closes the line with COM_QUIT, if no answer is pending.
    pub(crate) async fn hang_up(self) {
        let State::Free(connection) = self.state else {
            return;
        };
        let quit = async {
            connection.quit().await;
            Ok(())
        };
        // The connection is closed in any case, so an error does not matter.
        let _ = self.origin.access.in_time(quit).await;
    }
}

impl Outcome {
    /// Asks a new question and waits for the answer.
    async fn of_question(mut connection: Connection, access: &Access) -> Outcome {
        let mut asked = JoinSet::new();
        asked.spawn(async move {
            let answer = question(&mut connection).await;
            (connection, answer)
        });
        Outcome::of(asked, access).await
    }

    /// Waits for the answer that is pending.
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
