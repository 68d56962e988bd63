//! MariaDB's positions: in each domain the last transaction, `domain-server-sequence`. Within a
//! domain all servers have the same order, so a server that has a transaction has all earlier ones
//! (the knowledge base's page "Global Transaction ID").

use std::fmt;

use super::text::{MalformedPosition, number};

/// Domains in one text at most.
const DOMAINS_MAX: usize = 10_000;

/// The last transaction of each domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DomainPosition {
    /// One for each domain, in order.
    last: Vec<DomainGtid>,
}

/// The last transaction of one domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DomainGtid {
    domain: u32,
    sequence: u64,
    server: u32,
}

impl DomainPosition {
    /// Reads `0-1-100,1-2-5`. If a domain occurs several times, as in the state of a binary log, the
    /// transaction with the highest sequence counts.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &[u8]) -> Result<DomainPosition, MalformedPosition> {
        let mut last = Vec::new();
        for piece in text.split(|byte| *byte == b',') {
            let piece = piece.trim_ascii();
            if piece.is_empty() {
                continue;
            }
            if last.len() == DOMAINS_MAX {
                return Err(MalformedPosition("an end: it has too many domains"));
            }
            last.push(parse_gtid(piece)?);
        }
        last.sort_unstable();
        // After the sort, the highest sequence of a domain is its last entry; dedup keeps the first one.
        last.reverse();
        last.dedup_by_key(|gtid| gtid.domain);
        last.reverse();
        Ok(DomainPosition { last })
    }

    /// Whether it contains no transaction.
    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// How many domains there are.
    pub fn domains(&self) -> usize {
        self.last.len()
    }

    /// Whether it is at least as far as `other` in all of `other`'s domains.
    pub fn contains(&self, other: &DomainPosition) -> bool {
        other.last.iter().all(|theirs| {
            let ours = self.find(theirs.domain);
            ours.is_ok_and(|index| self.last[index].sequence >= theirs.sequence)
        })
    }

    /// Takes over `other`'s transaction in each domain in which `other` is further.
    pub fn merge(&mut self, other: &DomainPosition) {
        for theirs in &other.last {
            match self.find(theirs.domain) {
                Err(index) => self.last.insert(index, *theirs),
                Ok(index) if self.last[index].sequence < theirs.sequence => {
                    self.last[index] = *theirs;
                }
                Ok(_) => (),
            }
        }
    }

    fn find(&self, domain: u32) -> Result<usize, usize> {
        self.last.binary_search_by_key(&domain, |gtid| gtid.domain)
    }
}

fn parse_gtid(text: &[u8]) -> Result<DomainGtid, MalformedPosition> {
    const WRONG: MalformedPosition = MalformedPosition("domain, server and sequence");
    let mut parts = text.split(|byte| *byte == b'-').map(number);
    let mut part = || parts.next().flatten().ok_or(WRONG);
    let (domain, server, sequence) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return Err(WRONG);
    }
    Ok(DomainGtid {
        domain: u32::try_from(domain).map_err(|_| WRONG)?,
        server: u32::try_from(server).map_err(|_| WRONG)?,
        sequence,
    })
}

impl fmt::Display for DomainPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, gtid) in self.last.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let DomainGtid {
                domain,
                sequence,
                server,
            } = gtid;
            write!(f, "{comma}{domain}-{server}-{sequence}")?;
        }
        Ok(())
    }
}
