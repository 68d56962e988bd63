//! What is none of the port's statements: why not, and what can be said.

use crate::fault::Fault;
use crate::spelling::Text;

/// What begins statements that servers have, and this port has not.
const OF_SERVERS: [&str; 39] = [
    "ALTER",
    "ANALYZE",
    "BACKUP",
    "BINLOG",
    "CACHE",
    "CALL",
    "CHANGE",
    "CHECK",
    "CHECKSUM",
    "CLONE",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DO",
    "DROP",
    "EXECUTE",
    "GET",
    "GRANT",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSTALL",
    "LOAD",
    "OPTIMIZE",
    "PREPARE",
    "PURGE",
    "RENAME",
    "REPAIR",
    "RESIGNAL",
    "RESTART",
    "REVOKE",
    "SHUTDOWN",
    "SIGNAL",
    "START",
    "STOP",
    "TABLE",
    "UNINSTALL",
    "UNLOCK",
    "XA",
];

/// The most of a word that is repeated, in characters.
const WORD_CHARS_MAX: usize = 64;

/// What is wrong with a statement that nothing has understood.
pub fn fault(text: Text<'_>) -> Fault {
    let word = text.first().to_ascii_uppercase();
    let help = "SELECT * FROM help lists what can be said";
    match &*word {
        "TRUNCATE" => Fault::not_emptied(),
        "FLUSH" => Fault::not_here(format!(
            "Of FLUSH there are FLUSH HOSTS, FLUSH LOGS, FLUSH STATUS and FLUSH TABLES here; {help}"
        )),
        "LOCK" => Fault::not_here(
            "Of LOCK there is LOCK TABLES … READ here, for tools, and it locks nothing; BEGIN … COMMIT makes one \
             change of several",
        ),
        "SAVE" => Fault::syntax(
            "SAVE writes the file that the proxy was started with: SAVE, or SAVE MYSQL SERVERS | USERS | QUERY RULES | \
             VARIABLES TO DISK | TO MEMORY",
        ),
        "REVERT" => {
            Fault::syntax("REVERT goes back to the whole file, and nothing stands behind it")
        }
        _ if OF_SERVERS.contains(&&*word) => Fault::not_here(format!(
            "{word} is a statement of servers, and none of the admin port's; {help}"
        )),
        _ => {
            let word: String = text.first().chars().take(WORD_CHARS_MAX).collect();
            Fault::syntax(format!("No statement begins with {word}; {help}"))
        }
    }
}
