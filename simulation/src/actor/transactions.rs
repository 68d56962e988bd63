//! An actor's operations in transactions.

use super::{Actor, Leave};
use crate::books::Fate;
use crate::client::Reply;

/// The number of rows of the table `accounts`, whose ids begin at 1.
pub const ACCOUNTS: u64 = 8;
/// The balance of each account at the start.
pub const BALANCE: u64 = 1000;

/// ER_LOCK_DEADLOCK
const DEADLOCK: u16 = 1213;

/// The writes of a transaction.
#[derive(Default)]
struct Written {
    tokens: Vec<u64>,
    /// Ids of the written rows.
    ids: Vec<u64>,
}

impl Actor {
    /// Runs a transaction, and ends it with a random COMMIT or ROLLBACK.
    pub(super) async fn transact(&mut self) -> Result<(), Leave> {
        let mut written = Written::default();
        let ended = self.steps(&mut written).await;
        match ended {
            Ok(commits) => self.end(commits, &written).await,
            // A deadlock rolls the transaction back, and the session goes on.
            Err(Leave::Error(error)) if error.number == DEADLOCK && !self.part.is_rough() => {
                self.enter_all(&written.tokens, Fate::Withdrawn);
                self.session.is_within = false;
                Ok(())
            }
            // The client has sent no COMMIT, so the transaction is certainly rolled back.
            Err(why) => {
                self.enter_all(&written.tokens, Fate::Withdrawn);
                Err(why)
            }
        }
    }

    /// Runs the statements of a transaction before its end. Returns whether the transaction shall commit.
    async fn steps(&mut self, written: &mut Written) -> Result<bool, Leave> {
        let begin = ["BEGIN", "START TRANSACTION", "START TRANSACTION READ WRITE"];
        let begin = begin[self.part.dice.index(begin.len())];
        self.session.is_within = true;
        self.run(begin).await?;
        for _ in 0..self.part.dice.below(4) {
            match self.part.dice.below(5) {
                0 => {
                    let number = self.part.books.number();
                    let text = format!("SELECT {number}");
                    let reply = self.run(&text).await?;
                    self.expect(&text, &reply, Some(&number.to_string()))?;
                }
                1 => self.transfer().await?,
                2 => self.echo_prepared().await?,
                _ => {
                    let token = self.part.books.number();
                    written.tokens.push(token);
                    let text =
                        format!("INSERT INTO shop.ledger (token, amount) VALUES ({token}, 1)");
                    let reply = match self.part.dice.one_in(2) {
                        true => self.run(&text).await?,
                        false => self.write_prepared(token).await?,
                    };
                    let Reply::Done(ok) = reply else {
                        return Err(self.broken(format_args!("`{text}` gives {reply:?}")));
                    };
                    let id = ok.last_insert_id;
                    written.ids.push(id);
                    if self.part.dice.one_in(3) {
                        let text = format!("SELECT token FROM shop.ledger WHERE id = {id}");
                        let reply = self.run(&text).await?;
                        self.expect(&text, &reply, Some(&token.to_string()))?;
                    }
                }
            }
            if self.part.dice.one_in(12) {
                let pause = self.part.dice.millis(1, 500);
                tokio::time::sleep(pause).await;
            }
        }
        Ok(!self.part.dice.one_in(4))
    }

    /// Moves money from one account to another, mostly in the order of their numbers. The other order causes deadlocks.
    async fn transfer(&mut self) -> Result<(), Leave> {
        let low = 1 + self.part.dice.below(ACCOUNTS - 1);
        let high = low + 1 + self.part.dice.below(ACCOUNTS - low);
        let mut steps = [('-', low), ('+', high)];
        if self.part.dice.one_in(4) {
            steps.reverse();
        }
        for (sign, id) in steps {
            let text =
                format!("UPDATE shop.accounts SET balance = balance {sign} 1 WHERE id = {id}");
            let reply = match self.part.dice.one_in(2) {
                true => self.run(&text).await?,
                false => self.change_prepared(sign, id).await?,
            };
            if !matches!(&reply, Reply::Done(ok) if ok.affected_rows == 1) {
                return Err(self.broken(format_args!("`{text}` gives {reply:?}")));
            }
        }
        Ok(())
    }

    async fn change_prepared(&mut self, sign: char, id: u64) -> Result<Reply, Leave> {
        let text = "UPDATE shop.accounts SET balance = balance + ? WHERE id = ?";
        let statement = match self.session.prepared.change {
            Some(statement) => statement,
            None => self.prepare(text).await?,
        };
        self.session.prepared.change = Some(statement);
        let by = if sign == '-' { -1 } else { 1 };
        self.execute(text, statement, &[by, id as i64]).await
    }

    async fn write_prepared(&mut self, token: u64) -> Result<Reply, Leave> {
        let text = "INSERT INTO shop.ledger (token, amount) VALUES (?, 1)";
        let statement = match self.session.prepared.write {
            Some(statement) => statement,
            None => self.prepare(text).await?,
        };
        self.session.prepared.write = Some(statement);
        self.execute(text, statement, &[token as i64]).await
    }

    async fn end(&mut self, commits: bool, written: &Written) -> Result<(), Leave> {
        let text = match commits {
            true => "COMMIT",
            false => "ROLLBACK",
        };
        self.session.is_within = false;
        let ended = self.run(text).await;
        let fate = match (&ended, commits) {
            (Ok(_), true) => Fate::Acknowledged,
            (Err(why), true) if why.is_in_doubt() => Fate::InDoubt,
            (_, _) => Fate::Withdrawn,
        };
        self.enter_all(&written.tokens, fate);
        ended?;
        match (written.ids.first(), written.tokens.first()) {
            (Some(&id), Some(&token)) if commits => self.read_own(id, token).await,
            _ => Ok(()),
        }
    }

    fn enter_all(&self, tokens: &[u64], fate: Fate) {
        for &token in tokens {
            self.part.books.enter(token, fate);
        }
    }
}
