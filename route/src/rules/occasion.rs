//! The input of rules: a statement, its client, the local time, and random numbers.

use std::net::IpAddr;

use config::{Day, ListenAddress, TimeOfDay};
use sql::{Digest, Facts, Flags, PreparedTexts};

use super::rule_index::RuleIndex;

/// A statement, and everything else on which a rule's conditions may depend.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The statement as the client has sent it.
    pub text: &'a [u8],
    /// The session's settings that change how the statement is parsed.
    pub flags: Flags,
    /// The statement's facts.
    pub facts: &'a Facts,
    /// Its digest, if it is already computed; see [`Needs::digest`](super::Needs::digest).
    pub digest: Option<&'a Digest>,
    /// The hash of its digest, if only that is known.
    pub digest_hash: Option<u64>,
    /// The client that sends it.
    pub client: Client<'a>,
    /// Query attributes that came with it.
    pub attributes: &'a [Attribute<'a>],
    /// The texts that its session has prepared by PREPARE, for EXECUTE.
    pub prepared: &'a dyn PreparedTexts,
    /// The local time.
    pub time: LocalTime,
    /// The random numbers for percentages.
    pub chance: Chance,
}

/// The client: the part of an occasion that mostly stays the same between statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Client<'a> {
    /// The user name of its login.
    pub user: &'a [u8],
    /// The session's default schema; empty for none.
    pub schema: &'a [u8],
    /// Its address; none on a Unix socket.
    pub address: Option<IpAddr>,
    /// The listener to which it has connected, as configured.
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

/// The local day and time of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// The day.
    pub day: Day,
    /// The time of that day.
    pub time: TimeOfDay,
}

impl LocalTime {
    /// Returns the local time for seconds since 1970 in UTC, if local clocks are `offset_seconds` ahead
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

/// The random numbers for percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chance {
    /// Uniform 64-bit random numbers: one for the whole session, one for the statement.
    Thrown {
        /// The session's number.
        session: u64,
        /// The statement's number; needed only if [`Rules`](super::Rules) have a percentage of
        /// statements.
        statement: u64,
    },
    /// This rule's percentage always matches and all other percentages never match, so that a test is repeatable.
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
