//! The script of a pooled session.

use std::rc::Rc;

use script_host::host::Host;
use script_host::shadow_queue::ShadowSession;

/// The script of one pooled session.
pub struct PooledScript {
    pub(super) script: script::Session,
    pub(super) host: Rc<Host>,
    /// The schema that the script knows of.
    pub(super) schema: Vec<u8>,
    pub(super) user: Vec<u8>,
    /// What runs the script's own statements elsewhere, once there were any.
    pub(super) shadow: Option<ShadowSession>,
}
