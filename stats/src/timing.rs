//! The times of a session's command: when it came, when it left for a backend, and when its reply had come. Until it
//! leaves, it waits in the proxy; then it is at the backend.

use std::time::Duration;

/// One command's times, since the process began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// When the client's command was read; its parts come separately.
    read: Duration,
    came: Duration,
    left: Duration,
    ended: Duration,
    /// When the first part of the reply came, if the reply did not come all at once.
    begun: Option<Duration>,
    /// The command waited for a connection, or for a rule's limit.
    has_queued: bool,
    /// `ended` is the present time, and was not used in place of the clock yet.
    is_fresh: bool,
    /// Bytes that the client sent beyond the part that the proxy held: the rest of a long command, or a file.
    further_bytes: u64,
}

impl Timing {
    /// Starts the times of a command that was read.
    pub fn comes(&mut self, now: Duration) {
        *self = Self {
            read: now,
            came: now,
            left: now,
            ended: now,
            begun: None,
            has_queued: false,
            is_fresh: false,
            further_bytes: 0,
        };
    }

    /// Starts the times of the command's next part, which begins at the end of the part before.
    pub fn goes_on(&mut self) {
        let read = self.read;
        self.comes(self.ended);
        self.read = read;
    }

    /// Notes that the command leaves. If it is sent again, the time before counts as waiting.
    pub fn leaves(&mut self, now: Duration) {
        self.left = now;
        self.begun = None;
    }

    /// Notes that the command waits in a queue.
    pub fn queues(&mut self) {
        self.has_queued = true;
    }

    /// Whether the command waited in a queue.
    pub fn has_queued(&self) -> bool {
        self.has_queued
    }

    /// Counts bytes that were sent beyond the part that the proxy held.
    pub fn follows(&mut self, bytes: u64) {
        self.further_bytes += bytes;
    }

    /// The number of those bytes.
    pub fn further_bytes(&self) -> u64 {
        self.further_bytes
    }

    /// Notes that a first part of the reply has come, and not all of it.
    pub fn begins(&mut self, now: impl FnOnce() -> Duration) {
        if self.begun.is_none() {
            self.begun = Some(now());
        }
    }

    /// Returns the time from sending to the first part of the reply.
    pub fn first_byte(&self) -> Duration {
        self.begun.unwrap_or(self.ended).saturating_sub(self.left)
    }

    /// When its reply ended.
    pub fn ended(&self) -> Duration {
        self.ended
    }

    /// When the whole command was read.
    pub fn read(&self) -> Duration {
        self.read
    }

    /// The time since the command came.
    pub fn spent(&self, now: Duration) -> Duration {
        now.saturating_sub(self.came)
    }

    /// Notes that the reply has ended.
    pub fn ends(&mut self, now: Duration) {
        self.ended = now;
        self.is_fresh = true;
    }

    /// Sets both times as they were measured elsewhere.
    pub fn was(&mut self, left: Duration, ended: Duration) {
        (self.left, self.ended) = (left, ended);
    }

    /// Returns the time that the command waited before it was sent.
    pub fn waited(&self) -> Duration {
        self.left.saturating_sub(self.came)
    }

    /// Returns the time from sending to the end of the reply.
    pub fn taken(&self) -> Duration {
        self.ended.saturating_sub(self.left)
    }

    /// The time from arrival to the end of the reply.
    pub fn whole(&self) -> Duration {
        self.ended.saturating_sub(self.came)
    }

    /// The end of the reply as the present time, in place of reading the clock. Only the first call returns it.
    pub fn take_end(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.is_fresh).then_some(self.ended)
    }
}
