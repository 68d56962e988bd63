//! HEARTBEAT, both versions: the server is alive, and has no event to send.

use wire::{Malformed, Reader};

/// The server's current place in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heartbeat<'a> {
    /// The name of the file.
    pub name: &'a [u8],
    /// The offset of the next event, if the body contains it (version 2). In version 1 the header contains it.
    pub position: Option<u64>,
}

impl<'a> Heartbeat<'a> {
    /// Reads the body of version 1: the file's name.
    pub fn decode(body: &'a [u8]) -> Self {
        Self {
            name: body,
            position: None,
        }
    }

    /// Reads the body of version 2: fields of a type, a length and a value.
    ///
    /// # Errors
    /// A field is longer than the body.
    pub fn decode_v2(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut heartbeat = Self {
            name: b"",
            position: None,
        };
        while !reader.is_empty() {
            let field = reader.lenenc("field type")?;
            if field == 0 {
                break;
            }
            let value = reader.lenenc_bytes("field value")?;
            match field {
                1 => heartbeat.name = value,
                2 => heartbeat.position = Some(Reader::new(value).lenenc("position")?),
                _ => {}
            }
        }
        Ok(heartbeat)
    }
}
