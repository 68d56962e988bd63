//! Data that was gathered within the last second, and the answers made of it: a hundred observers cost as
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

/// The greatest age of data that is shown again.
const AGE_MAX: Duration = Duration::from_secs(1);

/// The most answers that are kept for one moment.
const ANSWERS_MAX: usize = 64;

/// The latest data, one entry for each set of data that workers were asked for.
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

/// The data of one moment, and the answers made of it so far.
pub struct RecentSnapshot {
    /// The data.
    pub input: Arc<TableInput>,
    at: Instant,
    answers: std::sync::Mutex<HashMap<String, Arc<OnceCell<Bytes>>>>,
}

impl Recent {
    /// Data that is recent enough, or newly gathered. Other callers wait meanwhile, and then use the new data.
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

    /// Forgets all data, because something was changed: the next answer must show the change.
    pub async fn forget(&self) {
        for place in &self.moments {
            *place.lock().await = None;
        }
    }

    /// Drops, after a while, data that is too old to be shown.
    async fn tidy(self: Arc<Self>) {
        tokio::time::sleep(2 * AGE_MAX).await;
        for place in &self.moments {
            let mut last = place.lock().await;
            last.take_if(|shown| shown.at.elapsed() >= AGE_MAX);
        }
    }
}

impl RecentSnapshot {
    /// The answer to `question`. It is made once and kept.
    ///
    /// # Errors
    /// The errors of `make`, which are not kept.
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
