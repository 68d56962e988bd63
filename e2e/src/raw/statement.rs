//! The payloads of commands that carry parameters: COM_STMT_EXECUTE, COM_STMT_BULK_EXECUTE, and
//! COM_QUERY with query attributes.

use super::reply::{lenenc, lenenc_number};
use super::{RawConn, capability, command};

/// A parameter's value.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    /// NULL.
    Null,
    /// BIGINT.
    Int(i64),
    /// DOUBLE.
    Double(f64),
    /// VARCHAR.
    Text(&'a str),
    /// BLOB.
    Bytes(&'a [u8]),
    /// BLOB, whose data COM_STMT_SEND_LONG_DATA has already sent.
    Sent,
}

impl Param<'_> {
    fn kind(self) -> [u8; 2] {
        match self {
            Self::Null => [6, 0],
            Self::Int(_) => [8, 0],
            Self::Double(_) => [5, 0],
            Self::Text(_) => [0xFD, 0],
            Self::Bytes(_) | Self::Sent => [0xFC, 0],
        }
    }

    fn value(self) -> Vec<u8> {
        match self {
            Self::Null | Self::Sent => Vec::new(),
            Self::Int(number) => number.to_le_bytes().to_vec(),
            Self::Double(number) => number.to_le_bytes().to_vec(),
            Self::Text(text) => lenenc(text.as_bytes()),
            Self::Bytes(bytes) => lenenc(bytes),
        }
    }
}

fn null_bitmap(params: &[Param<'_>]) -> Vec<u8> {
    let mut bitmap = vec![0; params.len().div_ceil(8)];
    for (at, param) in params.iter().enumerate() {
        if matches!(param, Param::Null) {
            bitmap[at / 8] |= 1 << (at % 8);
        }
    }
    bitmap
}

/// The parts of a COM_STMT_EXECUTE.
#[derive(Clone, Debug)]
pub struct Execute<'a> {
    statement: u32,
    flags: u8,
    params: Vec<Param<'a>>,
    names: Vec<&'a str>,
    send_types: bool,
}

impl<'a> Execute<'a> {
    /// Executes a statement with these parameters.
    pub fn new(statement: u32, params: &[Param<'a>]) -> Self {
        Self {
            statement,
            flags: 0,
            params: params.to_vec(),
            names: vec![""; params.len()],
            send_types: true,
        }
    }

    /// Opens a read-only cursor instead of sending rows.
    pub fn cursor(mut self) -> Self {
        self.flags |= 1;
        self
    }

    /// Leaves out the types: the server knows them from the previous execution.
    pub fn without_types(mut self) -> Self {
        self.send_types = false;
        self
    }

    /// Adds a query attribute.
    pub fn attribute(mut self, name: &'a str, value: Param<'a>) -> Self {
        self.flags |= 8;
        self.names.push(name);
        self.params.push(value);
        self
    }

    /// The payload, in the form that the connection's capabilities require.
    pub fn payload(&self, conn: &RawConn) -> Vec<u8> {
        let mut payload = vec![command::STMT_EXECUTE];
        payload.extend(self.statement.to_le_bytes());
        payload.push(self.flags);
        payload.extend(1u32.to_le_bytes());
        if self.params.is_empty() {
            return payload;
        }
        let named = conn.can(capability::QUERY_ATTRIBUTES);
        if named {
            payload.extend(lenenc_number(self.params.len()));
        }
        payload.extend(null_bitmap(&self.params));
        payload.push(self.send_types.into());
        if self.send_types {
            for (param, name) in self.params.iter().zip(&self.names) {
                payload.extend(param.kind());
                if named {
                    payload.extend(lenenc(name.as_bytes()));
                }
            }
        }
        payload.extend(self.params.iter().flat_map(|param| param.value()));
        payload
    }
}

/// COM_STMT_BULK_EXECUTE: one row of parameters after the other; the types are the first row's.
pub fn bulk_execute(statement: u32, flags: u16, rows: &[&[Param<'_>]]) -> Vec<u8> {
    const SEND_TYPES: u16 = 128;
    let mut payload = vec![command::STMT_BULK_EXECUTE];
    payload.extend(statement.to_le_bytes());
    payload.extend((flags | SEND_TYPES).to_le_bytes());
    let first = rows.first().copied().unwrap_or_default();
    payload.extend(first.iter().flat_map(|param| param.kind()));
    for param in rows.iter().copied().flatten() {
        payload.push(matches!(param, Param::Null).into());
        payload.extend(param.value());
    }
    payload
}

/// COM_QUERY with query attributes.
pub fn query_with_attributes(attributes: &[(&str, Param<'_>)], sql: &str) -> Vec<u8> {
    let count = u8::try_from(attributes.len()).expect("few attributes");
    let params: Vec<Param<'_>> = attributes.iter().map(|&(_, value)| value).collect();
    let mut payload = vec![command::QUERY, count, 1];
    if count > 0 {
        payload.extend(null_bitmap(&params));
        payload.push(1);
        for (name, value) in attributes {
            payload.extend(value.kind());
            payload.extend(lenenc(name.as_bytes()));
        }
        payload.extend(params.iter().flat_map(|param| param.value()));
    }
    payload.extend(sql.as_bytes());
    payload
}

impl RawConn {
    /// COM_STMT_EXECUTE with its whole reply.
    pub fn execute(&mut self, execute: &Execute<'_>) -> super::Reply {
        let payload = execute.payload(self);
        self.send(&payload);
        self.reply(super::Shape::Results)
    }

    /// COM_STMT_FETCH with its whole reply.
    pub fn fetch(&mut self, statement: u32, rows: u32) -> super::Reply {
        let mut payload = vec![command::STMT_FETCH];
        payload.extend(statement.to_le_bytes());
        payload.extend(rows.to_le_bytes());
        self.send(&payload);
        self.reply(super::Shape::Rows)
    }

    /// COM_STMT_SEND_LONG_DATA, which has no reply.
    pub fn send_long_data(&mut self, statement: u32, parameter: u16, bytes: &[u8]) {
        let mut payload = vec![command::STMT_SEND_LONG_DATA];
        payload.extend(statement.to_le_bytes());
        payload.extend(parameter.to_le_bytes());
        payload.extend(bytes);
        self.send_silent(&payload);
    }

    /// COM_STMT_CLOSE, which has no reply.
    pub fn close_statement(&mut self, statement: u32) {
        let mut payload = vec![command::STMT_CLOSE];
        payload.extend(statement.to_le_bytes());
        self.send_silent(&payload);
    }

    /// COM_STMT_RESET.
    pub fn reset_statement(&mut self, statement: u32) -> super::Reply {
        self.command(command::STMT_RESET, &statement.to_le_bytes())
    }
}
