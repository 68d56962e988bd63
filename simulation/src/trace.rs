//! What has happened: the last events for people, and a number that all events together make for machines.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::hash::Hasher;
use std::rc::Rc;
use std::time::Duration;

use rustc_hash::FxHasher;
use tokio::time::Instant;

/// Events that are kept.
const EVENTS_MAX: usize = 100;

/// The events of a world, in their order.
#[derive(Clone)]
pub struct Trace {
    inner: Rc<RefCell<Inner>>,
}

struct Inner {
    began: Instant,
    last: VecDeque<(Duration, String)>,
    hasher: FxHasher,
    events: u64,
}

impl Trace {
    /// A trace that begins now.
    pub fn begin() -> Self {
        Self {
            inner: Rc::new(RefCell::new(Inner {
                began: net::clock::now(),
                last: VecDeque::with_capacity(EVENTS_MAX),
                hasher: FxHasher::default(),
                events: 0,
            })),
        }
    }

    /// Notes an event. Its text is written only for the last ones, so it must come cheap.
    pub fn note(&self, event: fmt::Arguments<'_>) {
        let mut inner = self.inner.borrow_mut();
        let at = net::clock::now() - inner.began;
        let mut text = match inner.last.len() == EVENTS_MAX {
            true => inner.last.pop_front().map(|it| it.1).unwrap_or_default(),
            false => String::new(),
        };
        text.clear();
        // A string takes everything.
        let _ = fmt::Write::write_fmt(&mut text, event);
        inner.hasher.write_u128(at.as_nanos());
        inner.hasher.write(text.as_bytes());
        inner.events += 1;
        inner.last.push_back((at, text));
    }

    /// A number that two worlds share only if the same events happened in them at the same times.
    pub fn digest(&self) -> u64 {
        self.inner.borrow().hasher.finish()
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.inner.borrow().events
    }

    /// The last events, one a line.
    pub fn last(&self) -> Vec<String> {
        let inner = self.inner.borrow();
        let line =
            |(at, text): &(Duration, String)| format!("{:>12.6} s  {text}", at.as_secs_f64());
        inner.last.iter().map(line).collect()
    }
}
