//! Reads which statement a text is.

use route::KillScope;
use stats::StatsTable;

use super::{Statement, unknown};
use crate::assignments;
use crate::dialect::{Text, tokens};
use crate::fault::Fault;
use crate::show;
use crate::table::Schema;

/// The first words of queries.
const QUERIES: [&str; 5] = ["SELECT", "WITH", "VALUES", "(", "EXPLAIN"];

/// The first words of statements that change rows.
const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "REPLACE"];

/// Reads a text.
///
/// # Errors
/// The statement is not possible here.
pub fn read(text: &str, schema: Schema) -> Result<Statement, Fault> {
    let tokens = tokens(text)?;
    let text = Text::new(text, &tokens);
    if text.is_empty() {
        return Err(Fault::empty());
    }
    if text.begins_with("SHOW") {
        return show::show(text, schema);
    }
    if let Some(rest) = text.behind_any(&["DESCRIBE", "DESC"]) {
        return show::describe(rest, schema);
    }
    if QUERIES.iter().any(|word| text.begins_with(word)) {
        return text.in_sqlite().map(Statement::Query);
    }
    if CHANGES.iter().any(|word| text.begins_with(word)) {
        return text.in_sqlite().map(Statement::Change);
    }
    if let Some(statement) = transaction(text) {
        return statement;
    }
    if let Some(rest) = text.behind("FLUSH") {
        let flushed = match &*rest.without(&["LOCAL", "NO_WRITE_TO_BINLOG"]).words() {
            "STATUS" => Some(Statement::ResetStatus),
            "HOSTS" => Some(Statement::FlushHosts),
            "LOGS" => Some(Statement::FlushLogs),
            _ => None,
        };
        return flushed.ok_or_else(|| unknown::fault(text));
    }
    if text.words() == "RESET STATUS" {
        return Ok(Statement::ResetStatus);
    }
    if let Some(rest) = text.behind("SAVE")
        && matches!(&*rest.words(), "" | "TO FILE")
    {
        return Ok(Statement::Save);
    }
    if let Some(rest) = text.behind("REVERT")
        && rest.is_empty()
    {
        return Ok(Statement::Revert);
    }
    if let Some(rest) = text.behind("SET") {
        return assignments::set(rest);
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
        return reset(rest).ok_or_else(|| {
            Fault::syntax("RESET DIGESTS, ERRORS, SLOW_STATEMENTS, PROFILES or INDEX_USAGE")
        });
    }
    if let Some(rest) = text.behind("TRUNCATE") {
        return reset(rest.without(&["TABLE"])).ok_or_else(Fault::not_emptied);
    }
    Err(unknown::fault(text))
}

/// A statement about transactions, if the text is one.
fn transaction(text: Text<'_>) -> Option<Result<Statement, Fault>> {
    let statement = match text.first().to_ascii_uppercase().as_str() {
        "BEGIN" => Statement::Begin,
        "START" if text.rest().begins_with("TRANSACTION") => Statement::Begin,
        "COMMIT" => Statement::Commit,
        "ROLLBACK" if text.words().contains(" TO ") => {
            return Some(Err(Fault::syntax("There are no savepoints here; ROLLBACK")));
        }
        "ROLLBACK" => Statement::Rollback,
        "SAVEPOINT" | "RELEASE" => {
            return Some(Err(Fault::syntax("There are no savepoints here")));
        }
        _ => return None,
    };
    Some(Ok(statement))
}

/// RESET of a table of statistics, by the table's name.
fn reset(rest: Text<'_>) -> Option<Statement> {
    let (mut name, mut rest) = rest.name()?;
    if let Some(behind) = rest.behind(".") {
        let schema = Schema::named(&name)?;
        (name, rest) = behind.name()?;
        crate::registry::table(Some(schema), &name)?;
    }
    if name.eq_ignore_ascii_case("index_usage") {
        return rest.is_empty().then_some(Statement::ResetIndexUsage);
    }
    let kept = match &*name.to_ascii_lowercase() {
        "digests" => StatsTable::Digests,
        "errors" => StatsTable::Errors,
        "slow_statements" => StatsTable::Slow,
        "profiles" => StatsTable::Profiles,
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
    fn no_value_is_audited() {
        for text in [
            "SET GLOBAL http.token = abc123",
            "SET GLOBAL http.token = 'abc123'",
            "UPDATE settings SET value = 'abc123' WHERE name = 'http.token'",
        ] {
            let audited = read(text).unwrap().audited(text);
            assert!(!audited.contains("abc123"), "{audited}");
        }
        let text = "SET GLOBAL http.token = abc123";
        assert_eq!(
            read(text).unwrap().audited(text),
            "SET GLOBAL http.token = ?"
        );
    }

    #[test]
    fn statements_are_distinguished_by_their_first_words() {
        let query = |text: &str| Ok(Statement::Query(text.to_owned()));
        let kill = |scope| Ok(Statement::Kill(7, scope));
        let set = |name: &str, value: Option<&str>| {
            let value = value.map(str::to_owned);
            Ok(Statement::Set(vec![(name.to_owned(), value)]))
        };
        for (text, expected) in [
            ("select 1", query("select 1")),
            ("/* x */ (SELECT 1)", query("(SELECT 1)")),
            ("SET NAMES utf8mb4", Ok(Statement::Nothing)),
            (
                "SET autocommit=0, @@session.sql_mode='x'",
                Ok(Statement::Nothing),
            ),
            (
                "SET GLOBAL limits.sessions_max = 1",
                set("limits.sessions_max", Some("1")),
            ),
            (
                "set global `limits`.sessions_max := 'a b'",
                set("limits.sessions_max", Some("a b")),
            ),
            ("SET GLOBAL zone = DEFAULT", set("zone", None)),
            ("SET GLOBAL zone", Err(1064)),
            ("SET GLOBAL zone = 'a' 'b'", Err(1064)),
            ("BEGIN", Ok(Statement::Begin)),
            ("start transaction read only", Ok(Statement::Begin)),
            ("COMMIT", Ok(Statement::Commit)),
            ("ROLLBACK WORK", Ok(Statement::Rollback)),
            ("ROLLBACK TO SAVEPOINT x", Err(1064)),
            ("SAVE", Ok(Statement::Save)),
            ("save to file", Ok(Statement::Save)),
            ("SAVE to '/etc/passwd'", Err(1064)),
            ("REVERT;", Ok(Statement::Revert)),
            ("flush logs;", Ok(Statement::FlushLogs)),
            ("FLUSH LOCAL LOGS", Ok(Statement::FlushLogs)),
            ("flush hosts;", Ok(Statement::FlushHosts)),
            ("PROXYSQL FLUSH CONFIGDB", Err(1235)),
            ("PROXYSQL SHUTDOWN SLOW", Err(1235)),
            ("PROXYSQL", Err(1235)),
            ("FLUSH PRIVILEGES", Err(1235)),
            ("LOCK TABLES a WRITE", Err(1235)),
            ("UNLOCK TABLES", Err(1235)),
            ("FLUSH TABLES", Err(1235)),
            ("LOAD MYSQL SERVERS TO RUNTIME", Err(1235)),
            ("SAVE MYSQL SERVERS TO DISK", Err(1235)),
            ("SHOW MYSQL USERS", Err(1235)),
            ("SHOW ENGINES", Err(1235)),
            ("xyz", Err(1064)),
            ("status", Err(1064)),
            ("drop table sessions", Err(1235)),
            ("SHOW CHANGES", Ok(Statement::Changes)),
            ("use Stats", Ok(Statement::Use(Schema::Stats))),
            ("USE `nowhere`", Err(1049)),
            ("KILL 7", kill(KillScope::Connection)),
            ("kill connection 7;", kill(KillScope::Connection)),
            ("KILL QUERY 7", kill(KillScope::Statement)),
            ("KILL", Err(1064)),
            ("KILL 7 8", Err(1064)),
            ("KILL 99999999999", Err(1064)),
            ("flush status;", Ok(Statement::ResetStatus)),
            ("RESET digests", Ok(Statement::Reset(StatsTable::Digests))),
            ("RESET profiles", Ok(Statement::Reset(StatsTable::Profiles))),
            ("RESET INDEX_USAGE;", Ok(Statement::ResetIndexUsage)),
            ("TRUNCATE TABLE index_usage", Ok(Statement::ResetIndexUsage)),
            (
                "truncate table `errors`;",
                Ok(Statement::Reset(StatsTable::Errors)),
            ),
            ("TRUNCATE sessions", Err(1142)),
            ("TRUNCATE TABLE main.errors", Err(1142)),
            ("RESET digests 1", Err(1064)),
            ("RESET", Err(1064)),
            ("", Err(1065)),
            ("-- nothing", Err(1065)),
            (
                "DELETE FROM sessions",
                Ok(Statement::Change("DELETE FROM sessions".to_owned())),
            ),
            ("ATTACH 'x' AS y", Err(1064)),
            ("PRAGMA database_list", Err(1064)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
