//! When definitions are learned, and the log lines about that. No socket, no clock: time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use config::Config;
use route::{ClusterId, Moment};

use super::fetch::FetchedDefinitions;
use crate::task::TaskSchedule;

/// The shortest time between two attempts that DDL asks for.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// The servers spend at most one part in this many of their time on these questions, however often workers see DDL.
const SHARE: u32 = 20;

/// The longest wait after DDL. Without it, one attempt over a slow network would make the next one wait too long.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// The schedule of learning definitions, and the complaints that the log already has.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// `None`: nothing is learned.
    interval: Option<Duration>,
    /// The configuration's number: attempts that began under another one do not count any more.
    epoch: u64,
    task: TaskSchedule,
    /// How long the last attempt took.
    took: Duration,
    /// The complaints that the log already has, per cluster.
    complaints: HashMap<ClusterId, String>,
}

impl Schedule {
    /// Applies another configuration. Definitions are only needed if the proxy reads the statements of sessions.
    pub(crate) fn apply(&mut self, config: &Config, now: Moment) {
        let has_sessions = config.accounts.learn || !config.configured_accounts.is_empty();
        let learns = config.balance.learn_definitions && has_sessions;
        self.interval = learns.then_some(config.balance.learn_definitions_interval);
        self.epoch += 1;
        self.complaints.clear();
        self.task.reschedule(self.interval.map(|_| now));
    }

    /// Whether definitions are learned.
    pub(crate) fn is_on(&self) -> bool {
        self.interval.is_some()
    }

    /// Asks for an attempt, because a worker has seen DDL.
    pub(crate) fn request(&mut self, now: Moment) {
        if self.interval.is_some() {
            let pause = (self.took * SHARE).clamp(INTERVAL_MIN, PAUSE_MAX);
            let earliest = self.task.began().map_or(now, |began| began + pause);
            self.task.schedule(earliest.max(now));
        }
    }

    /// Begins an attempt if one is due; returns the epoch it belongs to.
    pub(crate) fn begin(&mut self, now: Moment) -> Option<u64> {
        self.task.begin(now).then_some(self.epoch)
    }

    /// When [`Schedule::begin`] has the next attempt to begin.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.task.next()
    }

    /// Ends an attempt. Returns whether it counts: `false` if it began under another configuration.
    pub(crate) fn ended(&mut self, epoch: u64, told: &[FetchedDefinitions], now: Moment) -> bool {
        self.task.end();
        let Some(interval) = self.interval.filter(|_| epoch == self.epoch) else {
            return false;
        };
        self.took = self
            .task
            .began()
            .map_or(Duration::ZERO, |began| now.since(began));
        let has_failed = told.iter().any(|it| it.outcome.is_err());
        let wait = match has_failed {
            true => interval.min(Duration::from_secs(10)),
            false => interval,
        };
        self.task.schedule(now + wait);
        for it in told {
            self.note(it);
        }
        true
    }

    /// Tells the log once.
    fn note(&mut self, told: &FetchedDefinitions) {
        let complaint = match &told.outcome {
            Ok(known) => known.complaint.clone(),
            Err(trouble) => Some(trouble.to_string()),
        };
        let Some(complaint) = complaint else {
            self.complaints.remove(&told.cluster);
            return;
        };
        let before = self.complaints.insert(told.cluster, complaint.clone());
        if before.as_ref() != Some(&complaint) {
            tracing::warn!(
                kind = "definitions_unknown",
                cluster = told.name,
                cause = complaint,
                "the proxy cannot read all definitions of views, triggers and routines, and may not know which of them write"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    fn schedule() -> Schedule {
        let mut config = Config::default();
        config.accounts.learn = true;
        config.balance.learn_definitions_interval = Duration::from_secs(600);
        let mut schedule = Schedule::default();
        schedule.apply(&config, at(0));
        schedule
    }

    #[test]
    fn definitions_are_learned_at_once_now_and_then_and_soon_after_ddl() {
        let mut schedule = schedule();
        let epoch = schedule.begin(at(0)).unwrap();
        assert!(schedule.ended(epoch, &[], at(1)));
        assert_eq!(schedule.next(), Some(at(601)));
        schedule.request(at(2));
        assert_eq!(
            schedule.next(),
            Some(at(20)),
            "the last one has taken a second"
        );
        let epoch = schedule.begin(at(20)).unwrap();
        schedule.request(at(20));
        assert_eq!(schedule.next(), None, "one is under way");
        assert!(schedule.ended(epoch, &[], at(20)));
        assert!(schedule.next().is_some_and(|next| next <= at(40)));
    }

    #[test]
    fn after_a_slow_attempt_ddl_is_learned_of_within_half_a_minute() {
        let mut schedule = schedule();
        let epoch = schedule.begin(at(0)).unwrap();
        schedule.request(at(5));
        assert!(schedule.ended(epoch, &[], at(9)));
        assert_eq!(schedule.next(), Some(at(5)), "asked while it ran");
        let epoch = schedule.begin(at(9)).unwrap();
        assert!(schedule.ended(epoch, &[], at(18)));
        schedule.request(at(19));
        assert_eq!(schedule.next(), Some(at(39)));
    }

    #[test]
    fn definitions_are_not_learned_if_learning_is_off() {
        for (learn, definitions) in [(false, true), (true, false)] {
            let mut config = Config::default();
            config.accounts.learn = learn;
            config.balance.learn_definitions = definitions;
            let mut schedule = Schedule::default();
            schedule.apply(&config, at(0));
            schedule.request(at(1));
            assert_eq!((schedule.next(), schedule.is_on()), (None, false));
        }
    }

    #[test]
    fn answers_for_an_earlier_configuration_are_ignored() {
        let mut schedule = schedule();
        let epoch = schedule.begin(at(0)).unwrap();
        let mut config = Config::default();
        config.accounts.learn = true;
        schedule.apply(&config, at(1));
        assert!(!schedule.ended(epoch, &[], at(2)));
        assert_eq!(schedule.next(), Some(at(1)));
    }
}
