//! Serves one client of the admin port: reads a command, answers it, and so on.

use std::sync::Arc;

use route::KillScope;
use rusqlite::types::Value;
use wire::{Command, ErrorCode, StatusFlags};
use worker::{AdminClient, AdminClientError, AdminScript};

use crate::admin_session::{AdminSession, Outcome, aside};
use crate::authenticator::{Authenticator, PORT};
use crate::fault::Fault;
use crate::functions::Asker;
use crate::prepared::Statements;
use crate::registry;
use crate::reply::{self, Format};
use crate::table::Schema;
use crate::tables::status;

/// The client, and the state of its session.
pub struct Conversation {
    admin_client: AdminClient,
    authenticator: Arc<Authenticator>,
    admin_session: AdminSession,
    statements: Statements,
    id: u32,
    /// The script that sees each command first, if there is one.
    admin_script: Option<AdminScript>,
}

/// The answer to a command.
enum Answer {
    Packets(Vec<u8>),
    /// No answer; the connection ends.
    End,
}

impl Conversation {
    /// Begins with a client that has logged in.
    pub fn new(admin_client: AdminClient, id: u32, authenticator: Arc<Authenticator>) -> Self {
        Self {
            admin_session: admin_session(&admin_client, id, &authenticator),
            admin_client,
            authenticator,
            statements: Statements::default(),
            id,
            admin_script: None,
        }
    }

    /// Runs from the end of the login until the client disconnects. Returns the user, who may have changed meanwhile.
    pub async fn run(mut self) -> String {
        self.start_script().await;
        let broken = self.commands().await;
        self.end_script();
        let user = self.admin_client.user.clone();
        if let Some(fault) = broken {
            self.admin_client.dismiss(&fault.payload()).await;
        }
        user
    }

    /// Ends the script. Its last hook runs on another thread, so that other connections need not wait.
    fn end_script(&mut self) {
        if let Some(admin_script) = self.admin_script.take() {
            tokio::spawn(aside(move || {
                drop(admin_script);
                Ok(())
            }));
        }
    }

    /// Starts the script, if one is configured.
    async fn start_script(&mut self) {
        let Some(admin_script) = self
            .admin_session
            .data_plane()
            .admin_script(&self.admin_client, self.id)
        else {
            return;
        };
        match aside(move || Ok(admin_script())).await {
            Ok(Ok(admin_script)) => self.admin_script = Some(admin_script),
            Ok(Err(cause)) => tracing::error!(
                kind = "admin_script_failed",
                cause,
                "admin.script cannot be run; the admin port works without it"
            ),
            Err(_) => {}
        }
    }

    /// Serves commands until the end. Returns the fault if the client broke the protocol.
    async fn commands(&mut self) -> Option<Fault> {
        loop {
            let answered = match self.admin_client.command().await {
                Ok(Some(payload)) => match self.answer(&payload).await {
                    Answer::Packets(packets) => self.admin_client.send(&packets).await,
                    Answer::End => return None,
                },
                Ok(None) => return None,
                Err(error) => Err(error),
            };
            match answered {
                Ok(()) => {}
                Err(AdminClientError::Broken(code, text)) => {
                    tracing::info!(
                        user = self.admin_session.asker.user,
                        cause = text,
                        "an administrator broke the protocol"
                    );
                    return Some(Fault::new(code, text));
                }
                Err(error) => {
                    tracing::debug!(user = self.admin_session.asker.user, %error, "an administrator is gone");
                    return None;
                }
            }
        }
    }

    async fn answer(&mut self, payload: &[u8]) -> Answer {
        let Some((command, argument)) = payload.split_first() else {
            let fault = Fault::new(ErrorCode::MALFORMED_PACKET, "The command is empty");
            return Answer::Packets(reply::fault(&fault));
        };
        if let Some(packets) = self.ask_script(payload).await {
            return Answer::Packets(packets);
        }
        let answered = match Command(*command) {
            Command::QUIT => return Answer::End,
            Command::PING => Ok(self.ok()),
            Command::RESET_CONNECTION => {
                self.admin_session.reset();
                self.statements = Statements::default();
                Ok(self.ok())
            }
            Command::CHANGE_USER => match self.change_user(argument).await {
                // The client has its answer already.
                Ok(()) => Ok(Vec::new()),
                Err(_) => return Answer::End,
            },
            Command::INIT_DB => self.use_schema(argument),
            Command::QUERY => self.run_text(argument).await,
            Command::FIELD_LIST => self.fields(argument),
            Command::STATISTICS => Ok(self.statistics().await),
            Command::PROCESS_INFO => self.run_text(b"SHOW PROCESSLIST").await,
            Command::PROCESS_KILL => self.process_kill(argument).await,
            Command::REFRESH => self.refresh(argument).await,
            Command::SET_OPTION => Ok(reply::eof()),
            Command::STMT_PREPARE => self.prepare(argument).await,
            Command::STMT_EXECUTE => self.execute(argument).await,
            Command::STMT_RESET => self.statements.reset(argument).map(|()| self.ok()),
            // These two commands have no answer.
            Command::STMT_CLOSE => {
                self.statements.close(argument);
                Ok(Vec::new())
            }
            Command::STMT_SEND_LONG_DATA => {
                self.statements.long_data(argument);
                Ok(Vec::new())
            }
            other => {
                let text = format!("The admin port does not know {other}");
                Err(Fault::new(ErrorCode::UNKNOWN_COM, text))
            }
        };
        Answer::Packets(answered.unwrap_or_else(|fault| reply::fault(&fault)))
    }

    /// Runs COM_CHANGE_USER: the session begins anew with the new user.
    async fn change_user(&mut self, argument: &[u8]) -> Result<(), AdminClientError> {
        let before = self.admin_client.user.clone();
        let changed = self
            .authenticator
            .change_user(&mut self.admin_client, argument, self.id);
        let changed = changed.await;
        let user = &self.admin_client.user;
        let (event, detail) = match &changed {
            Ok(()) => ("change_user", format!("was {before}")),
            Err(error) => ("change_user_failed", error.to_string()),
        };
        let who = (self.id, &**user, &self.admin_client.remote);
        self.authenticator.audit(PORT, event, who, detail);
        match &changed {
            Ok(()) => tracing::info!(
                kind = "admin_user_changed",
                user,
                before,
                "an administrator is another one now"
            ),
            Err(error) => tracing::warn!(
                kind = "admin_user_change_failed",
                user,
                %error,
                "an administrator's change to another user has failed"
            ),
        }
        changed?;
        self.admin_session = admin_session(&self.admin_client, self.id, &self.authenticator);
        self.statements = Statements::default();
        self.end_script();
        self.start_script().await;
        Ok(())
    }

    /// The script's answer to the command, if it gives one.
    async fn ask_script(&mut self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut admin_script = self.admin_script.take()?;
        let (payload, capabilities) = (payload.to_vec(), self.admin_client.capabilities);
        let (topology, connections_max) = self.admin_session.backends();
        let asked = aside(move || {
            let said = admin_script.answer(&topology, connections_max, &payload, capabilities);
            Ok((admin_script, said))
        });
        let (admin_script, said) = asked.await.ok()?;
        self.admin_script = Some(admin_script);
        said
    }

    /// Prepares a statement and keeps it.
    async fn prepare(&mut self, text: &[u8]) -> Result<Vec<u8>, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::no_text())?;
        let (parameters, columns) = self.admin_session.understand(text).await?;
        let parameters = u16::try_from(parameters)
            .map_err(|_| Fault::wrong_arguments("Too many placeholders"))?;
        let id = self.statements.add(text.to_owned(), parameters)?;
        let capabilities = self.admin_client.capabilities;
        Ok(reply::prepared(capabilities, id, parameters, &columns))
    }

    async fn execute(&mut self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let (text, values) = self
            .statements
            .execute(argument, self.admin_client.capabilities)?;
        self.query(text.as_bytes(), values, Format::Binary).await
    }

    /// Runs a statement without values, as COM_QUERY sends it.
    async fn run_text(&mut self, text: &[u8]) -> Result<Vec<u8>, Fault> {
        self.query(text, Vec::new(), Format::Text).await
    }

    async fn query(
        &mut self,
        text: &[u8],
        values: Vec<Value>,
        format: Format,
    ) -> Result<Vec<u8>, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::no_text())?;
        let capabilities = self.admin_client.capabilities;
        match self.admin_session.run(text, values).await? {
            Outcome::Done => Ok(self.ok()),
            Outcome::Changed(rows) => {
                let warnings = self.admin_session.warnings.len();
                Ok(reply::done(capabilities, self.status(), rows, warnings))
            }
            Outcome::Rows(rows, warnings) => {
                let (status, warnings) = (self.status(), warnings.len());
                aside(move || Ok(reply::rows(capabilities, status, &rows, warnings, format))).await
            }
        }
    }

    fn ok(&self) -> Vec<u8> {
        reply::done(self.admin_client.capabilities, self.status(), 0, 0)
    }

    /// The status flags that go to the client with each answer.
    fn status(&self) -> StatusFlags {
        match self.admin_session.is_in_transaction() {
            true => reply::STATUS.with(StatusFlags::IN_TRANS, true),
            false => reply::STATUS,
        }
    }

    fn use_schema(&mut self, name: &[u8]) -> Result<Vec<u8>, Fault> {
        let name = String::from_utf8_lossy(name);
        self.admin_session.asker.schema =
            Schema::named(&name).ok_or_else(|| Fault::no_schema(&name))?;
        Ok(self.ok())
    }

    /// A table's columns. The argument may have a wildcard for columns after the name, which clients leave empty.
    fn fields(&self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let name = argument.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        let table = registry::table(None, &name).ok_or_else(|| Fault::no_table(&name))?;
        Ok(reply::fields(self.admin_client.capabilities, table))
    }

    /// The answer to COM_STATISTICS: one line of figures, in the form that servers use.
    async fn statistics(&self) -> Vec<u8> {
        let input = self.admin_session.gather(&[&status::TABLE]).await;
        let figures = status::items(&input);
        let line = figures
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let line: Vec<_> = line.collect();
        reply::payload(line.join("  ").as_bytes())
    }

    /// Runs COM_REFRESH, which older clients send in place of FLUSH.
    async fn refresh(&mut self, flags: &[u8]) -> Result<Vec<u8>, Fault> {
        /// `REFRESH_LOG`
        const LOGS: u8 = 2;
        /// `REFRESH_HOSTS`
        const HOSTS: u8 = 8;
        /// `REFRESH_STATUS`
        const STATUS: u8 = 16;
        let statement = match flags {
            [LOGS] => "FLUSH LOGS",
            [HOSTS] => "FLUSH HOSTS",
            [STATUS] => "FLUSH STATUS",
            _ => {
                return Err(Fault::not_here(
                    "The admin port knows FLUSH HOSTS, FLUSH LOGS and FLUSH STATUS only",
                ));
            }
        };
        self.run_text(statement.as_bytes()).await
    }

    async fn process_kill(&mut self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let Some(id) = argument.first_chunk::<4>() else {
            return Err(Fault::new(
                ErrorCode::MALFORMED_PACKET,
                "The command has no id of a session to kill",
            ));
        };
        let id = u32::from_le_bytes(*id);
        self.admin_session.kill(id, KillScope::Connection).await?;
        Ok(self.ok())
    }
}

/// The session of a client that has logged in.
fn admin_session(
    admin_client: &AdminClient,
    id: u32,
    authenticator: &Arc<Authenticator>,
) -> AdminSession {
    let schema = admin_client.schema.as_deref().and_then(Schema::named);
    let schema = schema.unwrap_or(Schema::Pilotfish);
    let (user, remote) = (&admin_client.user, &admin_client.remote);
    let role = Authenticator::role(&authenticator.sources.data_plane.settings().config, user);
    authenticator.admin_session(Asker::new(user, role, remote, id, schema))
}
