//! Commands that say in a byte what a statement says in words.

use wire::Command;

/// Returns the statement that a command stands for; none for a command that reads and changes only its session.
pub fn statement_of(command: Command, argument: &[u8]) -> Option<Vec<u8>> {
    let named = |words: &str, name: &[u8]| [words.as_bytes(), b" ", &quoted(name)].concat();
    Some(match command {
        Command::INIT_DB => named("USE", argument),
        Command::CREATE_DB => named("CREATE DATABASE", argument),
        Command::DROP_DB => named("DROP DATABASE", argument),
        Command::FIELD_LIST => {
            let table = argument.split(|byte| *byte == 0).next().unwrap_or_default();
            named("SHOW COLUMNS FROM", table)
        }
        Command::PROCESS_INFO => b"SHOW PROCESSLIST".to_vec(),
        Command::PROCESS_KILL => {
            let id = argument
                .first_chunk::<4>()
                .map_or(0, |id| u32::from_le_bytes(*id));
            format!("KILL {id}").into_bytes()
        }
        Command::SHUTDOWN => b"SHUTDOWN".to_vec(),
        Command::REFRESH => flush(argument.first().copied().unwrap_or_default()),
        _ => return None,
    })
}

/// The statements of a COM_REFRESH (`reload_acl_and_cache` of the servers).
fn flush(bits: u8) -> Vec<u8> {
    const STATEMENTS: [(u8, &str); 8] = [
        (0x01, "FLUSH PRIVILEGES"),
        (0x02, "FLUSH LOGS"),
        (0x04, "FLUSH TABLES"),
        (0x08, "FLUSH HOSTS"),
        (0x10, "FLUSH STATUS"),
        (0x20, "FLUSH THREADS"),
        (0x40, "RESET SLAVE"),
        (0x80, "RESET MASTER"),
    ];
    let meant = STATEMENTS.iter().filter(|(bit, _)| bits & bit != 0);
    let texts: Vec<_> = meant.map(|(_, text)| *text).collect();
    texts.join("; ").into_bytes()
}

fn quoted(name: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'`'];
    for byte in name {
        if *byte == b'`' {
            quoted.push(b'`');
        }
        quoted.push(*byte);
    }
    quoted.push(b'`');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_for_statements() {
        for (command, argument, text) in [
            (Command::INIT_DB, &b"a`b"[..], Some("USE `a``b`")),
            (Command::FIELD_LIST, b"t\0a%", Some("SHOW COLUMNS FROM `t`")),
            (Command::DROP_DB, b"s", Some("DROP DATABASE `s`")),
            (Command::PROCESS_KILL, &[7, 0, 0, 0], Some("KILL 7")),
            (Command::PROCESS_KILL, &[7], Some("KILL 0")),
            (
                Command::REFRESH,
                &[0x11],
                Some("FLUSH PRIVILEGES; FLUSH STATUS"),
            ),
            (Command::SHUTDOWN, b"", Some("SHUTDOWN")),
            (Command::PING, b"", None),
            (Command::STATISTICS, b"", None),
        ] {
            let made = statement_of(command, argument);
            let made = made.map(|text| String::from_utf8_lossy(&text).into_owned());
            assert_eq!(made.as_deref(), text, "{command}");
        }
    }
}
