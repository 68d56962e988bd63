//! The changes that an admin session gathers until COMMIT.

use std::sync::Arc;

use config::{Config, Edit};

use crate::editor::View;

/// The changes gathered until COMMIT.
pub struct Transaction {
    /// The configuration in effect at BEGIN.
    pub(super) basis: Arc<Config>,
    pub edits: Vec<Edit>,
    /// The configuration that the changes would result in.
    pub view: Option<View>,
}
