//! Where the list of warnings is.

use std::rc::Rc;

use backend::diagnostics::Diagnostics;

/// Where the list of warnings is.
pub(super) enum WarningListLocation {
    /// On the connection that is held.
    Here,
    /// Put down.
    Kept(Rc<Diagnostics>),
    /// There is none.
    Nowhere,
}
