#![allow(clippy::unwrap_used)]

use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::thread::Builder;

use system::Threads;

use super::*;

/// With query attributes, two bytes precede each text.
const CAPABILITIES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

fn without_threads() -> TextReader {
    TextReader::new(Threads::new(|_, _| {
        Err(std::io::ErrorKind::Unsupported.into())
    }))
}

fn query(text: &[u8]) -> QueryCommand {
    let incoming = Incoming::of_text(text, CAPABILITIES);
    let decoded = QueryCommand::decode(incoming, CAPABILITIES, Box::default(), CommandPart::Whole);
    decoded.ok().unwrap()
}

/// A statement followed by this number of spaces.
fn long_text(blanks: usize) -> Vec<u8> {
    format!("UPDATE t SET a = 1{}", " ".repeat(blanks)).into_bytes()
}

#[tokio::test]
async fn a_command_whose_text_was_read_ahead_is_as_before_and_has_its_facts() {
    let (flags, reader, memory) = (Flags::default(), without_threads(), Arc::default());
    // In one packet and in two.
    for blanks in [READ_HERE_BYTES_MAX, 16 << 20] {
        let text = long_text(blanks);
        let mut query = query(&text);
        let packets = query.incoming().packets.clone();
        assert!(query.awaits_reader() && query.facts_ahead().is_none());
        query.read_ahead(&reader, flags, &memory).await;
        assert!(!query.awaits_reader());
        assert!(query.text() == text && query.query().text == text);
        assert!(query.incoming().packets == packets);
        let facts = sql::facts(&text, flags);
        assert_eq!(query.facts_ahead(), Some(&facts));
        let digest = query.take_digest_ahead(flags).map(|it| it.hash());
        assert_eq!(digest, Some(sql::digest(&text, flags).hash()));
        assert!(query.take_digest_ahead(flags).is_none());
    }
}

#[tokio::test]
async fn a_digest_read_ahead_under_another_sql_mode_is_not_used() {
    let mut query = query(&long_text(READ_HERE_BYTES_MAX));
    let (reader, memory) = (without_threads(), Arc::default());
    query.read_ahead(&reader, Flags::default(), &memory).await;
    let others = Flags {
        ansi_quotes: true,
        ..Flags::default()
    };
    assert!(query.take_digest_ahead(others).is_none());
}

#[tokio::test]
async fn a_replacement_text_is_read_at_any_length() {
    let (flags, reader, memory) = (Flags::default(), without_threads(), Arc::default());
    let mut query = query(b"SELECT 1");
    for blanks in [0, READ_HERE_BYTES_MAX] {
        let text = long_text(blanks);
        query.replace_text(&text, flags, (&reader, &memory)).await;
        assert!(query.text() == text);
        assert_eq!(*query.facts, sql::facts(&text, flags));
        assert!(query.facts_ahead().is_none(), "it has had its turn");
        let digest = (blanks > 0).then(|| sql::digest(&text, flags).hash());
        assert_eq!(query.digest, digest);
    }
}

#[test]
fn a_command_whose_text_is_lost_is_empty() {
    let (work, works) = mpsc::channel();
    let reader = TextReader::new(Threads::new(move |_, started| {
        work.send(started).unwrap();
        Builder::new().spawn(|| ())
    }));
    let mut query = query(&long_text(READ_HERE_BYTES_MAX));
    let memory = Arc::default();
    {
        let reading = pin!(query.read_ahead(&reader, Flags::default(), &memory));
        let context = &mut Context::from_waker(Waker::noop());
        assert!(reading.poll(context).is_pending());
    }
    assert_eq!((query.query().text, query.text()), (&b""[..], &b""[..]));
    drop(works);
}
