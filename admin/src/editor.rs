//! What is asked of whoever keeps the configuration, and what is answered. The admin port changes nothing
//! itself: it says what is to become otherwise, and the whole is checked and taken like a file at a reload.

use std::sync::Arc;

use config::{Change, Config, Edit};
use history::Events;
use route::Topology;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

use crate::fault::Fault;

/// Where wishes are sent.
#[derive(Clone)]
pub struct Editor {
    to: mpsc::UnboundedSender<Wish>,
    events: Arc<Events>,
    /// Held by the statement whose turn it is to change something by itself.
    change_lock: Arc<Mutex<()>>,
}

/// One wish, and where its answer goes.
pub struct Wish {
    /// Who has it, for the log.
    pub user: String,
    /// What it is.
    pub request: EditRequest,
    /// Where the answer goes; nobody may be waiting any more.
    pub answer: oneshot::Sender<Result<EditOutcome, Refused>>,
}

/// What is wished.
pub enum EditRequest {
    /// To see the configuration as it would be with these changes, whether it fits together or not.
    View(Vec<Edit>),
    /// To have these changes take effect, all or none.
    Apply {
        /// In their order.
        edits: Vec<Edit>,
        /// The configuration that they were made of.
        basis: Arc<Config>,
    },
    /// To know what is not as in the file; and these changes besides.
    Compare(Vec<Edit>),
    /// To know what these changes would come to, and whether they would be refused.
    Check(Vec<Edit>),
    /// To have the file say what holds.
    Save,
    /// To have hold what the file says.
    Revert,
    /// To have the files of logs closed and opened again.
    FlushLogs,
}

/// The result of a request to change the configuration.
pub enum EditOutcome {
    /// A configuration that does not hold, or not yet.
    View(View),
    /// It is done; what is worth a warning.
    Done(Vec<String>),
    /// What differs.
    Differences(Vec<Difference>),
    /// What would become otherwise, and what would be worth a warning.
    Checked(Vec<Difference>, Vec<String>),
}

/// A configuration as it would be.
#[derive(Clone)]
pub struct View {
    /// Its settings.
    pub config: Arc<Config>,
    /// Its backends, which nobody has looked at.
    pub topology: Arc<Topology>,
}

/// One thing that is not as in the file.
pub struct Difference {
    /// What.
    pub change: Change,
    /// When it takes effect.
    pub when: When,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// It has.
    Now,
    /// When the proxy is started again, if it has been saved.
    AtRestart,
    /// At the end of the transaction that asks.
    AtCommit,
}

/// Why a wish is not granted.
#[derive(Debug)]
pub enum Refused {
    /// Somebody else was faster: what it was made of holds no more.
    Outdated,
    /// For these reasons.
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

    /// Waits until no other statement is changing something by itself, so that they do not overtake one another
    /// again and again.
    pub async fn lock_for_change(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.change_lock).lock_owned().await
    }

    /// What has happened of late.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// It is refused, or the proxy is ending.
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
    /// As people are told it.
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
