//! A shared lane: statements of many sessions in flight on one connection, answered in their order.
//!
//! Decisions only, like the rest of this crate: a request is an opaque `R`, and an opaque `F`
//! follows its reply. If a session withdraws its request, `F` stays, because the reply still comes.
//!
//! ```text
//!   submit ─► ready ──► waits ──► head ──► begun ──► ends: the request has its reply
//!              (departs)  │         │        │
//!               └─ leave ─┴─────────┴────────┘   the reply is discarded
//!               └─ clear                the same, and the request goes to another connection
//! ```

use std::collections::VecDeque;
use std::time::Duration;

mod depth;
#[cfg(test)]
mod tests;

pub use depth::Depth;

/// The least patience with a head, however short its usual time is.
pub const PATIENCE_MIN: Duration = Duration::from_millis(10);

/// A head takes too long after this multiple of its usual time.
const PATIENCE_FACTOR: u32 = 16;

/// The longest patience with a head behind which requests wait.
const PATIENCE_MAX: Duration = Duration::from_millis(200);

/// A request's place, for as long as its reply has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneRequestId(u64);

/// The requests on one connection, in the order in which their statements are sent.
#[derive(Debug)]
pub struct Lane<R, F> {
    places: VecDeque<PendingRequest<R, F>>,
    /// The number of the first place.
    first: u64,
    /// The number of requests that have been sent.
    sent: usize,
    /// Since when the first request is the head, and sent.
    head_since: Duration,
    has_started: bool,
    is_shut: bool,
    waiting: usize,
}

#[derive(Debug)]
struct PendingRequest<R, F> {
    /// None: the reply is discarded.
    request: Option<R>,
    follower: F,
    usual_time: Duration,
    /// When the statement was sent, if it was.
    sent_at: Duration,
    /// A statement of the proxy's: no session wants its reply, but it is not abandoned.
    is_own: bool,
}

/// A request that was withdrawn, and how far its reply had come.
#[derive(Debug, PartialEq, Eq)]
pub struct Left<R> {
    /// The request.
    pub request: R,
    /// Whether the server may be running the statement now.
    pub is_head: bool,
    /// Whether some of the reply has gone to the session.
    pub has_started: bool,
}

/// A request whose reply has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended<R, F> {
    /// The request, if a session still wanted the reply.
    pub request: Option<R>,
    /// What followed the reply.
    pub follower: F,
    /// When its statement was sent.
    pub sent_at: Duration,
}

/// The requests that a broken connection leaves without a whole reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Stranded<R> {
    /// The request that has had some of its reply.
    pub partly_answered: Option<R>,
    /// The requests that have had nothing.
    pub unanswered: Vec<R>,
}

impl<R, F> Default for Lane<R, F> {
    fn default() -> Self {
        Self {
            places: VecDeque::new(),
            first: 0,
            sent: 0,
            head_since: Duration::ZERO,
            has_started: false,
            is_shut: false,
            waiting: 0,
        }
    }
}

impl<R, F> Lane<R, F> {
    /// Whether the lane takes requests.
    pub fn is_open(&self) -> bool {
        !self.is_shut
    }

    /// The number of statements whose reply is not complete, whether a session wants it or not.
    pub fn depth(&self) -> usize {
        self.places.len()
    }

    /// The number of requests whose reply is wanted.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Adds a statement behind all others. Statements with the same digest usually take `usual_time`.
    ///
    /// # Errors
    /// The request, if the lane is shut.
    pub fn submit(
        &mut self,
        request: R,
        follower: F,
        usual_time: Duration,
    ) -> Result<LaneRequestId, R> {
        if self.is_shut {
            return Err(request);
        }
        let request_id = LaneRequestId(self.first + self.places.len() as u64);
        self.places.push_back(PendingRequest {
            request: Some(request),
            follower,
            usual_time,
            sent_at: Duration::ZERO,
            is_own: false,
        });
        self.waiting += 1;
        Ok(request_id)
    }

    /// Adds a statement of the proxy's, whose reply concerns its follower only.
    pub fn submit_own(&mut self, follower: F) {
        self.places.push_back(PendingRequest {
            request: None,
            follower,
            usual_time: Duration::ZERO,
            sent_at: Duration::ZERO,
            is_own: true,
        });
    }

    /// All submitted statements are sent now. Returns whether none was in flight before.
    pub fn departs(&mut self, now: Duration) -> bool {
        let was_empty = self.sent == 0;
        if was_empty {
            self.head_since = now;
        }
        for place in self.places.range_mut(self.sent..) {
            place.sent_at = now;
        }
        self.sent = self.places.len();
        was_empty
    }

    /// The request whose reply comes now, if a session wants it, and its follower; none if there is no statement.
    pub fn head(&mut self) -> Option<(Option<&R>, &mut F)> {
        let place = self.places.front_mut()?;
        Some((place.request.as_ref(), &mut place.follower))
    }

    /// Some of the head's reply has come.
    pub fn begins(&mut self) {
        self.has_started = true;
    }

    /// The head's reply has ended: the next one is the head.
    pub fn ends(&mut self, now: Duration) -> Option<Ended<R, F>> {
        let place = self.places.pop_front()?;
        self.first += 1;
        self.sent = self.sent.saturating_sub(1);
        self.head_since = now;
        self.has_started = false;
        self.waiting -= usize::from(place.request.is_some());
        Some(Ended {
            request: place.request,
            follower: place.follower,
            sent_at: place.sent_at,
        })
    }

    /// A session no longer wants the reply to its request. Returns none if the reply has ended.
    pub fn leave(&mut self, request_id: LaneRequestId) -> Option<Left<R>> {
        let at = usize::try_from(request_id.0.checked_sub(self.first)?).ok()?;
        let request = self.places.get_mut(at)?.request.take()?;
        self.waiting -= 1;
        Some(Left {
            request,
            is_head: at == 0,
            has_started: at == 0 && self.has_started,
        })
    }

    /// Whether the head takes much longer than it usually does.
    pub fn takes_too_long(&self, now: Duration) -> bool {
        let Some(head) = self.places.front().filter(|_| self.sent > 0) else {
            return false;
        };
        let patience = (head.usual_time * PATIENCE_FACTOR).clamp(PATIENCE_MIN, PATIENCE_MAX);
        self.head_since.saturating_add(patience) <= now
    }

    /// Whether the head takes too long and keeps requests waiting.
    pub fn is_overdue(&self, now: Duration) -> bool {
        let waits = |place: &PendingRequest<R, F>| place.request.is_some();
        self.takes_too_long(now) && self.places.iter().skip(1).any(waits)
    }

    /// Whether the head takes too long and no session wants its reply, so that it has to be killed now. If
    /// it does not end then, it is killed again after the same time.
    pub fn abandons_head(&mut self, now: Duration) -> bool {
        let is_wanted = |head: &PendingRequest<R, F>| head.is_own || head.request.is_some();
        if !self.takes_too_long(now) || self.places.front().is_some_and(is_wanted) {
            return false;
        }
        self.head_since = now;
        true
    }

    /// The lane takes no more requests: it ends when the last reply has come.
    pub fn shut(&mut self) {
        self.is_shut = true;
    }

    /// The lane takes no more requests. Returns those of whose replies nothing has come, except the
    /// head: they go to another connection, and their replies are discarded.
    pub fn clear(&mut self) -> Vec<R> {
        self.shut();
        let behind = self.places.iter_mut().skip(1);
        let cleared: Vec<R> = behind.filter_map(|place| place.request.take()).collect();
        self.waiting -= cleared.len();
        cleared
    }

    /// The connection is gone.
    pub fn break_off(&mut self) -> Stranded<R> {
        self.shut();
        self.waiting = 0;
        self.sent = 0;
        let has_started = std::mem::take(&mut self.has_started);
        let mut places = self.places.drain(..);
        let first = places.next().and_then(|place| place.request);
        let (begun, unsaid) = match has_started {
            true => (first, None),
            false => (None, first),
        };
        let rest = places.filter_map(|place| place.request);
        Stranded {
            partly_answered: begun,
            unanswered: unsaid.into_iter().chain(rest).collect(),
        }
    }
}
