//! GTIDs of MySQL: `source:number`, and sets `source:1-5:7,source:tag:1`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use wire::{Malformed, Reader};

use super::error::GtidError;
use super::intervals::{Interval, Intervals, NUMBER_MAX};
use super::source_id::{SourceId, Tag, Uuid, put_varlen};

/// How many intervals a set from a text or an event may have.
const INTERVALS_MAX: usize = 1 << 20;

/// A flag in the first number of an encoded set: the sources have tags.
const TAGGED: u64 = 1;

/// One transaction of MySQL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MysqlGtid {
    /// The source: the server, and the tag if there is one.
    pub source: SourceId,
    /// The transaction's number, from 1.
    pub number: u64,
}

impl fmt::Display for MysqlGtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.number)
    }
}

/// A set of transactions of MySQL, as in `gtid_executed`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MysqlGtidSet {
    sources: BTreeMap<SourceId, Intervals>,
}

impl MysqlGtidSet {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The sources with their intervals, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&SourceId, &[Interval])> {
        let sources = self.sources.iter();
        sources.map(|(source, intervals)| (source, intervals.as_slice()))
    }

    /// The number of intervals. The set's memory grows with it.
    pub fn intervals_count(&self) -> usize {
        self.iter().map(|(_, intervals)| intervals.len()).sum()
    }

    /// Whether the set contains a transaction.
    pub fn contains(&self, gtid: &MysqlGtid) -> bool {
        let intervals = self.sources.get(&gtid.source);
        intervals.is_some_and(|it| it.contains(gtid.number))
    }

    /// Whether the set contains all transactions of another set.
    pub fn contains_all(&self, other: &Self) -> bool {
        other.sources.iter().all(|(source, theirs)| {
            let own = self.sources.get(source);
            own.is_some_and(|own| own.contains_all(theirs))
        })
    }

    /// Adds a transaction.
    pub fn add(&mut self, gtid: &MysqlGtid) {
        let interval = Interval {
            start: gtid.number,
            end: gtid.number,
        };
        self.add_interval(gtid.source.clone(), interval);
    }

    /// Adds transactions of one source. Numbers outside 1 to 2^63 − 2 are ignored.
    pub fn add_interval(&mut self, source: SourceId, interval: Interval) {
        let interval = Interval {
            start: interval.start.max(1),
            end: interval.end.min(NUMBER_MAX),
        };
        if interval.start <= interval.end {
            self.sources.entry(source).or_default().add(interval);
        }
    }

    /// Adds all transactions of another set.
    pub fn union(&mut self, other: &Self) {
        for (source, intervals) in &other.sources {
            let own = self.sources.entry(source.clone()).or_default();
            own.union(intervals);
        }
    }

    /// Removes all transactions of another set.
    pub fn subtract(&mut self, other: &Self) {
        for (source, intervals) in &other.sources {
            if let Some(own) = self.sources.get_mut(source) {
                own.subtract(intervals);
            }
        }
        self.sources.retain(|_, intervals| !intervals.is_empty());
    }

    /// Decodes a set from a PREVIOUS_GTIDS event, or from COM_BINLOG_DUMP_GTID.
    ///
    /// # Errors
    /// The bytes end too early, or the numbers are not in order.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let head = reader.u64("number of sources")?;
        let is_tagged = head >> 56 == TAGGED;
        let count = if is_tagged { head << 8 >> 16 } else { head };
        let mut set = Self::default();
        for _ in 0..count {
            let uuid = Uuid(reader.array("source's UUID")?);
            let tag = if is_tagged {
                Tag::read_optional(&mut reader)?
            } else {
                None
            };
            let intervals = read_intervals(&mut reader)?;
            let earlier = set
                .sources
                .insert(SourceId { uuid, tag }, Intervals::of(intervals));
            if earlier.is_some() {
                return Err(Malformed::Invalid("source that stands there twice"));
            }
        }
        set.sources.retain(|_, intervals| !intervals.is_empty());
        Ok(set)
    }

    /// Appends the set as in a PREVIOUS_GTIDS event. The tagged format is used only if a source has a tag.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let is_tagged = self.sources.keys().any(|source| source.tag.is_some());
        let count = self.sources.len() as u64;
        let head = if is_tagged {
            TAGGED << 56 | count << 8 | TAGGED
        } else {
            count
        };
        out.extend_from_slice(&head.to_le_bytes());
        for (source, intervals) in self.iter() {
            out.extend_from_slice(&source.uuid.0);
            if is_tagged {
                let tag = source.tag.as_ref().map_or("", Tag::as_str);
                put_varlen(out, tag.len() as u64);
                out.extend_from_slice(tag.as_bytes());
            }
            out.extend_from_slice(&(intervals.len() as u64).to_le_bytes());
            for interval in intervals {
                out.extend_from_slice(&interval.start.to_le_bytes());
                out.extend_from_slice(&(interval.end + 1).to_le_bytes());
            }
        }
    }
}

/// Reads the intervals of one source. Their ends are exclusive, and each interval begins after the one before.
fn read_intervals(reader: &mut Reader<'_>) -> Result<Vec<Interval>, Malformed> {
    let count = reader.u64("number of intervals")?;
    let mut intervals = Vec::new();
    let mut free = 1;
    for _ in 0..count {
        let start = reader.u64("start of an interval")?;
        let end = reader.u64("end of an interval")?;
        if start < free || end <= start || end > NUMBER_MAX + 1 {
            return Err(Malformed::Invalid("interval of a GTID set"));
        }
        free = end + 1;
        intervals.push(Interval {
            start,
            end: end - 1,
        });
    }
    Ok(intervals)
}

impl fmt::Display for MysqlGtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last: Option<&SourceId> = None;
        for (source, intervals) in self.iter() {
            // For several tags of one server, the server writes the UUID once: `uuid:1-3:tag:1`.
            match (last, &source.tag) {
                (Some(last), Some(tag)) if last.uuid == source.uuid => {
                    write!(f, ":{}", tag.as_str())?;
                }
                (Some(_), _) => write!(f, ",{source}")?,
                (None, _) => source.fmt(f)?,
            }
            for interval in intervals {
                write!(f, ":{}", interval.start)?;
                if interval.end > interval.start {
                    write!(f, "-{}", interval.end)?;
                }
            }
            last = Some(source);
        }
        Ok(())
    }
}

impl FromStr for MysqlGtidSet {
    type Err = GtidError;

    /// Parses the notation of `gtid_executed`: `uuid:interval:…:tag:interval…`, separated by commas, with optional
    /// blanks.
    fn from_str(text: &str) -> Result<Self, GtidError> {
        let mut found: BTreeMap<SourceId, Vec<Interval>> = BTreeMap::new();
        let mut count = 0;
        for part in text.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let mut pieces = part.split(':').map(str::trim);
            let uuid = pieces.next().unwrap_or_default().parse()?;
            let mut source = SourceId { uuid, tag: None };
            let mut has_interval = false;
            for piece in pieces {
                if piece.starts_with(|it: char| it.is_ascii_digit()) {
                    count += 1;
                    has_interval = true;
                    let numbers = interval(piece)?;
                    found.entry(source.clone()).or_default().push(numbers);
                } else {
                    source.tag = Some(piece.parse()?);
                    has_interval = false;
                }
                if count > INTERVALS_MAX {
                    return Err(GtidError::TooLarge(INTERVALS_MAX));
                }
            }
            if !has_interval {
                return Err(GtidError::Invalid("interval"));
            }
        }
        let found = found.into_iter();
        let sources = found.map(|(source, intervals)| (source, Intervals::of(intervals)));
        Ok(Self {
            sources: sources.collect(),
        })
    }
}

/// Parses `7` or `1-5`.
fn interval(text: &str) -> Result<Interval, GtidError> {
    let number = |text: &str| -> Result<u64, GtidError> {
        let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number);
        let number = number.filter(|it| (1..=NUMBER_MAX).contains(it));
        number.ok_or(GtidError::Invalid("transaction number"))
    };
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    let (start, end) = (number(start.trim())?, number(end.trim())?);
    if end < start {
        return Err(GtidError::Invalid("interval"));
    }
    Ok(Interval { start, end })
}
