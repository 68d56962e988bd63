//! Checks of profiles: at least one question, and no values of statements if values are not allowed.

use crate::load::written::Written;
use crate::{Config, Fault, ProfileQuestion};

/// Adds every fault of the settings of profiles.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let profiling = &config.profiling;
    if profiling.collect.is_empty() {
        let fault = written.fault("profiling.collect", "is empty");
        faults.push(fault.hint("collect = [\"status\"]"));
    }
    if profiling.collect.contains(&ProfileQuestion::Trace) && !profiling.include_values {
        let text =
            "\"trace\" tells values of statements, which profiling.include_values does not allow";
        faults.push(written.fault("profiling.collect", text));
    }
}
