//! `pilotfish plan`: what a reload would change, and which statements it would route differently. The statements come
//! from the rules of both files, from the rules' tests, from a list, and from the digests that a proxy has seen.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use config::{Config, Fault};
use route::Explanation;

use crate::arguments::{AskerArguments, PlanArguments};
use crate::digests;
use crate::explain::{ExplainedStatement, Outlook};

/// Prints the plan; the exit code is 1 if a file is faulty, or if the list cannot be read.
pub fn plan(arguments: &PlanArguments) -> ExitCode {
    match describe_plan(arguments) {
        Ok(plan) => {
            // If standard output is closed, the error cannot be reported.
            let _ = std::io::stdout().write_all(plan.as_bytes());
            ExitCode::SUCCESS
        }
        Err(faults) => {
            for fault in faults {
                eprintln!("pilotfish: {fault}");
            }
            ExitCode::FAILURE
        }
    }
}

fn describe_plan(arguments: &PlanArguments) -> Result<String, Vec<String>> {
    let lines =
        |faults: Vec<Fault>| -> Vec<String> { faults.iter().map(ToString::to_string).collect() };
    let old = Outlook::load(Some(&arguments.config)).map_err(lines)?;
    let new = Outlook::load(Some(&arguments.new)).map_err(lines)?;
    let mut plan = String::new();
    write_setting_changes(&mut plan, &old.config, &new.config);
    for warning in &new.warnings {
        let _ = writeln!(plan, "warning: {warning}");
    }
    let mut asked = statements(&old.config, &arguments.asker);
    asked.extend(statements(&new.config, &arguments.asker));
    if let Some(list) = &arguments.statements {
        let list = read(list).map_err(|error| vec![format!("{}: {error}", list.display())])?;
        let listed = list.lines().map(str::trim).filter(|line| !line.is_empty());
        asked.extend(listed.map(|text| {
            (
                "--statements".to_owned(),
                ExplainedStatement::of(text, &arguments.asker),
            )
        }));
    }
    asked.extend(read_digests(&old.config, &arguments.asker)?);
    let new = old.reloaded(new);
    write_statement_changes(&mut plan, &old, &new, &asked);
    Ok(plan)
}

/// The digests that a running proxy has seen, if its settings make it write them to a file.
fn read_digests(
    config: &Config,
    asker: &AskerArguments,
) -> Result<Vec<(String, ExplainedStatement)>, Vec<String>> {
    let Some(file) = config
        .statement_stats
        .plan_file
        .as_deref()
        .filter(|it| it.exists())
    else {
        return Ok(Vec::new());
    };
    let seen = digests::read(file).map_err(|fault| vec![fault])?;
    let statements = seen.into_iter().map(|seen| {
        let given = |text: String| Some(text).filter(|it| !it.is_empty());
        let asker = AskerArguments {
            user: given(seen.user),
            schema: given(seen.schema),
            ..asker.clone()
        };
        let times = if seen.count == 1 { "time" } else { "times" };
        let whence = format!("seen {} {times}", seen.count);
        (whence, ExplainedStatement::of(&seen.text, &asker))
    });
    Ok(statements.collect())
}

fn read(list: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    match list.as_os_str() == "-" {
        true => std::io::stdin().read_to_end(&mut bytes)?,
        false => std::fs::File::open(list)?.read_to_end(&mut bytes)?,
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn write_setting_changes(plan: &mut String, old: &Config, new: &Config) {
    let changes = config::diff(old, new);
    let _ = match changes.len() {
        0 => writeln!(plan, "No setting changes."),
        count => writeln!(plan, "Settings that change: {count}"),
    };
    for change in changes {
        let _ = writeln!(plan, "  {change}");
    }
}

/// The statements in a configuration's rules and tests, each with its location.
fn statements(config: &Config, asker: &AskerArguments) -> Vec<(String, ExplainedStatement)> {
    let mut statements = Vec::new();
    for (place, rule) in (0u32..).zip(&config.rules) {
        let digests = rule.digest.iter().filter(|it| !it.starts_with("0x"));
        statements.extend(digests.map(|digest| {
            let whence = format!("a digest of rule \"{}\"", rule.name);
            (whence, ExplainedStatement::of(digest, asker))
        }));
        for test in &rule.tests {
            let whence = format!("a test of rule \"{}\"", rule.name);
            statements.push((whence, ExplainedStatement::of_test(test, place)));
        }
    }
    statements
}

fn write_statement_changes(
    plan: &mut String,
    old: &Outlook,
    new: &Outlook,
    asked: &[(String, ExplainedStatement)],
) {
    let mut seen = BTreeSet::new();
    let mut differ = String::new();
    let mut count = 0;
    for (whence, asked) in asked {
        if !seen.insert(format!("{asked:?}")) {
            continue;
        }
        let [before, after] =
            [old, new].map(|outlook| outlook.judge(asked, &mut Explanation::default()));
        let differences = before.differences(&after);
        if differences.is_empty() {
            continue;
        }
        count += 1;
        let _ = writeln!(differ, "  {}   ({whence})", shown(asked));
        for difference in differences {
            let side = |side: Option<String>| side.unwrap_or_else(|| "(nothing)".to_owned());
            let (from, to) = (side(difference.from), side(difference.to));
            let _ = writeln!(differ, "    {}: {from} becomes {to}", difference.topic);
        }
    }
    let looked_at = seen.len();
    let _ = writeln!(
        plan,
        "Statements that are treated otherwise: {count} of {looked_at}"
    );
    plan.push_str(&differ);
}

/// The statement on one line, and its sender.
fn shown(asked: &ExplainedStatement) -> String {
    let mut shown = asked.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let asker = &asked.asker;
    for (name, value) in [("user", &asker.user), ("schema", &asker.schema)] {
        if let Some(value) = value {
            let _ = write!(shown, " [{name} {value}]");
        }
    }
    shown
}
