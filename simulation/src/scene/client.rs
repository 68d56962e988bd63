//! A client of a scene. Each method sends a command and checks the kind of its reply.

#![allow(
    clippy::panic,
    reason = "what a test expects and does not get fails the test"
)]

use tokio::task::{JoinHandle, spawn_local};
use wire::Command;

use super::PASSWORD;
use crate::client::{Broken, Client, NotIn, Reply, ServerError};

/// A client that is logged in.
pub struct TestClient {
    client: Client,
}

/// A statement that runs. The reply gives the client back.
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

    /// Runs a statement, and returns its reply of any kind.
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

    /// Runs a statement, and returns the only value that it reads. NULL is `NULL`.
    pub async fn value(&mut self, text: &str) -> String {
        let reply = self.run(text).await;
        let value = reply
            .value()
            .unwrap_or_else(|| panic!("`{text}`: {reply:?}"));
        value.clone().unwrap_or_else(|| "NULL".to_owned())
    }

    /// Runs a statement, which must fail, and returns its error.
    pub async fn error(&mut self, text: &str) -> ServerError {
        match self.query(text).await {
            Ok(Reply::Error(error)) => error,
            other => panic!("`{text}` has no error: {other:?}"),
        }
    }

    /// Runs a statement, which must succeed, and returns its rows. NULL is `NULL`.
    pub async fn rows(&mut self, text: &str) -> Vec<Vec<String>> {
        rows_of(self.run(text).await)
    }

    /// Prepares a statement, which must fail, and returns the error.
    pub async fn prepare_error(&mut self, text: &str) -> ServerError {
        match self.client.prepare(text).await {
            Ok(Err(error)) => error,
            other => panic!("`{text}` is prepared: {other:?}"),
        }
    }

    /// Prepares a statement, which must succeed, and returns its id.
    pub async fn prepare(&mut self, text: &str) -> u32 {
        match self.client.prepare(text).await {
            Ok(Ok(statement)) => statement,
            other => panic!("`{text}` is not prepared: {other:?}"),
        }
    }

    /// Executes a prepared statement with integers, which must succeed.
    pub async fn execute(&mut self, statement: u32, parameters: &[i64]) -> Reply {
        succeeded(
            "the execution",
            self.client.execute(statement, parameters).await,
        )
    }

    /// Executes a prepared statement, and returns the only value that it reads.
    pub async fn execution_value(&mut self, statement: u32, parameters: &[i64]) -> String {
        let reply = self.execute(statement, parameters).await;
        let value = reply.value().unwrap_or_else(|| panic!("{reply:?}"));
        value.clone().unwrap_or_else(|| "NULL".to_owned())
    }

    /// Executes a prepared statement with a cursor, which must succeed.
    pub async fn open_cursor(&mut self, statement: u32, parameters: &[i64]) -> Reply {
        let opened = self.client.open_cursor(statement, parameters).await;
        succeeded("the cursor", opened)
    }

    /// Fetches so many rows of the cursor that was opened last.
    pub async fn fetch(&mut self, statement: u32, rows: u32) -> Vec<Vec<String>> {
        rows_of(succeeded(
            "the fetch",
            self.client.fetch(statement, rows).await,
        ))
    }

    /// Sends a command of any kind, which must succeed without rows.
    pub async fn command(&mut self, command: Command, arguments: &[u8]) -> Reply {
        succeeded("the command", self.client.command(command, arguments).await)
    }

    /// Changes to another account, which must succeed.
    pub async fn change_user(&mut self, user: &str) {
        let changed = self.client.change_user(user, PASSWORD).await;
        changed.expect("the change of user succeeds");
    }

    /// Sends a statement for which the server asks for a file, and returns the file's name.
    pub async fn begin_file(&mut self, text: &str) -> String {
        match self.client.begin_file(text).await {
            Ok(Ok(name)) => name,
            other => panic!("`{text}`: {other:?}"),
        }
    }

    /// Sends a part of a file.
    pub async fn send_file_part(&mut self, part: &str) {
        let sent = self.client.send_file_part(part.as_bytes()).await;
        sent.expect("the connection lasts");
    }

    /// Ends a file, and returns the reply of any kind.
    pub async fn end_file(&mut self) -> Reply {
        self.client.end_file().await.expect("the connection lasts")
    }

    /// Closes a prepared statement.
    pub async fn close_statement(&mut self, statement: u32) {
        let closed = self.client.close_statement(statement).await;
        closed.expect("the connection lasts");
    }

    /// Executes a prepared statement, which must fail, and returns the error.
    pub async fn execution_error(&mut self, statement: u32, parameters: &[i64]) -> ServerError {
        match self.client.execute(statement, parameters).await {
            Ok(Reply::Error(error)) => error,
            other => panic!("the execution has no error: {other:?}"),
        }
    }

    /// Sends a command of any kind, which must fail, and returns the error.
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
    pub fn start(self, text: &str) -> Running {
        let text = text.to_owned();
        self.running(async move |client: &mut Client| client.query(&text).await)
    }

    /// Sends an execution with integers, and leaves it running.
    pub fn start_execution(self, statement: u32, parameters: &[i64]) -> Running {
        let parameters = parameters.to_vec();
        self.running(async move |client: &mut Client| client.execute(statement, &parameters).await)
    }

    /// Sends an execution with a cursor, and leaves it running.
    pub fn start_cursor(self, statement: u32, parameters: &[i64]) -> Running {
        let parameters = parameters.to_vec();
        self.running(async move |client: &mut Client| {
            client.open_cursor(statement, &parameters).await
        })
    }

    /// Sends a command without rows, and leaves it running.
    pub fn start_command(self, command: Command, arguments: Vec<u8>) -> Running {
        self.running(async move |client: &mut Client| client.command(command, &arguments).await)
    }

    fn running(
        mut self,
        act: impl AsyncFnOnce(&mut Client) -> Result<Reply, Broken> + 'static,
    ) -> Running {
        let session = self.id();
        let task = spawn_local(async move {
            let reply = act(&mut self.client).await;
            (self.client, reply)
        });
        Running { task, session }
    }

    /// Ends the session with COM_QUIT.
    pub async fn quit(self) {
        self.client.quit().await;
    }
}

fn succeeded(what: &str, reply: Result<Reply, Broken>) -> Reply {
    match reply {
        Ok(Reply::Error(error)) => panic!("{what}: {error:?}"),
        Ok(reply) => reply,
        Err(broken) => panic!("{what}: {broken:?}"),
    }
}

/// The rows of a reply; NULL as `NULL`.
pub fn rows_of(reply: Reply) -> Vec<Vec<String>> {
    let Reply::Rows { rows, .. } = reply else {
        panic!("no rows: {reply:?}");
    };
    let text = |value: Option<String>| value.unwrap_or_else(|| "NULL".to_owned());
    let rows = rows.into_iter();
    rows.map(|row| row.into_iter().map(text).collect())
        .collect()
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

    /// Disconnects while the statement runs.
    pub async fn leave(self) {
        self.task.abort();
        // The task ends at once.
        let _ = self.task.await;
    }
}

/// Returns the error by which a login is refused.
pub fn refusal(outcome: Result<TestClient, NotIn>) -> ServerError {
    match outcome {
        Err(NotIn::Refused(error)) => error,
        Err(other) => panic!("not refused: {other:?}"),
        Ok(_) => panic!("the client is in"),
    }
}
