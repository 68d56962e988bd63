//! Which users' accounts are asked for by name, and when: each user at most once a second, however many clients log in.
//! No socket, no clock: time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use route::Moment;

/// The shortest time between two questions for the accounts of one user.
const INTERVAL: Duration = Duration::from_secs(1);

/// The most users that one statement asks for.
const USERS_MAX: usize = 100;

/// The most users that wait to be asked for. Beyond that, a login uses the accounts that are known.
const WAITING_MAX: usize = 10_000;

/// The users that the next statements ask a server for, and the users that the last statements asked for.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    waiting: Vec<String>,
    /// When each user was last asked for; only of the last second.
    asked_at: HashMap<String, Moment>,
    is_running: bool,
}

impl Checks {
    /// Queues the user, because a client logs in as that user.
    pub(crate) fn wanted(&mut self, user: String, now: Moment) {
        let is_recent = |asked_at: &Moment| now < *asked_at + INTERVAL;
        let is_known = self.asked_at.get(&user).is_some_and(is_recent);
        if !is_known && !self.waiting.contains(&user) && self.waiting.len() < WAITING_MAX {
            self.waiting.push(user);
        }
    }

    /// The users that the next statement asks for. Until [`Checks::end`] there is no other statement.
    pub(crate) fn begin(&mut self, now: Moment) -> Option<Vec<String>> {
        if self.is_running || self.waiting.is_empty() {
            return None;
        }
        let count = self.waiting.len().min(USERS_MAX);
        let users: Vec<String> = self.waiting.drain(..count).collect();
        self.asked_at
            .retain(|_, asked_at| now < *asked_at + INTERVAL);
        self.asked_at
            .extend(users.iter().map(|user| (user.clone(), now)));
        self.is_running = true;
        Some(users)
    }

    /// The statement was answered, or failed.
    pub(crate) fn end(&mut self) {
        self.is_running = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Moment {
        Moment(Duration::from_millis(millis))
    }

    #[test]
    fn a_user_is_asked_for_once_a_second() {
        let mut checks = Checks::default();
        checks.wanted("a".to_owned(), at(0));
        checks.wanted("a".to_owned(), at(1));
        assert_eq!(checks.begin(at(2)), Some(vec!["a".to_owned()]));
        checks.wanted("a".to_owned(), at(3));
        checks.wanted("b".to_owned(), at(3));
        assert_eq!(checks.begin(at(4)), None, "one question is under way");
        checks.end();
        assert_eq!(checks.begin(at(5)), Some(vec!["b".to_owned()]));
        checks.end();
        checks.wanted("a".to_owned(), at(1002));
        assert_eq!(checks.begin(at(1002)), Some(vec!["a".to_owned()]));
    }

    #[test]
    fn user_checks_run_in_batches_and_the_queue_is_bounded() {
        let mut checks = Checks::default();
        for number in 0..WAITING_MAX + 1 {
            checks.wanted(number.to_string(), at(0));
        }
        let mut count = 0;
        while let Some(users) = checks.begin(at(0)) {
            assert!(users.len() <= USERS_MAX);
            count += users.len();
            checks.end();
        }
        assert_eq!(count, WAITING_MAX);
    }
}
