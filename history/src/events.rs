//! Recent events of the proxy as a whole: backends, the configuration, kills. The log has the same events and more,
//! but these can be queried.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use route::{Backend, Duty, Health, Topology};
use system::Clock;

/// How many events are kept. The oldest events are deleted.
const EVENTS_MAX: usize = 1000;

/// The maximum length of a text, in bytes.
const TEXT_BYTES_MAX: usize = 1000;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The event's number, from 1.
    pub id: u64,
    /// When the event happened.
    pub time: Timestamp,
    /// The kind of event.
    pub kind: EventKind,
    /// The backend, setting or session that the event is about.
    pub subject: String,
    /// A description for people.
    pub text: String,
    /// The user who caused the event; none if no user did.
    pub user: Option<String>,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The state of a backend has changed.
    Backend,
    /// A setting has changed.
    Change,
    /// The configuration file was read again, could not be read, or was written.
    File,
    /// A session or its statement was killed.
    Kill,
    /// Counters were reset.
    Reset,
    /// The history of digests cannot be written, or can be written again.
    History,
    /// Spans cannot be sent, or can be sent again.
    Traces,
    /// Metrics cannot be sent, or can be sent again.
    Metrics,
}

/// The recent events.
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
    /// The name, as people see it.
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
    /// Starts without events. `clock` gives events their time.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            kept: Mutex::default(),
        }
    }

    /// Adds an event.
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

    /// Adds events for the first state of the backends.
    pub fn begin(&self, first: &Topology) {
        for backend in &first.backends {
            self.compare_health(&Health::Unknown, backend);
        }
    }

    /// Adds events for the differences between two snapshots of the backends.
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

    /// Returns the kept events, oldest first.
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
    fn the_event_list_drops_its_oldest_events() {
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
