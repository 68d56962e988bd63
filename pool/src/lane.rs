//! A shared lane: statements of many sessions in flight on one connection, answered in their order.
//!
//! Decisions only, like the rest of this crate: a rider is an opaque `R`, what follows its reply
//! an opaque `F`, which stays when the rider leaves, since the reply still comes.
//!
//! ```text
//!   board ──► ready ──► waits ──► head ──► begun ──► ends: the rider has its reply
//!              (departs)  │         │        │
//!               └─ leave ─┴─────────┴────────┘   what comes is thrown away
//!               └─ clear                the same, and the rider goes elsewhere
//! ```

use std::collections::VecDeque;
use std::time::Duration;

mod depth;
#[cfg(test)]
mod tests;

pub use depth::Depth;

/// A head has this long at least, whatever its habit is.
pub const PATIENCE_MIN: Duration = Duration::from_millis(10);

/// A head overstays after so many times its habit.
const PATIENCE_HABITS: u32 = 16;

/// The longest patience with a head behind which others wait.
const PATIENCE_MAX: Duration = Duration::from_millis(200);

/// A rider's place, for as long as its reply has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneRequestId(u64);

/// One connection's riders, in the order in which their statements are sent.
#[derive(Debug)]
pub struct Lane<R, F> {
    places: VecDeque<PendingRequest<R, F>>,
    /// The first one's number.
    first: u64,
    /// So many have been sent.
    sent: usize,
    /// Since when the first one is that, and sent.
    head_since: Duration,
    has_begun: bool,
    is_shut: bool,
    riders: usize,
}

#[derive(Debug)]
struct PendingRequest<R, F> {
    /// None: its reply is thrown away.
    request: Option<R>,
    follower: F,
    habit: Duration,
    /// When it was sent, if it was.
    sent_at: Duration,
    /// It was nobody's from the beginning, and is not for nothing.
    is_own: bool,
}

/// Who has left, and how far its reply had come.
#[derive(Debug, PartialEq, Eq)]
pub struct Left<R> {
    /// It.
    pub request: R,
    /// Whether the server may be at its statement now.
    pub is_head: bool,
    /// Whether some of its reply has gone to it.
    pub has_begun: bool,
}

/// Whose reply has ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ended<R, F> {
    /// Who had it, if anybody wanted it.
    pub request: Option<R>,
    /// What followed it.
    pub follower: F,
    /// When its statement was sent.
    pub sent_at: Duration,
}

/// Whom a break leaves without a reply.
#[derive(Debug, PartialEq, Eq)]
pub struct Stranded<R> {
    /// Has had some of it.
    pub partly_answered: Option<R>,
    /// Have had nothing.
    pub unanswered: Vec<R>,
}

impl<R, F> Default for Lane<R, F> {
    fn default() -> Self {
        Self {
            places: VecDeque::new(),
            first: 0,
            sent: 0,
            head_since: Duration::ZERO,
            has_begun: false,
            is_shut: false,
            riders: 0,
        }
    }
}

impl<R, F> Lane<R, F> {
    /// Whether it takes riders.
    pub fn is_open(&self) -> bool {
        !self.is_shut
    }

    /// Statements of which not all of the reply has come, whoever still wants it.
    pub fn depth(&self) -> usize {
        self.places.len()
    }

    /// Those whose reply is wanted.
    pub fn riders(&self) -> usize {
        self.riders
    }

    /// Takes a statement on, behind all others; it usually takes as long as its habit. One that is
    /// shut takes nobody, and gives the rider back.
    ///
    /// # Errors
    /// The rider, when the lane is shut.
    pub fn submit(&mut self, request: R, follower: F, habit: Duration) -> Result<LaneRequestId, R> {
        if self.is_shut {
            return Err(request);
        }
        let request_id = LaneRequestId(self.first + self.places.len() as u64);
        self.places.push_back(PendingRequest {
            request: Some(request),
            follower,
            habit,
            sent_at: Duration::ZERO,
            is_own: false,
        });
        self.riders += 1;
        Ok(request_id)
    }

    /// Takes a statement of its own on, whose reply concerns its follower and nobody else.
    pub fn submit_own(&mut self, follower: F) {
        self.places.push_back(PendingRequest {
            request: None,
            follower,
            habit: Duration::ZERO,
            sent_at: Duration::ZERO,
            is_own: true,
        });
    }

    /// All that have boarded are sent now. True where nothing was under way before.
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

    /// Whose reply comes now, if anybody wants it, and what follows it; none when nothing was sent.
    pub fn head(&mut self) -> Option<(Option<&R>, &mut F)> {
        let place = self.places.front_mut()?;
        Some((place.request.as_ref(), &mut place.follower))
    }

    /// Some of the head's reply has come.
    pub fn begins(&mut self) {
        self.has_begun = true;
    }

    /// The head's reply has ended: the next one is the head.
    pub fn ends(&mut self, now: Duration) -> Option<Ended<R, F>> {
        let place = self.places.pop_front()?;
        self.first += 1;
        self.sent = self.sent.saturating_sub(1);
        self.head_since = now;
        self.has_begun = false;
        self.riders -= usize::from(place.request.is_some());
        Some(Ended {
            request: place.request,
            follower: place.follower,
            sent_at: place.sent_at,
        })
    }

    /// A rider wants its reply no more. None when it has had it.
    pub fn leave(&mut self, request_id: LaneRequestId) -> Option<Left<R>> {
        let at = usize::try_from(request_id.0.checked_sub(self.first)?).ok()?;
        let request = self.places.get_mut(at)?.request.take()?;
        self.riders -= 1;
        Some(Left {
            request,
            is_head: at == 0,
            has_begun: at == 0 && self.has_begun,
        })
    }

    /// Whether the head takes much longer than it usually does.
    pub fn overstays(&self, now: Duration) -> bool {
        let Some(head) = self.places.front().filter(|_| self.sent > 0) else {
            return false;
        };
        let patience = (head.habit * PATIENCE_HABITS).clamp(PATIENCE_MIN, PATIENCE_MAX);
        self.head_since.saturating_add(patience) <= now
    }

    /// Whether it does, and keeps others waiting.
    pub fn is_overdue(&self, now: Duration) -> bool {
        let waits = |place: &PendingRequest<R, F>| place.request.is_some();
        self.overstays(now) && self.places.iter().skip(1).any(waits)
    }

    /// Whether the head overstays for nobody, so that it is to be killed now. It is so again, should it
    /// then not end, after as long again.
    pub fn abandons_head(&mut self, now: Duration) -> bool {
        let is_wanted = |head: &PendingRequest<R, F>| head.is_own || head.request.is_some();
        if !self.overstays(now) || self.places.front().is_some_and(is_wanted) {
            return false;
        }
        self.head_since = now;
        true
    }

    /// Takes nobody any more: it ends when the last reply has come.
    pub fn shut(&mut self) {
        self.is_shut = true;
    }

    /// Takes nobody any more, and lets those go of whose replies nothing has come, but for the head:
    /// they go elsewhere, and what comes for them is thrown away.
    pub fn clear(&mut self) -> Vec<R> {
        self.shut();
        let behind = self.places.iter_mut().skip(1);
        let cleared: Vec<R> = behind.filter_map(|place| place.request.take()).collect();
        self.riders -= cleared.len();
        cleared
    }

    /// The connection is gone.
    pub fn break_off(&mut self) -> Stranded<R> {
        self.shut();
        self.riders = 0;
        self.sent = 0;
        let has_begun = std::mem::take(&mut self.has_begun);
        let mut places = self.places.drain(..);
        let first = places.next().and_then(|place| place.request);
        let (begun, unsaid) = match has_begun {
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
