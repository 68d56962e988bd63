//! Converts seconds since 1970 to a date and a time in UTC.

/// A moment in UTC, by the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CivilTime {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

impl CivilTime {
    /// Returns the moment for seconds since 1970. Days are converted in eras of 400 years that begin in March.
    pub(crate) fn of_seconds(seconds: u64) -> Self {
        let (days, of_day) = (seconds / 86_400, seconds % 86_400);
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = (month_from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Self {
            year: small(year),
            month: small(month),
            day: small(of_year - (153 * month_from_march + 2) / 5 + 1),
            hour: small(of_day / 3600),
            minute: small(of_day / 60 % 60),
            second: small(of_day % 60),
        }
    }
}

/// Returns the days from 1970 to a date (year, month, day); none if the date is invalid or before 1970.
pub(crate) fn days_of_date((year, month, day): (u32, u32, u32)) -> Option<u64> {
    if year < 1970 || month < 1 || day < 1 {
        return None;
    }
    let from_march = u64::from(year - u32::from(month <= 2));
    let (era, year_of_era) = (from_march / 400, from_march % 400);
    let of_year = (153 * u64::from((month + 9) % 12) + 2) / 5 + u64::from(day) - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    let days = era * 146_097 + of_era - 719_468;
    let again = CivilTime::of_seconds(days * 86_400);
    ((again.year, again.month, again.day) == (year, month, day)).then_some(days)
}

impl std::fmt::Display for CivilTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            year, month, day, ..
        } = self;
        write!(f, "{year:04}-{month:02}-{day:02} ")?;
        write!(f, "{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unix_seconds_are_converted_to_a_date() {
        let text = |seconds| CivilTime::of_seconds(seconds).to_string();
        assert_eq!(text(0), "1970-01-01 00:00:00");
        assert_eq!(text(951_782_400), "2000-02-29 00:00:00");
        assert_eq!(text(1_795_716_244), "2026-11-26 18:04:04");
        assert_eq!(text(u64::from(u32::MAX)), "2106-02-07 06:28:15");
    }

    #[test]
    fn a_date_is_converted_to_days_since_1970() {
        for days in 0..60_000 {
            let date = CivilTime::of_seconds(days * 86_400);
            assert_eq!(days_of_date((date.year, date.month, date.day)), Some(days));
        }
        for none in [
            (1969, 12, 31),
            (2023, 2, 29),
            (2024, 13, 1),
            (2024, 0, 1),
            (2024, 4, 31),
        ] {
            assert_eq!(days_of_date(none), None);
        }
    }
}
