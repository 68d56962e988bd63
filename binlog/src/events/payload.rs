//! TRANSACTION_PAYLOAD of MySQL: the compressed events of a transaction.

use std::io::{BufReader, Read};

use wire::{Malformed, Reader};

use crate::error::EventError;
use crate::header::{EventHeader, HEADER_BYTES};
use crate::limits::Limits;

const COMPRESSION_ZSTD: u64 = 0;
const COMPRESSION_NONE: u64 = 255;

/// The maximum window size of zstd, as a power of two. zstd's command-line program has the same default limit.
const WINDOW_LOG_MAX: u32 = 27;

/// The events of a transaction, without its GTID event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPayload<'a> {
    /// Whether the events are compressed with zstd.
    pub is_compressed: bool,
    /// The length of the uncompressed events, in bytes.
    pub uncompressed_bytes: u64,
    data: &'a [u8],
}

impl<'a> TransactionPayload<'a> {
    /// Decodes the body: fields of type, length and value up to a zero; then the events.
    ///
    /// # Errors
    /// The body is too short, or uses an unknown compression.
    pub fn decode(body: &'a [u8]) -> Result<Self, EventError> {
        let mut reader = Reader::new(body);
        let (mut size, mut compression, mut uncompressed) = (None, COMPRESSION_NONE, None);
        loop {
            let field = reader.lenenc("payload field")?;
            if field == 0 {
                break;
            }
            let mut value = Reader::new(reader.lenenc_bytes("payload field")?);
            match field {
                1 => size = Some(value.lenenc("payload length")?),
                2 => compression = value.lenenc("payload compression")?,
                3 => uncompressed = Some(value.lenenc("uncompressed length")?),
                _ => {}
            }
        }
        let size = size.unwrap_or(reader.rest().len() as u64);
        let size = usize::try_from(size).map_err(|_| Malformed::Truncated("payload"))?;
        let data = reader.bytes(size, "payload")?;
        let is_compressed = match compression {
            COMPRESSION_ZSTD => true,
            COMPRESSION_NONE => false,
            _ => return Err(Malformed::Invalid("payload compression").into()),
        };
        Ok(Self {
            is_compressed,
            uncompressed_bytes: uncompressed.unwrap_or(size as u64),
            data,
        })
    }

    /// The length of the stored payload, in bytes.
    pub fn stored_bytes(&self) -> usize {
        self.data.len()
    }

    /// Returns a reader of the events. These events have no checksums.
    ///
    /// # Errors
    /// zstd cannot be initialised.
    pub fn events(&self, limits: Limits) -> Result<PayloadEvents<'a>, EventError> {
        let source = if self.is_compressed {
            let decoder = zstd::stream::read::Decoder::with_buffer(self.data);
            let mut decoder = decoder.map_err(|_| EventError::Compression("payload"))?;
            decoder
                .window_log_max(WINDOW_LOG_MAX)
                .map_err(|_| EventError::Compression("payload"))?;
            PayloadSource::Zstd(BufReader::new(decoder))
        } else {
            PayloadSource::Plain(self.data)
        };
        Ok(PayloadEvents {
            source,
            limit: limits.event_bytes_max,
            rest: self.uncompressed_bytes,
            buffer: Vec::new(),
        })
    }
}

enum PayloadSource<'a> {
    Zstd(BufReader<zstd::stream::read::Decoder<'static, &'a [u8]>>),
    Plain(&'a [u8]),
}

impl Read for PayloadSource<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Zstd(decoder) => decoder.read(out),
            Self::Plain(bytes) => bytes.read(out),
        }
    }
}

/// A reader of the events of a payload. It holds one event in memory at a time.
pub struct PayloadEvents<'a> {
    source: PayloadSource<'a>,
    limit: usize,
    /// How many bytes of the stated uncompressed length are left.
    rest: u64,
    buffer: Vec<u8>,
}

impl PayloadEvents<'_> {
    /// Returns the bytes of the next event, without a checksum; none after the last event.
    ///
    /// # Errors
    /// The payload cannot be decompressed, ends within an event, or contains an event that is too long.
    pub fn next_event(&mut self) -> Result<Option<&[u8]>, EventError> {
        self.fill(HEADER_BYTES)?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        let header = EventHeader::decode(&self.buffer)?;
        let length = header.length as usize;
        if length > self.limit {
            return Err(EventError::TooLong {
                length: u64::from(header.length),
                limit: self.limit,
            });
        }
        let rest = length
            .checked_sub(HEADER_BYTES)
            .ok_or(Malformed::Invalid("event length"))?;
        let read = self.append(rest)?;
        if read < rest {
            return Err(Malformed::Truncated("event within a payload").into());
        }
        Ok(Some(&self.buffer))
    }

    fn fill(&mut self, count: usize) -> Result<(), EventError> {
        self.buffer.clear();
        self.append(count).map(|_| ())
    }

    fn append(&mut self, count: usize) -> Result<usize, EventError> {
        let mut limited = (&mut self.source).take(self.rest.min(count as u64));
        let read = limited
            .read_to_end(&mut self.buffer)
            .map_err(|_| EventError::Compression("payload"))?;
        self.rest -= read as u64;
        Ok(read)
    }
}
