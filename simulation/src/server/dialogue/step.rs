//! The steps of a dialogue, read from its text.

use super::super::family::Family;
use super::Blow;

/// A step of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// As it was written, without the family.
    pub line: String,
    /// Whose it is.
    pub session: String,
    /// What is done.
    pub act: Act,
}

/// What a session does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It logs in as a user, with options.
    Connect(String, String),
    /// COM_QUERY, and its reply.
    Query(String),
    /// COM_QUERY, whose reply comes later.
    Send(String),
    /// It waits until what was sent waits for something itself.
    AwaitWait,
    /// The reply to what was sent, or what else the server says.
    Receive,
    /// Another command, with its arguments.
    Command(String, String),
    /// The server's disk is full, or has room again.
    Disk(bool),
    /// Something happens to the server or to its replica.
    Blow(Blow),
}

/// The steps for a family, in their order.
pub(super) fn steps(text: &str, family: Family) -> Vec<Step> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|it| !it.is_empty() && !it.starts_with('#'));
    lines.filter_map(|line| step(line, family)).collect()
}

fn step(line: &str, family: Family) -> Option<Step> {
    let line = match (line.strip_prefix("mariadb "), line.strip_prefix("mysql ")) {
        (Some(rest), _) if family.is_mariadb() => rest,
        (_, Some(rest)) if !family.is_mariadb() => rest,
        (None, None) => line,
        _ => return None,
    };
    let end = line.find(|it: char| !it.is_ascii_alphanumeric())?;
    let (session, rest) = line.split_at(end);
    let text = |from: usize| rest.get(from..).unwrap_or_default().trim().to_owned();
    let pair = |from: usize| {
        let text = text(from);
        let (first, second) = text.split_once(' ').unwrap_or((&text, ""));
        (first.to_owned(), second.to_owned())
    };
    let act = match () {
        () if session == "server" => Act::Blow(blow(&text(1))?),
        () if session == "disk" => Act::Disk(text(1) == "FULL"),
        () if rest.starts_with(">>") => Act::Send(text(2)),
        () if rest.starts_with('>') => Act::Query(text(1)),
        () if rest.starts_with('<') => Act::Receive,
        () if rest.starts_with('~') => Act::AwaitWait,
        () if rest.starts_with('+') => {
            let (user, options) = pair(1);
            Act::Connect(user, options)
        }
        () if rest.starts_with(':') => {
            let (command, arguments) = pair(1);
            Act::Command(command, arguments)
        }
        () => return None,
    };
    Some(Step {
        line: line.to_owned(),
        session: session.to_owned(),
        act,
    })
}

fn blow(word: &str) -> Option<Blow> {
    Some(match word {
        "SHUT_DOWN" => Blow::ShutDown,
        "CRASH" => Blow::Crash,
        "START" => Blow::Start,
        "STOP_REPLICA" => Blow::StopReplica,
        "START_REPLICA" => Blow::StartReplica,
        _ => return None,
    })
}
