//! What an admin session gathers until COMMIT.

use std::sync::Arc;

use config::{Config, Edit};

use crate::editor::View;

/// What is gathered until COMMIT.
pub struct Transaction {
    /// The configuration that held at its beginning.
    pub(super) basis: Arc<Config>,
    pub edits: Vec<Edit>,
    /// What it would make of it.
    pub view: Option<View>,
}
