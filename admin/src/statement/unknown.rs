//! Texts that are no statement of the port: why not, and what to write instead.

use crate::dialect::Text;
use crate::fault::Fault;
use crate::replaced;

/// First words of statements that servers have and this port does not.
const OF_SERVERS: &str = "\
    ALTER ANALYZE BACKUP BINLOG CACHE CALL CHANGE CHECK CHECKSUM CLONE CREATE DEALLOCATE DECLARE DO DROP EXECUTE \
    GET GRANT HANDLER HELP IMPORT INSTALL LOAD OPTIMIZE PREPARE PURGE RENAME REPAIR RESIGNAL RESTART REVOKE \
    SHUTDOWN SIGNAL START STOP TABLE UNINSTALL XA";

/// The most characters of a word that a message repeats.
const WORD_CHARS_MAX: usize = 64;

/// The error for a statement that was not understood.
pub fn fault(text: Text<'_>) -> Fault {
    let word = text.first().to_ascii_uppercase();
    if let Some(instead) = replaced::statement(&text.words()) {
        return Fault::not_here(format!("This is no statement of the admin port: {instead}"));
    }
    let help = "SELECT * FROM help lists the statements";
    match &*word {
        "TRUNCATE" => Fault::not_emptied(),
        "SAVE" => Fault::syntax(
            "SAVE writes the file that the proxy was started with, and nothing stands behind it",
        ),
        "SHOW" => Fault::not_here(format!("The admin port does not know this SHOW; {help}")),
        "REVERT" => {
            Fault::syntax("REVERT goes back to the whole file, and nothing stands behind it")
        }
        _ if OF_SERVERS.split(' ').any(|it| it == word) => Fault::not_here(format!(
            "{word} is a statement for servers, and the admin port does not know it; {help}"
        )),
        _ => {
            let word: String = text.first().chars().take(WORD_CHARS_MAX).collect();
            Fault::syntax(format!("No statement begins with {word}; {help}"))
        }
    }
}
