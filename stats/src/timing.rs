//! When a session's command came, when it left for a backend, and when its reply had come. In between it
//! waits here, and then it is the backend's.

use std::time::Duration;

/// One command's times, since the process began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// When the client's command was read; each of its parts comes by itself.
    read: Duration,
    came: Duration,
    left: Duration,
    ended: Duration,
    /// Something of its reply had come, but not all of it.
    begun: Option<Duration>,
    /// It has waited for a connection, or for leave.
    has_queued: bool,
    /// Nobody has used the end in place of the clock.
    is_fresh: bool,
    /// Bytes that its client has sent for it behind what was held: the rest of a long one, a file.
    further_bytes: u64,
}

impl Timing {
    /// A command has been read.
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

    /// Its next part comes, after the end of the one before.
    pub fn goes_on(&mut self) {
        let read = self.read;
        self.comes(self.ended);
        self.read = read;
    }

    /// It leaves; one that is sent again has waited until then.
    pub fn leaves(&mut self, now: Duration) {
        self.left = now;
        self.begun = None;
    }

    /// It has to wait for others.
    pub fn queues(&mut self) {
        self.has_queued = true;
    }

    /// Whether it had to.
    pub fn has_queued(&self) -> bool {
        self.has_queued
    }

    /// More of it has been sent than was held.
    pub fn follows(&mut self, bytes: u64) {
        self.further_bytes += bytes;
    }

    /// How much more that was.
    pub fn further_bytes(&self) -> u64 {
        self.further_bytes
    }

    /// Something of its reply has come, and it is not all.
    pub fn begins(&mut self, now: impl FnOnce() -> Duration) {
        if self.begun.is_none() {
            self.begun = Some(now());
        }
    }

    /// How long its backend had it until something of its reply came.
    pub fn first_byte(&self) -> Duration {
        self.begun.unwrap_or(self.ended).saturating_sub(self.left)
    }

    /// When its reply had ended.
    pub fn ended(&self) -> Duration {
        self.ended
    }

    /// When the whole of it was read.
    pub fn read(&self) -> Duration {
        self.read
    }

    /// How long ago it came.
    pub fn spent(&self, now: Duration) -> Duration {
        now.saturating_sub(self.came)
    }

    /// Its reply has ended.
    pub fn ends(&mut self, now: Duration) {
        self.ended = now;
        self.is_fresh = true;
    }

    /// Both, as somebody else has seen it.
    pub fn was(&mut self, left: Duration, ended: Duration) {
        (self.left, self.ended) = (left, ended);
    }

    /// How long it waited before it left.
    pub fn waited(&self) -> Duration {
        self.left.saturating_sub(self.came)
    }

    /// How long its backend had it, up to the end of its reply.
    pub fn taken(&self) -> Duration {
        self.ended.saturating_sub(self.left)
    }

    /// Both together.
    pub fn whole(&self) -> Duration {
        self.ended.saturating_sub(self.came)
    }

    /// The end, in place of a look at the clock; once.
    pub fn take_end(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.is_fresh).then_some(self.ended)
    }
}
