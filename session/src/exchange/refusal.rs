//! Errors that the proxy keeps from a client, because it can send the command again. With them a server says that it
//! takes no writes, or has no room for another prepared statement.

use wire::{ErrPacket, ErrorCode};

/// ER_OPTION_PREVENTS_STATEMENT: an option that the text names forbids the statement.
const OPTION_PREVENTS: u16 = 1290;

/// ER_READ_ONLY_MODE
const READ_ONLY_MODE: u16 = 1836;

/// ER_INNODB_READ_ONLY, of `innodb_read_only`.
const INNODB_READ_ONLY: u16 = 1874;

/// Which error is kept from a client if it is the first packet of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Withholds {
    /// None.
    #[default]
    Nothing,
    /// The server takes no writes: see [`takes_no_writes`].
    NoWrites,
    /// The server has too many prepared statements: [`ErrorCode::MAX_PREPARED_STMT_COUNT`].
    NoRoom,
}

impl Withholds {
    /// Whether an ERR payload is such an error.
    pub(super) fn is_met(self, payload: &[u8]) -> bool {
        match self {
            Self::Nothing => false,
            Self::NoWrites => takes_no_writes(payload),
            Self::NoRoom => has_no_room(payload),
        }
    }
}

/// Whether an ERR payload says that the server has too many prepared statements.
pub fn has_no_room(payload: &[u8]) -> bool {
    let error = ErrPacket::decode(payload);
    error.is_ok_and(|error| error.number == ErrorCode::MAX_PREPARED_STMT_COUNT.number)
}

/// Whether an ERR payload says that the server is read-only. Error 1290 does if it names `read_only`,
/// `super_read_only` or `--read-only`: names of options are the same in each language of the servers' messages.
pub fn takes_no_writes(payload: &[u8]) -> bool {
    let Ok(error) = ErrPacket::decode(payload) else {
        return false;
    };
    match error.number {
        OPTION_PREVENTS => names_read_only(error.text),
        READ_ONLY_MODE | INNODB_READ_ONLY => true,
        _ => false,
    }
}

fn names_read_only(text: &[u8]) -> bool {
    let is_name = |part: &[u8]| {
        let separator = part.get(4);
        part.len() == 9
            && part[..4].eq_ignore_ascii_case(b"read")
            && matches!(separator, Some(b'_' | b'-'))
            && part[5..].eq_ignore_ascii_case(b"only")
    };
    text.windows(9).any(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn err(number: u16, text: &str) -> Vec<u8> {
        let [low, high] = number.to_le_bytes();
        [&[0xff, low, high][..], b"#HY000", text.as_bytes()].concat()
    }

    #[test]
    fn a_read_only_server_is_known_by_its_errors() {
        for (number, text, is_refusal) in [
            (
                1290,
                "The MySQL server is running with the --read-only option so it cannot execute this statement",
                true,
            ),
            (
                1290,
                "The MySQL server is running with the --super-read-only option so it cannot execute this",
                true,
            ),
            (
                1290,
                "The MariaDB server is running with the --read-only option so it cannot execute this statement",
                true,
            ),
            (1290, "Der Server läuft mit READ_ONLY=NO_LOCK", true),
            (
                1290,
                "The MySQL server is running with the --secure-file-priv option so it cannot execute this",
                false,
            ),
            (1290, "", false),
            (1836, "Running in read-only mode", true),
            (1874, "InnoDB is in read only mode.", true),
            (
                1792,
                "Cannot execute statement in a READ ONLY transaction",
                false,
            ),
            (1064, "read_only", false),
        ] {
            assert_eq!(takes_no_writes(&err(number, text)), is_refusal, "{text}");
        }
        assert!(!takes_no_writes(b""));
        assert!(!takes_no_writes(&[0xff, 0x0a]));
    }
}
