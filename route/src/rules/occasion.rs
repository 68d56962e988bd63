//! What rules are asked about: a statement, who sends it, when, and what chance says.

use std::net::IpAddr;

use config::{Day, ListenAddress, TimeOfDay};
use sql::{Digest, Facts, Flags, PreparedTexts};

use super::rule_index::RuleIndex;

/// A statement, and all around it that a rule may look at.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The statement as the client has sent it.
    pub text: &'a [u8],
    /// How it is to be read.
    pub flags: Flags,
    /// What is known of it.
    pub facts: &'a Facts,
    /// Its digest, when somebody has made it already; see [`Needs::digest`](super::Needs::digest).
    pub digest: Option<&'a Digest>,
    /// The hash of its digest, if only that is known.
    pub digest_hash: Option<u64>,
    /// Who sends it.
    pub client: Client<'a>,
    /// Query attributes that came with it.
    pub attributes: &'a [Attribute<'a>],
    /// The texts that its session has prepared by PREPARE, for EXECUTE.
    pub prepared: &'a dyn PreparedTexts,
    /// When.
    pub time: LocalTime,
    /// What chance says.
    pub chance: Chance,
}

/// Who sends statements: what stays the same from one to the next, mostly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client<'a> {
    /// The name with which it has logged in.
    pub user: &'a [u8],
    /// The session's default schema; empty for none.
    pub schema: &'a [u8],
    /// Its address; none on a Unix socket.
    pub address: Option<IpAddr>,
    /// Where it has connected, as configured.
    pub listener: Option<&'a ListenAddress>,
}

/// A query attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value as text.
    pub value: &'a [u8],
}

/// What a clock and a calendar at the proxy show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The day.
    pub day: Day,
    /// The time of that day.
    pub time: TimeOfDay,
}

impl LocalTime {
    /// The local time at so many seconds since 1970 in UTC, where clocks are `offset_seconds` ahead
    /// of UTC.
    pub fn of_unix(seconds: i64, offset_seconds: i32) -> Self {
        const DAYS: [Day; 7] = [
            Day::Thursday,
            Day::Friday,
            Day::Saturday,
            Day::Sunday,
            Day::Monday,
            Day::Tuesday,
            Day::Wednesday,
        ];
        let local = seconds.saturating_add(offset_seconds.into());
        let day = local.div_euclid(86_400).rem_euclid(7);
        Self {
            day: DAYS[day as usize],
            time: TimeOfDay::of_seconds(local.rem_euclid(86_400) as u32),
        }
    }

    /// The day before.
    pub(super) fn yesterday(self) -> Day {
        match self.day {
            Day::Monday => Day::Sunday,
            Day::Tuesday => Day::Monday,
            Day::Wednesday => Day::Tuesday,
            Day::Thursday => Day::Wednesday,
            Day::Friday => Day::Thursday,
            Day::Saturday => Day::Friday,
            Day::Sunday => Day::Saturday,
        }
    }
}

/// What decides over percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Even throws in all 64 bits: one for the session's whole life, one for the statement.
    Thrown {
        /// The session's.
        session: u64,
        /// The statement's; needed only where [`Rules`](super::Rules) have a percentage of
        /// statements.
        statement: u64,
    },
    /// For this rule's percentage, against all others: so that a test is the same each time.
    For(RuleIndex),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_days_and_times() {
        for (seconds, offset, day, time) in [
            (0, 0, Day::Thursday, 0),
            (86_399, 0, Day::Thursday, 86_399),
            (86_400, 0, Day::Friday, 0),
            (86_400, -1, Day::Thursday, 86_399),
            (-1, 0, Day::Wednesday, 86_399),
            // 2026-11-20 19:30:00 UTC is a Friday; in UTC+5:30 it is past midnight.
            (1_795_203_000, 0, Day::Friday, 70_200),
            (1_795_203_000, 19_800, Day::Saturday, 3_600),
        ] {
            let expected = LocalTime {
                day,
                time: TimeOfDay::of_seconds(time),
            };
            assert_eq!(
                LocalTime::of_unix(seconds, offset),
                expected,
                "{seconds} {offset}"
            );
        }
    }
}
