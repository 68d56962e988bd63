//! The script of a pooled session.

use std::rc::Rc;

use script_host::host::Host;
use script_host::shadow_queue::ShadowSession;

/// The script of one pooled session.
pub struct PooledScript {
    pub(super) script: script::Session,
    pub(super) host: Rc<Host>,
    /// The schema that the script has been told.
    pub(super) schema: Vec<u8>,
    pub(super) user: Vec<u8>,
    /// Runs the script's own statements on another connection, once there were any.
    pub(super) shadow: Option<ShadowSession>,
}
