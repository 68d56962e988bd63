//! Labels that may have many values: the first values by name are kept, the rest are merged.

use std::collections::BTreeSet;

/// The most values of one label that are kept.
const VALUES_MAX: usize = 100;

/// The value that stands for all others.
const OTHER: &str = "other";

/// The values of a label that are kept.
pub struct Bounded<'a> {
    /// The values to keep; `None`: all, because they are few enough.
    kept: Option<BTreeSet<&'a str>>,
}

impl<'a> Bounded<'a> {
    /// Chooses the values to keep from all values.
    pub fn of(values: impl Iterator<Item = &'a str>) -> Self {
        let all: BTreeSet<_> = values.collect();
        let kept = match all.len() > VALUES_MAX {
            true => Some(all.into_iter().take(VALUES_MAX).collect()),
            false => None,
        };
        Self { kept }
    }

    /// The value for a label.
    pub fn name<'b>(&self, value: &'b str) -> &'b str {
        match &self.kept {
            Some(kept) if !kept.contains(value) => OTHER,
            Some(_) | None => value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_names_have_series_of_their_own_and_others_share_one() {
        let names: Vec<_> = (0..150).map(|it| format!("account{it:03}")).collect();
        let few = Bounded::of(names.iter().take(100).map(String::as_str));
        assert_eq!(few.name("account099"), "account099");
        let many = Bounded::of(names.iter().map(String::as_str));
        assert_eq!(many.name("account099"), "account099");
        assert_eq!(many.name("account100"), "other");
    }
}
