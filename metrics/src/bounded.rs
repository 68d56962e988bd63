//! Labels of which there may be many: those that come first by name are told apart, the rest together.

use std::collections::BTreeSet;

/// How many values of one label are told apart.
const VALUES_MAX: usize = 100;

/// What all others are called.
const OTHER: &str = "other";

/// The values of a label that are told apart.
pub struct Bounded<'a> {
    /// None: they are few enough.
    kept: Option<BTreeSet<&'a str>>,
}

impl<'a> Bounded<'a> {
    /// Of all that occur.
    pub fn of(values: impl Iterator<Item = &'a str>) -> Self {
        let all: BTreeSet<_> = values.collect();
        let kept = match all.len() > VALUES_MAX {
            true => Some(all.into_iter().take(VALUES_MAX).collect()),
            false => None,
        };
        Self { kept }
    }

    /// What a value is called.
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
