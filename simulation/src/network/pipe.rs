//! One direction of a connection.

use std::collections::VecDeque;
use std::task::Waker;

use tokio::time::Instant;

/// Bytes that may be in transit. A kernel's buffers hold about as many.
pub const ROOM: usize = 256 * 1024;

/// One direction of a connection: bytes that were written and not yet read.
#[derive(Debug, Default)]
pub struct Pipe {
    bytes: Vec<u8>,
    /// Bytes at the front that were read.
    read: usize,
    /// Bytes, counted from the first ever written, that have arrived by a time; empty without delay.
    arrivals: VecDeque<(u64, Instant)>,
    /// Bytes ever read.
    taken: u64,
    /// Bytes ever written.
    pub written: u64,
    /// Nothing more will be written.
    pub is_closed: bool,
    /// The reader has closed its end.
    pub is_unread: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    /// How many more bytes may be written.
    pub fn room(&self) -> usize {
        ROOM.saturating_sub(self.bytes.len() - self.read)
    }

    /// Appends bytes. With `delayed`, which is the time and the time of arrival, they can be read only then.
    pub fn put(&mut self, bytes: &[u8], delayed: Option<(Instant, Instant)>) {
        let before = self.written;
        self.bytes.extend_from_slice(bytes);
        self.written += bytes.len() as u64;
        match (delayed, self.arrivals.back().copied()) {
            (None, None) => {}
            // Bytes arrive in the order in which they were written.
            (None, Some((_, last))) => self.arrivals.push_back((self.written, last)),
            (Some((_, arrival)), Some((_, last))) => {
                self.arrivals.push_back((self.written, arrival.max(last)));
            }
            (Some((now, arrival)), None) => {
                if before > self.taken {
                    self.arrivals.push_back((before, now));
                }
                self.arrivals.push_back((self.written, arrival));
            }
        }
    }

    /// How many bytes can be read, and when the next arrive if there are none but some are under way.
    pub fn ready(&self) -> (usize, Option<Instant>) {
        let Some(&(_, first)) = self.arrivals.front() else {
            return (self.bytes.len() - self.read, None);
        };
        let now = net::clock::now();
        if first > now {
            return (0, Some(first));
        }
        let arrived = self.arrivals.partition_point(|it| it.1 <= now);
        let last = arrived.checked_sub(1).and_then(|it| self.arrivals.get(it));
        let until = last.map_or(self.taken, |it| it.0);
        ((until - self.taken) as usize, None)
    }

    /// The first `count` bytes that can be read.
    pub fn front(&self, count: usize) -> &[u8] {
        &self.bytes[self.read..self.read + count]
    }

    /// Removes the first `count` bytes, which were read.
    pub fn take(&mut self, count: usize) {
        self.read += count;
        self.taken += count as u64;
        while self.arrivals.front().is_some_and(|it| it.0 <= self.taken) {
            self.arrivals.pop_front();
        }
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.read = 0;
        } else if self.read > ROOM {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
    }

    /// Drops the bytes in transit.
    pub fn discard(&mut self) {
        self.bytes = Vec::new();
        self.read = 0;
        self.taken = self.written;
        self.arrivals.clear();
    }

    /// Wakes the reader.
    pub fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    /// Wakes the writer.
    pub fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    /// Registers the waker of a reader that waits.
    pub fn reader_waits(&mut self, waker: &Waker) {
        match &mut self.reader {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Registers the waker of a writer that waits.
    pub fn writer_waits(&mut self, waker: &Waker) {
        self.writer = Some(waker.clone());
    }
}
