//! When the proxy learns the servers' accounts, and the log lines about that. No socket, no clock: time
//! is an argument.
//!
//! ```text
//!   at start, after a reload      at once
//!   a worker met a stranger       at once, but once a second at most
//!   otherwise                     an interval after the last attempt; sooner, if that was in vain
//! ```

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use auth::{Directory, Expiry, LoginMethod};
use config::Config;
use route::{BackendId, Dice, Moment};

use crate::account_loader::{LoadError, LoadedAccounts};
use crate::backoff::Backoff;
use crate::task::TaskSchedule;

/// The shortest time between two attempts, however often workers ask.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// The most refused users that the log names until accounts change. A flood of other users is not worth the
/// memory.
const TOLD_MAX: usize = 1_000;

/// The schedule of learning, and the states that the log already knows.
#[derive(Debug)]
pub(crate) struct Learning {
    /// `None`: nothing is learned.
    interval: Option<Duration>,
    /// The configuration's number: attempts that began under another one do not count any more.
    epoch: u64,
    task: TaskSchedule,
    backoff: Backoff,
    dice: Dice,
    /// The failure that the log already names.
    trouble: Option<LoadError>,
    /// The log already says that some accounts need host names.
    logged_names: bool,
    /// The refused users that the log already names.
    refused: HashSet<(BackendId, String)>,
}

impl Learning {
    /// A schedule that is off until the first configuration; `seed` decides by how much waits are shortened.
    pub(crate) fn new(seed: u64) -> Learning {
        Learning {
            interval: None,
            epoch: 0,
            task: TaskSchedule::default(),
            backoff: Backoff::default(),
            dice: Dice::new(seed),
            trouble: None,
            logged_names: false,
            refused: HashSet::new(),
        }
    }

    /// Applies another configuration; other backends may have other accounts.
    pub(crate) fn apply(&mut self, config: &Config, now: Moment) {
        let accounts = &config.accounts;
        self.interval = accounts.learn.then_some(accounts.learn_interval);
        self.epoch += 1;
        self.backoff.reset();
        self.trouble = None;
        self.refused.clear();
        self.task.reschedule(self.interval.map(|_| now));
    }

    /// Whether accounts are learned.
    pub(crate) fn is_on(&self) -> bool {
        self.interval.is_some()
    }

    /// Asks for an attempt, because a worker met a user that the proxy does not know, or a changed account.
    pub(crate) fn request(&mut self, now: Moment) {
        if self.interval.is_some() {
            let began = self.task.began();
            let earliest = began.map_or(now, |began| (began + INTERVAL_MIN).max(now));
            self.task.schedule(earliest);
        }
    }

    /// Tells the log once that a backend refused a user that the proxy lets in.
    pub(crate) fn refused(&mut self, id: BackendId, backend: &str, user: &str, cause: &str) {
        let is_known =
            self.refused.len() >= TOLD_MAX || !self.refused.insert((id, user.to_owned()));
        if !is_known {
            tracing::warn!(
                backend,
                user,
                cause,
                "a backend has refused an account that the proxy knows; compare the account there"
            );
        }
    }

    /// Begins an attempt if one is due; returns the epoch it belongs to.
    pub(crate) fn begin(&mut self, now: Moment) -> Option<u64> {
        self.task.begin(now).then_some(self.epoch)
    }

    /// When [`Learning::begin`] has the next attempt to begin.
    pub(crate) fn next(&self) -> Option<Moment> {
        self.task.next()
    }

    /// Ends an attempt. Returns whether its outcome counts, or the attempt began under another configuration.
    pub(crate) fn ended(
        &mut self,
        epoch: u64,
        outcome: &Result<LoadedAccounts, LoadError>,
        now: Moment,
    ) -> Attempt {
        self.task.end();
        let Some(interval) = self.interval.filter(|_| epoch == self.epoch) else {
            return Attempt::Outdated;
        };
        let wait = match outcome {
            Ok(loaded_accounts) => {
                self.note(loaded_accounts);
                interval
            }
            Err(trouble) => {
                self.note_trouble(trouble);
                let first = INTERVAL_MIN.min(interval);
                self.backoff.next(first, interval, &mut self.dice)
            }
        };
        self.task.schedule(now + wait);
        let begun = self.task.began().unwrap_or_default();
        Attempt::Counts { begun }
    }

    fn note(&mut self, loaded_accounts: &LoadedAccounts) {
        self.backoff.reset();
        let backend = &loaded_accounts.backend;
        let was_in_trouble = self.trouble.take().is_some();
        match &loaded_accounts.news {
            Some(directory) => {
                self.refused.clear();
                log_changes(backend, directory);
                self.note_names(directory.needs_host_names());
            }
            None if was_in_trouble => tracing::info!(backend, "accounts are learned again"),
            None => (),
        }
    }

    fn note_names(&mut self, are_wanted: bool) {
        if are_wanted && !self.logged_names {
            tracing::info!(
                "accounts of hosts known by name are matched as far as names are known; where one \
                 might count and the client's host has no name, the login passes through"
            );
        }
        self.logged_names = are_wanted;
    }

    fn note_trouble(&mut self, trouble: &LoadError) {
        if self.trouble.as_ref() == Some(trouble) {
            return;
        }
        self.trouble = Some(trouble.clone());
        let (backend, cause) = (trouble.backend.as_deref(), &trouble.cause);
        match &trouble.missing {
            Some(missing) => tracing::warn!(
                backend,
                cause,
                missing,
                "the proxy cannot read the servers' accounts, because the monitor account lacks a privilege; the field missing names it"
            ),
            None => tracing::warn!(
                backend,
                cause,
                "the proxy cannot read the servers' accounts and tries again later"
            ),
        }
    }
}

/// Whether the outcome of an attempt is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Attempt {
    /// The outcome is used: it has the accounts as of `begun` or later.
    Counts {
        /// When the attempt began.
        begun: Moment,
    },
    /// The attempt began under a configuration that has been replaced.
    Outdated,
}

fn log_changes(backend: &str, directory: &Directory) {
    let accounts = directory.accounts().count();
    let reasons = reasons(directory);
    let passed_through: usize = reasons.values().sum();
    let why = shown(&reasons);
    tracing::info!(
        kind = "accounts_learned",
        backend,
        accounts,
        passed_through,
        why,
        "accounts are learned"
    );
}

/// For each reason to pass logins through, the number of accounts that it holds for.
fn reasons(directory: &Directory) -> BTreeMap<String, usize> {
    let mut reasons = BTreeMap::new();
    for account in directory.accounts() {
        let reason = match (&account.login_method, account.conditions.expiry) {
            (LoginMethod::PassedThrough(reason), _) => reason.to_string(),
            (LoginMethod::Examined(_), Expiry::Expired) => auth::PassThrough::Expired.to_string(),
            (LoginMethod::Examined(_), _) => continue,
        };
        *reasons.entry(reason).or_default() += 1;
    }
    reasons
}

/// The most frequent reasons.
fn shown(reasons: &BTreeMap<String, usize>) -> Option<String> {
    const SHOWN_MAX: usize = 5;
    let mut sorted: Vec<_> = reasons.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let texts = sorted.iter().take(SHOWN_MAX);
    let mut texts: Vec<String> = texts
        .map(|(reason, count)| {
            format!("{count} × {}", crate::failure::printable(reason.as_bytes()))
        })
        .collect();
    if sorted.len() > SHOWN_MAX {
        texts.push("…".to_owned());
    }
    (!texts.is_empty()).then(|| texts.join(", "))
}

#[cfg(test)]
mod tests;
