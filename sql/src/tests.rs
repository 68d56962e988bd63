//! A long text is read a few times at most. If the rest of a text were read again for each of its
//! pieces, a client could keep a worker busy for hours with one statement.

use crate::work::bytes_read;
use crate::{Answers, Flags, digest, facts, rewrite};

const LENGTH: usize = 100_000;

/// The greatest number of times that any byte may be read on average. The texts below need at most 4.
const PASSES_MAX: usize = 6;

fn assert_read_few_times(what: &str, text: &[u8]) {
    let flags = Flags::default();
    let rewritten = [b"SELECT ROW_COUNT(), ".as_slice(), text].concat();
    for (reader, bytes) in [
        ("facts", bytes_read(|| drop(facts(text, flags)))),
        ("digest", bytes_read(|| drop(digest(text, flags)))),
        (
            "rewrite",
            bytes_read(|| drop(rewrite(&rewritten, flags, &Answers::default()))),
        ),
    ] {
        let limit = PASSES_MAX * rewritten.len();
        assert!(bytes > 0, "{reader} of {what} counts nothing");
        assert!(bytes <= limit, "{reader} of {what}: {bytes} > {limit}");
    }
}

#[test]
fn repeated_pieces_are_read_few_times() {
    for piece in [
        "SHOW COUNT(*);",
        "FLUSH TABLES WITH READ;",
        "ALTER EVENT e;",
        "1,'",
        "_x ",
        "'a\\'",
        "/*!99999 ",
        "/*",
        "/*! ",
        "1,'a' 'b',",
        "(1,2),(3,a),",
        "WITH ",
        "WITH a AS (",
        "@x:=1,",
        "SET @x=(",
        "INSERT INTO t((",
        "@@a.",
        "(",
        "SELECT (",
        "(SELECT ROW_COUNT(),",
        "ROW_COUNT(),",
        "a,",
        "EXPLAIN ",
        "CASE ",
        "BEGIN ",
        "SET STATEMENT a=1 FOR ",
    ] {
        let text = piece.repeat(LENGTH / piece.len());
        assert_read_few_times(piece, text.as_bytes());
    }
}

#[test]
fn different_dollar_tags_are_read_few_times() {
    let tags: String = (0..LENGTH / 7).map(|n| format!("$a{n}$ ")).collect();
    assert_read_few_times("dollar tags", tags.as_bytes());
}

#[test]
fn a_long_name_is_read_few_times() {
    // Each 0xa0 may belong to a UTF-8 character, so the name continues after it.
    let text = [b"\xc3".as_slice(), &b"\xa0".repeat(LENGTH)].concat();
    assert_read_few_times("a name", &text);
}
