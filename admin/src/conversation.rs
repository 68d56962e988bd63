//! One guest of the admin port: a command, its answer, again.

use std::sync::Arc;
use std::time::Instant;

use config::AdminRole;
use net::Endpoint;
use proxy::{Guest, GuestError, Killed, Window};
use route::KillScope;
use rusqlite::types::Value;
use wire::{Command, ErrorCode};

use crate::engine::{self, Limits, Rows};
use crate::fault::Fault;
use crate::functions::Asker;
use crate::material::{Material, PortFacts};
use crate::prepared::Statements;
use crate::registry;
use crate::reply::{self, Format};
use crate::sheet::{Kind, Schema};
use crate::statement::{self, Statement};
use crate::tables::status;

/// Who is spoken with, and what holds of the session.
pub struct Conversation {
    guest: Guest,
    role: AdminRole,
    window: Window,
    /// What the port knows of itself.
    port: Arc<dyn Fn() -> PortFacts + Send + Sync>,
    asker: Asker,
    warnings: Vec<String>,
    statements: Statements,
}

/// What is answered to a command.
enum Answer {
    Packets(Vec<u8>),
    /// Nothing, and the connection ends.
    End,
}

impl Conversation {
    /// Begins with somebody who has logged in.
    pub fn new(
        guest: Guest,
        id: u32,
        role: AdminRole,
        window: Window,
        port: Arc<dyn Fn() -> PortFacts + Send + Sync>,
    ) -> Self {
        let host = match &guest.remote {
            Endpoint::Tcp(address) => address.ip().to_string(),
            Endpoint::Unix(_) => "localhost".to_owned(),
        };
        let asker = Asker {
            user: format!("{}@{host}", guest.user),
            id,
            schema: guest
                .schema
                .as_deref()
                .and_then(Schema::named)
                .unwrap_or(Schema::Pilotfish),
        };
        Self {
            guest,
            role,
            window,
            port,
            asker,
            warnings: Vec::new(),
            statements: Statements::default(),
        }
    }

    /// Command after command, until the guest goes.
    pub async fn run(mut self) {
        loop {
            let answered = match self.guest.command().await {
                Ok(Some(payload)) => match self.answer(&payload).await {
                    Answer::Packets(packets) => self.guest.say(&packets).await,
                    Answer::End => return,
                },
                Ok(None) => return,
                Err(error) => Err(error),
            };
            match answered {
                Ok(()) => {}
                Err(GuestError::Broken(code, text)) => {
                    tracing::info!(
                        user = self.asker.user,
                        cause = text,
                        "an administrator broke the protocol"
                    );
                    let fault = Fault::new(code, text);
                    return self.guest.dismiss(&fault.payload()).await;
                }
                Err(error) => {
                    return tracing::debug!(user = self.asker.user, %error, "an administrator is gone");
                }
            }
        }
    }

    async fn answer(&mut self, payload: &[u8]) -> Answer {
        let Some((command, argument)) = payload.split_first() else {
            let fault = Fault::new(ErrorCode::MALFORMED_PACKET, "A command of no bytes");
            return Answer::Packets(reply::fault(&fault));
        };
        let answered = match Command(*command) {
            Command::QUIT => return Answer::End,
            Command::PING => Ok(reply::ok(self.guest.capabilities)),
            Command::RESET_CONNECTION => {
                self.asker.schema = Schema::Pilotfish;
                self.warnings.clear();
                self.statements = Statements::default();
                Ok(reply::ok(self.guest.capabilities))
            }
            Command::INIT_DB => self.use_schema(argument),
            Command::QUERY => self.query(argument, Vec::new(), Format::Text).await,
            Command::FIELD_LIST => self.fields(argument),
            Command::STATISTICS => Ok(self.statistics().await),
            Command::PROCESS_INFO => {
                self.query(b"SHOW PROCESSLIST", Vec::new(), Format::Text)
                    .await
            }
            Command::PROCESS_KILL => self.process_kill(argument).await,
            Command::SET_OPTION => Ok(reply::eof()),
            Command::STMT_PREPARE => self.prepare(argument).await,
            Command::STMT_EXECUTE => self.execute(argument).await,
            Command::STMT_RESET => {
                let capabilities = self.guest.capabilities;
                self.statements
                    .reset(argument)
                    .map(|()| reply::ok(capabilities))
            }
            // Nobody waits for an answer to these two.
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

    /// Understands a statement and keeps it.
    async fn prepare(&mut self, text: &[u8]) -> Result<Vec<u8>, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::no_text())?;
        let (mut parameters, mut columns) = (0, Vec::new());
        match statement::read(text, self.asker.schema)? {
            Statement::Query(query) => {
                let asker = self.asker.clone();
                let prepared = aside(move || engine::prepare(query, &asker)).await?;
                let count = u16::try_from(prepared.parameters);
                parameters = count.map_err(|_| Fault::wrong_arguments("Too many placeholders"))?;
                columns = prepared.columns;
            }
            Statement::Warnings => columns = names(&self.told_warnings()),
            Statement::WarningCount => columns = names(&self.warning_count()),
            Statement::Use(_) | Statement::Nothing | Statement::Kill(..) => {}
        }
        let id = self.statements.add(text.to_owned(), parameters)?;
        let capabilities = self.guest.capabilities;
        Ok(reply::prepared(capabilities, id, parameters, &columns))
    }

    async fn execute(&mut self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let (text, values) = self.statements.execute(argument, self.guest.capabilities)?;
        self.query(text.as_bytes(), values, Format::Binary).await
    }

    async fn query(
        &mut self,
        text: &[u8],
        values: Vec<Value>,
        format: Format,
    ) -> Result<Vec<u8>, Fault> {
        let text = std::str::from_utf8(text).map_err(|_| Fault::no_text())?;
        let capabilities = self.guest.capabilities;
        match statement::read(text, self.asker.schema)? {
            Statement::Query(text) => self.select(text, values, format).await,
            Statement::Warnings => Ok(reply::rows(capabilities, &self.told_warnings(), 0, format)),
            Statement::WarningCount => {
                Ok(reply::rows(capabilities, &self.warning_count(), 0, format))
            }
            Statement::Use(schema) => {
                self.asker.schema = schema;
                Ok(reply::ok(capabilities))
            }
            Statement::Nothing => Ok(reply::ok(capabilities)),
            Statement::Kill(id, scope) => self.kill(id, scope).await,
        }
    }

    /// A query: understood, its tables gathered, and run, where nobody waits for it.
    async fn select(
        &mut self,
        text: String,
        values: Vec<Value>,
        format: Format,
    ) -> Result<Vec<u8>, Fault> {
        let config = Arc::clone(&self.window.settings().config);
        let limits = Limits {
            deadline: Instant::now() + config.admin.timeout_statement,
            rows_max: config.admin.rows_max,
        };
        let asker = self.asker.clone();
        let prepared = aside(move || engine::prepare(text, &asker)).await?;
        let material = Material::gather(&self.window, &prepared.tables(), (self.port)()).await;
        self.warnings = material.warnings();
        let (capabilities, warnings) = (self.guest.capabilities, self.warnings.len());
        aside(move || {
            let rows = prepared.run(&material, values, limits)?;
            Ok(reply::rows(capabilities, &rows, warnings, format))
        })
        .await
    }

    fn warning_count(&self) -> Rows {
        let count = self.warnings.len().to_string();
        Rows {
            columns: vec![("@@session.warning_count".to_owned(), Kind::Integer)],
            rows: vec![vec![Some(count.into_bytes())]],
        }
    }

    fn told_warnings(&self) -> Rows {
        let columns = [
            ("Level", Kind::Text),
            ("Code", Kind::Integer),
            ("Message", Kind::Text),
        ];
        let value = |text: &str| Some(text.as_bytes().to_vec());
        let warnings = self.warnings.iter();
        Rows {
            columns: columns.map(|(name, kind)| (name.to_owned(), kind)).to_vec(),
            rows: warnings
                .map(|text| vec![value("Warning"), value("1105"), value(text)])
                .collect(),
        }
    }

    fn use_schema(&mut self, name: &[u8]) -> Result<Vec<u8>, Fault> {
        let name = String::from_utf8_lossy(name);
        self.asker.schema = Schema::named(&name).ok_or_else(|| Fault::no_schema(&name))?;
        Ok(reply::ok(self.guest.capabilities))
    }

    /// A table's columns; what may be behind its name are wildcards of columns, which clients leave empty.
    fn fields(&self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let name = argument.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name);
        let table = registry::table(None, &name).ok_or_else(|| Fault::no_table(&name))?;
        Ok(reply::fields(self.guest.capabilities, table))
    }

    /// A line of figures, as servers write it.
    async fn statistics(&self) -> Vec<u8> {
        let material = Material::gather(&self.window, &[&status::TABLE], (self.port)()).await;
        let figures = status::items(&material);
        let line = figures
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        let line: Vec<_> = line.collect();
        reply::payload(line.join("  ").as_bytes())
    }

    async fn process_kill(&mut self, argument: &[u8]) -> Result<Vec<u8>, Fault> {
        let Some(id) = argument.first_chunk::<4>() else {
            return Err(Fault::new(
                ErrorCode::MALFORMED_PACKET,
                "No id to be killed",
            ));
        };
        self.kill(u32::from_le_bytes(*id), KillScope::Connection)
            .await
    }

    async fn kill(&mut self, id: u32, scope: KillScope) -> Result<Vec<u8>, Fault> {
        if self.role != AdminRole::Admin {
            return Err(Fault::not_allowed("KILL"));
        }
        match self.window.kill(id, scope).await {
            Killed::Told => {}
            Killed::Nobody => return Err(Fault::no_session(id)),
            Killed::Impossible(why) => return Err(Fault::other(why)),
        }
        tracing::info!(
            user = self.asker.user,
            id,
            ?scope,
            "an administrator has killed a session"
        );
        Ok(reply::ok(self.guest.capabilities))
    }
}

fn names(rows: &Rows) -> Vec<String> {
    rows.columns.iter().map(|(name, _)| name.clone()).collect()
}

/// Does something that takes a while where nobody waits for it.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => {
            tracing::error!(%error, "a statement of the admin port has failed");
            Err(Fault::other(
                "The statement has failed inside the proxy; its log tells more",
            ))
        }
    }
}
