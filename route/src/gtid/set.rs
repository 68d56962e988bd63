//! MySQL's sets of GTIDs: `uuid:1-5:7-9`, and from 8.3 on `uuid:tag:1-5` (the manual's page "GTID
//! Format and Storage", the server's `sql/rpl_gtid_set.cc`).

use std::cmp::Ordering;
use std::fmt;

use super::text::{MalformedPosition, number};

/// The most ranges in one text. Servers that run for years have tens of ranges.
const RANGES_MAX: usize = 100_000;

/// The greatest number of a transaction, `GNO_END` − 1.
const NUMBER_MAX: u64 = i64::MAX as u64 - 1;

/// The most characters of a tag.
const TAG_BYTES_MAX: usize = 32;

/// A set of transactions. Its ranges are in order, apart from each other and never empty, so equal
/// sets are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidSet {
    sources: Vec<Source>,
}

/// The transactions that one server began, under one tag.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Source {
    name: SourceName,
    ranges: Vec<Range>,
}

/// The server's UUID and the tag; the tag is empty if there is none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SourceName {
    uuid: [u8; 16],
    tag: Box<str>,
}

/// Numbers of transactions, first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    first: u64,
    last: u64,
}

impl GtidSet {
    /// Reads `uuid:1-5:7-9,uuid:tag:1`, with white space and empty pieces wherever the server allows
    /// them.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &[u8]) -> Result<GtidSet, MalformedPosition> {
        let mut sources = Vec::new();
        let mut ranges = 0;
        for piece in text.split(|byte| *byte == b',') {
            let piece = piece.trim_ascii();
            if !piece.is_empty() {
                parse_piece(piece, &mut sources, &mut ranges)?;
            }
        }
        sources.sort_by(|one: &Source, other| one.name.cmp(&other.name));
        sources.dedup_by(|later, first| {
            let is_same = later.name == first.name;
            if is_same {
                first.ranges.append(&mut later.ranges);
            }
            is_same
        });
        for source in &mut sources {
            unite(&mut source.ranges);
        }
        Ok(GtidSet { sources })
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Whether the set contains all of `other`.
    pub fn contains(&self, other: &GtidSet) -> bool {
        other.sources.iter().all(|theirs| {
            let ours = self.find(&theirs.name);
            ours.is_ok_and(|index| self.sources[index].contains(theirs))
        })
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &GtidSet) {
        for theirs in &other.sources {
            match self.find(&theirs.name) {
                Err(index) => self.sources.insert(index, theirs.clone()),
                Ok(index) => {
                    let ours = &mut self.sources[index];
                    if !ours.contains(theirs) {
                        ours.ranges.extend_from_slice(&theirs.ranges);
                        unite(&mut ours.ranges);
                    }
                }
            }
        }
    }

    /// Returns the number of ranges of all servers and tags.
    pub fn ranges(&self) -> usize {
        self.sources.iter().map(|source| source.ranges.len()).sum()
    }

    /// Fills gaps, the smallest first, until there are `ranges_max` ranges, or one for each server
    /// and tag.
    pub fn condense(&mut self, ranges_max: usize) {
        while self.ranges() > ranges_max {
            let gaps = self.sources.iter().enumerate().flat_map(|(index, source)| {
                let gaps = source.ranges.windows(2).enumerate();
                gaps.map(move |(at, pair)| (pair[1].first - pair[0].last, index, at))
            });
            let Some((_, index, at)) = gaps.min() else {
                return;
            };
            let ranges = &mut self.sources[index].ranges;
            let next = ranges.remove(at + 1);
            ranges[at].last = next.last;
        }
    }

    fn find(&self, name: &SourceName) -> Result<usize, usize> {
        self.sources
            .binary_search_by(|source| source.name.cmp(name))
    }
}

impl Source {
    /// Whether the ranges contain all ranges of `other`; the names are not compared.
    fn contains(&self, other: &Source) -> bool {
        other.ranges.iter().all(|theirs| {
            let found = self.ranges.binary_search_by(|ours| {
                if ours.last < theirs.first {
                    Ordering::Less
                } else if ours.first > theirs.first {
                    Ordering::Greater
                } else {
                    Ordering::Equal
                }
            });
            found.is_ok_and(|index| theirs.last <= self.ranges[index].last)
        })
    }
}

/// Sorts ranges, and joins adjacent and overlapping ones.
fn unite(ranges: &mut Vec<Range>) {
    ranges.sort_unstable();
    ranges.dedup_by(|later, first| {
        let touches = later.first <= first.last.saturating_add(1);
        if touches {
            first.last = first.last.max(later.last);
        }
        touches
    });
}

/// `uuid:1-5:7:tag:1-5`: ranges follow their tag, or the server's UUID if they have no tag.
fn parse_piece(
    piece: &[u8],
    sources: &mut Vec<Source>,
    ranges: &mut usize,
) -> Result<(), MalformedPosition> {
    let mut parts = piece.split(|byte| *byte == b':').map(<[u8]>::trim_ascii);
    let uuid = parse_uuid(parts.next().unwrap_or_default())?;
    let mut source = Source {
        name: SourceName {
            uuid,
            tag: Box::default(),
        },
        ranges: Vec::new(),
    };
    for part in parts {
        if let Some(tag) = parse_tag(part) {
            let name = SourceName { uuid, tag };
            let next = Source {
                name,
                ranges: Vec::new(),
            };
            let done = std::mem::replace(&mut source, next);
            match (done.ranges.is_empty(), done.name.tag.is_empty()) {
                (false, _) => sources.push(done),
                (true, true) => (),
                (true, false) => return Err(MalformedPosition("a range behind a tag")),
            }
            continue;
        }
        source.ranges.push(parse_range(part)?);
        *ranges += 1;
        if *ranges > RANGES_MAX {
            return Err(MalformedPosition("an end: it has too many ranges"));
        }
    }
    match source.ranges.is_empty() {
        true => Err(MalformedPosition("a range")),
        false => {
            sources.push(source);
            Ok(())
        }
    }
}

/// 32 hexadecimal digits, with dashes after the 8th, 12th, 16th and 20th, or without any.
fn parse_uuid(text: &[u8]) -> Result<[u8; 16], MalformedPosition> {
    const WRONG: MalformedPosition = MalformedPosition("a server's UUID");
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let is_dash = |index: &usize| text.len() == 36 && DASHES.contains(index);
    let mut uuid = [0; 16];
    let mut digits = 0;
    for (index, byte) in text.iter().enumerate() {
        if is_dash(&index) {
            if *byte != b'-' {
                return Err(WRONG);
            }
            continue;
        }
        let digit = char::from(*byte).to_digit(16).ok_or(WRONG)?;
        let place = uuid.get_mut(digits / 2).ok_or(WRONG)?;
        *place = *place << 4 | digit as u8;
        digits += 1;
    }
    match digits == 32 {
        true => Ok(uuid),
        false => Err(WRONG),
    }
}

/// Returns a tag in lower case, in which tags are compared; `None` if the text is no tag.
fn parse_tag(text: &[u8]) -> Option<Box<str>> {
    let (first, rest) = text.split_first()?;
    let begins = first.is_ascii_alphabetic() || *first == b'_';
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_tag = begins && rest.iter().all(goes_on) && text.len() <= TAG_BYTES_MAX;
    let tag = std::str::from_utf8(text).ok().filter(|_| is_tag)?;
    Some(tag.to_ascii_lowercase().into_boxed_str())
}

fn parse_range(text: &[u8]) -> Result<Range, MalformedPosition> {
    const WRONG: MalformedPosition = MalformedPosition("a range of numbers");
    let mut ends = text
        .splitn(2, |byte| *byte == b'-')
        .map(|end| number(end.trim_ascii()));
    let first = ends.next().flatten().ok_or(WRONG)?;
    let last = match ends.next() {
        Some(last) => last.ok_or(WRONG)?,
        None => first,
    };
    match 1 <= first && first <= last && last <= NUMBER_MAX {
        true => Ok(Range { first, last }),
        false => Err(WRONG),
    }
}

impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, source) in self.sources.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            source.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.name.uuid.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        if !self.name.tag.is_empty() {
            write!(f, ":{}", self.name.tag)?;
        }
        for Range { first, last } in &self.ranges {
            match first == last {
                true => write!(f, ":{first}")?,
                false => write!(f, ":{first}-{last}")?,
            }
        }
        Ok(())
    }
}
