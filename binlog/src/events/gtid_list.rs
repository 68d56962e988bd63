//! GTID_LIST of MariaDB: the last GTID of each domain and server before the file begins.

use wire::{Malformed, Reader};

use crate::gtid_set::MariadbGtid;

const COUNT_MASK: u32 = 0x0fff_ffff;
const GTID_BYTES: usize = 16;

/// The transactions of the files before this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GtidList {
    /// The highest four bits: 1 means that the replica has reached the GTIDs that it asked for; 2 means that the
    /// GTIDs must be ignored.
    pub flags: u8,
    /// The last GTID of each domain and server, in the order of the event.
    pub gtids: Vec<MariadbGtid>,
}

impl GtidList {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let head = reader.u32("number of GTIDs")?;
        let count = (head & COUNT_MASK) as usize;
        if reader.rest().len() / GTID_BYTES < count {
            return Err(Malformed::Truncated("GTID list"));
        }
        let mut gtids = Vec::with_capacity(count);
        for _ in 0..count {
            gtids.push(MariadbGtid {
                domain: reader.u32("domain")?,
                server: reader.u32("server id")?,
                sequence: reader.u64("sequence number")?,
            });
        }
        let flags = (head >> 28) as u8;
        Ok(Self { flags, gtids })
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        // No server has so many domains that the count would reach the bits of the flags.
        let count = (self.gtids.len() as u32) & COUNT_MASK;
        out.extend_from_slice(&(count | u32::from(self.flags) << 28).to_le_bytes());
        if self.gtids.is_empty() {
            // The server fills an empty list up to 6 bytes, because servers before 10.0.13 need that.
            out.extend_from_slice(&[0, 0]);
        }
        for gtid in &self.gtids {
            out.extend_from_slice(&gtid.domain.to_le_bytes());
            out.extend_from_slice(&gtid.server.to_le_bytes());
            out.extend_from_slice(&gtid.sequence.to_le_bytes());
        }
    }
}
