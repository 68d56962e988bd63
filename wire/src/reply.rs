//! OK, EOF and ERR packets (protocol pages "OK_Packet", "EOF_Packet", "ERR_Packet").

use crate::read::{Malformed, Reader};
use crate::status::StatusFlags;

/// First byte of an OK packet.
pub const OK: u8 = 0x00;
/// First byte of an ERR packet.
pub const ERR: u8 = 0xff;
/// First byte of an EOF packet, and of the OK packet that replaces it.
pub const EOF: u8 = 0xfe;
/// First byte of a request for the client's file.
pub const LOCAL_INFILE: u8 = 0xfb;

/// An EOF packet is shorter than this, in payload bytes; a row may begin with the same byte.
pub const EOF_BYTES_LIMIT: usize = 9;

/// ERR code of MariaDB's progress reports, which end nothing.
pub const PROGRESS_REPORT: u16 = 0xffff;

/// Whether a payload is one of MariaDB's progress reports, if the session has negotiated them.
pub fn is_progress_report(payload: &[u8]) -> bool {
    let [low, high] = PROGRESS_REPORT.to_le_bytes();
    payload.starts_with(&[ERR, low, high])
}

/// The fixed part of an OK packet, with first byte 0x00 or 0xfe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OkPacket {
    /// Rows changed.
    pub affected_rows: u64,
    /// First value made by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// Session status after the command.
    pub status: StatusFlags,
    /// Warnings that SHOW WARNINGS would list.
    pub warnings: u16,
}

impl OkPacket {
    /// Decodes the beginning of a payload; message and session state may follow it.
    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        Self::read(&mut Reader::new(payload))
    }

    /// Decodes the payload of a server before protocol 4.1: it counts no warnings, and may leave out the flags.
    pub fn decode_40(payload: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8("OK header")?;
        Ok(Self {
            affected_rows: reader.lenenc("affected rows")?,
            last_insert_id: reader.lenenc("last insert id")?,
            status: StatusFlags(reader.u16("status flags").unwrap_or_default()),
            warnings: 0,
        })
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.u8("OK header")?;
        Ok(Self {
            affected_rows: reader.lenenc("affected rows")?,
            last_insert_id: reader.lenenc("last insert id")?,
            status: StatusFlags(reader.u16("status flags")?),
            warnings: reader.u16("warning count")?,
        })
    }
}

/// The offset of the status flags in an OK packet's payload: two bytes, followed by two bytes of warnings.
/// `None` if the payload is too short.
pub fn ok_flags_at(payload: &[u8]) -> Option<usize> {
    let mut reader = Reader::new(payload);
    reader.u8("OK header").ok()?;
    reader.lenenc("affected rows").ok()?;
    reader.lenenc("last insert id").ok()?;
    Some(payload.len() - reader.rest().len())
}

/// The first byte of an OK packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OkHeader {
    /// 0x00: the whole reply.
    Ok,
    /// 0xfe: the end of rows, under DEPRECATE_EOF.
    Eof,
}

impl OkHeader {
    /// The byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Ok => OK,
            Self::Eof => EOF,
        }
    }
}

/// Reads the status flags of a (non-OK) EOF packet.
pub fn eof_status(payload: &[u8]) -> Result<StatusFlags, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8("EOF header")?;
    reader.u16("warning count")?;
    Ok(StatusFlags(reader.u16("status flags")?))
}

/// Appends an EOF packet's payload.
pub fn put_eof(out: &mut Vec<u8>, status: StatusFlags, warnings: u16) {
    out.push(EOF);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.0.to_le_bytes());
}

/// An error number of the server (`ER_*`) or client library (`CR_*`), with its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode {
    /// The number.
    pub number: u16,
    /// Five characters.
    pub sqlstate: [u8; 5],
}

impl ErrorCode {
    /// ER_OUTOFMEMORY.
    pub const OUT_OF_MEMORY: Self = Self::new(1037, *b"HY001");
    /// ER_CON_COUNT_ERROR.
    pub const CON_COUNT: Self = Self::new(1040, *b"08004");
    /// ER_HANDSHAKE_ERROR.
    pub const HANDSHAKE: Self = Self::new(1043, *b"08S01");
    /// ER_ACCESS_DENIED_ERROR.
    pub const ACCESS_DENIED: Self = Self::new(1045, *b"28000");
    /// ER_UNKNOWN_COM_ERROR.
    pub const UNKNOWN_COM: Self = Self::new(1047, *b"08S01");
    /// ER_SERVER_SHUTDOWN.
    pub const SERVER_SHUTDOWN: Self = Self::new(1053, *b"08S01");
    /// ER_NO_SUCH_THREAD.
    pub const NO_SUCH_THREAD: Self = Self::new(1094, *b"HY000");
    /// ER_KILL_DENIED_ERROR: the thread is another user's.
    pub const KILL_DENIED: Self = Self::new(1095, *b"HY000");
    /// ER_UNKNOWN_ERROR.
    pub const UNKNOWN: Self = Self::new(1105, *b"HY000");
    /// ER_HOST_IS_BLOCKED.
    pub const HOST_IS_BLOCKED: Self = Self::new(1129, *b"HY000");
    /// ER_NET_PACKET_TOO_LARGE.
    pub const PACKET_TOO_LARGE: Self = Self::new(1153, *b"08S01");
    /// ER_NET_PACKETS_OUT_OF_ORDER.
    pub const PACKETS_OUT_OF_ORDER: Self = Self::new(1156, *b"08S01");
    /// ER_NET_READ_INTERRUPTED: a time-out while reading.
    pub const READ_INTERRUPTED: Self = Self::new(1159, *b"08S01");
    /// ER_TOO_MANY_USER_CONNECTIONS: more sessions at once than the account may have.
    pub const TOO_MANY_USER_CONNECTIONS: Self = Self::new(1203, *b"42000");
    /// ER_USER_LIMIT_REACHED: the account has reached a limit on its resources.
    pub const USER_LIMIT: Self = Self::new(1226, *b"42000");
    /// ER_UNKNOWN_STMT_HANDLER: no such prepared statement.
    pub const UNKNOWN_STMT_HANDLER: Self = Self::new(1243, *b"HY000");
    /// ER_QUERY_INTERRUPTED: by KILL QUERY.
    pub const QUERY_INTERRUPTED: Self = Self::new(1317, *b"70100");
    /// ER_MAX_PREPARED_STMT_COUNT_REACHED.
    pub const MAX_PREPARED_STMT_COUNT: Self = Self::new(1461, *b"42000");
    /// ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
    pub const CANT_EXECUTE_IN_READ_ONLY: Self = Self::new(1792, *b"25006");
    /// ER_MALFORMED_PACKET.
    pub const MALFORMED_PACKET: Self = Self::new(1835, *b"HY000");
    /// ER_CONNECT_TO_FOREIGN_DATA_SOURCE. It stands for CR_CONN_HOST_ERROR (2003), whose number
    /// libmariadb does not accept from the wire: to it, 2000 to 2999 in an ERR packet are malformed.
    pub const NO_BACKEND: Self = Self::new(1429, *b"08001");
    /// ER_NET_READ_ERROR. It stands for CR_SERVER_LOST (2013), for the same reason.
    pub const BACKEND_LOST: Self = Self::new(1158, *b"08S01");
    /// ER_LOCK_DEADLOCK: the transaction is rolled back, and may be tried again.
    pub const LOCK_DEADLOCK: Self = Self::new(1213, *b"40001");
    /// ER_OPTION_PREVENTS_STATEMENT, which read-only servers send as well.
    pub const OPTION_PREVENTS_STATEMENT: Self = Self::new(1290, *b"HY000");
    /// ER_CONNECTION_KILLED: MariaDB's, by KILL.
    pub const CONNECTION_KILLED: Self = Self::new(1927, *b"70100");
    /// ER_WRONG_ARGUMENTS.
    pub const WRONG_ARGUMENTS: Self = Self::new(1210, *b"HY000");
    /// ER_SPECIFIC_ACCESS_DENIED_ERROR.
    pub const SPECIFIC_ACCESS_DENIED: Self = Self::new(1227, *b"42000");
    /// ER_NOT_SUPPORTED_YET.
    pub const NOT_SUPPORTED: Self = Self::new(1235, *b"42000");
    /// ER_NOT_SUPPORTED_AUTH_MODE.
    pub const NOT_SUPPORTED_AUTH_MODE: Self = Self::new(1251, *b"08004");
    /// ER_STMT_HAS_NO_OPEN_CURSOR.
    pub const NO_OPEN_CURSOR: Self = Self::new(1421, *b"HY000");
    /// ER_ACCOUNT_HAS_BEEN_LOCKED of MySQL.
    pub const ACCOUNT_LOCKED_MYSQL: Self = Self::new(3118, *b"HY000");
    /// ER_ACCOUNT_HAS_BEEN_LOCKED of MariaDB.
    pub const ACCOUNT_LOCKED_MARIADB: Self = Self::new(4151, *b"HY000");
    /// CR_VERSION_ERROR, for clients of the protocol before 4.1. It is sent without an SQLSTATE.
    pub const VERSION: Self = Self::new(2007, *b"HY000");
    /// The number and the SQLSTATE of MySQL Proxy's own errors.
    pub const SCRIPT: Self = Self::new(1105, *b"07000");
    /// ER_CLIENT_INTERACTION_TIMEOUT.
    pub const INTERACTION_TIMEOUT: Self = Self::new(4031, *b"HY000");
    /// ER_SECURE_TRANSPORT_REQUIRED.
    pub const SECURE_TRANSPORT_REQUIRED: Self = Self::new(3159, *b"HY000");

    const fn new(number: u16, sqlstate: [u8; 5]) -> Self {
        Self { number, sqlstate }
    }
}

/// An ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    /// The error number.
    pub number: u16,
    /// SQLSTATE; absent in errors sent before the client named its capabilities.
    pub sqlstate: Option<[u8; 5]>,
    /// The text, in the session's character set.
    pub text: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    /// Decodes a payload.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8("ERR header")? != ERR {
            return Err(Malformed::Invalid("ERR header"));
        }
        let number = reader.u16("error number")?;
        let sqlstate = match reader.rest().split_first_chunk::<6>() {
            Some((&[b'#', a, b, c, d, e], _)) => {
                reader.bytes(6, "SQLSTATE")?;
                Some([a, b, c, d, e])
            }
            _ => None,
        };
        Ok(Self {
            number,
            sqlstate,
            text: reader.remainder(),
        })
    }

    /// Appends the payload.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        out.extend_from_slice(&self.number.to_le_bytes());
        if let Some(sqlstate) = self.sqlstate {
            out.push(b'#');
            out.extend_from_slice(&sqlstate);
        }
        out.extend_from_slice(self.text);
    }
}

#[cfg(test)]
mod tests;
