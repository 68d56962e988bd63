//! Which users' accounts are asked for by name, and when: each once a second at most, however many clients log in. No
//! socket, no clock: time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use route::Moment;

/// The accounts of one user are asked for once in this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// Users that one statement asks for.
const USERS_MAX: usize = 100;

/// Users that wait to be asked for. Beyond, a login goes by what is known.
const WAITING_MAX: usize = 10_000;

/// The users that the next statements ask a server for, and the users that the last statements asked for.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    waiting: Vec<String>,
    /// When each user was asked for, in the last second.
    asked_at: HashMap<String, Moment>,
    is_running: bool,
}

impl Checks {
    /// A client logs in as this user.
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
    fn of_many_users_some_are_asked_for_later_and_too_many_are_not() {
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
