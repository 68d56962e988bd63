//! Times of day and parts of the day, in local time.

use std::fmt;
use std::str::FromStr;

use crate::raw_setting::RawSetting;
use crate::value::{Value, parse, quoted};
use crate::{Fault, ValueType};

/// A time of day, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeOfDay {
    /// Seconds since midnight, below 86,400.
    seconds: u32,
}

/// Seconds in a day.
const DAY: u32 = 24 * 60 * 60;

impl TimeOfDay {
    /// Twelve o'clock.
    pub const NOON: Self = Self { seconds: DAY / 2 };

    /// The time this many seconds after midnight; beyond one day it begins at 0 again.
    pub const fn of_seconds(seconds: u32) -> Self {
        Self {
            seconds: seconds % DAY,
        }
    }

    /// Seconds since midnight.
    pub const fn seconds(self) -> u32 {
        self.seconds
    }
}

/// A part of the day: from the first time to just before the second. If the second is earlier, it goes past midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeSpan {
    /// When it begins.
    pub from: TimeOfDay,
    /// The first time after it; never the same as `from`.
    pub to: TimeOfDay,
}

/// The position of a time relative to a part of the day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Inside, on the day on which the part began.
    SameDay,
    /// Inside, after midnight: the part began the day before.
    DayAfter,
    /// Outside.
    No,
}

impl TimeSpan {
    /// The position of `time` relative to this part of the day.
    pub fn locate(self, time: TimeOfDay) -> Within {
        if self.from < self.to {
            return match self.from <= time && time < self.to {
                true => Within::SameDay,
                false => Within::No,
            };
        }
        if time >= self.from {
            Within::SameDay
        } else if time < self.to {
            Within::DayAfter
        } else {
            Within::No
        }
    }
}

impl FromStr for TimeOfDay {
    type Err = &'static str;

    /// Reads `22:00`, `6:30` and `22:00:15`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "it is hours and minutes with a colon between them";
        let mut parts = text.trim().split(':');
        let mut part = |limit: u32| -> Option<u32> {
            let digits = parts.next()?;
            let is_number =
                matches!(digits.len(), 1..=2) && digits.bytes().all(|it| it.is_ascii_digit());
            let number = is_number.then(|| digits.parse().ok())??;
            (number < limit).then_some(number)
        };
        let (hours, minutes) = (part(24).ok_or(WRONG)?, part(60).ok_or(WRONG)?);
        let seconds = match text.matches(':').count() {
            1 => 0,
            2 => part(60).ok_or(WRONG)?,
            _ => return Err(WRONG),
        };
        Ok(Self::of_seconds((hours * 60 + minutes) * 60 + seconds))
    }
}

impl FromStr for TimeSpan {
    type Err = &'static str;

    /// Reads `22:00-06:00`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, to) = text
            .split_once('-')
            .ok_or("it is two times with a dash between them")?;
        let to = match to.trim() {
            "24:00" => "0:00",
            to => to,
        };
        let span = Self {
            from: from.parse()?,
            to: to.parse()?,
        };
        match span.from == span.to {
            true => Err("it ends when it begins"),
            false => Ok(span),
        }
    }
}

impl fmt::Display for TimeOfDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hours, minutes) = (self.seconds / 3600, self.seconds / 60 % 60);
        write!(f, "{hours:02}:{minutes:02}")?;
        match self.seconds % 60 {
            0 => Ok(()),
            seconds => write!(f, ":{seconds:02}"),
        }
    }
}

impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.from, self.to)
    }
}

macro_rules! parsed {
    ($($type:ident),+) => { $( impl Value for $type {
        const KIND: ValueType = ValueType::$type;

        fn read(given: &RawSetting<'_>) -> Result<Self, Vec<Fault>> {
            parse(given)
        }

        fn to_toml(&self) -> String {
            quoted(&self.to_string())
        }
    } )+ };
}

parsed!(TimeOfDay, TimeSpan);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds, shown) in [
            ("22:00", 79_200, "22:00"),
            ("6:30", 23_400, "06:30"),
            ("00:00:01", 1, "00:00:01"),
            ("23:59:59", 86_399, "23:59:59"),
        ] {
            let time: TimeOfDay = text.parse().unwrap();
            assert_eq!(time.seconds(), seconds, "{text}");
            assert_eq!(time.to_string(), shown);
        }
        for text in [
            "",
            "6",
            "24:00",
            "6:60",
            "+6:00",
            "6:00:00:00",
            "a:b",
            "006:00",
        ] {
            assert!(text.parse::<TimeOfDay>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_span_past_midnight_has_two_days() {
        let span: TimeSpan = "22:00-06:00".parse().unwrap();
        for (time, place) in [
            ("21:59:59", Within::No),
            ("22:00", Within::SameDay),
            ("23:59:59", Within::SameDay),
            ("00:00", Within::DayAfter),
            ("05:59:59", Within::DayAfter),
            ("06:00", Within::No),
        ] {
            assert_eq!(span.locate(time.parse().unwrap()), place, "{time}");
        }
    }

    #[test]
    fn a_span_within_a_day_ends_before_its_end() {
        let span: TimeSpan = "09:00-17:00".parse().unwrap();
        for (time, place) in [
            ("08:59:59", Within::No),
            ("09:00", Within::SameDay),
            ("16:59:59", Within::SameDay),
            ("17:00", Within::No),
        ] {
            assert_eq!(span.locate(time.parse().unwrap()), place, "{time}");
        }
        let evening: TimeSpan = "18:00-24:00".parse().unwrap();
        assert_eq!(evening.locate("23:59:59".parse().unwrap()), Within::SameDay);
        assert_eq!(evening.locate("00:00".parse().unwrap()), Within::No);
    }

    #[test]
    fn an_invalid_time_span_is_refused() {
        for text in [
            "",
            "22:00",
            "22:00-22:00",
            "22:00-25:00",
            "22:00-06:00-07:00",
        ] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }
}
