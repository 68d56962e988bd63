//! What ProxySQL's administrators say: its modules' `LOAD` and `SAVE`, and its commands.

use super::Statement;
use crate::editor::Module;
use crate::fault::Fault;
use crate::spelling::Text;

/// The statement, if it is one of these.
pub fn read(text: Text<'_>) -> Option<Result<Statement, Fault>> {
    match text.behind("PROXYSQL") {
        Some(rest) => Some(command(&rest.words())),
        None => module(&text.words()),
    }
}

/// Commands that are none here, and what to do instead.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "FLUSH CONFIGDB",
        "The configuration is a file and no database; REVERT reads it again",
    ),
    (
        "FLUSH QUERY CACHE",
        "There is no cache of results, so there is nothing to be flushed",
    ),
    (
        "PAUSE",
        "The proxy does not stop accepting; UPDATE backends SET draining = 1 keeps new sessions away from a backend",
    ),
    (
        "RESUME",
        "The proxy does not stop accepting, so there is nothing to be resumed",
    ),
    (
        "SHUTDOWN",
        "The proxy is ended by whoever has started it, with SIGTERM: sessions come to rest first",
    ),
    (
        "KILL",
        "The proxy is ended by whoever has started it, with SIGTERM, and at once with a second one",
    ),
];

/// What is behind PROXYSQL.
fn command(words: &str) -> Result<Statement, Fault> {
    if words == "FLUSH LOGS" {
        return Ok(Statement::FlushLogs);
    }
    if words == "FLUSH MYSQL CLIENT HOSTS" {
        return Ok(Statement::FlushHosts);
    }
    let mut otherwise = OTHERWISE.iter();
    let found = otherwise.find(|(command, _)| {
        let rest = words.strip_prefix(command);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    });
    Err(Fault::not_here(match found {
        Some((_, text)) => (*text).to_owned(),
        None => "Of ProxySQL's commands there are PROXYSQL FLUSH LOGS and FLUSH MYSQL CLIENT HOSTS here; SELECT * FROM help lists what can be said"
            .to_owned(),
    }))
}

/// What a module's tables say is moved between memory, what holds, and the file.
fn module(words: &str) -> Option<Result<Statement, Fault>> {
    const MODULES: [(&str, Module); 5] = [
        ("MYSQL SERVERS ", Module::Servers),
        ("MYSQL USERS ", Module::Users),
        ("MYSQL QUERY RULES ", Module::QueryRules),
        ("MYSQL VARIABLES ", Module::Variables),
        ("ADMIN VARIABLES ", Module::Variables),
    ];
    let (verb, rest) = words.split_once(' ')?;
    let (way, module) = MODULES
        .iter()
        .find_map(|(name, module)| Some((rest.strip_prefix(name)?, *module)))?;
    let statement = match (verb, way) {
        ("LOAD", "TO RUNTIME" | "TO RUN" | "FROM MEMORY" | "FROM MEM") => Statement::Load(module),
        ("SAVE", "TO MEMORY" | "TO MEM" | "FROM RUNTIME" | "FROM RUN") => {
            Statement::Discard(module)
        }
        ("SAVE", "TO DISK" | "FROM MEMORY" | "FROM MEM") => Statement::Save,
        ("LOAD", "FROM DISK" | "TO MEMORY" | "TO MEM" | "FROM CONFIG") => {
            let text =
                "The file is one, and what it says holds when it is read: REVERT goes back to it";
            return Some(Err(Fault::syntax(text)));
        }
        _ => return None,
    };
    Some(Ok(statement))
}
