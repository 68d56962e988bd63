//! The backend connection that a session holds, and what belongs to holding one.

use std::rc::Rc;

use tokio::task::JoinHandle;

use super::sub_pool::KnownShelf;
use super::wait_slot::WaitingPlace;
use super::worker_pool::Lent;
use crate::pooled::session::Running;

/// What one session holds of its worker's pool.
#[derive(Default)]
pub(crate) struct Held {
    pub lease: Option<Lent>,
    /// Where connections like the last one are kept.
    pub sub_pool: Option<KnownShelf>,
    /// Where the session waits for a connection, since it has waited for the first time.
    pub waiter: Option<Rc<WaitingPlace>>,
    /// Where its statement runs now.
    pub running: Option<Running>,
    /// A KILL that is on its way to that statement.
    pub kill: Option<JoinHandle<()>>,
}
