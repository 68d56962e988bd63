//! Which statements are profiled without a rule, and which statements are sent around them: an
//! [`Injection`], as for rules.

use std::sync::Arc;

use config::{Config, InjectedResults, ProfileQuestion, ProfilingConfig};

use super::digest_entry::{DigestEntry, read_digest};
use super::fault::{Fault, Spot};
use super::injection::{Injected, Injection};
use super::names::{Case, Names};

/// The settings of `[profiling]`, compiled.
#[derive(Debug)]
pub struct Profiling {
    /// The statements that are sent before and after a profiled statement.
    pub injection: Arc<Injection>,
    /// Whether profiles may contain values.
    pub include_values: bool,
    /// One of this many statements is profiled; 0: none.
    sample_one_in: u32,
    users: Option<Names>,
    digests: Box<[u64]>,
    sessions: Box<[u32]>,
}

impl Profiling {
    /// Compiles the settings. Every fault is added to `faults`.
    pub(super) fn of(config: &Config, faults: &mut Vec<Fault>) -> Self {
        let config = &config.profiling;
        let mut digests = Vec::new();
        for entry in &config.digest {
            match read_digest(entry) {
                Ok(DigestEntry::Hash(hash)) => digests.push(hash),
                Ok(DigestEntry::Text(digest)) => {
                    digests.push(sql::Digest::of_text(entry.trim().as_bytes()).hash());
                    digests.push(digest.hash());
                }
                Err(text) => faults.push(Fault {
                    spot: Spot::Profiling,
                    setting: "digest",
                    text,
                    hint: None,
                }),
            }
        }
        Self {
            injection: Arc::new(injection(config)),
            include_values: config.include_values,
            sample_one_in: config.sample_one_in,
            users: (!config.user.is_empty()).then(|| Names::new(&config.user, Case::Kept)),
            digests: digests.into(),
            sessions: config.session.as_slice().into(),
        }
    }

    /// Whether any statement is profiled without a rule.
    pub fn is_on(&self) -> bool {
        self.sample_one_in > 0
    }

    /// Whether a statement of this session may be profiled; its digest is checked later. `below` returns a random
    /// number below its argument.
    pub fn picks(&self, session: u32, user: &[u8], below: impl FnOnce(u64) -> u64) -> bool {
        let is_session = || self.sessions.is_empty() || self.sessions.contains(&session);
        let is_user = || self.users.as_ref().is_none_or(|it| it.matches(user));
        let is_lucky = match self.sample_one_in {
            0 => false,
            1 => true,
            sample_one_in => below(sample_one_in.into()) == 0,
        };
        is_lucky && is_session() && is_user()
    }

    /// Whether a statement with this digest's hash may be profiled.
    pub fn picks_digest(&self, digest: impl FnOnce() -> u64) -> bool {
        self.digests.is_empty() || self.digests.contains(&digest())
    }
}

impl Default for Profiling {
    fn default() -> Self {
        Self::of(&Config::default(), &mut Vec::new())
    }
}

fn injection(config: &ProfilingConfig) -> Injection {
    let has = |question| config.collect.contains(&question);
    let mut before = Vec::new();
    let mut after = Vec::new();
    if has(ProfileQuestion::Profile) {
        before.push("SET profiling = 1");
        after.push("SHOW PROFILE");
    }
    if has(ProfileQuestion::Trace) {
        before.push("SET optimizer_trace = 'enabled=on'");
        after.push("SELECT trace FROM information_schema.optimizer_trace");
    }
    if has(ProfileQuestion::Status) {
        // Next to the statement on both sides, so that nothing else is counted.
        before.push("SHOW SESSION STATUS");
        after.insert(0, "SHOW SESSION STATUS");
    }
    if has(ProfileQuestion::Warnings) {
        after.push("SHOW WARNINGS");
    }
    if has(ProfileQuestion::Explain) {
        // In rows and columns, whatever the server's default is: other formats contain the statement's values.
        after.push("EXPLAIN FORMAT=TRADITIONAL {statement}");
    }
    let bytes_max = usize::try_from(config.answer_bytes_max).unwrap_or(usize::MAX);
    let mut after = Injected::behind(&after).into_vec();
    if has(ProfileQuestion::Events) {
        // Before other statements, because the server keeps only a few of a connection's last statements.
        let at = usize::from(has(ProfileQuestion::Status));
        after.insert(at, Injected::events());
    }
    Injection::new(
        (Injected::before(&before), after.into()),
        InjectedResults::Diff,
        config.timeout,
        bytes_max,
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(change: impl FnOnce(&mut ProfilingConfig)) -> Profiling {
        let mut config = Config::default();
        change(&mut config.profiling);
        let mut faults = Vec::new();
        let profiling = Profiling::of(&config, &mut faults);
        assert_eq!(faults, []);
        profiling
    }

    #[test]
    fn statements_are_profiled_only_if_sample_one_in_is_set() {
        let off = of(|it| it.session = vec![7]);
        assert!(!off.is_on());
        assert!(!off.picks(7, b"app", |_| 0));
    }

    #[test]
    fn session_user_digest_and_chance_must_all_hold() {
        let statement = "SELECT n FROM t WHERE n = 1";
        let some = of(|it| {
            it.sample_one_in = 50;
            it.session = vec![7, 8];
            it.user = vec!["app*".to_owned(), "!apple".to_owned()];
            it.digest = vec![statement.to_owned()];
        });
        assert!(some.picks(7, b"app1", |below| 50 - below));
        assert!(!some.picks(7, b"app1", |below| below - 1));
        assert!(!some.picks(9, b"app1", |_| 0));
        assert!(!some.picks(7, b"apple", |_| 0));
        let hash = |text: &str| sql::digest(text.as_bytes(), sql::Flags::default()).hash();
        assert!(some.picks_digest(|| hash("select n from t where n = 22")));
        assert!(!some.picks_digest(|| hash("SELECT m FROM t")));
        assert!(of(|it| it.sample_one_in = 1).picks(1, b"", |_| 1));
    }

    #[test]
    fn every_question_of_a_profile_may_be_injected() {
        use ProfileQuestion::*;
        let all = of(|it| it.collect = vec![Status, Warnings, Explain, Profile, Trace, Events]);
        assert_eq!(all.injection.before.len(), 3);
        assert_eq!(all.injection.after.len(), 6);
        let last = all.injection.before.last().unwrap();
        assert_eq!(last.text, all.injection.after.first().unwrap().text);
    }
}
