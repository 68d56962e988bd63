//! The backend connection that a session holds, and what belongs to holding one.

use std::rc::Rc;

use tokio::task::JoinHandle;

use backend::kill_thread::Running;
use backend::sub_pool::KnownSubPool;
use backend::wait_slot::WaitSlot;
use backend::worker_pool::HeldConnection;

/// What one session holds of its worker's pool.
#[derive(Default)]
pub struct Held {
    /// The connection.
    pub lease: Option<HeldConnection>,
    /// Where connections like the last one are kept.
    pub(crate) sub_pool: Option<KnownSubPool>,
    /// Where the session waits for a connection, since it has waited for the first time.
    pub(crate) waiter: Option<Rc<WaitSlot>>,
    /// Where its statement runs now.
    pub(crate) running: Option<Running>,
    /// A KILL that is on its way to that statement.
    pub kill: Option<JoinHandle<()>>,
}
