//! A value that one side replaces and other tasks watch, as tokio's channel of this name, but with an order: receivers
//! are woken in the order in which they have begun to wait. Tokio chooses among eight queues at random, so two runs of
//! a simulation with the same seed would differ.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::sync::watch::{self, Ref, error::RecvError};

/// The side that replaces the value.
#[derive(Debug)]
pub struct Sender<T> {
    inner: watch::Sender<T>,
    waking: Waking,
}

/// A side that watches. Clones have seen what the original has seen.
#[derive(Debug)]
pub struct Receiver<T> {
    inner: watch::Receiver<T>,
    waiting: Arc<Notify>,
}

/// Wakes all receivers also when it is dropped. It is dropped after the channel's sender, so the receivers see that the
/// sender has gone.
#[derive(Debug, Default)]
struct Waking(Arc<Notify>);

impl Drop for Waking {
    fn drop(&mut self) {
        self.0.notify_waiters();
    }
}

/// A channel with its first value, which its receiver has seen.
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let sender = Sender::new(value);
    let receiver = sender.subscribe();
    (sender, receiver)
}

impl<T> Sender<T> {
    /// A sender without receivers yet.
    pub fn new(value: T) -> Self {
        Self {
            inner: watch::Sender::new(value),
            waking: Waking::default(),
        }
    }

    /// A receiver that has seen the current value.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver {
            inner: self.inner.subscribe(),
            waiting: Arc::clone(&self.waking.0),
        }
    }

    /// The value there is. No other can be sent while it is borrowed.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.inner.borrow()
    }

    /// Replaces the value. Returns the previous value.
    pub fn send_replace(&self, value: T) -> T {
        let before = self.inner.send_replace(value);
        self.waking.0.notify_waiters();
        before
    }

    /// Changes the value in place. All receivers see it as a new one.
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.inner.send_modify(modify);
        self.waking.0.notify_waiters();
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self {
            inner: self.inner.clone(),
            waiting: Arc::clone(&self.waiting),
        }
    }
}

impl<T> Receiver<T> {
    /// The value there is. No other can be sent while it is borrowed.
    pub fn borrow(&self) -> Ref<'_, T> {
        self.inner.borrow()
    }

    /// The current value, which counts as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        self.inner.borrow_and_update()
    }

    /// Marks the current value as seen.
    pub fn mark_unchanged(&mut self) {
        self.inner.mark_unchanged();
    }

    /// Whether there is a value that was not seen.
    ///
    /// # Errors
    /// The sender has gone.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.inner.has_changed()
    }

    /// Waits for a value that was not seen, and marks it as seen. A future that is dropped early has no effect.
    ///
    /// # Errors
    /// The sender has gone, and its last value was seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        loop {
            // Registered first, so that no value comes between the check and the wait.
            let woken = self.waiting.notified();
            // Also before the check: a sender sends its last value before it is dropped.
            let is_open = self.inner.has_changed();
            if self.inner.borrow().has_changed() {
                self.inner.mark_unchanged();
                return Ok(());
            }
            is_open?;
            woken.await;
        }
    }

    /// Waits for a value with this property; the current value may be it. The value counts as seen.
    ///
    /// # Errors
    /// The sender has gone, and its last value does not have the property.
    pub async fn wait_for(
        &mut self,
        mut has_it: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        while !has_it(&self.inner.borrow_and_update()) {
            self.changed().await?;
        }
        // It returns at once, unless another thread has replaced the value since.
        self.inner.wait_for(has_it).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[tokio::test(flavor = "local")]
    async fn receivers_are_woken_in_the_order_in_which_they_wait() {
        let (sender, receiver) = channel(0);
        let woken = Rc::new(RefCell::new(Vec::new()));
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let (mut receiver, woken) = (receiver.clone(), Rc::clone(&woken));
                tokio::task::spawn_local(async move {
                    receiver.changed().await.unwrap();
                    woken.borrow_mut().push(number);
                })
            })
            .collect();
        tokio::task::yield_now().await;
        sender.send_replace(1);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*woken.borrow(), (0..40).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn the_last_value_is_seen_before_the_senders_end() {
        let (sender, mut receiver) = channel(0);
        let mut late = receiver.clone();
        let waiting =
            tokio::spawn(async move { late.wait_for(|value| *value == 9).await.is_err() });
        sender.send_modify(|value| *value = 1);
        drop(sender);
        assert!(receiver.changed().await.is_ok());
        assert_eq!(*receiver.borrow_and_update(), 1);
        assert!(receiver.changed().await.is_err());
        assert!(waiting.await.unwrap());
    }
}
