//! A client of a scene: what a test expects of its replies, in a line each.

#![allow(
    clippy::panic,
    reason = "what a test expects and does not get fails the test"
)]

use tokio::task::{JoinHandle, spawn_local};
use wire::Command;

use crate::client::{Broken, Client, NotIn, Reply, ServerError};

/// A client that is logged in.
pub struct TestClient {
    client: Client,
}

/// A statement that runs; its client is back with the reply.
pub struct Running {
    task: JoinHandle<(Client, Result<Reply, Broken>)>,
    /// The id of the client's session, for KILL.
    pub session: u32,
}

impl TestClient {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The id of its session, for KILL.
    pub fn id(&self) -> u32 {
        self.client.thread_id
    }

    /// Runs a statement and gets whatever comes back.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn query(&mut self, text: &str) -> Result<Reply, Broken> {
        self.client.query(text).await
    }

    /// Runs a statement, which must succeed.
    pub async fn run(&mut self, text: &str) -> Reply {
        match self.query(text).await {
            Ok(Reply::Error(error)) => panic!("`{text}`: {error:?}"),
            Ok(reply) => reply,
            Err(broken) => panic!("`{text}`: {broken:?}"),
        }
    }

    /// The only value that a statement reads; NULL as `NULL`.
    pub async fn value(&mut self, text: &str) -> String {
        let reply = self.run(text).await;
        let value = reply
            .value()
            .unwrap_or_else(|| panic!("`{text}`: {reply:?}"));
        value.clone().unwrap_or_else(|| "NULL".to_owned())
    }

    /// The error of a statement, which must fail.
    pub async fn error(&mut self, text: &str) -> ServerError {
        match self.query(text).await {
            Ok(Reply::Error(error)) => error,
            other => panic!("`{text}` has no error: {other:?}"),
        }
    }

    /// Prepares a statement without parameters, which must succeed; its id.
    pub async fn prepare(&mut self, text: &str) -> u32 {
        match self.client.prepare(text).await {
            Ok(Ok(statement)) => statement,
            other => panic!("`{text}` is not prepared: {other:?}"),
        }
    }

    /// The error of an execution of a prepared statement, which must fail.
    pub async fn execution_error(&mut self, statement: u32) -> ServerError {
        match self.client.execute(statement, &[]).await {
            Ok(Reply::Error(error)) => error,
            other => panic!("the execution has no error: {other:?}"),
        }
    }

    /// The error of a command of any kind, which must fail.
    pub async fn command_error(&mut self, command: Command, arguments: &[u8]) -> ServerError {
        match self.client.command(command, arguments).await {
            Ok(Reply::Error(error)) => error,
            other => panic!("{command} has no error: {other:?}"),
        }
    }

    /// Whether the other side has ended the connection: the next statement has no reply.
    pub async fn is_ended(&mut self) -> bool {
        matches!(self.query("SELECT 1").await, Err(Broken::Connection(_)))
    }

    /// Sends a statement, and leaves it running.
    pub fn start(mut self, text: &str) -> Running {
        let (text, session) = (text.to_owned(), self.id());
        let task = spawn_local(async move {
            let reply = self.client.query(&text).await;
            (self.client, reply)
        });
        Running { task, session }
    }

    /// Says goodbye.
    pub async fn quit(self) {
        self.client.quit().await;
    }
}

impl Running {
    /// Whether the reply has come.
    pub fn is_answered(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits for the reply.
    pub async fn reply(self) -> (TestClient, Reply) {
        let (client, reply) = self.task.await.expect("the client does not panic");
        (
            TestClient::new(client),
            reply.expect("the connection lasts"),
        )
    }

    /// Waits for a reply of one value.
    pub async fn value(self) -> (TestClient, String) {
        let (client, reply) = self.reply().await;
        let value = reply.value().unwrap_or_else(|| panic!("{reply:?}"));
        (client, value.clone().unwrap_or_else(|| "NULL".to_owned()))
    }

    /// Waits for the error.
    pub async fn error(self) -> (TestClient, ServerError) {
        match self.reply().await {
            (client, Reply::Error(error)) => (client, error),
            (_, reply) => panic!("no error: {reply:?}"),
        }
    }

    /// The client leaves while its statement runs.
    pub async fn leave(self) {
        self.task.abort();
        // It ends where it stands.
        let _ = self.task.await;
    }
}

/// The error that keeps a client out.
pub fn refusal(outcome: Result<TestClient, NotIn>) -> ServerError {
    match outcome {
        Err(NotIn::Refused(error)) => error,
        Err(other) => panic!("not refused: {other:?}"),
        Ok(_) => panic!("the client is in"),
    }
}
