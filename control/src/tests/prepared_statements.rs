//! A client's prepared statements with a scripted server, over a stream in this process.

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use wire::bound_values::BoundValue;
use wire::column::{ColumnDefinition, ColumnType};
use wire::result::{put_binary_header, put_rows};
use wire::statement::PrepareOk;
use wire::write::{put_lenenc_bytes, put_packets};
use wire::{Capabilities, Command, ErrPacket, HEADER_BYTES, Header, StatusFlags};

use super::scripted_backend::EOF;
use crate::{BackendClient, ClientError, PreparedStatement, ResultBounds, StatementResult};

const ENOUGH: ResultBounds = ResultBounds {
    rows: 10,
    bytes: 1 << 16,
};

/// The server's id of the statement.
const STATEMENT: u32 = 0x0102_0304;

/// The server's end of a connection. Commands wait in the stream, so one task can play both ends.
struct FarEnd(DuplexStream);

impl FarEnd {
    fn connected() -> (BackendClient, Self) {
        let (near, far) = duplex(1 << 20);
        (BackendClient::over(near, "8.4.0-scripted"), Self(far))
    }

    /// Writes the server's next reply before the command arrives.
    async fn say(&mut self, packets: &[u8]) {
        self.0.write_all(packets).await.unwrap();
    }

    /// Writes the server's last reply and closes the sending side. The server still reads.
    async fn say_and_end(&mut self, packets: &[u8]) {
        self.say(packets).await;
        self.0.shutdown().await.unwrap();
    }

    /// Reads the payload of the client's next command.
    async fn asked(&mut self) -> Vec<u8> {
        let mut header = [0; HEADER_BYTES];
        self.0.read_exact(&mut header).await.unwrap();
        let mut payload = vec![0; Header::decode(header).length];
        self.0.read_exact(&mut payload).await.unwrap();
        payload
    }

    /// Reads all remaining bytes of the client after the client has disconnected.
    async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.0.read_to_end(&mut rest).await.unwrap();
        rest
    }
}

fn column(name: &'static [u8], kind: ColumnType) -> ColumnDefinition<'static> {
    ColumnDefinition::new(name, kind, ColumnDefinition::BINARY_COLLATION, 20)
}

/// The reply to COM_STMT_PREPARE for a statement with so many placeholders and columns.
fn prepared(placeholders: u16, columns: u16) -> Vec<u8> {
    let head = PrepareOk {
        statement_id: STATEMENT,
        columns,
        parameters: placeholders,
        warnings: 0,
        metadata: None,
    };
    let mut payloads = vec![Vec::new()];
    head.encode(&mut payloads[0]);
    for count in [placeholders, columns] {
        for _ in 0..count {
            let mut definition = Vec::new();
            column(b"?", ColumnType::VAR_STRING).encode(Capabilities(0), &mut definition);
            payloads.push(definition);
        }
        if count > 0 {
            payloads.push(EOF.to_vec());
        }
    }
    packets(&payloads)
}

fn packets(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut packets = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = put_packets(&mut packets, sequence, payload);
    }
    packets
}

fn error(number: u16, text: &str) -> Vec<u8> {
    let mut payload = Vec::new();
    ErrPacket {
        number,
        sqlstate: Some(*b"HY000"),
        text: text.as_bytes(),
    }
    .encode(&mut payload);
    packets(&[payload])
}

/// A client with a prepared statement, and the server, which has read the COM_STMT_PREPARE.
async fn with_statement(placeholders: u16) -> (BackendClient, FarEnd, PreparedStatement) {
    let (mut client, mut server) = FarEnd::connected();
    server.say(&prepared(placeholders, 2)).await;
    let statement = client.prepare("SELECT ?").await.unwrap();
    assert_eq!(server.asked().await, b"\x16SELECT ?");
    (client, server, statement)
}

/// Executes a statement without placeholders. The server gives this answer.
async fn answered(answer: &[u8]) -> Result<StatementResult, ClientError> {
    let (mut client, mut server, statement) = with_statement(0).await;
    server.say(answer).await;
    client.execute(&statement, &[], ENOUGH).await
}

/// Binary rows with two columns: an unsigned number and a text.
fn rows(rows: &[(Option<u64>, Option<&str>)]) -> Vec<u8> {
    let mut number = column(b"number", ColumnType::LONGLONG);
    number.flags = ColumnDefinition::UNSIGNED;
    let columns = [number, column(b"text", ColumnType::VAR_STRING)];
    let mut out = Vec::new();
    put_rows(
        &mut out,
        1,
        Capabilities(0),
        &columns,
        rows,
        StatusFlags::AUTOCOMMIT,
        0,
        |payload, (number, text)| {
            put_binary_header(payload, [number.is_none(), text.is_none()].into_iter());
            payload.extend(number.map(u64::to_le_bytes).into_iter().flatten());
            if let Some(text) = text {
                put_lenenc_bytes(payload, text.as_bytes());
            }
        },
    );
    out
}

#[tokio::test]
async fn a_statement_is_prepared_executed_again_and_again_and_closed() {
    let (mut client, mut server, statement) = with_statement(2).await;
    for number in [7, u64::MAX] {
        server
            .say(&rows(&[(Some(number), Some("it")), (None, None)]))
            .await;
        let values = [BoundValue::Unsigned(number), BoundValue::Null];
        let result = client.execute(&statement, &values, ENOUGH).await.unwrap();
        let mut expected = vec![Command::STMT_EXECUTE.0, 4, 3, 2, 1, 0, 1, 0, 0, 0];
        // NULL bitmap, types follow, BIGINT UNSIGNED, NULL, the number.
        expected.extend([0b10, 1, 8, 0x80, 6, 0]);
        expected.extend(number.to_le_bytes());
        assert_eq!(server.asked().await, expected);
        let StatementResult::Rows(result) = result else {
            unreachable!("it has rows: {result:?}");
        };
        assert_eq!(result.names, ["number", "text"]);
        assert_eq!(result.types, [ColumnType::LONGLONG, ColumnType::VAR_STRING]);
        let row = vec![Some(number.to_string().into_bytes()), Some(b"it".to_vec())];
        assert_eq!(result.rows, [row, vec![None, None]]);
    }
    client.close(statement).await.unwrap();
    assert_eq!(server.asked().await, [Command::STMT_CLOSE.0, 4, 3, 2, 1]);
}

#[tokio::test]
async fn a_statement_without_rows_tells_how_many_it_has_changed() {
    let ok = packets(&[b"\0\x05\0\x02\0\0\0".to_vec()]);
    let done = StatementResult::Done { affected_rows: 5 };
    assert_eq!(answered(&ok).await, Ok(done));
}

#[tokio::test]
async fn an_error_of_the_server_leaves_the_connection_and_the_statement_as_they_are() {
    let (mut client, mut server) = FarEnd::connected();
    server.say(&error(1146, "no such table")).await;
    let refused = client.prepare("SELECT * FROM town").await.unwrap_err();
    assert_eq!(refused.number(), Some(1146));
    assert_eq!(refused.text, "it refused with error 1146: no such table");

    server.say(&prepared(0, 0)).await;
    let statement = client.prepare("DO 1").await.unwrap();
    server.say(&error(1213, "deadlock\nfound")).await;
    let refused = client.execute(&statement, &[], ENOUGH).await.unwrap_err();
    let message = refused.server.map(|error| error.message);
    assert_eq!(message.as_deref(), Some("deadlock\nfound"));
    assert_eq!(refused.text, "it refused with error 1213: deadlock found");
    server.say(&packets(&[b"\0\0\0\x02\0\0\0".to_vec()])).await;
    let done = client.execute(&statement, &[], ENOUGH).await;
    assert_eq!(done, Ok(StatementResult::Done { affected_rows: 0 }));
}

#[tokio::test]
async fn another_number_of_values_than_of_placeholders_is_not_sent() {
    let (mut client, mut server, statement) = with_statement(2).await;
    for values in [&[BoundValue::Null][..], &[BoundValue::Null; 3]] {
        let refused = client
            .execute(&statement, values, ENOUGH)
            .await
            .unwrap_err();
        assert_eq!(refused.server, None);
        let given = values.len();
        let text = format!("the statement has 2 placeholders, and {given} values");
        assert_eq!(refused.text, text);
    }
    drop(client);
    assert_eq!(server.rest().await, b"");
}

#[tokio::test]
async fn more_rows_than_fit_are_refused() {
    let many = vec![(Some(1), None); ENOUGH.rows + 1];
    let refused = answered(&rows(&many)).await.unwrap_err();
    let text = "it is no MySQL server: it sends more rows than fit";
    assert_eq!(refused.text, text);
    assert!(answered(&rows(&many[1..])).await.is_ok());
}

/// A reply that is cut anywhere, or that has another form, causes an error and no panic.
#[tokio::test]
async fn a_truncated_or_invalid_reply_to_prepare_is_an_error() {
    let whole = prepared(2, 1);
    for cut in 0..whole.len() {
        let (mut client, mut server) = FarEnd::connected();
        server.say_and_end(&whole[..cut]).await;
        assert!(client.prepare("SELECT ?, ?").await.is_err(), "{cut}");
    }
    for answer in [
        // An answer with another first byte, a definition in place of the EOF, a request for a file.
        packets(&[b"\x01".to_vec()]),
        packets(&[
            vec![0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
            vec![0; 20],
            vec![0; 20],
        ]),
        packets(&[b"\xfb/etc/passwd".to_vec()]),
    ] {
        let (mut client, mut server) = FarEnd::connected();
        server.say(&answer).await;
        let refused = client.prepare("SELECT ?").await.unwrap_err();
        assert!(
            refused.text.starts_with("it is no MySQL server: "),
            "{refused}"
        );
    }
    let whole = rows(&[(Some(1), Some("text"))]);
    for cut in 0..whole.len() {
        let (mut client, mut server, statement) = with_statement(0).await;
        server.say_and_end(&whole[..cut]).await;
        let executed = client.execute(&statement, &[], ENOUGH).await;
        assert!(executed.is_err(), "{cut}");
    }
}

/// Rows whose bytes do not fit their columns.
#[tokio::test]
async fn a_row_that_is_too_short_or_too_long_is_refused() {
    let definition = |kind| {
        let mut payload = Vec::new();
        column(b"it", kind).encode(Capabilities(0), &mut payload);
        payload
    };
    let rows: [(ColumnType, &[u8]); 8] = [
        (ColumnType::LONGLONG, b"\0\0\x01\0\0\0\0\0\0"),
        (ColumnType::LONGLONG, b"\0\0\x01\0\0\0\0\0\0\0\0"),
        (ColumnType::VAR_STRING, b"\0\0\x05abc"),
        (ColumnType::VAR_STRING, b"\0\0\xfc\xff\xff"),
        (ColumnType::DATETIME, b"\0\0\x03\x01\x01\x01"),
        (ColumnType::NULL, b"\0\0"),
        (ColumnType::TINY, b"\0"),
        (ColumnType::TINY, b""),
    ];
    for (kind, row) in rows {
        let eof = EOF.to_vec();
        let payloads = [vec![1], definition(kind), eof.clone(), row.to_vec(), eof];
        let refused = answered(&packets(&payloads)).await.unwrap_err();
        let is_malformed = refused.text.starts_with("it is no MySQL server: ");
        assert!(is_malformed, "{kind:?}: {refused}");
    }
}
