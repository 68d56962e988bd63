//! Which statement a text is, and what is to be done about it.

use proxy::Kept;
use route::KillScope;

use crate::fault::Fault;
use crate::sheet::Schema;
use crate::show;
use crate::spelling::{Text, tokens};

/// What a client wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// A result of this statement, which SQLite reads.
    Query(String),
    /// The warnings of the statement before it.
    Warnings,
    /// How many there were.
    WarningCount,
    /// Another schema to begin with.
    Use(Schema),
    /// Nothing that would change anything here: what clients say of their session.
    Nothing,
    /// An end of a session, or of its statement.
    Kill(u32, KillScope),
    /// What is kept about statements is to be counted from nothing again.
    Reset(Kept),
}

/// The words that begin what can be read.
const QUERIES: [&str; 5] = ["SELECT", "WITH", "VALUES", "(", "EXPLAIN"];

/// What clients say of transactions, of which there are none.
const TRANSACTIONS: [&str; 6] = [
    "BEGIN",
    "START",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
];

/// Reads a text.
///
/// # Errors
/// What cannot be done.
pub fn read(text: &str, schema: Schema) -> Result<Statement, Fault> {
    let tokens = tokens(text)?;
    let text = Text::new(text, &tokens);
    if text.is_empty() {
        return Err(Fault::empty());
    }
    if let Some(rest) = text.behind("SHOW") {
        return show::show(rest, schema);
    }
    if let Some(rest) = text.behind_any(&["DESCRIBE", "DESC"]) {
        return show::describe(rest, schema);
    }
    if let Some(rest) = text.behind("EXPLAIN")
        && rest.name().is_some()
        && !rest.begins_with("SELECT")
        && !rest.begins_with("QUERY")
        && !rest.begins_with("WITH")
    {
        return show::describe(rest, schema);
    }
    if QUERIES.iter().any(|word| text.begins_with(word)) {
        return text.in_sqlite().map(Statement::Query);
    }
    if TRANSACTIONS.iter().any(|word| text.begins_with(word)) {
        return Ok(Statement::Nothing);
    }
    if let Some(rest) = text.behind("SET") {
        return set(rest);
    }
    if let Some(rest) = text.behind("USE") {
        let (name, _) = rest.name().ok_or_else(|| Fault::syntax("USE schema"))?;
        let schema = Schema::named(&name).ok_or_else(|| Fault::no_schema(&name))?;
        return Ok(Statement::Use(schema));
    }
    if let Some(rest) = text.behind("KILL") {
        return kill(rest);
    }
    if let Some(rest) = text.behind("RESET") {
        return reset(rest).ok_or_else(|| Fault::syntax("RESET DIGESTS or RESET ERRORS"));
    }
    if let Some(rest) = text.behind("TRUNCATE") {
        return reset(rest.without(&["TABLE"])).ok_or_else(Fault::read_only);
    }
    Err(Fault::read_only())
}

/// What holds for the session alone has no effect here, and is let through: client libraries say it when
/// they connect.
fn set(rest: Text<'_>) -> Result<Statement, Fault> {
    let mut rest = rest;
    while !rest.is_empty() {
        let word = rest.first().to_ascii_uppercase();
        let is_global = matches!(&*word, "GLOBAL" | "PERSIST" | "PERSIST_ONLY" | "PASSWORD");
        let is_global = is_global || word.starts_with("@@GLOBAL") || word.starts_with("@@PERSIST");
        if is_global {
            let text = "Settings are changed in the configuration file; SIGHUP has it read again";
            return Err(Fault::new(Fault::read_only().code, text));
        }
        rest = rest.rest();
    }
    Ok(Statement::Nothing)
}

/// What is kept, by the name of its table.
fn reset(rest: Text<'_>) -> Option<Statement> {
    let (name, rest) = rest.name()?;
    let kept = match &*name.to_ascii_lowercase() {
        "digests" | "stats_mysql_query_digest" => Kept::Digests,
        "errors" => Kept::Errors,
        _ => return None,
    };
    rest.is_empty().then_some(Statement::Reset(kept))
}

fn kill(rest: Text<'_>) -> Result<Statement, Fault> {
    let (rest, scope) = match rest.behind("QUERY") {
        Some(rest) => (rest, KillScope::Statement),
        None => (rest.without(&["CONNECTION"]), KillScope::Connection),
    };
    let target = rest.number().filter(|(_, rest)| rest.is_empty());
    let id = target.and_then(|(id, _)| u32::try_from(id).ok());
    let id = id.ok_or_else(|| Fault::syntax("KILL [QUERY] id"))?;
    Ok(Statement::Kill(id, scope))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Statement, u16> {
        super::read(text, Schema::Pilotfish).map_err(|fault| fault.code.number)
    }

    #[test]
    fn statements_are_told_apart() {
        let query = |text: &str| Ok(Statement::Query(text.to_owned()));
        let kill = |scope| Ok(Statement::Kill(7, scope));
        for (text, expected) in [
            ("select 1", query("select 1")),
            ("/* x */ (SELECT 1)", query("(SELECT 1)")),
            ("SET NAMES utf8mb4", Ok(Statement::Nothing)),
            (
                "SET autocommit=0, @@session.sql_mode='x'",
                Ok(Statement::Nothing),
            ),
            ("SET GLOBAL x = 1", Err(1142)),
            ("set @@global.x = 1", Err(1142)),
            ("COMMIT", Ok(Statement::Nothing)),
            ("use Stats", Ok(Statement::Use(Schema::Stats))),
            ("USE `nowhere`", Err(1049)),
            ("KILL 7", kill(KillScope::Connection)),
            ("kill connection 7;", kill(KillScope::Connection)),
            ("KILL QUERY 7", kill(KillScope::Statement)),
            ("KILL", Err(1064)),
            ("KILL 7 8", Err(1064)),
            ("KILL 99999999999", Err(1064)),
            ("RESET digests", Ok(Statement::Reset(Kept::Digests))),
            (
                "truncate table `errors`;",
                Ok(Statement::Reset(Kept::Errors)),
            ),
            ("TRUNCATE sessions", Err(1142)),
            ("RESET digests 1", Err(1064)),
            ("RESET", Err(1064)),
            ("", Err(1065)),
            ("-- nothing", Err(1065)),
            ("DELETE FROM sessions", Err(1142)),
            ("ATTACH 'x' AS y", Err(1142)),
            ("PRAGMA database_list", Err(1142)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
