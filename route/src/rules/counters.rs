//! Counters of each rule: matches and their results. Each worker has its own counters and alone writes them;
//! other threads may read them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rule_index::RuleIndex;
use super::rule_list::Rules;

/// The counters of one worker, for the rules that it was made for.
#[derive(Debug, Default)]
pub struct Counters {
    rules: Box<[Counts]>,
}

#[derive(Debug, Default)]
struct Counts {
    name: Option<Arc<str>>,
    matched: AtomicU64,
    not_understood: AtomicU64,
    unfit: AtomicU64,
    queued: AtomicU64,
    refused: AtomicU64,
    mirror_dropped: AtomicU64,
    injected: AtomicU64,
    injected_failed: AtomicU64,
}

/// The counts of one rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The rule's name.
    pub name: Arc<str>,
    /// Statements that matched, also if the rule has `dry_run`.
    pub matched: u64,
    /// Statements that were refused because the proxy does not understand them and they might match.
    pub not_understood: u64,
    /// Statements whose rewriting failed.
    pub unfit: u64,
    /// Statements that waited because of the rule's limit.
    pub queued: u64,
    /// Statements that were refused because of the rule's limit.
    pub refused: u64,
    /// Statements that were to be mirrored and were not.
    pub mirror_dropped: u64,
    /// Injected statements that were sent before or after statements that matched.
    pub injected: u64,
    /// Injected statements that failed, took too long, or had results that were too long.
    pub injected_failed: u64,
}

impl Counters {
    /// All at zero.
    pub fn new(rules: &Rules) -> Self {
        let counts = rules.iter().map(|(_, rule)| Counts {
            name: Some(Arc::clone(&rule.name)),
            ..Counts::default()
        });
        Self {
            rules: counts.collect(),
        }
    }

    /// Returns the counters for the rules after a reload: rules of the same name keep their counts.
    pub fn carried_over(&self, rules: &Rules) -> Self {
        let new = Self::new(rules);
        let old: HashMap<_, _> = self.rules.iter().map(|it| (&it.name, it)).collect();
        for counts in &new.rules {
            if let Some(before) = old.get(&counts.name) {
                copy_all(counts, before);
            }
        }
        new
    }

    /// Sets all counts to zero. Only the worker that counts here may call this.
    pub fn reset(&self) {
        let nothing = Counts::default();
        for counts in &self.rules {
            copy_all(counts, &nothing);
        }
    }

    pub(crate) fn matched(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.matched);
    }

    pub(crate) fn not_understood(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.not_understood);
    }

    pub(crate) fn unfit(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.unfit);
    }

    /// A statement waited for this rule's limit.
    pub fn queued(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.queued);
    }

    /// A statement was refused for this rule's limit, at once or after it had waited.
    pub fn refused(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.refused);
    }

    /// A statement was not mirrored because too many were waiting to be mirrored.
    pub fn mirror_dropped(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.mirror_dropped);
    }

    /// A statement of the rule's own was sent.
    pub fn injected(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.injected);
    }

    /// A statement of the rule's own failed.
    pub fn injected_failed(&self, rule: RuleIndex) {
        self.add(rule, |it| &it.injected_failed);
    }

    fn add(&self, rule: RuleIndex, which: impl Fn(&Counts) -> &AtomicU64) {
        if let Some(counts) = self.rules.get(rule.0 as usize) {
            // Only its worker writes.
            let count = which(counts);
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// A copy, one for each rule in order.
    pub fn tallies(&self) -> Vec<Tally> {
        let tally = |it: &Counts| Tally {
            name: it.name.clone().unwrap_or_default(),
            matched: it.matched.load(Ordering::Relaxed),
            not_understood: it.not_understood.load(Ordering::Relaxed),
            unfit: it.unfit.load(Ordering::Relaxed),
            queued: it.queued.load(Ordering::Relaxed),
            refused: it.refused.load(Ordering::Relaxed),
            mirror_dropped: it.mirror_dropped.load(Ordering::Relaxed),
            injected: it.injected.load(Ordering::Relaxed),
            injected_failed: it.injected_failed.load(Ordering::Relaxed),
        };
        self.rules.iter().map(tally).collect()
    }
}

fn copy_all(to: &Counts, from: &Counts) {
    copy(&to.matched, &from.matched);
    copy(&to.not_understood, &from.not_understood);
    copy(&to.unfit, &from.unfit);
    copy(&to.queued, &from.queued);
    copy(&to.refused, &from.refused);
    copy(&to.mirror_dropped, &from.mirror_dropped);
    copy(&to.injected, &from.injected);
    copy(&to.injected_failed, &from.injected_failed);
}

fn copy(to: &AtomicU64, from: &AtomicU64) {
    to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
}

impl Tally {
    /// Adds what another worker has counted of the same rule.
    pub fn add(&mut self, other: &Self) {
        self.matched += other.matched;
        self.not_understood += other.not_understood;
        self.unfit += other.unfit;
        self.queued += other.queued;
        self.refused += other.refused;
        self.mirror_dropped += other.mirror_dropped;
        self.injected += other.injected;
        self.injected_failed += other.injected_failed;
    }
}
