//! The session's settings in a QUERY event (`Query_log_event` of `log_event.cc`).

use wire::{Malformed, Reader};

/// The maximum number of schemas that the server lists for a statement.
const SCHEMAS_MAX: usize = 16;
/// The server writes this number if a statement names more schemas.
const TOO_MANY_SCHEMAS: u8 = 254;

/// The session's settings that the server has written and that this code knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatusVariables<'a> {
    /// The options of the session (`OPTION_…` bits).
    pub options: Option<u32>,
    /// The bits of `sql_mode`.
    pub sql_mode: Option<u64>,
    /// `auto_increment_increment`, `auto_increment_offset`
    pub auto_increment: Option<(u16, u16)>,
    /// The collation ids of the client's character set, of the connection and of the server.
    pub charset: Option<[u16; 3]>,
    /// `time_zone`
    pub time_zone: Option<&'a [u8]>,
    /// The user and the host whose privileges the server has checked.
    pub invoker: Option<(&'a [u8], &'a [u8])>,
    /// The schemas that the statement changes; empty if there are too many.
    pub schemas: Vec<&'a [u8]>,
    /// The microseconds that belong to the event's timestamp.
    pub microseconds: Option<u32>,
    /// The transaction id, if the server writes it in a QUERY event (DDL of MySQL, DML of MariaDB).
    pub xid: Option<u64>,
    /// The default collation of `utf8mb4`.
    pub utf8mb4_collation: Option<u16>,
    /// Whether an unknown variable follows. The variables after it were not read.
    pub has_unknown: bool,
}

impl<'a> StatusVariables<'a> {
    /// Decodes the variables. They have no length, so decoding ends at the first unknown variable.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let mut variables = Self::default();
        while !reader.is_empty() && !variables.has_unknown {
            let code = reader.u8("status variable")?;
            variables.read_value(code, &mut reader)?;
        }
        Ok(variables)
    }

    fn read_value(&mut self, code: u8, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        match code {
            0 => self.options = Some(reader.u32("session options")?),
            1 => self.sql_mode = Some(reader.u64("sql_mode")?),
            2 => {
                short(reader, "catalog")?;
                reader.u8("end of the catalog")?;
            }
            3 => {
                let increment = reader.u16("auto_increment_increment")?;
                self.auto_increment = Some((increment, reader.u16("auto_increment_offset")?));
            }
            4 => {
                let mut id = || reader.u16("character sets");
                self.charset = Some([id()?, id()?, id()?]);
            }
            5 => self.time_zone = Some(short(reader, "time zone")?),
            6 => drop(short(reader, "catalog")?),
            11 => {
                let user = short(reader, "invoker's user")?;
                self.invoker = Some((user, short(reader, "invoker's host")?));
            }
            12 => self.read_schemas(reader)?,
            13 | 128 => {
                let micros = reader.uint(3, "microseconds")?;
                self.microseconds = u32::try_from(micros).ok();
            }
            17 | 129 => self.xid = Some(reader.u64("transaction id")?),
            18 => self.utf8mb4_collation = Some(reader.u16("collation of utf8mb4")?),
            _ => self.has_unknown = !skip_value(code, reader)?,
        }
        Ok(())
    }

    fn read_schemas(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        let count = reader.u8("number of schemas")?;
        if count == TOO_MANY_SCHEMAS {
            return Ok(());
        }
        if usize::from(count) > SCHEMAS_MAX {
            return Err(Malformed::Invalid("number of schemas"));
        }
        for _ in 0..count {
            self.schemas.push(reader.until_nul("schema name")?);
        }
        Ok(())
    }
}

/// Reads a text after a byte with its length.
fn short<'a>(reader: &mut Reader<'a>, item: &'static str) -> Result<&'a [u8], Malformed> {
    let length = reader.u8(item)?;
    reader.bytes(usize::from(length), item)
}

/// Skips the value of an unused variable. Returns false if the variable is unknown.
fn skip_value(code: u8, reader: &mut Reader<'_>) -> Result<bool, Malformed> {
    let length = match code {
        // lc_time_names, collation_database
        7 | 8 => 2,
        // Bitmap of the tables that a multi-table UPDATE changes.
        9 => 8,
        // How many bytes the source's source has written.
        10 => 4,
        // explicit_defaults_for_timestamp, sql_require_primary_key, default_table_encryption
        16 | 19 | 20 => 1,
        // MariaDB's two-phase ALTER: the sequence number of the first part follows in the second.
        130 if reader.u8("flags of a two-phase ALTER")? & 0x0c != 0 => 8,
        130 => 0,
        // character_set_collations
        131 => 4 * usize::from(reader.u8("number of collations")?),
        _ => return Ok(false),
    };
    reader.bytes(length, "status variable")?;
    Ok(true)
}
