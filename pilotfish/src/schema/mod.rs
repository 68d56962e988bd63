//! `pilotfish schema`: former states of a cluster's schemas, from the file that a proxy keeps.

mod git;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use config::Config;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use replication::{Line, ObjectVersion, SavedHistory, Side, differences, migration};

use crate::arguments::{
    SchemaArguments, SchemaCommand, SchemaDiffArguments, SchemaExportArguments,
};

/// The number of unchanged lines around changed ones that are printed.
const CONTEXT: usize = 3;

/// Prints the result; the exit code is 1 if the history cannot be read.
pub fn schema(arguments: &SchemaArguments) -> ExitCode {
    let done = match &arguments.command {
        SchemaCommand::Diff(arguments) => diff(arguments),
        SchemaCommand::Export(arguments) => export(arguments),
    };
    match done {
        Ok(text) => {
            // If standard output is closed, the error cannot be reported.
            let _ = std::io::stdout().write_all(text.as_bytes());
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

fn export(arguments: &SchemaExportArguments) -> Result<String, Vec<String>> {
    let history = open(&arguments.config, &arguments.cluster)?;
    let schema = arguments.schema.as_deref();
    let commits = git::export(&history, &arguments.cluster, schema, &arguments.git);
    let commits = commits.map_err(|fault| vec![fault])?;
    Ok(format!("{commits} commits\n"))
}

/// Opens the history that the settings name, if it has the cluster.
fn open(config: &Path, cluster: &str) -> Result<SavedHistory, Vec<String>> {
    let one = |fault: String| vec![fault];
    let loaded = Config::load(Some(config), &[])
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let file = loaded.config.schema_history.file.ok_or_else(|| {
        one("schema_history.file is not set, so there is no history to read".to_owned())
    })?;
    let failed = |error: String| one(format!("{}: {error}", file.display()));
    let history = SavedHistory::open(&file).map_err(failed)?;
    match history.has_cluster(cluster).map_err(failed)? {
        true => Ok(history),
        false => Err(failed(format!(
            "the history has nothing of a cluster \"{cluster}\""
        ))),
    }
}

fn diff(arguments: &SchemaDiffArguments) -> Result<String, Vec<String>> {
    let one = |fault: String| vec![fault];
    let times = [&arguments.from, &arguments.to].map(|text| micros(text));
    let [from, to] = times;
    let (from, to) = (from.map_err(one)?, to.map_err(one)?);
    let (cluster, schema) = (&arguments.cluster, arguments.schema.as_deref());
    let history = open(&arguments.config, cluster)?;
    let before = history.objects_at(cluster, schema, from).map_err(one)?;
    let after = history.objects_at(cluster, schema, to).map_err(one)?;
    Ok(match arguments.sql {
        true => migration(&before, &after),
        false => describe_differences(&before, &after),
    })
}

/// The differences, as a text for people.
fn describe_differences(before: &[ObjectVersion], after: &[ObjectVersion]) -> String {
    let mut text = String::new();
    for (object, lines) in differences(before, after) {
        let name = match object.kind.as_str() {
            "schema" | "account" => object.name,
            _ => format!("{}.{}", object.schema, object.name),
        };
        let verb = verb(&lines);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {name}: {verb}", object.kind);
        put_lines(&mut text, &lines);
    }
    text
}

/// The verb for an object's change.
fn verb(lines: &[Line]) -> &'static str {
    match (
        lines.iter().all(|line| line.side == Side::After),
        lines.iter().all(|line| line.side == Side::Before),
    ) {
        (true, _) => "created",
        (_, true) => "dropped",
        (false, false) => "altered",
    }
}

/// Writes the lines that differ, with some lines around them.
fn put_lines(text: &mut String, lines: &[Line]) {
    let is_near = |at: usize| {
        let around = lines.iter().skip(at.saturating_sub(CONTEXT));
        let mut around = around.take(at.min(CONTEXT) + CONTEXT + 1);
        around.any(|line| line.side != Side::Both)
    };
    let mut skips = false;
    for (at, line) in lines.iter().enumerate() {
        if !is_near(at) {
            skips = true;
            continue;
        }
        if std::mem::take(&mut skips) {
            text.push_str("  …\n");
        }
        let mark = match line.side {
            Side::Both => ' ',
            Side::Before => '-',
            Side::After => '+',
        };
        let _ = writeln!(text, "{mark} {}", line.text);
    }
    if skips {
        text.push_str("  …\n");
    }
}

/// A time in UTC, in microseconds since 1970. A whole second counts to its end, because most changes have no finer time.
fn micros(text: &str) -> Result<i64, String> {
    if text == "now" {
        return Ok(Timestamp::now().as_microsecond());
    }
    let time = text.parse::<DateTime>();
    let time = time.ok().and_then(|it| it.to_zoned(TimeZone::UTC).ok());
    let time = time.ok_or_else(|| format!("\"{text}\" is no time; write \"2026-11-01 12:00\""))?;
    Ok(time.timestamp().as_microsecond() + 999_999)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_their_ends() {
        let second = 999_999;
        assert_eq!(micros("1970-01-01 00:00:01"), Ok(1_000_000 + second));
        assert_eq!(micros("1970-01-01 01:00"), Ok(3_600_000_000 + second));
        assert_eq!(micros("1970-01-02"), Ok(86_400_000_000 + second));
        let fault = micros("soon");
        assert!(fault.is_err_and(|it| it.contains("2026-11-01 12:00")));
    }
}
