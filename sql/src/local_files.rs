//! Files of the client that a text names: `LOAD DATA LOCAL INFILE '…'`, also in the text of a PREPARE or an EXECUTE
//! IMMEDIATE.

use crate::flags::Flags;
use crate::lexer::{Lexer, TokenKind};
use crate::unquote::unquote;
use crate::words::Word;

const INFILE: &[u8] = b"INFILE";

/// The largest depth of texts within texts that are read.
const DEPTH_MAX: u32 = 4;

/// Returns the names, as written, of the client's files that a server may request because of this text.
pub fn local_files(text: &[u8], flags: Flags) -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    gather(text, flags, 0, &mut files);
    files
}

fn gather(text: &[u8], flags: Flags, depth: u32, files: &mut Vec<Vec<u8>>) {
    if depth == DEPTH_MAX || !names_a_file(text) {
        return;
    }
    let mut is_local = false;
    let mut is_due = false;
    for token in Lexer::new(text, flags) {
        let written = token.span.of(text);
        match token.kind {
            TokenKind::Word if token.word == Word::Local => is_local = true,
            TokenKind::Word if written.eq_ignore_ascii_case(INFILE) => {
                is_due = std::mem::take(&mut is_local);
            }
            TokenKind::String => {
                let Some(content) = unquote(written, flags) else {
                    continue;
                };
                match std::mem::take(&mut is_due) {
                    true => files.push(content.into_owned()),
                    false => gather(&content, flags, depth + 1, files),
                }
            }
            _ => {}
        }
    }
}

/// Whether the text contains INFILE at all. Most texts do not, and need no lexer.
fn names_a_file(text: &[u8]) -> bool {
    let mut windows = text.windows(INFILE.len());
    windows.any(|window| window.eq_ignore_ascii_case(INFILE))
}

/// Whether a server may request the file `asked` because a text names `file`. A server sends the name in its own
/// character set, so if both names are not ASCII, only their ASCII bytes are compared.
pub fn is_same_file(file: &[u8], asked: &[u8]) -> bool {
    let ascii = |name: &[u8]| -> Vec<u8> { name.iter().copied().filter(u8::is_ascii).collect() };
    file == asked || !file.is_ascii() && !asked.is_ascii() && ascii(file) == ascii(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_load_data_local_are_found_in_statements() {
        for (text, expected) in [
            (
                "LOAD DATA LOCAL INFILE 'a.csv' INTO TABLE t",
                &["a.csv"][..],
            ),
            (
                "load data concurrent local infile \"it''s\" ignore into table t",
                &["it''s"],
            ),
            ("LOAD XML LOCAL INFILE 'a\\tb' INTO TABLE t", &["a\tb"]),
            (
                "LOAD DATA /*!50000 LOCAL */ INFILE 'a' INTO TABLE t",
                &["a"],
            ),
            (
                "SELECT 1; LOAD DATA LOCAL INFILE 'a' INTO TABLE t; LOAD DATA LOCAL INFILE 'b' INTO TABLE t",
                &["a", "b"],
            ),
            (
                "PREPARE s FROM 'LOAD DATA LOCAL INFILE ''a'' INTO TABLE t'",
                &["a"],
            ),
            (
                "EXECUTE IMMEDIATE \"LOAD DATA LOCAL INFILE 'a' INTO TABLE t\"",
                &["a"],
            ),
            ("LOAD DATA INFILE 'a' INTO TABLE t", &[]),
            ("LOAD DATA INFILE 'LOCAL' INTO TABLE t", &[]),
            ("SELECT 'LOCAL', 'INFILE', '/etc/passwd'", &[]),
            ("SELECT 1 -- LOAD DATA LOCAL INFILE 'a'", &[]),
        ] {
            let files = local_files(text.as_bytes(), Flags::default());
            let expected: Vec<_> = expected.iter().map(|it| it.as_bytes().to_vec()).collect();
            assert_eq!(files, expected, "{text}");
        }
    }

    #[test]
    fn a_requested_local_file_must_equal_the_named_file() {
        assert!(is_same_file(b"/tmp/a", b"/tmp/a"));
        assert!(!is_same_file(b"/tmp/a", b"/etc/passwd"));
        assert!(is_same_file(b"/tmp/\xe9", "/tmp/é".as_bytes()));
        assert!(!is_same_file(b"/tmp/\xe9", b"/tmp/"));
        assert!(!is_same_file(b"/tmp/\xe9", "/etc/é".as_bytes()));
    }
}
