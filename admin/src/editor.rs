//! Requests to the owner of the configuration, and its answers. The admin port changes nothing itself: it sends
//! the changes, and the owner checks the whole configuration and applies it like a file at a reload.

use std::sync::Arc;

use config::{Change, Config, Edit};
use history::Events;
use route::Topology;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

use crate::fault::Fault;

/// Sends requests to the owner of the configuration.
#[derive(Clone)]
pub struct Editor {
    to: mpsc::UnboundedSender<Wish>,
    events: Arc<Events>,
    /// Held by a statement while it makes a change outside a transaction.
    change_lock: Arc<Mutex<()>>,
}

/// One request, and the channel for its answer.
pub struct Wish {
    /// The user that asks, for the log.
    pub user: String,
    /// The request.
    pub request: EditRequest,
    /// The channel for the answer; the receiver may be gone.
    pub answer: oneshot::Sender<Result<EditOutcome, Refused>>,
}

/// A request to the owner of the configuration.
pub enum EditRequest {
    /// Show the configuration as it would be with these changes, even if it is not valid.
    View(Vec<Edit>),
    /// Apply these changes, all or none.
    Apply {
        /// The changes, in order.
        edits: Vec<Edit>,
        /// The configuration that the changes are based on.
        basis: Arc<Config>,
    },
    /// List the differences from the file, with these changes applied as well.
    Compare(Vec<Edit>),
    /// Check these changes: list what they would change, and whether they would be refused.
    Check(Vec<Edit>),
    /// Write the current configuration to the file.
    Save,
    /// Apply the file's configuration again.
    Revert,
    /// Close the log files and open them again.
    FlushLogs,
}

/// The result of a request to change the configuration.
pub enum EditOutcome {
    /// A configuration that is not in effect.
    View(View),
    /// The request is done, with these warnings.
    Done(Vec<String>),
    /// The differences.
    Differences(Vec<Difference>),
    /// The changes that would be made, and the warnings that would come with them.
    Checked(Vec<Difference>, Vec<String>),
}

/// The configuration that changes would result in.
#[derive(Clone)]
pub struct View {
    /// Its settings.
    pub config: Arc<Config>,
    /// Its backends, of unknown health.
    pub topology: Arc<Topology>,
}

/// A setting that differs from the file.
pub struct Difference {
    /// The difference.
    pub change: Change,
    /// When it takes effect.
    pub when: When,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It has taken effect.
    Now,
    /// At the next start of the proxy, if it has been saved.
    AtRestart,
    /// At the COMMIT of the transaction that asks.
    AtCommit,
}

/// Why a request is refused.
#[derive(Debug)]
pub enum Refused {
    /// Another change came first: the configuration that the changes are based on is not current any more.
    Outdated,
    /// The reasons.
    Because(Vec<String>),
}

impl Editor {
    /// An editor, and the receiver of its requests, for the owner of the configuration.
    pub fn channel(events: Arc<Events>) -> (Self, mpsc::UnboundedReceiver<Wish>) {
        let (to, wishes) = mpsc::unbounded_channel();
        let change_lock = Arc::default();
        let editor = Self {
            to,
            events,
            change_lock,
        };
        (editor, wishes)
    }

    /// Waits until no other statement makes a change outside a transaction, so that such statements do not
    /// invalidate one another's changes again and again.
    pub async fn lock_for_change(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.change_lock).lock_owned().await
    }

    /// The recent events.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Sends a request, and waits for the answer.
    ///
    /// # Errors
    /// The request is refused, or the proxy is ending.
    pub async fn ask(&self, user: &str, request: EditRequest) -> Result<EditOutcome, Refused> {
        let (answer, told) = oneshot::channel();
        let wish = Wish {
            user: user.to_owned(),
            request,
            answer,
        };
        let gone = || Refused::Because(vec!["The proxy is ending".to_owned()]);
        self.to.send(wish).map_err(|_| gone())?;
        told.await.map_err(|_| gone())?
    }
}

impl When {
    /// The text for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::AtRestart => "at a restart",
            Self::AtCommit => "at COMMIT",
        }
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Outdated => Self::overtaken(),
            Refused::Because(reasons) => Self::wrong_value(reasons.join("\n")),
        }
    }
}
