//! GTID of MariaDB: it begins an event group, which is a transaction or a standalone statement.

use wire::{Malformed, Reader};

use crate::events::xa_prepare::Xid;
use crate::gtid_set::MariadbGtid;

/// The minimum length of the body. The server fills a shorter body with zero bytes.
const LENGTH_MIN: usize = 19;

/// The beginning of an event group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MariadbGtidEvent<'a> {
    /// The GTID of the group.
    pub gtid: MariadbGtid,
    /// The `FLAG_…` bits.
    pub flags: u8,
    /// Groups with the same id were committed together.
    pub commit_id: Option<u64>,
    /// The XA transaction that the group prepares or ends.
    pub xid: Option<Xid<'a>>,
    /// The `EXTRA_…` bits.
    pub extra_flags: u8,
    /// How many more storage engines take part.
    pub extra_engines: Option<u8>,
    /// The sequence number of the event group in which this ALTER TABLE began.
    pub alter_start: Option<u64>,
    /// The id of the connection that executed the group.
    pub thread_id: Option<u32>,
}

impl<'a> MariadbGtidEvent<'a> {
    /// No COMMIT follows: the group ends with its only statement.
    pub const FLAG_STANDALONE: u8 = 1;
    /// A commit id follows.
    pub const FLAG_GROUP_COMMIT_ID: u8 = 2;
    /// The group can be rolled back.
    pub const FLAG_TRANSACTIONAL: u8 = 4;
    /// The group may be applied in parallel.
    pub const FLAG_ALLOW_PARALLEL: u8 = 8;
    /// The group waited for a lock.
    pub const FLAG_WAITED: u8 = 16;
    /// The group is DDL.
    pub const FLAG_DDL: u8 = 32;
    /// The group prepares an XA transaction.
    pub const FLAG_PREPARED_XA: u8 = 64;
    /// The group ends an XA transaction.
    pub const FLAG_COMPLETED_XA: u8 = 128;

    /// More engines take part.
    pub const EXTRA_MULTI_ENGINE: u8 = 1;
    /// The group begins an ALTER TABLE in two phases.
    pub const EXTRA_START_ALTER: u8 = 2;
    /// The group commits an ALTER TABLE in two phases.
    pub const EXTRA_COMMIT_ALTER: u8 = 4;
    /// The group rolls back an ALTER TABLE in two phases.
    pub const EXTRA_ROLLBACK_ALTER: u8 = 8;
    /// The connection's id follows.
    pub const EXTRA_THREAD_ID: u8 = 16;

    /// Decodes the body. `server` is the id of the server that executed the group first.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &'a [u8], server: u32) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let sequence = reader.u64("sequence number")?;
        let domain = reader.u32("domain")?;
        let flags = reader.u8("GTID flags")?;
        let mut event = Self {
            gtid: MariadbGtid {
                domain,
                server,
                sequence,
            },
            flags,
            commit_id: None,
            xid: None,
            extra_flags: 0,
            extra_engines: None,
            alter_start: None,
            thread_id: None,
        };
        if flags & Self::FLAG_GROUP_COMMIT_ID != 0 {
            event.commit_id = Some(reader.u64("commit id")?);
        }
        if flags & (Self::FLAG_PREPARED_XA | Self::FLAG_COMPLETED_XA) != 0 {
            let format = reader.u32("format of the XA identifier")?;
            let global = usize::from(reader.u8("length of the global part")?);
            let branch = usize::from(reader.u8("length of the branch")?);
            event.xid = Some(Xid::read(&mut reader, format, (global, branch))?);
        }
        if !reader.is_empty() {
            event.read_extra(&mut reader)?;
        }
        Ok(event)
    }

    /// Reads the fields that MariaDB has added since 10.8. Fields of newer versions come after them and are ignored.
    fn read_extra(&mut self, reader: &mut Reader<'a>) -> Result<(), Malformed> {
        self.extra_flags = reader.u8("extra GTID flags")?;
        if self.extra_flags & Self::EXTRA_MULTI_ENGINE != 0 {
            self.extra_engines = Some(reader.u8("number of engines")?);
        }
        if self.extra_flags & (Self::EXTRA_COMMIT_ALTER | Self::EXTRA_ROLLBACK_ALTER) != 0 {
            self.alter_start = Some(reader.u64("start of the ALTER TABLE")?);
        }
        if self.extra_flags & Self::EXTRA_THREAD_ID != 0 {
            self.thread_id = Some(reader.u32("thread id")?);
        }
        Ok(())
    }

    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.gtid.sequence.to_le_bytes());
        out.extend_from_slice(&self.gtid.domain.to_le_bytes());
        out.push(self.flags);
        out.extend(self.commit_id.into_iter().flat_map(u64::to_le_bytes));
        if let Some(xid) = &self.xid {
            out.extend_from_slice(&xid.format.to_le_bytes());
            // The parts have at most 64 bytes, so their lengths fit into a byte.
            out.push(xid.global.len() as u8);
            out.push(xid.branch.len() as u8);
            out.extend_from_slice(xid.global);
            out.extend_from_slice(xid.branch);
        }
        if self.extra_flags != 0 {
            out.push(self.extra_flags);
            out.extend(self.extra_engines);
            out.extend(self.alter_start.into_iter().flat_map(u64::to_le_bytes));
            out.extend(self.thread_id.into_iter().flat_map(u32::to_le_bytes));
        }
        if out.len() - start < LENGTH_MIN {
            out.resize(start + LENGTH_MIN, 0);
        }
    }
}
