//! Something done for one backend from time to time, never twice at once.

use route::Moment;

/// When to go next, and whether somebody is on the way.
#[derive(Debug, Default)]
pub(crate) struct Errand {
    due: Option<Moment>,
    is_under_way: bool,
    /// When it was begun last.
    began: Option<Moment>,
}

impl Errand {
    /// To be done at `moment`, or earlier when it was to be already.
    pub(crate) fn schedule(&mut self, moment: Moment) {
        self.due = Some(self.due.map_or(moment, |due| due.min(moment)));
    }

    /// To be done at `moment`, or not at all, whatever was to be.
    pub(crate) fn reschedule(&mut self, moment: Option<Moment>) {
        self.due = moment;
    }

    /// Begins it if it is due and nobody is on the way.
    pub(crate) fn begin(&mut self, now: Moment) -> bool {
        if self.is_under_way || self.due.is_none_or(|due| due > now) {
            return false;
        }
        *self = Errand {
            due: None,
            is_under_way: true,
            began: Some(now),
        };
        true
    }

    /// It is done, or was given up.
    pub(crate) fn end(&mut self) {
        self.is_under_way = false;
    }

    /// When somebody must set out; `None` while one is on the way.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.due.filter(|_| !self.is_under_way)
    }

    /// When it was begun last.
    pub(crate) fn began(&self) -> Option<Moment> {
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn the_earlier_of_two_moments_holds() {
        let mut errand = Errand::default();
        errand.schedule(at(5));
        errand.schedule(at(3));
        errand.schedule(at(9));
        assert_eq!(errand.next(), Some(at(3)));
        assert!(!errand.begin(at(2)));
        assert!(errand.begin(at(3)));
    }

    #[test]
    fn an_errand_asked_for_while_one_is_under_way_follows_it() {
        let mut errand = Errand::default();
        errand.schedule(at(1));
        assert!(errand.begin(at(1)));
        errand.schedule(at(2));
        assert!(!errand.begin(at(3)));
        assert_eq!(errand.next(), None);
        errand.end();
        assert_eq!(errand.next(), Some(at(2)));
        assert!(errand.begin(at(3)));
    }
}
