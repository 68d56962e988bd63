//! The current readers of changes, for the admin port and metrics.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The current readers of changes.
#[derive(Debug, Default)]
pub struct ChangeReaders {
    reading: Mutex<Vec<Arc<Mutex<ChangeReaderView>>>>,
}

/// The way by which a reader gets changes.
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

/// The state of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChangeState {
    /// The reader does not have everything that the proxy has.
    #[default]
    CatchingUp,
    /// The reader has everything.
    Live,
    /// The reader has failed, and waits before the next attempt.
    Waiting,
}

/// The state of a reader at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeReaderView {
    /// The way by which it gets changes.
    pub transport: ChangeTransport,
    /// The account and the address (HTTP), the file, or the topic and the brokers (Kafka).
    pub name: String,
    /// The cluster whose changes it gets.
    pub cluster: String,
    /// The tables that it wants; empty for all.
    pub tables: String,
    /// When it began, in microseconds since 1970.
    pub since: i64,
    /// The reader's state.
    pub state: ChangeState,
    /// The transactions that it has received.
    pub position: String,
    /// The number of changes that it has received.
    pub events: u64,
    /// The size of these changes, in bytes.
    pub bytes: u64,
    /// Seconds between the server's writing of the last event and its reading; 0 while the reader is live.
    pub delay: u64,
    /// The error of the last failure.
    pub last_error: Option<String>,
}

/// The entry of one reader. Dropping it removes the reader from the views.
#[derive(Debug)]
pub struct Reading {
    readers: Arc<ChangeReaders>,
    view: Arc<Mutex<ChangeReaderView>>,
}

impl ChangeReaders {
    /// Adds a reader.
    pub fn begin(self: &Arc<Self>, view: ChangeReaderView) -> Reading {
        let view = Arc::new(Mutex::new(view));
        locked(&self.reading).push(Arc::clone(&view));
        Reading {
            readers: Arc::clone(self),
            view,
        }
    }

    /// Adds a reader, unless `max` readers with the same transport exist already.
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

    /// The views of all readers, in the order in which they began.
    pub fn views(&self) -> Vec<ChangeReaderView> {
        let reading = locked(&self.reading);
        reading.iter().map(|it| locked(it).clone()).collect()
    }
}

impl Reading {
    /// Changes the reader's view.
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
    /// The name, as tables show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::File => "file",
            Self::Kafka => "kafka",
        }
    }
}

impl ChangeState {
    /// The name, as tables show it.
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
    fn the_number_of_http_change_readers_is_limited() {
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
