//! The statistics that one worker keeps about statements.

use std::cell::{Cell, RefCell};
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, TraceParents};
use route::{BackendId, Topology};
use sql::{Analysis, Digest, Facts, FactsCache, Flags};
use system::HashKeys;
use tokio::sync::Semaphore;

use crate::counts::Ended;
use crate::errors::{ErrorTable, Failed};
use crate::parent::TraceParent;
use crate::profiles::ProfileRing;
use crate::slow::SlowRing;
use crate::table::{DigestTable, Due, EndedStatement, Ran};

/// Which statistics to keep.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wants {
    /// Counts of digests and errors.
    pub counts: bool,
    /// Whether statements of transparent sessions count as well.
    pub transparent: bool,
    /// The duration from which a statement enters the table of slow statements.
    pub slow: Option<Duration>,
    /// The duration from which a statement enters the slow log, and one in how many of those does.
    pub slow_log: Option<(Duration, u32)>,
    /// One in how many statements enters the query log, and how many per second at most; 0: all.
    pub query_log: Option<(u32, u32)>,
    /// The seconds until a digest is explained again, if digests are explained; and how many are per second.
    pub plans: Option<(u32, u32)>,
    /// One in how many statements without a trace gets spans, and whether traces of clients are followed.
    pub tracing: Option<(u32, TraceParents)>,
    /// Whether spans show values.
    pub tracing_values: bool,
    /// Whether values may be shown in tables.
    pub values: bool,
    /// Whether the slow log shows values.
    pub slow_log_values: bool,
    /// Whether the query log shows values.
    pub query_log_values: bool,
}

impl Wants {
    /// Whether single statements are recorded, in any place.
    pub fn tells_single(&self) -> bool {
        self.slow.is_some()
            || self.slow_log.is_some()
            || self.query_log.is_some()
            || self.tracing.is_some()
    }

    /// Whether any place shows statements with their values.
    pub fn some_values(&self) -> bool {
        self.values || self.slow_log_values || self.query_log_values || self.tracing_values
    }
}

/// The statistics of one worker. Nothing is recorded while no observer may ask for it.
pub struct StatementStats {
    wants: Cell<Wants>,
    /// Reusable memory for computing a digest.
    analysis: RefCell<Analysis>,
    /// The facts of statements, for later statements that differ in their values only.
    known: RefCell<FactsCache>,
    /// The counts of each digest.
    pub digests: RefCell<DigestTable>,
    /// The counts of each error.
    pub errors: RefCell<ErrorTable>,
    /// The latest slow statements.
    pub slow: RefCell<SlowRing>,
    /// The latest profiles.
    pub profiles: RefCell<ProfileRing>,
    /// The second of the last entry of the query log, and how many entries that second has.
    pub log_share: Cell<(u32, u32)>,
    /// The second of the last EXPLAIN, and how many there were in that second.
    pub plan_share: Cell<(u32, u32)>,
    /// Limits how many EXPLAINs run at once; others wait for it.
    pub explaining: Semaphore,
    /// The number of statements that are being explained.
    pub explaining_count: Cell<u32>,
    /// The number of times that the digests were emptied.
    pub emptied: Cell<u64>,
    /// The backends' names, by id.
    names: RefCell<Vec<Option<Arc<str>>>>,
    /// Secret keys for hashes.
    pub keys: HashKeys,
}

impl StatementStats {
    /// Empty statistics, with the bounds of the configuration and keys for hashes.
    pub fn new(config: &Config, keys: HashKeys) -> Self {
        let insight = Self {
            wants: Cell::default(),
            analysis: RefCell::default(),
            known: RefCell::default(),
            digests: RefCell::new(DigestTable::new(0, keys.hash_one(0))),
            errors: RefCell::default(),
            slow: RefCell::default(),
            profiles: RefCell::default(),
            log_share: Cell::default(),
            plan_share: Cell::default(),
            explaining: Semaphore::new(1),
            explaining_count: Cell::default(),
            emptied: Cell::default(),
            names: RefCell::default(),
            keys,
        };
        insight.follow(config);
        insight
    }

    /// Applies other settings.
    pub fn follow(&self, config: &Config) {
        let settings = &config.statement_stats;
        let is_looked_at = config.has_readers();
        let slow = Some(settings.slow_statements);
        let wants = Wants {
            counts: settings.digests && is_looked_at,
            transparent: settings.transparent,
            slow: slow.filter(|limit| !limit.is_zero() && is_looked_at),
            slow_log: (config.slow_log.file.as_ref())
                .map(|_| (config.slow_log.threshold, config.slow_log.sample_one_in)),
            query_log: config.query_log.file.as_ref().map(|_| {
                let workers = u32::try_from(config.workers).unwrap_or(u32::MAX);
                let share = config.query_log.per_second_max.div_ceil(workers.max(1));
                (config.query_log.sample_one_in, share)
            }),
            plans: (settings.index_usage && settings.digests && is_looked_at).then(|| {
                let interval = settings.explain_interval.as_secs();
                let workers = u32::try_from(config.workers).unwrap_or(u32::MAX);
                let share = settings.explains_per_second_max / workers.max(1);
                (u32::try_from(interval).unwrap_or(u32::MAX), share.max(1))
            }),
            tracing: (config.tracing.endpoint.as_ref())
                .map(|_| (config.tracing.sample_one_in, config.tracing.parents)),
            tracing_values: config.tracing.include_values && config.tracing.endpoint.is_some(),
            values: settings.include_values,
            slow_log_values: config.slow_log.include_values && config.slow_log.file.is_some(),
            query_log_values: config.query_log.include_values && config.query_log.file.is_some(),
        };
        self.wants.set(wants);
        let slow_max = wants.slow.map_or(0, |_| settings.slow_statements_max);
        self.slow.borrow_mut().resize(slow_max);
        let profiles_max = match is_looked_at {
            true => config.profiling.kept_max,
            false => 0,
        };
        self.profiles.borrow_mut().resize(profiles_max);
        let bytes_max = usize::try_from(settings.digests_bytes_max).unwrap_or(usize::MAX);
        let mut digests = self.digests.borrow_mut();
        if !wants.counts {
            digests.take();
            self.errors.take();
        }
        digests.resize(bytes_max / config.workers.max(1));
    }

    /// Whether the digests of statements are needed.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        let wants = self.wants.get();
        wants.counts || wants.tells_single()
    }

    /// Which statistics to keep.
    #[inline]
    pub fn wants(&self) -> Wants {
        self.wants.get()
    }

    /// The span that a statement's comments name as its parent, if statements are traced.
    #[inline]
    pub fn parent_of(&self, text: &[u8], facts: &Facts) -> Option<Box<TraceParent>> {
        let (_, parents) = self.wants.get().tracing?;
        let follows = parents == TraceParents::Follow && !facts.comments.is_empty();
        let parent = follows.then(|| TraceParent::of_comments(text, facts));
        parent.flatten().map(Box::new)
    }

    /// Reads a statement's facts.
    #[inline]
    pub fn read_facts(&self, facts: &mut Facts, text: &[u8], flags: Flags) {
        let mut known = self.known.borrow_mut();
        if known.find_known(facts, text, flags).is_none() {
            facts.read(text, flags);
            known.keep(facts, text, flags, None);
        }
    }

    /// Reads a statement's facts. Returns the hash of its digest, with the digest's text if that is wanted.
    #[inline]
    pub fn read(&self, facts: &mut Facts, text: &[u8], flags: Flags) -> (u64, Option<Arc<str>>) {
        let mut known = self.known.borrow_mut();
        let recalled = known.find_known(facts, text, flags);
        match recalled.map(|it| it.digest) {
            Some(Some(digest)) if !self.is_wanted() => return (digest, None),
            Some(Some(digest)) => {
                if let Some(text) = self.known_text(digest) {
                    return (digest, Some(text));
                }
            }
            Some(None) => known.wants_digest(),
            None => {}
        }
        let digest = &mut self.analysis.borrow_mut().digest;
        digest.read(facts, text, flags);
        known.keep(facts, text, flags, Some(digest.hash()));
        let text = self.is_wanted().then(|| {
            self.digests
                .borrow_mut()
                .text_of(digest.hash(), digest.text())
        });
        (digest.hash(), text)
    }

    /// Stores the text of a digest that was computed elsewhere, and returns the stored text.
    pub fn intern(&self, hash: u64, digest: &Digest) -> Arc<str> {
        self.digests.borrow_mut().text_of(hash, digest.text())
    }

    /// The stored text of a digest; computed from this statement if it is new.
    pub fn text_of(&self, digest: u64, text: &[u8], flags: Flags) -> Arc<str> {
        let mut digests = self.digests.borrow_mut();
        digests.known_text(digest).unwrap_or_else(|| {
            let mut analysis = self.analysis.borrow_mut();
            analysis.read(text, flags);
            digests.text_of(digest, analysis.digest.text())
        })
    }

    /// The stored text of a digest, if the digest is known.
    pub fn known_text(&self, digest: u64) -> Option<Arc<str>> {
        self.digests.borrow().known_text(digest)
    }

    /// Counts a statement that has ended. Returns whether it is due to be explained, if it may be: then `since` is the
    /// second up to which plans are forgotten.
    #[inline]
    pub fn note(
        &self,
        said: &EndedStatement<'_>,
        ended: &Ended,
        since: Option<u32>,
        topology: &RefCell<Arc<Topology>>,
    ) -> bool {
        let due = since.and_then(|since| self.due(since, ended));
        let name = |backend| self.name(backend, topology);
        self.digests.borrow_mut().note(said, ended, due, name)
    }

    /// The conditions for explaining a digest now; `None` if this second has had its share of EXPLAINs.
    fn due(&self, since: u32, ended: &Ended) -> Option<Due> {
        let (interval, share) = self.wants.get().plans?;
        let second = u32::try_from(ended.at.as_secs()).unwrap_or(u32::MAX);
        let second = second.saturating_add(1);
        let (known, had) = self.plan_share.get();
        (known != second || had < share).then_some(Due {
            second,
            interval,
            since,
        })
    }

    /// Whether the query log may have another entry in this second. Each call counts as an entry.
    pub fn has_leave(&self, second: u32, share: u32) -> bool {
        let had = match self.log_share.get() {
            (known, had) if known == second => had,
            _ => 0,
        };
        self.log_share.set((second, had.saturating_add(1)));
        had < share
    }

    /// Counts one EXPLAIN in the second of this moment.
    pub fn spends_plan(&self, at: Duration) {
        let second = u32::try_from(at.as_secs()).unwrap_or(u32::MAX);
        let second = second.saturating_add(1);
        let had = match self.plan_share.get() {
            (known, had) if known == second => had,
            _ => 0,
        };
        self.plan_share.set((second, had.saturating_add(1)));
    }

    /// Counts a statement that ended with an error.
    pub fn note_error(&self, failed: &Failed<'_>, at: Duration, topology: &RefCell<Arc<Topology>>) {
        let ran = failed.backend.map(|backend| self.ran(backend, topology));
        let mut errors = self.errors.borrow_mut();
        errors.note(failed, ran, at, self.wants().values);
    }

    /// The backend that a statement ran on, with its name.
    pub fn ran(&self, backend: BackendId, topology: &RefCell<Arc<Topology>>) -> Ran {
        let name = self.name(backend, topology);
        Ran {
            backend,
            name: name.unwrap_or_else(|| Arc::from("")),
        }
    }

    /// A backend's name. It is kept, so that all rows share one copy.
    fn name(&self, id: BackendId, topology: &RefCell<Arc<Topology>>) -> Option<Arc<str>> {
        let mut names = self.names.borrow_mut();
        let index = id.0 as usize;
        if names.len() <= index {
            names.resize_with(index + 1, Default::default);
        }
        let known = names.get_mut(index)?;
        if known.is_none() {
            let topology = topology.borrow();
            *known = Some(topology.backend(id)?.name.as_str().into());
        }
        known.clone()
    }

    /// Takes the digests out, and counts that they were emptied.
    pub fn empty(&self) -> DigestTable {
        self.emptied.set(self.emptied.get() + 1);
        self.digests.borrow_mut().take()
    }
}

/// The facts by which a statement is counted, from when it is read until it has ended.
pub struct Subject {
    /// The hash of the digest.
    pub digest: u64,
    /// The normalised text.
    pub text: Arc<str>,
    /// The bytes of all packets that the client sent for it.
    pub bytes: u64,
    /// The statement with its values, if values may be shown.
    pub sample: Option<Rc<[u8]>>,
    /// The client's span that the statement belongs to, if it is traced.
    pub parent: Option<Box<TraceParent>>,
    /// The part of the reply that the proxy itself made.
    pub answer: Answer,
}

/// How a statement ended.
pub struct StatementEnd<'a> {
    /// The number and the SQLSTATE of its error.
    pub error: Option<(u16, Option<[u8; 5]>)>,
    /// The error's text.
    pub message: &'a [u8],
    /// The backend that it ran on; `None`: it reached no backend.
    pub backend: Option<BackendId>,
    /// The times, rows and bytes of the statement.
    pub ended: Ended,
}

/// The part of a reply that the proxy itself made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer {
    /// Bytes of the reply.
    pub bytes: u64,
    /// Rows of the reply.
    pub rows: u64,
}
