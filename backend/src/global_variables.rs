//! Global variables from which new sessions inherit their own values. A pooled connection has the values
//! of the time when it logged in. After a change it must not serve a session that begins now.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use route::BackendId;
use sql::{Effects, Facts, StatementKind};

/// How many changes of one backend are remembered. A session that was idle during more changes
/// inherits the current values for the oldest of them.
const CHANGES_MAX: usize = 1024;

/// Names of variables, in the order of the columns that the backend is asked for.
pub type Names = Arc<[Box<str>]>;

/// The global variables of each backend as last read, and their changes since the process began,
/// over all workers. A login's time is the number of changes so far.
#[derive(Default)]
pub struct GlobalVariables {
    changes: AtomicU64,
    looks: AtomicU64,
    backends: Mutex<HashMap<BackendId, BackendVariables>>,
}

/// The known variables of one backend.
#[derive(Default)]
struct BackendVariables {
    names: Option<Names>,
    values: BTreeMap<Box<str>, Arc<[u8]>>,
    /// When a worker last began to read the variables.
    looked_at: Option<Duration>,
    /// The number of the latest read whose result was used.
    look: u64,
    /// The number of the latest change.
    latest: u64,
    history: VecDeque<PastValue>,
}

struct PastValue {
    number: u64,
    name: Box<str>,
    before: Arc<[u8]>,
}

/// A variable that has changed since a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The variable.
    pub name: Box<str>,
    /// The value before the change.
    pub before: Arc<[u8]>,
    /// The value now.
    pub now: Arc<[u8]>,
    /// The number of its first change since then.
    pub number: u64,
}

/// The number of a read of a backend's variables that has begun.
#[derive(Debug, Clone, Copy)]
pub struct ReadNumber(u64);

impl GlobalVariables {
    /// Returns how many changes there have been.
    pub fn now(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Whether a connection that logged in after `then` changes has inherited old values.
    #[cold]
    pub fn have_changed(&self, backend: BackendId, then: u64) -> bool {
        let backends = self.backends();
        backends.get(&backend).is_some_and(|it| it.latest > then)
    }

    /// Whether it is time to read a backend's variables again. The caller that gets `true` reads
    /// them. If no interval is set, they are read once.
    pub fn claim(&self, backend: BackendId, now: Duration, interval: Duration) -> bool {
        let mut backends = self.backends();
        let known = backends.entry(backend).or_default();
        let is_due = is_due(known.looked_at, now, interval);
        if is_due {
            known.looked_at = Some(now);
        }
        is_due
    }

    /// Whether it is time to read them, without claiming the read.
    pub fn is_due(&self, backend: BackendId, now: Duration, interval: Duration) -> bool {
        let backends = self.backends();
        let looked_at = backends.get(&backend).and_then(|it| it.looked_at);
        is_due(looked_at, now, interval)
    }

    /// A session may have changed a variable, so the next read is due now.
    pub fn doubt(&self, backend: BackendId) {
        if let Some(known) = self.backends().get_mut(&backend) {
            known.looked_at = None;
        }
    }

    /// The names to ask a backend for, if they are known.
    pub fn names(&self, backend: BackendId) -> Option<Names> {
        self.backends().get(&backend)?.names.clone()
    }

    /// Returns the value of a backend's variable, as last read.
    pub fn value(&self, backend: BackendId, name: &str) -> Option<Arc<[u8]>> {
        self.backends().get(&backend)?.values.get(name).cloned()
    }

    /// Stores which variables a backend has; `None` if the names that were known are no longer right.
    pub fn learn_names(&self, backend: BackendId, names: Option<Names>) {
        self.backends().entry(backend).or_default().names = names;
    }

    /// Begins a read, and returns its number.
    pub fn begin_read(&self) -> ReadNumber {
        ReadNumber(self.looks.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Stores the result of a read. Returns whether a variable has changed since the read before.
    pub fn note(
        &self,
        backend: BackendId,
        look: ReadNumber,
        names: &Names,
        row: &[Option<Vec<u8>>],
    ) -> bool {
        let mut backends = self.backends();
        let known = backends.entry(backend).or_default();
        // A read that began later may have seen a newer value.
        if look.0 < known.look {
            return false;
        }
        known.look = look.0;
        let number = self.now() + 1;
        let mut has_changed = false;
        for (name, value) in names.iter().zip(row) {
            has_changed |= known.take_up(name, value.as_deref().unwrap_or_default(), number);
        }
        if has_changed {
            known.latest = number;
            self.changes.store(number, Ordering::Release);
        }
        has_changed
    }

    /// Returns the variables of a backend that have changed after the first `then` changes.
    pub fn changed_since(&self, backend: BackendId, then: u64) -> Vec<Changed> {
        let backends = self.backends();
        let Some(known) = backends.get(&backend) else {
            return Vec::new();
        };
        let mut changed: Vec<Changed> = Vec::new();
        for past in known.history.iter().filter(|past| past.number > then) {
            if changed.iter().any(|it| it.name == past.name) {
                continue;
            }
            changed.push(Changed {
                name: past.name.clone(),
                before: Arc::clone(&past.before),
                now: known.values.get(&past.name).cloned().unwrap_or_default(),
                number: past.number,
            });
        }
        changed
    }

    /// Returns the `sql_mode` of sessions that begin now, if all backends whose `sql_mode` is known have the same.
    pub fn sql_mode(&self) -> Option<Arc<[u8]>> {
        let backends = self.backends();
        let mut modes = backends.values().filter_map(|it| it.values.get("sql_mode"));
        let first = modes.next()?;
        modes.all(|mode| mode == first).then(|| Arc::clone(first))
    }

    /// No panic leaves the data under this lock half changed, so a panic in another thread is no reason to stop.
    fn backends(&self) -> MutexGuard<'_, HashMap<BackendId, BackendVariables>> {
        self.backends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BackendVariables {
    /// Stores the value of a variable. Returns whether the variable had another value before.
    fn take_up(&mut self, name: &str, value: &[u8], number: u64) -> bool {
        let before = match self.values.get_mut(name) {
            Some(known) if **known == *value => return false,
            Some(known) => std::mem::replace(known, Arc::from(value)),
            None => {
                self.values.insert(Box::from(name), Arc::from(value));
                return false;
            }
        };
        if self.history.len() >= CHANGES_MAX {
            self.history.pop_front();
        }
        self.history.push_back(PastValue {
            number,
            name: Box::from(name),
            before,
        });
        true
    }
}

fn is_due(looked_at: Option<Duration>, now: Duration, interval: Duration) -> bool {
    match looked_at {
        None => true,
        Some(then) => !interval.is_zero() && then + interval <= now,
    }
}

/// Whether a statement may change global variables. If the statement runs other statements, the
/// words in its text decide.
#[inline]
pub fn may_change(facts: &Facts, text: &[u8]) -> bool {
    // A statement that the proxy does not understand may set anything.
    let sets = || {
        let effects = facts.effects;
        effects.has(Effects::GLOBAL_VARIABLES) || effects.has(Effects::OPAQUE)
    };
    let runs_text = |kind| {
        matches!(
            kind,
            StatementKind::ExecuteImmediate | StatementKind::Compound
        )
    };
    match facts.kind {
        StatementKind::Set => sets(),
        StatementKind::Multi => {
            sets() || facts.statements.iter().any(|it| runs_text(it.kind)) && has_words(text)
        }
        kind => runs_text(kind) && has_words(text),
    }
}

fn has_words(text: &[u8]) -> bool {
    let has = |word: &[u8]| {
        let mut windows = text.windows(word.len());
        windows.any(|window| window.eq_ignore_ascii_case(word))
    };
    has(b"GLOBAL") || has(b"PERSIST")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKEND: BackendId = BackendId(1);

    fn may(text: &str) -> bool {
        let facts = sql::facts(text.as_bytes(), sql::Flags::default());
        may_change(&facts, text.as_bytes())
    }

    fn look(globals: &GlobalVariables, values: &[&str]) -> bool {
        let look = globals.begin_read();
        note(globals, look, values)
    }

    fn note(globals: &GlobalVariables, look: ReadNumber, values: &[&str]) -> bool {
        let names: Names = ["sql_mode", "time_zone"].map(Box::from).into();
        let row: Vec<_> = values
            .iter()
            .map(|it| Some(it.as_bytes().to_vec()))
            .collect();
        globals.note(BACKEND, look, &names, &row)
    }

    #[test]
    fn statements_that_set_global_variables_are_known() {
        for text in [
            "SET GLOBAL a = 1",
            "set @@global.a = 1, b = 2",
            "SET SESSION a = 1, GLOBAL b = 2",
            "SET PERSIST a = 1",
            "SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "SELECT 1; SET GLOBAL a = 1",
            "EXECUTE IMMEDIATE 'SET GLOBAL a = 1'",
            "BEGIN NOT ATOMIC SET GLOBAL a = 1; END",
        ] {
            assert!(may(text), "{text}");
        }
        for text in [
            "SELECT @@global.a",
            "SET a = @@global.a",
            "SET SESSION a = 1",
            "SELECT 'GLOBAL'; SET @a = 1",
            "EXECUTE IMMEDIATE 'SELECT 1'",
        ] {
            assert!(!may(text), "{text}");
        }
    }

    #[test]
    fn a_change_concerns_the_logins_before_it_at_its_backend() {
        let globals = GlobalVariables::default();
        assert!(!look(&globals, &["ANSI", "SYSTEM"]), "nothing was known");
        let before = globals.now();
        assert!(!look(&globals, &["ANSI", "SYSTEM"]));
        assert!(look(&globals, &["STRICT", "SYSTEM"]));
        assert!(globals.have_changed(BACKEND, before));
        assert!(!globals.have_changed(BACKEND, globals.now()));
        assert!(!globals.have_changed(BackendId(2), before));
        assert_eq!(globals.sql_mode().as_deref(), Some(&b"STRICT"[..]));
    }

    #[test]
    fn a_session_sees_the_changes_of_globals_since_its_start() {
        let globals = GlobalVariables::default();
        look(&globals, &["a", "SYSTEM"]);
        let began = globals.now();
        look(&globals, &["b", "SYSTEM"]);
        let between = globals.now();
        look(&globals, &["c", "SYSTEM"]);
        let seen = |then| {
            let changed = globals.changed_since(BACKEND, then);
            let shown = |it: &Changed| (it.before.to_vec(), it.now.to_vec());
            changed.iter().map(shown).collect::<Vec<_>>()
        };
        assert_eq!(seen(began), [(b"a".to_vec(), b"c".to_vec())]);
        assert_eq!(seen(between), [(b"b".to_vec(), b"c".to_vec())]);
        assert_eq!(seen(globals.now()), []);
    }

    #[test]
    fn a_read_of_globals_that_began_earlier_does_not_replace_a_later_one() {
        let globals = GlobalVariables::default();
        look(&globals, &["a", "SYSTEM"]);
        let slow = globals.begin_read();
        look(&globals, &["b", "SYSTEM"]);
        assert!(!note(&globals, slow, &["a", "SYSTEM"]));
        assert_eq!(globals.sql_mode().as_deref(), Some(&b"b"[..]));
    }

    #[test]
    fn only_one_read_of_global_variables_runs_at_a_time() {
        let globals = GlobalVariables::default();
        let second = Duration::from_secs(1);
        assert!(globals.claim(BACKEND, Duration::ZERO, second));
        assert!(!globals.claim(BACKEND, Duration::ZERO, second));
        assert!(globals.claim(BACKEND, second, second));
        assert!(!globals.claim(BACKEND, second * 9, Duration::ZERO), "never");
        globals.doubt(BACKEND);
        assert!(globals.is_due(BACKEND, second, second));
    }
}
