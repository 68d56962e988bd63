//! `pilotfish explain`: where a statement would go, and why. No server is asked: backends are as
//! configured, and the session is one that has done nothing yet.

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

/// Prints what was found; the exit code is 1 when the configuration is faulty.
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
    // Nobody is left to learn of it when standard output is closed.
    let _ = std::io::stdout().write_all(table(&explanation).as_bytes());
    ExitCode::SUCCESS
}

/// A row a line; what runs over several lines is indented.
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
