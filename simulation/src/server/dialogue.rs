//! Dialogues with a server, played against the model and against real servers alike: what both say must be the same.
//!
//! A dialogue is a text. Each line is a step of a session, which is named by a word:
//!
//! ```text
//! # a comment
//! a+ plain                  session a logs in as `plain`; without this line it is `app`, in schema `d`
//! a> SELECT 1               COM_QUERY, and its reply
//! a>> SELECT SLEEP(1)       COM_QUERY, whose reply comes later
//! a~                        waits until what a has sent waits for something itself
//! a<                        the reply, or what else the server says
//! a: PING                   another command: see `Command`
//! mysql a> SELECT 1         a step for one family only
//! disk: FULL                the server's disk is full; `disk: FREE`: it has room again
//! server: SHUT_DOWN         the server ends in order; `CRASH`: at once; `START`: it is up again
//! server: STOP_REPLICA      the server's replica stops; `START_REPLICA`: it goes on
//! replica> SELECT 1         the same at the server's replica: for sessions whose names begin with `replica`
//! replica: STANDING         what SHOW REPLICA STATUS says of both threads, and how far it is behind
//! ```
//!
//! `$a` is the connection id of session a, `$gtids` what the server has executed so far, `$disk` a folder on the disk
//! that can be full. `root` is an administrator.

mod client;
mod model_place;
mod shown;
mod step;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::family::Family;
use client::Client;
pub use model_place::ModelPlace;
use step::{Act, Step};

/// A connection to a server.
pub trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// Something that is awaited.
pub type Awaited<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Where a dialogue is played.
pub trait Place {
    /// The family of the server.
    fn family(&self) -> Family;

    /// A connection for a user.
    fn connect(&self, user: &str, host: Host) -> Awaited<'_, io::Result<Box<dyn Stream>>>;

    /// The password of a user.
    fn password(&self, user: &str) -> String;

    /// Waits a little for the server to do something.
    fn pause(&self) -> Awaited<'_, ()>;

    /// The server's disk is full, or has room again.
    fn fill_disk(&self, full: bool);

    /// Something happens to the server or to its replica.
    fn strike(&self, blow: Blow);

    /// A folder on that disk.
    fn disk(&self) -> String;

    /// Whether what a connection executes waits for something.
    fn is_waiting<'a>(&'a self, connection: u32, root: &'a mut dyn Asks) -> Awaited<'a, bool>;
}

/// To which server a session connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// The one that takes writes.
    Source,
    /// Its replica.
    Replica,
}

/// What may happen to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// It ends in order.
    ShutDown,
    /// It ends at once.
    Crash,
    /// It is up again.
    Start,
    /// Its replica does not replicate.
    StopReplica,
    /// Its replica goes on.
    StartReplica,
}

/// Somebody who asks a server.
pub trait Asks {
    /// The value of a statement that gives one.
    fn ask<'a>(&'a mut self, statement: &'a str) -> Awaited<'a, String>;
}

/// The longest wait for a reply.
const PATIENCE: Duration = Duration::from_secs(100);

/// The schema that every dialogue finds empty.
const SCHEMA: &str = "d";

/// Plays a dialogue in an empty schema; what was asked and said, line by line.
pub async fn play(place: &dyn Place, text: &str) -> String {
    let mut player = Player::new(place);
    player.prepare().await;
    player.play_all(text).await
}

/// The same in the schema as others have left it.
pub async fn play_on(place: &dyn Place, text: &str) -> String {
    Player::new(place).play_all(text).await
}

impl<'a> Player<'a> {
    fn new(place: &'a dyn Place) -> Self {
        Self {
            place,
            clients: BTreeMap::new(),
            transcript: String::new(),
        }
    }
}

/// The first lines in which two transcripts differ, with those before them; none if they do not.
pub fn difference(real: &str, model: &str) -> Option<String> {
    let (real, model): (Vec<&str>, Vec<&str>) = (real.lines().collect(), model.lines().collect());
    let length = real.len().max(model.len());
    let at = (0..length).find(|at| real.get(*at) != model.get(*at))?;
    let before = real[at.saturating_sub(6).min(real.len())..at.min(real.len())].join("\n");
    let line = |of: &[&str]| of[at.min(of.len())..(at + 4).min(of.len())].join("\n        ");
    Some(format!(
        "{before}\n  real: {}\n model: {}\n",
        line(&real),
        line(&model)
    ))
}

struct Player<'a> {
    place: &'a dyn Place,
    clients: BTreeMap<String, Client>,
    transcript: String,
}

impl Player<'_> {
    async fn play_all(mut self, text: &str) -> String {
        for step in step::steps(text, self.place.family()) {
            self.play(&step).await;
        }
        self.transcript
    }

    /// An empty schema, and nothing left of other dialogues.
    async fn prepare(&mut self) {
        for statement in [
            format!("DROP DATABASE IF EXISTS {SCHEMA}"),
            format!("CREATE DATABASE {SCHEMA}"),
        ] {
            self.root().await.ask(&statement).await;
        }
    }

    async fn root(&mut self) -> &mut Client {
        self.connect("root", "root", "").await;
        self.clients.get_mut("root").expect("it was just opened")
    }

    /// Logs a session in that is not.
    async fn connect(&mut self, session: &str, user: &str, options: &str) {
        if self.clients.contains_key(session) {
            return;
        }
        let host = match session.starts_with("replica") {
            true => Host::Replica,
            false => Host::Source,
        };
        let stream = self.place.connect(user, host).await;
        let schema = (session != "root").then_some(SCHEMA);
        let password = self.place.password(user);
        let client = Client::log_in(stream, user, &password, schema, options).await;
        if let Some(refusal) = client.refusal() {
            self.say(refusal);
        }
        self.clients.insert(session.to_owned(), client);
    }

    fn say(&mut self, text: &str) {
        for line in text.lines() {
            self.transcript.push_str("    ");
            self.transcript.push_str(line);
            self.transcript.push('\n');
        }
    }

    async fn play(&mut self, step: &Step) {
        self.transcript.push_str(&step.line);
        self.transcript.push('\n');
        if let Act::Connect(user, options) = &step.act {
            self.clients.remove(&step.session);
            return self.connect(&step.session, user, options).await;
        }
        if let Act::Disk(full) = step.act {
            return self.place.fill_disk(full);
        }
        if let Act::Blow(blow) = step.act {
            // An administrator's session ends with the server.
            self.clients.remove("root");
            return self.place.strike(blow);
        }
        let user = if step.session == "root" {
            "root"
        } else {
            "app"
        };
        self.connect(&step.session, user, "").await;
        if let Act::AwaitWait = step.act {
            return self.await_wait(&step.session).await;
        }
        let act = self.filled(&step.act).await;
        let Some(client) = self.clients.get_mut(&step.session) else {
            return;
        };
        let played = tokio::time::timeout(PATIENCE, client.act(&act)).await;
        let said = played.unwrap_or_else(|_| "no answer in time".to_owned());
        let said = self.without_ids(&said);
        self.say(&said);
    }

    /// The names of sessions in place of their ids, and no ids of statements.
    fn without_ids(&self, said: &str) -> String {
        let mut words: Vec<String> = said.split(' ').map(str::to_owned).collect();
        for at in 1..words.len() {
            if words[at - 1] == "thread" {
                let own = self
                    .clients
                    .iter()
                    .find(|it| it.1.id().to_string() == words[at]);
                words[at] = own.map_or(words[at].clone(), |it| format!("${}", it.0));
            }
            let is_id = words[at]
                .trim_matches(['(', ')'])
                .bytes()
                .all(|it| it.is_ascii_digit());
            // A server's own folders.
            if let (Some(rest), Some(end)) = (words[at].strip_prefix('\''), words[at].rfind('/'))
                && rest.starts_with(['/', '.'])
            {
                words[at] = format!("'…{}", &words[at][end..]);
            }
            if words[at - 1] == "handler" && is_id {
                words[at] = "(…)".to_owned();
            }
        }
        words.join(" ")
    }

    /// Waits until a session waits for something.
    async fn await_wait(&mut self, session: &str) {
        let Some(id) = self.clients.get(session).map(Client::id) else {
            return;
        };
        self.root().await;
        for _ in 0..2000 {
            let Some(root) = self.clients.get_mut("root") else {
                return;
            };
            if self.place.is_waiting(id, root).await {
                return;
            }
            self.place.pause().await;
        }
        self.say("it does not wait");
    }

    /// A step with the ids of connections and with what the server has executed.
    async fn filled(&mut self, act: &Act) -> Act {
        let Act::Query(text) = act else {
            return self.filled_send(act).await;
        };
        Act::Query(self.fill(text).await)
    }

    async fn filled_send(&mut self, act: &Act) -> Act {
        match act {
            Act::Send(text) => Act::Send(self.fill(text).await),
            other => other.clone(),
        }
    }

    async fn fill(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        if text.contains("$gtids") {
            let question = match self.place.family() {
                Family::MariaDb => "SELECT @@global.gtid_current_pos",
                Family::MySql => "SELECT @@global.gtid_executed",
            };
            let executed = self.root().await.ask(question).await;
            text = text.replace("$gtids", &executed.replace('\n', ""));
        }
        text = text.replace("$disk", &self.place.disk());
        for (session, client) in &self.clients {
            text = text.replace(&format!("${session}"), &client.id().to_string());
        }
        text
    }
}

#[cfg(test)]
mod tests;
