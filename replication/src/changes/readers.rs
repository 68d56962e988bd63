//! Those who read changes now, for whoever looks: the admin port, metrics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Those who read changes now.
#[derive(Debug, Default)]
pub struct ChangeReaders {
    reading: Mutex<Vec<Arc<Mutex<ChangeReaderView>>>>,
}

/// How a reader gets changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeTransport {
    /// Over HTTP.
    #[default]
    Http,
    /// In a file.
    File,
    /// In topics of Kafka.
    Kafka,
}

/// What a reader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeState {
    /// It has not got everything that the proxy has.
    #[default]
    CatchingUp,
    /// It has.
    Live,
    /// It has failed, and waits before it tries again.
    Waiting,
}

/// One reader at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeReaderView {
    /// How it gets them.
    pub transport: ChangeTransport,
    /// The account and the address, the file, or the brokers.
    pub name: String,
    /// The cluster whose changes it gets.
    pub cluster: String,
    /// The tables that it wants; empty for all.
    pub tables: String,
    /// When it began, in microseconds since 1970.
    pub since: i64,
    /// What it does.
    pub state: ChangeState,
    /// The transactions that it has got.
    pub position: String,
    /// Changes that it has got.
    pub events: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long before it was read the last transaction was written, in seconds; 0 while it is live.
    pub delay: u64,
    /// Why it failed last.
    pub last_error: Option<String>,
}

/// One reader. It is no longer shown when this is dropped.
#[derive(Debug)]
pub struct Reading {
    readers: Arc<ChangeReaders>,
    view: Arc<Mutex<ChangeReaderView>>,
}

impl ChangeReaders {
    /// A reader begins.
    pub fn begin(self: &Arc<Self>, view: ChangeReaderView) -> Reading {
        let view = Arc::new(Mutex::new(view));
        locked(&self.reading).push(Arc::clone(&view));
        Reading {
            readers: Arc::clone(self),
            view,
        }
    }

    /// The same, unless `max` readers of its way are there already.
    pub fn begin_within(self: &Arc<Self>, view: ChangeReaderView, max: usize) -> Option<Reading> {
        let transport = view.transport;
        let view = Arc::new(Mutex::new(view));
        let mut reading = locked(&self.reading);
        let count = reading
            .iter()
            .filter(|it| locked(it).transport == transport)
            .count();
        if count >= max {
            return None;
        }
        reading.push(Arc::clone(&view));
        drop(reading);
        Some(Reading {
            readers: Arc::clone(self),
            view,
        })
    }

    /// All of them, in the order in which they began.
    pub fn views(&self) -> Vec<ChangeReaderView> {
        let reading = locked(&self.reading);
        reading.iter().map(|it| locked(it).clone()).collect()
    }
}

impl Reading {
    /// Something has changed.
    pub fn change(&self, change: impl FnOnce(&mut ChangeReaderView)) {
        change(&mut locked(&self.view));
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        locked(&self.readers.reading).retain(|it| !Arc::ptr_eq(it, &self.view));
    }
}

impl ChangeTransport {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::File => "file",
            Self::Kafka => "kafka",
        }
    }
}

impl ChangeState {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::CatchingUp => "catching_up",
            Self::Live => "live",
            Self::Waiting => "waiting",
        }
    }
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_over_http_are_bounded_and_those_that_go_make_room() {
        let readers = Arc::new(ChangeReaders::default());
        let file = ChangeReaderView {
            transport: ChangeTransport::File,
            ..ChangeReaderView::default()
        };
        let _file = readers.begin(file);
        let first = readers.begin_within(ChangeReaderView::default(), 1);
        assert!(first.is_some());
        assert!(
            readers
                .begin_within(ChangeReaderView::default(), 1)
                .is_none()
        );
        drop(first);
        let second = readers.begin_within(ChangeReaderView::default(), 1);
        second.as_ref().unwrap().change(|view| view.events = 7);
        let events: Vec<_> = readers.views().iter().map(|it| it.events).collect();
        assert_eq!(events, [0, 7]);
    }
}
