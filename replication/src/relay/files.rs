//! The relay files: their names, and their first events.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use binlog::{
    Checksum, EventFlags, EventHeader, EventReader, EventType, FormatDescription, GtidList, Limits,
    MysqlGtidSet, put_event,
};

use super::error::RelayError;
use crate::position::Position;

/// The first part of all file names, before the number.
const BASE: &str = "pilotfish";

/// The first bytes of a binary log.
pub const MAGIC: &[u8; 4] = b"\xfebin";

/// The checksum of each event.
pub const CHECKSUM: Checksum = Checksum::Crc32;

/// The name of a file.
pub fn name(number: u64) -> String {
    format!("{BASE}.{number:06}")
}

/// Returns the numbers of all relay files in a folder, in order.
pub fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in folder.read_dir()? {
        let file = entry?.file_name();
        let number = file.to_str().and_then(|it| it.strip_prefix(BASE));
        let number = number.and_then(|it| it.strip_prefix('.'));
        numbers.extend(number.and_then(|it| it.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// The first events of a relay file.
#[derive(Debug, Clone)]
pub struct Head {
    /// The format of its events.
    pub format: FormatDescription,
    /// The transactions of all files before it.
    pub before: Position,
    /// The length of the head, in bytes.
    pub bytes: u64,
}

impl Head {
    /// Appends the head, which begins a file.
    ///
    /// # Errors
    /// The head is too long.
    pub fn encode(&mut self, out: &mut Vec<u8>, server_id: u32) -> Result<(), RelayError> {
        out.extend_from_slice(MAGIC);
        let mut body = Vec::new();
        self.format.encode(&mut body);
        put(out, EventType::FORMAT_DESCRIPTION, server_id, &body)?;
        body.clear();
        let list = match &self.before {
            Position::Mysql(set) => {
                set.encode(&mut body);
                EventType::PREVIOUS_GTIDS
            }
            Position::Mariadb(set) => {
                let gtids = set.iter().copied().collect();
                GtidList { flags: 0, gtids }.encode(&mut body);
                EventType::GTID_LIST
            }
        };
        put(out, list, server_id, &body)?;
        self.bytes = out.len() as u64;
        Ok(())
    }

    /// Reads a file's head; none if the file ends within it.
    ///
    /// # Errors
    /// The file is of another kind, or is damaged.
    pub fn read(file: &Path, limits: Limits) -> Result<Option<Self>, RelayError> {
        let opened = File::open(file).map_err(io_error(file, "opened"))?;
        let mut events = EventReader::new(BufReader::new(opened), limits);
        let strange = |what| RelayError::Strange {
            file: file.to_owned(),
            what,
        };
        let cut = |error: binlog::FileError| match error.fault {
            binlog::Fault::Truncated { .. } => Ok(None),
            _ => Err(RelayError::Damaged {
                file: file.to_owned(),
                error,
            }),
        };
        if std::fs::metadata(file).is_ok_and(|it| it.len() <= MAGIC.len() as u64) {
            return Ok(None);
        }
        let format = match events.next_event() {
            Ok(Some((_, raw))) if raw.header().event_type == EventType::FORMAT_DESCRIPTION => {
                FormatDescription::decode(raw.body())
                    .map_err(|_| strange("its first event is damaged"))?
            }
            Ok(Some(_)) => {
                return Err(strange("it does not begin with FORMAT_DESCRIPTION"));
            }
            Ok(None) => return Ok(None),
            Err(error) => return cut(error),
        };
        let (at, raw) = match events.next_event() {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(error) => return cut(error),
        };
        let damaged = |_| strange("its list of GTIDs is damaged");
        let before = match raw.header().event_type {
            EventType::PREVIOUS_GTIDS => {
                Position::Mysql(MysqlGtidSet::decode(raw.body()).map_err(damaged)?)
            }
            EventType::GTID_LIST => {
                let list = GtidList::decode(raw.body()).map_err(damaged)?;
                Position::Mariadb(list.gtids.into_iter().collect())
            }
            _ => return Err(strange("its second event is no list of GTIDs")),
        };
        Ok(Some(Self {
            format,
            before,
            bytes: at + raw.bytes().len() as u64,
        }))
    }
}

/// Appends an event that the proxy creates itself.
fn put(
    out: &mut Vec<u8>,
    event_type: EventType,
    server_id: u32,
    body: &[u8],
) -> Result<(), RelayError> {
    let length = binlog::HEADER_BYTES + body.len() + CHECKSUM.length();
    let header = EventHeader {
        time: 0,
        event_type,
        server_id,
        length: 0,
        next_position: position_of(out.len() as u64 + length as u64),
        flags: EventFlags(0),
    };
    put_event(out, &header, body, CHECKSUM)
        .map_err(|_| RelayError::Unfit("the position has more GTIDs than an event can hold"))
}

/// The position in an event header: the offset modulo 2^32.
pub fn position_of(offset: u64) -> u32 {
    (offset & u64::from(u32::MAX)) as u32
}

/// Wraps an error of the operating system about a file.
pub fn io_error(file: &Path, what: &'static str) -> impl Fn(io::Error) -> RelayError {
    let file: PathBuf = file.to_owned();
    move |error| RelayError::Io {
        file: file.clone(),
        what,
        error,
    }
}
