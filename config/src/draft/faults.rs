//! Faults of edits.

use crate::nearest::did_you_mean;
use crate::{Fault, SourceLocation};

/// Adds a hint to faults: the name that the user may have meant.
pub(super) fn hinted(faults: Vec<Fault>, meant: Option<&str>) -> Vec<Fault> {
    let hint = meant.map(did_you_mean);
    let hinted = faults.into_iter().map(|fault| Fault {
        hint: hint.clone(),
        ..fault
    });
    hinted.collect()
}

pub(super) fn fault(setting: &str, text: impl Into<String>) -> Vec<Fault> {
    vec![Fault::new(SourceLocation::COMMAND_LINE, setting, text)]
}
