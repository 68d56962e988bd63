//! `--check`: every fault of the settings and of the scripts that they name, or which of them differ from the defaults.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use config::manual;

use super::ServeArguments;

/// Reads the settings and prints the report; the exit code is 1 if there is a fault.
pub fn check(arguments: &ServeArguments) -> ExitCode {
    let (report, code) = report(arguments);
    // If standard output is closed, the error cannot be reported; the exit code still tells the result.
    let _ = std::io::stdout().write_all(report.as_bytes());
    ExitCode::from(code)
}

/// The report, and the exit code.
pub(super) fn report(arguments: &ServeArguments) -> (String, u8) {
    let mut report = String::new();
    let loaded = match arguments.load() {
        Ok(loaded) => loaded,
        Err(faults) => {
            for fault in faults {
                let _ = writeln!(report, "{fault}");
            }
            return (report, 1);
        }
    };
    let faults = crate::lua::faults(&loaded.config);
    if !faults.is_empty() {
        for fault in faults {
            let _ = writeln!(report, "{fault}");
        }
        return (report, 1);
    }
    for warning in loaded.warnings {
        let _ = writeln!(report, "warning: {warning}");
    }
    let _ = writeln!(report, "{}: no fault found", arguments.source());
    let _ = write!(
        report,
        "\n# What differs from the defaults:\n{}",
        manual::differences(&loaded.config)
    );
    (report, 0)
}
