//! What has happened of late to the proxy as a whole: backends, the configuration, kills. The log says the
//! same and more; here it can be asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use route::{Backend, Duty, Health, Topology};
use system::Clock;

/// How many are kept; the oldest go.
const EVENTS_MAX: usize = 1000;

/// The longest text, in bytes.
const TEXT_BYTES_MAX: usize = 1000;

/// What has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number, from 1.
    pub id: u64,
    /// When.
    pub time: Timestamp,
    /// Of which kind.
    pub kind: EventKind,
    /// To what: a backend, a setting, a session.
    pub subject: String,
    /// What, for people.
    pub text: String,
    /// Who has done it; none: nobody, it has happened.
    pub user: Option<String>,
}

/// Of which kind an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// Something has become of a backend.
    Backend,
    /// A setting has become another.
    Change,
    /// The file has been read again, or not; or it has been written.
    File,
    /// A session, or its statement, has been ended.
    Kill,
    /// Counts begin from nothing.
    Reset,
    /// The digests' history cannot be written, or can again.
    History,
    /// Spans cannot be sent, or can be again.
    Traces,
    /// Metrics cannot be sent, or can be again.
    Metrics,
}

/// The last ones.
#[derive(Debug)]
pub struct Events {
    clock: Clock,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    events: VecDeque<Arc<Event>>,
}

impl EventKind {
    /// As people are told it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Backend => "backend",
            Self::Change => "change",
            Self::File => "file",
            Self::Kill => "kill",
            Self::Reset => "reset",
            Self::History => "history",
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }
}

impl Events {
    /// Nothing has happened yet. Events get their time from this clock.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            kept: Mutex::default(),
        }
    }

    /// Something has happened.
    pub fn note(
        &self,
        kind: EventKind,
        subject: &str,
        text: impl Into<String>,
        user: Option<&str>,
    ) {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let event = Event {
            id: kept.last,
            time: Timestamp::try_from(self.clock.wall()).unwrap_or_default(),
            kind,
            subject: subject.to_owned(),
            text,
            user: user.map(str::to_owned),
        };
        kept.events.push_back(Arc::new(event));
        if kept.events.len() > EVENTS_MAX {
            kept.events.pop_front();
        }
    }

    /// How the backends are at first.
    pub fn begin(&self, first: &Topology) {
        for backend in &first.backends {
            self.compare_health(&Health::Unknown, backend);
        }
    }

    /// What has become of the backends between two snapshots.
    pub fn compare(&self, before: &Topology, after: &Topology) {
        for backend in &after.backends {
            match before.backends.iter().find(|it| it.id == backend.id) {
                Some(earlier) => self.compare_backend(earlier, backend),
                None => {
                    self.of(backend, "has come");
                    self.compare_health(&Health::Unknown, backend);
                }
            }
        }
        let is_gone = |it: &&Arc<Backend>| after.backend(it.id).is_none();
        for backend in before.backends.iter().filter(is_gone) {
            self.of(backend, "has gone from the configuration");
        }
    }

    fn compare_backend(&self, before: &Backend, after: &Backend) {
        self.compare_health(&before.health, after);
        if before.role != after.role
            && let Some(role) = after.role
        {
            self.of(after, format!("is a {role}"));
        }
        match (before.duty, after.duty) {
            (before, after) if before == after => {}
            (_, Duty::Draining) => self.of(after, "gets nothing new (drain)"),
            (_, Duty::Disabled) => self.of(after, "is out of use (disable)"),
            (_, Duty::Serving) => self.of(after, "serves again"),
        }
    }

    fn compare_health(&self, before: &Health, after: &Backend) {
        match (before, &after.health) {
            (Health::Up { .. }, Health::Up { .. }) | (_, Health::Unknown) => {}
            (Health::Down { cause: before, .. }, Health::Down { cause, .. }) if before == cause => {
            }
            (_, Health::Down { cause, .. }) => self.of(after, format!("is down: {cause}")),
            (_, Health::Up { .. }) => self.of(after, "is up"),
        }
    }

    fn of(&self, backend: &Backend, text: impl Into<String>) {
        self.note(EventKind::Backend, &backend.name, text, None);
    }

    /// Those kept, the oldest first.
    pub fn all(&self) -> Vec<Arc<Event>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.events.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Instant, SystemTime};

    use super::*;

    #[test]
    fn the_oldest_go() {
        let events = Events::new(Clock::new(Instant::now, || SystemTime::UNIX_EPOCH));
        for number in 0..EVENTS_MAX + 5 {
            events.note(EventKind::Change, "x", number.to_string(), Some("me"));
        }
        let all = events.all();
        assert_eq!(all.len(), EVENTS_MAX);
        assert_eq!((all[0].id, &*all[0].text), (6, "5"));
        events.note(EventKind::Change, "x", "ä".repeat(TEXT_BYTES_MAX), None);
        let last = events.all().pop().map(|it| it.text.len());
        assert_eq!(last, Some(TEXT_BYTES_MAX));
    }
}
