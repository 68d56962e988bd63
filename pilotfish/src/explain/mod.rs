//! `pilotfish explain`: where a statement would go, and why. No server is asked: backends are as
//! configured, and the session is new.

mod effective_route;
mod explained_statement;
mod outlook;
mod verdict;

use std::io::Write as _;
use std::process::ExitCode;

use route::Explanation;

use crate::arguments::ExplainArguments;

pub use explained_statement::ExplainedStatement;
pub use outlook::Outlook;

/// Prints the explanation; the exit code is 1 if the configuration is faulty.
pub fn explain(arguments: &ExplainArguments) -> ExitCode {
    let outlook = match Outlook::load(arguments.config.as_deref()) {
        Ok(outlook) => outlook,
        Err(faults) => {
            for fault in faults {
                eprintln!("pilotfish: {fault}");
            }
            return ExitCode::FAILURE;
        }
    };
    let asked = ExplainedStatement::of(&arguments.statement, &arguments.asker);
    let mut explanation = Explanation::default();
    outlook.judge(&asked, &mut explanation);
    // If standard output is closed, the error cannot be reported.
    let _ = std::io::stdout().write_all(table(&explanation).as_bytes());
    ExitCode::SUCCESS
}

/// One row per line; further lines of a text are indented.
fn table(explanation: &Explanation) -> String {
    let findings = explanation.findings();
    let width = |of: fn(&route::Finding) -> usize| findings.iter().map(of).max().unwrap_or(0);
    let step = width(|finding| finding.step.len());
    let subject = width(|finding| finding.subject.chars().count());
    let mut table = String::new();
    for finding in findings {
        let row = format!(
            "{:step$}  {:subject$}  {}",
            finding.step,
            finding.subject,
            finding.text.replace('\n', "\n    ")
        );
        table.push_str(row.trim_end());
        table.push('\n');
    }
    table
}
