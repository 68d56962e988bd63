//! The place where a session waits for a connection. The pool calls it once, or never.
//!
//! The place is used for one wait after another, so that waiting allocates nothing. If the session
//! has gone when it is called, the grant goes back to the pool.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pool::{Grant, Refusal};

use crate::connection::Connection;

/// The answer with which a waiter is woken.
pub enum Granted {
    /// The session gets a connection or a permit.
    Grant(Grant<Connection>),
    /// The session waits in vain.
    Refused(Refusal),
}

impl Default for Granted {
    /// The pool is gone.
    fn default() -> Self {
        Self::Refused(Refusal::Shut)
    }
}

/// One session's place.
#[derive(Default)]
pub struct WaitSlot {
    /// The number of the current wait; earlier waits are over.
    generation: Cell<u64>,
    granted: RefCell<Option<Granted>>,
    waker: RefCell<Option<Waker>>,
}

/// The pool's end: calls the session that waits.
pub struct Waiter {
    place: Rc<WaitSlot>,
    generation: u64,
}

/// The session's end: resolves when the pool calls.
pub struct Granting {
    place: Rc<WaitSlot>,
}

impl WaitSlot {
    /// Begins the next wait.
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
    /// Calls the session. If the session has gone, returns the grant.
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
    /// Refuses the wait, because the pool will not call any more.
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
    /// Ends the wait. A grant that the session has not taken is dropped, and the pool notices that.
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
        // The pool does not grant the request any more.
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
