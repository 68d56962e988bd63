//! A session's place where it waits for a connection: the pool calls it once, or never.
//!
//! The place is used for one wait after the other, so that waiting allocates nothing. Whoever is called
//! after it has gone does not come: what it was to have goes back.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pool::{Grant, Refusal};

use crate::connection::Connection;

/// What a waiter is woken with.
pub enum Granted {
    /// It is its turn.
    Grant(Grant<Connection>),
    /// It waits in vain.
    Refused(Refusal),
}

impl Default for Granted {
    /// The pool has gone.
    fn default() -> Self {
        Self::Refused(Refusal::Shut)
    }
}

/// One session's.
#[derive(Default)]
pub struct WaitSlot {
    /// Which wait it is; those before are over.
    generation: Cell<u64>,
    granted: RefCell<Option<Granted>>,
    waker: RefCell<Option<Waker>>,
}

/// Calls whoever waits.
pub struct Waiter {
    place: Rc<WaitSlot>,
    generation: u64,
}

/// The wait.
pub struct Granting {
    place: Rc<WaitSlot>,
}

impl WaitSlot {
    /// The next wait begins.
    pub fn begin(self: &Rc<Self>) -> (Waiter, Granting) {
        let generation = self.generation.get() + 1;
        self.generation.set(generation);
        let waiter = Waiter {
            place: Rc::clone(self),
            generation,
        };
        let granting = Granting {
            place: Rc::clone(self),
        };
        (waiter, granting)
    }

    fn put(&self, granted: Granted) {
        *self.granted.borrow_mut() = Some(granted);
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Waiter {
    /// Calls it; gives back what is to be had if it has gone.
    pub fn send(mut self, granted: Granted) -> Result<(), Granted> {
        let turn = std::mem::take(&mut self.generation);
        match self.place.generation.get() == turn {
            true => {
                self.place.put(granted);
                Ok(())
            }
            false => Err(granted),
        }
    }
}

impl Drop for Waiter {
    /// Nobody will call.
    fn drop(&mut self) {
        if self.generation > 0 && self.place.generation.get() == self.generation {
            self.place.put(Granted::default());
        }
    }
}

impl Future for Granting {
    type Output = Granted;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Granted> {
        if let Some(granted) = self.place.granted.borrow_mut().take() {
            return Poll::Ready(granted);
        }
        let mut waker = self.place.waker.borrow_mut();
        match &mut *waker {
            Some(known) => known.clone_from(context.waker()),
            None => *waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for Granting {
    /// It has gone. What it was called with and has not taken is lost, and the pool finds that.
    fn drop(&mut self) {
        self.place.generation.set(self.place.generation.get() + 1);
        let granted = self.place.granted.borrow_mut().take();
        drop(granted);
        self.place.waker.borrow_mut().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::Refusal;

    fn crowded() -> Granted {
        Granted::Refused(Refusal::Crowded)
    }

    #[tokio::test]
    async fn each_wait_ends_with_its_own_call() {
        let place = Rc::<WaitSlot>::default();
        let (gone, granting) = place.begin();
        drop(granting);
        let (waiter, granting) = place.begin();
        assert!(gone.send(crowded()).is_err());
        assert!(waiter.send(crowded()).is_ok());
        let granted = granting.await;
        assert!(matches!(granted, Granted::Refused(Refusal::Crowded)));
        // Nobody calls any more.
        let (waiter, granting) = place.begin();
        let (late, later) = (place.begin(), granting);
        drop(later);
        drop(late);
        drop(waiter);
        let (waiter, granting) = place.begin();
        drop(waiter);
        assert!(matches!(granting.await, Granted::Refused(Refusal::Shut)));
    }
}
