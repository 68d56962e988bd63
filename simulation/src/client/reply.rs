//! Replies, read to their end.

use wire::binary_row::{BinaryRow, BinaryType};
use wire::column::ColumnDefinition;
use wire::reply::{self, OkPacket, eof_status};
use wire::result::{ResultHead, TextRow};
use wire::statement::PrepareOk;
use wire::{Capabilities, ErrPacket, StatusFlags};

use super::{Broken, Client};

/// A value of a row: its text, or NULL.
pub type Value = Option<String>;

/// The largest number of rows. A reply with more rows is a fault.
const ROWS_MAX: usize = 100_000;

/// An error of the server or of the proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The error's number.
    pub number: u16,
    /// The error's SQLSTATE.
    pub state: String,
    /// The error's text.
    pub text: String,
}

/// A reply. If a reply has several results, this is the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// No rows.
    Done(OkPacket),
    /// Rows.
    Rows {
        /// The rows.
        rows: Vec<Vec<Value>>,
        /// The session status after the rows.
        status: StatusFlags,
        /// The number of warnings after the rows.
        warnings: u16,
    },
    /// An error.
    Error(ServerError),
}

impl ServerError {
    pub(super) fn of(error: &ErrPacket<'_>) -> Self {
        let state = error.sqlstate.unwrap_or(*b"HY000");
        Self {
            number: error.number,
            state: String::from_utf8_lossy(&state).into_owned(),
            text: String::from_utf8_lossy(error.text).into_owned(),
        }
    }
}

impl Reply {
    /// The only value of the only row.
    pub fn value(&self) -> Option<&Value> {
        match self {
            Reply::Rows { rows, .. } => match &**rows {
                [row] if row.len() == 1 => row.first(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the session status after the reply. `None` after an error.
    pub fn status(&self) -> Option<StatusFlags> {
        match self {
            Reply::Done(ok) => Some(ok.status),
            Reply::Rows { status, .. } => Some(*status),
            Reply::Error(_) => None,
        }
    }
}

/// Reads a reply with all its results.
pub(super) async fn read(client: &mut Client, is_binary: bool) -> Result<Reply, Broken> {
    loop {
        let reply = read_one(client, is_binary).await?;
        let more = reply
            .status()
            .is_some_and(|status| status.contains(StatusFlags::MORE_RESULTS_EXISTS));
        if !more {
            return Ok(reply);
        }
    }
}

async fn read_one(client: &mut Client, is_binary: bool) -> Result<Reply, Broken> {
    let capabilities = client.capabilities;
    let head = client.packet().await?;
    match head.first() {
        Some(&reply::OK) => return Ok(Reply::Done(OkPacket::decode(head)?)),
        Some(&reply::ERR) => return Ok(Reply::Error(ServerError::of(&ErrPacket::decode(head)?))),
        Some(&reply::EOF) if head.len() < reply::EOF_BYTES_LIMIT => {
            // COM_SET_OPTION's, for clients that know no other end.
            let status = eof_status(head)?;
            let ok = OkPacket {
                status,
                ..OkPacket::default()
            };
            return Ok(Reply::Done(ok));
        }
        _ => {}
    }
    let columns = ResultHead::decode(head, capabilities)?.columns as usize;
    match definitions(client, columns).await? {
        Ok(types) => client.types = types,
        Err(error) => return Ok(Reply::Error(error)),
    }
    let types = client.types.clone();
    read_rows(client, types, is_binary).await
}

/// Reads rows of columns of these types.
pub(super) async fn read_rows(
    client: &mut Client,
    types: Vec<BinaryType>,
    is_binary: bool,
) -> Result<Reply, Broken> {
    let capabilities = client.capabilities;
    let mut rows = Vec::new();
    loop {
        let packet = client.packet().await?;
        match packet.first() {
            Some(&reply::ERR) => {
                return Ok(Reply::Error(ServerError::of(&ErrPacket::decode(packet)?)));
            }
            Some(&reply::EOF) if ends_rows(packet, capabilities) => {
                let (status, warnings) = end(packet, capabilities)?;
                return Ok(Reply::Rows {
                    rows,
                    status,
                    warnings,
                });
            }
            _ if rows.len() == ROWS_MAX => {
                return Err(Broken::Protocol("rows without end".to_owned()));
            }
            _ if is_binary => rows.push(binary_row(packet, &types)?),
            _ => rows.push(text_row(packet, types.len())?),
        }
    }
}

/// Reads the reply to PREPARE.
pub(super) async fn read_prepared(client: &mut Client) -> Result<Result<u32, ServerError>, Broken> {
    let head = client.packet().await?;
    if head.first() == Some(&reply::ERR) {
        return Ok(Err(ServerError::of(&ErrPacket::decode(head)?)));
    }
    let prepared = PrepareOk::decode(head)?;
    for count in [prepared.parameters, prepared.columns] {
        if count > 0
            && let Err(error) = definitions(client, usize::from(count)).await?
        {
            return Ok(Err(error));
        }
    }
    Ok(Ok(prepared.statement_id))
}

/// Reads definitions and their end. An ERR may stand in the place of any of them, as libmysqlclient takes it.
async fn definitions(
    client: &mut Client,
    count: usize,
) -> Result<Result<Vec<BinaryType>, ServerError>, Broken> {
    let capabilities = client.capabilities;
    let mut types = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        let packet = client.packet().await?;
        if packet.first() == Some(&reply::ERR) {
            return Ok(Err(ServerError::of(&ErrPacket::decode(packet)?)));
        }
        let column = ColumnDefinition::decode(packet, capabilities)?;
        types.push(BinaryType::of_column(&column));
    }
    if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
        let packet = client.packet().await?;
        if packet.first() == Some(&reply::ERR) {
            return Ok(Err(ServerError::of(&ErrPacket::decode(packet)?)));
        }
        eof_status(packet)?;
    }
    Ok(Ok(types))
}

fn ends_rows(packet: &[u8], capabilities: Capabilities) -> bool {
    capabilities.contains(Capabilities::DEPRECATE_EOF) || packet.len() < reply::EOF_BYTES_LIMIT
}

fn end(packet: &[u8], capabilities: Capabilities) -> Result<(StatusFlags, u16), Broken> {
    if capabilities.contains(Capabilities::DEPRECATE_EOF) {
        let ok = OkPacket::decode(packet)?;
        return Ok((ok.status, ok.warnings));
    }
    let warnings = packet
        .get(1..3)
        .map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    Ok((eof_status(packet)?, warnings))
}

fn text_row(packet: &[u8], columns: usize) -> Result<Vec<Value>, Broken> {
    let values: Vec<Value> = TextRow::new(packet)
        .map(|value| Ok(value?.map(text)))
        .collect::<Result<_, Broken>>()?;
    match values.len() == columns {
        true => Ok(values),
        false => Err(Broken::Protocol(
            "a row has another number of values than the result has columns".to_owned(),
        )),
    }
}

fn binary_row(packet: &[u8], types: &[BinaryType]) -> Result<Vec<Value>, Broken> {
    let mut row = BinaryRow::new(packet, types.len())?;
    types
        .iter()
        .map(|&of| {
            let value = row.value(of)?;
            Ok(value.map(|it| text(&it.to_text())))
        })
        .collect()
}

/// Nearly all is ASCII, which the check for UTF-8 reads in large steps.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
