//! Errors by which a server says that it takes no writes.

use wire::ErrPacket;

/// ER_OPTION_PREVENTS_STATEMENT: an option that the text names forbids the statement.
const OPTION_PREVENTS: u16 = 1290;

/// ER_READ_ONLY_MODE
const READ_ONLY_MODE: u16 = 1836;

/// ER_INNODB_READ_ONLY, of `innodb_read_only`.
const INNODB_READ_ONLY: u16 = 1874;

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
