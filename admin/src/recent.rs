//! What was gathered within the last second, and what was answered of it: a hundred who look on cost as
//! much as one.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use net::clock;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use crate::table::Demands;
use crate::table_input::TableInput;

/// How old what is shown may be.
const AGE_MAX: Duration = Duration::from_secs(1);

/// How many answers of one moment are kept.
const ANSWERS_MAX: usize = 64;

/// The last moments, by what workers were asked for them.
pub struct Recent {
    moments: [Mutex<Option<Arc<RecentSnapshot>>>; Demands::COUNT],
}

impl Default for Recent {
    fn default() -> Self {
        Self {
            moments: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

/// What was gathered at one moment, and the answers made of it so far.
pub struct RecentSnapshot {
    /// What was gathered.
    pub input: Arc<TableInput>,
    at: Instant,
    answers: std::sync::Mutex<HashMap<String, Arc<OnceCell<Bytes>>>>,
}

impl Recent {
    /// One that is recent enough, or a new one; whoever wants one meanwhile waits for that.
    pub async fn moment(
        self: &Arc<Self>,
        demands: Demands,
        gather: impl Future<Output = TableInput>,
    ) -> Arc<RecentSnapshot> {
        let mut last = self.moments[demands.index()].lock().await;
        if let Some(shown) = &*last
            && shown.at.elapsed() < AGE_MAX
        {
            return Arc::clone(shown);
        }
        let at = clock::now();
        let shown = Arc::new(RecentSnapshot {
            input: Arc::new(gather.await),
            at,
            answers: std::sync::Mutex::default(),
        });
        *last = Some(Arc::clone(&shown));
        tokio::spawn(Arc::clone(self).tidy());
        shown
    }

    /// Something has been changed: who asks next is to see it.
    pub async fn forget(&self) {
        for place in &self.moments {
            *place.lock().await = None;
        }
    }

    /// Forgets, in a while, what nobody may be shown any more.
    async fn tidy(self: Arc<Self>) {
        tokio::time::sleep(2 * AGE_MAX).await;
        for place in &self.moments {
            let mut last = place.lock().await;
            last.take_if(|shown| shown.at.elapsed() >= AGE_MAX);
        }
    }
}

impl RecentSnapshot {
    /// What `question` is answered with, made once.
    ///
    /// # Errors
    /// Those of `make`, which are not kept.
    pub async fn answer<E>(
        &self,
        question: &str,
        make: impl Future<Output = Result<Bytes, E>>,
    ) -> Result<Bytes, E> {
        let cell = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            match answers.get(question) {
                Some(cell) => Some(Arc::clone(cell)),
                None if answers.len() >= ANSWERS_MAX => None,
                None => {
                    let cell = Arc::<OnceCell<Bytes>>::default();
                    answers.insert(question.to_owned(), Arc::clone(&cell));
                    Some(cell)
                }
            }
        };
        match cell {
            Some(cell) => cell.get_or_try_init(|| make).await.cloned(),
            None => make.await,
        }
    }
}
