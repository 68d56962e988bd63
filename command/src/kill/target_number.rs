//! The number that the target of a KILL stands for, from a server's reply.

use backend::connection_error::ConnectionError;
use backend::exchange_outcome::ExchangeError;
use backend::own_reply::{OwnReply, table};
use pool::BackendStatementId;
use wire::Capabilities;
use wire::statement::PrepareOk;

/// The id of the statement that the server has prepared.
///
/// # Errors
/// The reply is malformed.
pub fn prepared_id(own: &OwnReply) -> Result<BackendStatementId, ExchangeError> {
    match PrepareOk::decode(own.first_payload()) {
        Ok(ok) => Ok(BackendStatementId(ok.statement_id)),
        Err(error) => Err(ExchangeError::unanswered(
            ConnectionError::from(error).into(),
        )),
    }
}

/// The number in a row of text. NULL counts as 0, which is no thread's id.
pub fn text_number(own: &OwnReply, capabilities: Capabilities) -> Option<u64> {
    let table = table(own, capabilities).ok()?;
    match table.row.first()? {
        None => Some(0),
        Some(value) => {
            let number: i64 = std::str::from_utf8(value).ok()?.parse().ok()?;
            Some(number.cast_unsigned())
        }
    }
}

/// The number in a row of the binary protocol: a zero, a byte of NULL bits, the number.
pub fn binary_number(own: &OwnReply, capabilities: Capabilities) -> Option<u64> {
    let has_eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
    let row = own.payloads().nth(2 + usize::from(has_eof))?;
    let (&[0, nulls], number) = row.split_first_chunk()? else {
        return None;
    };
    if nulls != 0 {
        return Some(0);
    }
    match *number {
        [a, b, c, d] => Some(i64::from(i32::from_le_bytes([a, b, c, d])).cast_unsigned()),
        _ => Some(u64::from_le_bytes(number.try_into().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use session::state::Changes;
    use session::{Outcome, Tally};
    use wire::write::put_packets;

    use super::*;

    /// A result with this one row, after a head and a column that are not read.
    fn reply(row: &[u8], has_eof: bool) -> OwnReply {
        let mut bytes = Vec::new();
        put_packets(&mut bytes, 1, b"\x01");
        put_packets(&mut bytes, 2, b"a column");
        if has_eof {
            put_packets(&mut bytes, 3, b"\xfe\0\0\x02\0");
        }
        put_packets(&mut bytes, 4, row);
        OwnReply {
            bytes,
            outcome: Outcome::Ok,
            tally: Tally::default(),
            changes: Changes::default(),
            is_cut: false,
        }
    }

    #[test]
    fn a_binary_row_has_a_number_of_four_or_eight_bytes() {
        for (row, expected) in [
            (&b"\0\0\x05\0\0\0"[..], Some(5)),
            (b"\0\0\x05\0\0\0\x01\0\0\0", Some(0x1_0000_0005)),
            (b"\0\0\xff\xff\xff\xff", Some(u64::MAX)),
            (b"\0\x04", Some(0)),
            (b"\0\0\x05\0", None),
            (b"\x01\0\x05\0\0\0", None),
            (b"", None),
        ] {
            let with_eof = binary_number(&reply(row, true), Capabilities::default());
            assert_eq!(with_eof, expected, "{row:?}");
            let without = binary_number(&reply(row, false), Capabilities::DEPRECATE_EOF);
            assert_eq!(without, expected, "{row:?}");
        }
    }
}
