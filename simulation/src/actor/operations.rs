//! An actor's operations outside of transactions.

use wire::Command;

use super::session::Session;
use super::{Actor, COMMAND_LIMIT, Leave};
use crate::books::Fate;
use crate::client::{Reply, Value};
use crate::world::WorldKind;

/// Schemas that every server has, with the same tables.
pub const SCHEMAS: [&str; 2] = ["shop", "depot"];

/// Names of user locks.
const LOCKS: u64 = 3;

impl Actor {
    /// Does a random operation.
    pub(super) async fn operate(&mut self) -> Result<(), Leave> {
        if self.part.kind.is_changing() && self.part.dice.one_in(6) {
            return self.meet_changes().await;
        }
        if self.part.kind == WorldKind::Reads {
            return self.read_something().await;
        }
        match self.part.dice.below(100) {
            0..25 => self.echo().await,
            25..32 => self.echo_prepared().await,
            32..40 => self.keep_variable().await,
            40..46 => self.keep_setting().await,
            46..51 => self.choose_schema().await,
            51..56 => self.keep_temporary().await,
            56..66 => self.write_alone().await,
            66..82 => self.transact().await,
            82..86 => self.hold_lock().await,
            86..89 => self.warn().await,
            89..92 => self.pipeline().await,
            92..94 => self.begin_anew().await,
            94..96 => self.rest().await,
            96..97 => self.ping().await,
            97..99 => self.read_all().await,
            _ => self.vanish_within().await,
        }
    }

    /// Does a read that a proxy may repeat.
    async fn read_something(&mut self) -> Result<(), Leave> {
        match self.part.dice.below(20) {
            0..9 => self.echo().await,
            9..13 => self.echo_prepared().await,
            13..16 => self.read_all().await,
            16..18 => self.pipeline().await,
            18..19 => self.begin_anew().await,
            _ => self.rest().await,
        }
    }

    /// Reads a number, and checks that the reply has it.
    async fn echo(&mut self) -> Result<(), Leave> {
        let number = self.part.books.number();
        // If a server crashes between two results, the client may have the first one, and the read is not repeated.
        let forms = match self.part.kind {
            WorldKind::Reads => 2,
            _ => 3,
        };
        let text = match self.part.dice.below(forms) {
            0 => format!("SELECT {number}"),
            1 => format!("SELECT {number} + 0"),
            _ => format!("SELECT 0; SELECT {number}"),
        };
        let reply = self.run(&text).await?;
        self.expect(&text, &reply, Some(&number.to_string()))
    }

    /// Reads a number with a prepared statement, and checks the reply.
    pub(super) async fn echo_prepared(&mut self) -> Result<(), Leave> {
        let id = match self.session.prepared.echo {
            Some(id) => id,
            None => self.prepare("SELECT ?").await?,
        };
        self.session.prepared.echo = Some(id);
        let number = self.part.books.number();
        let reply = self.execute("SELECT ?", id, &[number as i64]).await?;
        self.expect("SELECT ?", &reply, Some(&number.to_string()))?;
        if self.part.dice.one_in(8) {
            self.session.prepared.echo = None;
            let closed = self.session.client.close_statement(id).await;
            return closed.map_err(|_| Leave::Broken);
        }
        Ok(())
    }

    /// Checks that a user variable keeps the session's value.
    async fn keep_variable(&mut self) -> Result<(), Leave> {
        if self.part.dice.one_in(2) {
            let number = self.part.books.number();
            self.run(&format!("SET @kept = {number}")).await?;
            self.session.variable = Some(number);
        }
        let reply = self.run("SELECT @kept").await?;
        let wanted = self.session.variable.map(|number| number.to_string());
        self.expect("SELECT @kept", &reply, wanted.as_deref())
    }

    /// Checks that a system variable keeps the session's value.
    async fn keep_setting(&mut self) -> Result<(), Leave> {
        if self.part.dice.one_in(2) {
            let seconds = 1000 + self.part.dice.below(5);
            self.run(&format!("SET SESSION lock_wait_timeout = {seconds}"))
                .await?;
            self.session.lock_wait = Some(seconds);
        }
        let text = "SELECT @@session.lock_wait_timeout";
        let reply = self.run(text).await?;
        let wanted = self
            .session
            .lock_wait
            .unwrap_or(self.part.lock_wait_default);
        self.expect(text, &reply, Some(&wanted.to_string()))
    }

    async fn choose_schema(&mut self) -> Result<(), Leave> {
        if self.part.dice.one_in(2) {
            let schema = SCHEMAS[self.part.dice.index(SCHEMAS.len())];
            match self.part.dice.one_in(2) {
                true => self.run(&format!("USE {schema}")).await?,
                false => self.command(Command::INIT_DB, schema.as_bytes()).await?,
            };
            self.session.schema = Some(schema);
        }
        let reply = self.run("SELECT DATABASE()").await?;
        self.expect("SELECT DATABASE()", &reply, self.session.schema)
    }

    /// Checks that a temporary table keeps the session's rows.
    async fn keep_temporary(&mut self) -> Result<(), Leave> {
        match &mut self.session.temporary {
            None => {
                self.run("CREATE TEMPORARY TABLE shop.scratch (number BIGINT)")
                    .await?;
                self.session.temporary = Some(Vec::new());
            }
            Some(_) if self.part.dice.one_in(4) => {
                self.session.temporary = None;
                self.run("DROP TEMPORARY TABLE shop.scratch").await?;
                return Ok(());
            }
            Some(_) => {
                let number = self.part.books.number();
                self.run(&format!(
                    "INSERT INTO shop.scratch (number) VALUES ({number})"
                ))
                .await?;
                if let Some(rows) = &mut self.session.temporary {
                    rows.push(number);
                }
            }
        }
        let text = "SELECT COUNT(*) FROM shop.scratch";
        let reply = self.run(text).await?;
        let rows = self.session.temporary.as_ref().map_or(0, Vec::len);
        self.expect(text, &reply, Some(&rows.to_string()))
    }

    /// Writes a row with autocommit, reads the row, and asks the server for its insert id.
    async fn write_alone(&mut self) -> Result<(), Leave> {
        let token = self.part.books.number();
        let text = format!("INSERT INTO shop.ledger (token, amount) VALUES ({token}, 1)");
        let reply = self.run(&text).await;
        let reply = self.note_fate(token, reply)?;
        let Reply::Done(ok) = reply else {
            return Err(self.broken(format_args!("`{text}` gives {reply:?}")));
        };
        if ok.affected_rows != 1 || ok.last_insert_id == 0 {
            return Err(self.broken(format_args!("`{text}` gives {ok:?}")));
        }
        if self.part.dice.one_in(3) {
            let text = "SELECT LAST_INSERT_ID()";
            let reply = self.run(text).await?;
            self.expect(text, &reply, Some(&ok.last_insert_id.to_string()))?;
        }
        self.read_own(ok.last_insert_id, token).await
    }

    /// Writes down the fate of a write with autocommit.
    fn note_fate(&self, token: u64, reply: Result<Reply, Leave>) -> Result<Reply, Leave> {
        let fate = match &reply {
            Ok(_) => Fate::Acknowledged,
            Err(why) if why.is_in_doubt() => Fate::InDoubt,
            Err(_) => Fate::Withdrawn,
        };
        self.part.books.enter(token, fate);
        reply
    }

    /// Checks that the session reads its own write: the row with this id has this token.
    pub(super) async fn read_own(&mut self, id: u64, token: u64) -> Result<(), Leave> {
        let reply = match self.part.dice.one_in(3) {
            true => self.read_prepared(id).await?,
            false => {
                let text = format!("SELECT token FROM shop.ledger WHERE id = {id}");
                self.run(&text).await?
            }
        };
        self.expect("a read of an own write", &reply, Some(&token.to_string()))
    }

    async fn read_prepared(&mut self, row: u64) -> Result<Reply, Leave> {
        let text = "SELECT token FROM shop.ledger WHERE id = ?";
        let id = match self.session.prepared.read {
            Some(id) => id,
            None => self.prepare(text).await?,
        };
        self.session.prepared.read = Some(id);
        self.execute(text, id, &[row as i64]).await
    }

    /// Takes a user lock, and checks that no other session holds it.
    async fn hold_lock(&mut self) -> Result<(), Leave> {
        if let Some(lock) = self.session.lock {
            self.part.books.let_go(lock, self.session.id);
            self.session.lock = None;
            let text = format!("SELECT RELEASE_LOCK('lock{lock}')");
            let reply = self.run(&text).await?;
            return self.expect(&text, &reply, Some("1"));
        }
        let lock = self.part.dice.below(LOCKS);
        let text = format!("SELECT GET_LOCK('lock{lock}', 0)");
        let reply = self.run(&text).await?;
        match reply.value().and_then(Option::as_deref) {
            Some("0") => Ok(()),
            Some("1") => {
                let other = self.part.books.got(lock, self.session.id);
                // If a server crashes, a lock may be gone before its holder knows.
                if let Some(other) = other.filter(|_| !self.part.is_rough()) {
                    return Err(self.broken(format_args!(
                        "lock {lock} has two holders, the other is {other}"
                    )));
                }
                self.session.lock = Some(lock);
                Ok(())
            }
            _ => Err(self.broken(format_args!("`{text}` gives {reply:?}"))),
        }
    }

    /// Checks that SHOW WARNINGS gives the warnings of the session's last statement.
    async fn warn(&mut self) -> Result<(), Leave> {
        let name = format!("nothing{}", self.part.books.number());
        let text = format!("DROP TABLE IF EXISTS shop.{name}");
        let reply = self.run(&text).await?;
        match &reply {
            Reply::Done(ok) if ok.warnings == 1 => {}
            _ => return Err(self.broken(format_args!("`{text}` gives {reply:?}"))),
        }
        let reply = self.run("SHOW WARNINGS").await?;
        let names_it = |row: &[Value]| {
            let text = row.last().and_then(Option::as_deref);
            text.is_some_and(|text| text.contains(&name))
        };
        match &reply {
            Reply::Rows { rows, .. } if rows.len() == 1 && rows.iter().all(|row| names_it(row)) => {
                Ok(())
            }
            _ => Err(self.broken(format_args!(
                "SHOW WARNINGS behind `{text}` gives {reply:?}"
            ))),
        }
    }

    /// Checks that replies come in the order of their commands.
    async fn pipeline(&mut self) -> Result<(), Leave> {
        let count = 2 + self.part.dice.below(4);
        let numbers: Vec<u64> = (0..count).map(|_| self.part.books.number()).collect();
        for number in &numbers {
            self.session.client.queue(&format!("SELECT {number}"));
        }
        self.part.trace.note(format_args!(
            "client {} > SELECT of {numbers:?} at once",
            self.part.number
        ));
        let flushed = self.session.client.flush().await;
        flushed.map_err(|_| Leave::Broken)?;
        for number in numbers {
            let Session {
                client, patience, ..
            } = &mut self.session;
            let ended = patience.bound(COMMAND_LIMIT, client.reply(false)).await;
            let reply = self.part.judge("a pipelined SELECT", ended)?;
            self.expect("a pipelined SELECT", &reply, Some(&number.to_string()))?;
        }
        Ok(())
    }

    /// Resets the session.
    async fn begin_anew(&mut self) -> Result<(), Leave> {
        self.session.reset(&self.part.books);
        self.command(Command::RESET_CONNECTION, &[]).await?;
        let reply = self.run("SELECT @kept").await?;
        self.expect("SELECT @kept", &reply, None)
    }

    async fn ping(&mut self) -> Result<(), Leave> {
        self.command(Command::PING, &[]).await.map(drop)
    }

    async fn rest(&mut self) -> Result<(), Leave> {
        let pause = self.part.dice.millis(1, 3000);
        tokio::time::sleep(pause).await;
        match self.session.client.has_unasked() {
            false => Ok(()),
            true => Err(self.broken(format_args!("bytes came that no command has asked for"))),
        }
    }

    /// Checks that a result of many rows is complete.
    async fn read_all(&mut self) -> Result<(), Leave> {
        let text = "SELECT number FROM shop.numbers ORDER BY number";
        let reply = self.run(text).await?;
        let Reply::Rows { rows, .. } = &reply else {
            return Err(self.broken(format_args!("`{text}` gives {reply:?}")));
        };
        let in_order = rows
            .iter()
            .enumerate()
            .all(|(at, row)| row[0].as_deref() == Some(&*(at + 1).to_string()));
        match in_order && rows.len() == NUMBERS {
            true => Ok(()),
            false => Err(self.broken(format_args!(
                "`{text}` gives {} rows, or other ones",
                rows.len()
            ))),
        }
    }

    /// Disconnects within a command.
    async fn vanish_within(&mut self) -> Result<(), Leave> {
        let token = self.part.books.number();
        let text = match self.part.dice.one_in(2) {
            true => format!("INSERT INTO shop.ledger (token, amount) VALUES ({token}, 1)"),
            false => "SELECT SLEEP(1)".to_owned(),
        };
        self.part.books.enter(token, Fate::InDoubt);
        self.session.client.queue(&text);
        let part = self.part.dice.index(text.len() + 8);
        self.part.trace.note(format_args!(
            "client {} > {part} bytes of `{text}`, and goes",
            self.part.number
        ));
        // The client disconnects even if this write fails.
        let _ = self.session.client.flush_part(part).await;
        if self.part.dice.one_in(2) {
            let pause = self.part.dice.millis(0, 20);
            tokio::time::sleep(pause).await;
        }
        Err(Leave::Broken)
    }
}

/// Rows of the table `numbers`, from 1.
pub const NUMBERS: usize = 40;
