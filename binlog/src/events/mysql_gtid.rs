//! GTID, ANONYMOUS_GTID and GTID_TAGGED of MySQL: each begins a transaction.

use wire::{Malformed, Reader};

use crate::events::tagged_gtid::{self, TaggedField};
use crate::gtid_set::{SourceId, Uuid};

/// The byte before the logical clock.
const LOGICAL_CLOCK: u8 = 2;
const ORIGINAL_TIME_FOLLOWS: u64 = 1 << 55;
const ORIGINAL_VERSION_FOLLOWS: u32 = 1 << 31;

/// The beginning of a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct MysqlGtidEvent {
    /// Bit 0: the transaction may have changes in statement format.
    pub flags: u8,
    /// The source of the transaction's number; zero bytes for an anonymous transaction.
    pub source: SourceId,
    /// The transaction's number; 0 for an anonymous transaction.
    pub number: u64,
    /// `last_committed` and `sequence_number`: replicas derive from them which transactions they may apply in parallel.
    pub logical_clock: Option<(i64, i64)>,
    /// When this server committed the transaction, in microseconds since 1970.
    pub immediate_commit: Option<u64>,
    /// When the original server committed the transaction, in microseconds since 1970.
    pub original_commit: Option<u64>,
    /// The length of the transaction in this log, including this event, in bytes.
    pub transaction_bytes: Option<u64>,
    /// The version of the server that wrote this log.
    pub immediate_version: Option<u32>,
    /// The version of the server that executed the transaction first.
    pub original_version: Option<u32>,
    /// The group of transactions that were committed together.
    pub commit_group: Option<u64>,
}

impl MysqlGtidEvent {
    /// Decodes the body of a GTID or ANONYMOUS_GTID event.
    ///
    /// # Errors
    /// The body is too short.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let flags = reader.u8("GTID flags")?;
        let uuid = Uuid(reader.array("source's UUID")?);
        let mut event = Self {
            flags,
            source: SourceId { uuid, tag: None },
            number: reader.u64("transaction number")?,
            ..Self::default()
        };
        // The body of MySQL 5.6 ends here. Versions before 5.7.5 have other data here.
        if reader.rest().first() == Some(&LOGICAL_CLOCK) {
            reader.u8("logical clock")?;
            let last_committed = reader.u64("last_committed")?.cast_signed();
            let sequence = reader.u64("sequence_number")?.cast_signed();
            event.logical_clock = Some((last_committed, sequence));
            event.read_times(&mut reader)?;
            event.read_versions(&mut reader)?;
        }
        Ok(event)
    }

    /// Decodes the body of a GTID_TAGGED event.
    ///
    /// # Errors
    /// The body is too short, or has an unknown field that must be understood.
    pub fn decode_tagged(body: &[u8]) -> Result<Self, Malformed> {
        let mut event = Self::default();
        for field in tagged_gtid::decode(body)? {
            event.take(field);
        }
        // The event omits values of the original server that equal those of the immediate server.
        event.original_commit = event.original_commit.or(event.immediate_commit);
        event.original_version = event.original_version.or(event.immediate_version);
        Ok(event)
    }

    fn take(&mut self, field: TaggedField) {
        match field {
            TaggedField::Flags(flags) => self.flags = flags,
            TaggedField::Uuid(uuid) => self.source.uuid = uuid,
            TaggedField::Number(number) => self.number = number,
            TaggedField::Tag(tag) => self.source.tag = tag,
            TaggedField::LastCommitted(last) => self.logical_clock = Some((last, 0)),
            TaggedField::SequenceNumber(sequence) => {
                let last = self.logical_clock.map_or(0, |(last, _)| last);
                self.logical_clock = Some((last, sequence));
            }
            TaggedField::ImmediateCommit(micros) => self.immediate_commit = Some(micros),
            TaggedField::OriginalCommit(micros) => self.original_commit = Some(micros),
            TaggedField::TransactionBytes(bytes) => self.transaction_bytes = Some(bytes),
            TaggedField::ImmediateVersion(version) => self.immediate_version = Some(version),
            TaggedField::OriginalVersion(version) => self.original_version = Some(version),
            TaggedField::CommitGroup(ticket) => self.commit_group = Some(ticket),
        }
    }

    fn read_times(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        if reader.is_empty() {
            return Ok(());
        }
        let immediate = reader.uint(7, "immediate commit time")?;
        let original = if immediate & ORIGINAL_TIME_FOLLOWS == 0 {
            immediate
        } else {
            reader.uint(7, "original commit time")?
        };
        self.immediate_commit = Some(immediate & !ORIGINAL_TIME_FOLLOWS);
        self.original_commit = Some(original);
        if !reader.is_empty() {
            self.transaction_bytes = Some(reader.lenenc("transaction length")?);
        }
        Ok(())
    }

    fn read_versions(&mut self, reader: &mut Reader<'_>) -> Result<(), Malformed> {
        if reader.is_empty() {
            return Ok(());
        }
        let immediate = reader.u32("immediate server version")?;
        let original = if immediate & ORIGINAL_VERSION_FOLLOWS == 0 {
            immediate
        } else {
            reader.u32("original server version")?
        };
        self.immediate_version = Some(immediate & !ORIGINAL_VERSION_FOLLOWS);
        self.original_version = Some(original);
        if reader.rest().len() >= 8 {
            self.commit_group = Some(reader.u64("commit group")?);
        }
        Ok(())
    }
}
