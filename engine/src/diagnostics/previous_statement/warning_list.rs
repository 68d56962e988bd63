//! Where the list of warnings is.

use std::rc::Rc;

use backend::diagnostics::Diagnostics;

/// Where the list of warnings is.
pub(super) enum WarningListLocation {
    /// On the connection that is held.
    Here,
    /// Saved in the proxy.
    Kept(Rc<Diagnostics>),
    /// There is none.
    Nowhere,
}
