//! GTIDs of both families, and sets of them.

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use super::family::Family;

/// The id of one committed group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gtid {
    /// Domain, server, number.
    MariaDb(u32, u32, u64),
    /// The server's UUID, and a number.
    MySql(Rc<str>, u64),
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MariaDb(domain, server, number) => write!(f, "{domain}-{server}-{number}"),
            Self::MySql(source, number) => write!(f, "{source}:{number}"),
        }
    }
}

/// All groups that a server has executed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// MySQL: by UUID, intervals in order, both ends included.
    sources: BTreeMap<Rc<str>, Vec<(u64, u64)>>,
    /// MariaDB: the last of each domain: server and number.
    domains: BTreeMap<u32, (u32, u64)>,
}

impl Executed {
    /// Reads a set (MySQL) or a position (MariaDB); none if the text is neither.
    pub fn parse(family: Family, text: &str) -> Option<Self> {
        let mut all = Self::default();
        let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        for part in parts {
            match family {
                Family::MariaDb => all.read_position(part)?,
                Family::MySql => all.read_source(part)?,
            }
        }
        Some(all)
    }

    fn read_position(&mut self, part: &str) -> Option<()> {
        let mut numbers = part.split('-');
        let domain = numbers.next()?.parse().ok()?;
        let server = numbers.next()?.parse().ok()?;
        let number = numbers.next()?.parse().ok()?;
        self.domains.insert(domain, (server, number));
        numbers.next().is_none().then_some(())
    }

    fn read_source(&mut self, part: &str) -> Option<()> {
        let mut pieces = part.split(':');
        let source = pieces.next()?.trim().to_ascii_lowercase();
        let is_uuid = source.len() == 36
            && source
                .bytes()
                .all(|it| it == b'-' || it.is_ascii_hexdigit());
        if !is_uuid {
            return None;
        }
        let source: Rc<str> = Rc::from(source);
        for piece in pieces {
            let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            self.add_interval(&source, first, last);
        }
        Some(())
    }

    /// Adds a group.
    pub fn add(&mut self, gtid: &Gtid) {
        match gtid {
            Gtid::MariaDb(domain, server, number) => {
                self.domains.insert(*domain, (*server, *number));
            }
            Gtid::MySql(source, number) => self.add_interval(source, *number, *number),
        }
    }

    fn add_interval(&mut self, source: &Rc<str>, first: u64, last: u64) {
        let intervals = self.sources.entry(Rc::clone(source)).or_default();
        if let Some(end) = intervals.last_mut()
            && end.1 + 1 == first
        {
            end.1 = last;
            return;
        }
        intervals.push((first, last));
        intervals.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(intervals.len());
        for (first, last) in intervals.drain(..) {
            match merged.last_mut() {
                Some(end) if first <= end.1.saturating_add(1) => end.1 = end.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        *intervals = merged;
    }

    /// Whether everything of another set is here; of a position, whether it is reached.
    pub fn contains(&self, other: &Self) -> bool {
        let has_interval = |source: &Rc<str>, (first, last): (u64, u64)| {
            let intervals = self.sources.get(source);
            intervals.is_some_and(|all| all.iter().any(|it| it.0 <= first && last <= it.1))
        };
        let has_source = |(source, intervals): (&Rc<str>, &Vec<(u64, u64)>)| {
            intervals.iter().all(|it| has_interval(source, *it))
        };
        let is_reached = |(domain, wanted): (&u32, &(u32, u64))| {
            self.domains.get(domain).is_some_and(|it| it.1 >= wanted.1)
        };
        other.sources.iter().all(has_source) && other.domains.iter().all(is_reached)
    }

    /// Whether a group is among them; of a position, whether it is reached.
    pub fn has(&self, gtid: &Gtid) -> bool {
        match gtid {
            Gtid::MariaDb(domain, _, number) => {
                self.domains.get(domain).is_some_and(|it| it.1 >= *number)
            }
            Gtid::MySql(source, number) => {
                let intervals = self.sources.get(source);
                intervals.is_some_and(|all| all.iter().any(|it| (it.0..=it.1).contains(number)))
            }
        }
    }

    /// The last number of MariaDB's domain 0.
    pub fn sequence(&self) -> u64 {
        self.domains.get(&0).map_or(0, |it| it.1)
    }

    /// The next number of a source of MySQL.
    pub fn next(&self, source: &str) -> u64 {
        let intervals = self.sources.get(source);
        intervals
            .and_then(|it| it.first())
            .map_or(1, |it| match it.0 {
                1 => it.1 + 1,
                _ => 1,
            })
    }
}

impl fmt::Display for Executed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (domain, (server, number)) in &self.domains {
            write!(f, "{separator}{domain}-{server}-{number}")?;
            separator = ",";
        }
        for (source, intervals) in &self.sources {
            write!(f, "{separator}{source}")?;
            for (first, last) in intervals {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
            separator = ",\n";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429501";

    #[test]
    fn a_set_grows_by_intervals_that_join() {
        let mut all = Executed::default();
        for number in [1, 2, 4, 3, 7] {
            all.add(&Gtid::MySql(Rc::from(SOURCE), number));
        }
        assert_eq!(all.to_string(), format!("{SOURCE}:1-4:7"));
        assert_eq!(all.next(SOURCE), 5);
        let wanted = |text: &str| {
            let text = text.replace("S", SOURCE);
            Executed::parse(Family::MySql, &text)
        };
        assert!(wanted("S:2-3:7").is_some_and(|it| all.contains(&it)));
        assert!(wanted("S:4-5").is_some_and(|it| !all.contains(&it)));
        assert!(wanted("").is_some_and(|it| all.contains(&it)));
        assert_eq!(wanted("x:1"), None);
    }

    #[test]
    fn a_position_is_reached_by_its_number() {
        let mut all = Executed::default();
        all.add(&Gtid::MariaDb(0, 1, 7));
        let wanted = |text| Executed::parse(Family::MariaDb, text);
        assert!(wanted("0-2-7").is_some_and(|it| all.contains(&it)));
        assert!(wanted("0-1-8").is_some_and(|it| !all.contains(&it)));
        assert_eq!(wanted("0-1"), None);
        assert_eq!((all.to_string().as_str(), all.sequence()), ("0-1-7", 7));
    }
}
