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
    is_kept: bool,
}

struct Inner {
    began: Instant,
    last: VecDeque<(Duration, String)>,
    hasher: FxHasher,
}

impl Trace {
    /// A trace that begins now. One that is not kept costs nothing: of a seed's world the events can be had again.
    pub fn begin(is_kept: bool) -> Self {
        Self {
            is_kept,
            inner: Rc::new(RefCell::new(Inner {
                began: net::clock::now(),
                last: VecDeque::with_capacity(EVENTS_MAX),
                hasher: FxHasher::default(),
            })),
        }
    }

    /// Notes an event.
    pub fn note(&self, event: fmt::Arguments<'_>) {
        if !self.is_kept {
            return;
        }
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
        inner.last.push_back((at, text));
    }

    /// A number that two worlds whose traces are kept share only if the same events happened in them at the same times.
    pub fn digest(&self) -> u64 {
        self.inner.borrow().hasher.finish()
    }

    /// The last events, one a line.
    pub fn last(&self) -> Vec<String> {
        let inner = self.inner.borrow();
        let line =
            |(at, text): &(Duration, String)| format!("{:>12.6} s  {text}", at.as_secs_f64());
        inner.last.iter().map(line).collect()
    }
}
