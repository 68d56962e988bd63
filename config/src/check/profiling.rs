//! What profiles must have: something to ask, and no values where none may be told.

use crate::load::written::Written;
use crate::{Config, Fault, ProfileQuestion};

/// Every fault of the settings of profiles.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let profiling = &config.profiling;
    if profiling.asks.is_empty() {
        let fault = written.fault("profiling.asks", "is empty");
        faults.push(fault.hint("asks = [\"status\"]"));
    }
    if profiling.asks.contains(&ProfileQuestion::Trace) && !profiling.values {
        let text = "\"trace\" tells values of statements, which profiling.values does not allow";
        faults.push(written.fault("profiling.asks", text));
    }
}
