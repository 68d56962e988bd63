//! A limit of time for one thing after the other.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is only set anew when it has fired: what is limited costs no timer.
pub struct Patience {
    timer: Pin<Box<Sleep>>,
    until: Instant,
}

/// Something has not ended within its limit.
#[derive(Clone, Copy, Debug)]
pub struct Overdue;

impl Patience {
    /// A limit that begins now.
    pub fn new(limit: Duration) -> Self {
        let until = Instant::now() + limit;
        Self {
            timer: Box::pin(sleep_until(until)),
            until,
        }
    }

    /// A limit begins.
    pub fn begin(&mut self, limit: Duration) {
        self.until = Instant::now() + limit;
        if self.until < self.timer.deadline() {
            self.timer.as_mut().reset(self.until);
        }
    }

    /// Whether the limit is over; if it is not, the task is woken when it is.
    pub fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        while self.timer.as_mut().poll(context).is_ready() {
            if Instant::now() >= self.until {
                return true;
            }
            self.timer.as_mut().reset(self.until);
        }
        false
    }

    /// What something comes to, if it ends within a limit.
    ///
    /// # Errors
    /// It does not.
    pub async fn bound<T>(
        &mut self,
        limit: Duration,
        what: impl Future<Output = T>,
    ) -> Result<T, Overdue> {
        self.begin(limit);
        let mut what = pin!(what);
        std::future::poll_fn(|context| {
            if let Poll::Ready(ended) = what.as_mut().poll(context) {
                return Poll::Ready(Ok(ended));
            }
            match self.is_over(context) {
                true => Poll::Ready(Err(Overdue)),
                false => Poll::Pending,
            }
        })
        .await
    }
}
