//! `pilotfish import`: reads the other proxy's file or asks its admin port, writes Pilotfish's file, and lists settings
//! that were not carried over. The crate `import` translates the settings.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use config::Config;
use import::{
    ADMIN_TABLES, AdminRow, Imported, Level, Product, Source, import, import_admin_tables,
};

use crate::admin_client::{AdminAddress, AdminClient, AdminError, PortKind, secret};
use crate::arguments::ImportArguments;
use crate::new_file;
use crate::rules;

/// The most bytes of a file that are read: one byte more than `import` accepts, so that `import` reports larger files.
const BYTES_MAX: u64 = (16 << 20) + 1;

/// Imports one file; the exit code is 1 if nothing was written.
pub fn take_over(arguments: &ImportArguments) -> ExitCode {
    let done = imported(arguments).and_then(|imported| {
        checked(&imported.toml)?;
        write(&imported.toml, arguments.output.as_deref())?;
        Ok(imported)
    });
    let mut err = std::io::stderr().lock();
    match done {
        Ok(imported) => {
            // If standard error is closed, the error cannot be reported.
            let _ = err.write_all(report(&imported, arguments).as_bytes());
            ExitCode::SUCCESS
        }
        Err(fault) => {
            let _ = writeln!(err, "pilotfish: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn imported(arguments: &ImportArguments) -> Result<Imported, String> {
    let is_there = |path: &Path| std::fs::metadata(path).is_ok() && is_readable(path);
    let path = Path::new(&arguments.from);
    let is_address =
        arguments.from.contains(':') && !arguments.from.contains('/') && !path.exists();
    let mut source = Source {
        name: &arguments.from,
        text: "",
        has_file: &is_there,
    };
    if arguments.product == Product::ProxySql && is_address {
        let rows = admin_rows(arguments)?;
        return import_admin_tables(&source, &rows)
            .map_err(|refusal| format!("{}: {refusal}", arguments.from));
    }
    let text = read(path)?;
    source.text = &text;
    import(arguments.product, &source).map_err(|refusal| format!("{}:{refusal}", arguments.from))
}

fn read(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let file = std::fs::File::open(path);
    let file = file.map_err(|error| {
        format!("cannot read {shown}: {error}; give the path of the configuration file")
    })?;
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("cannot read {shown}: {error}"))?;
    // Comments may be in any character set.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_readable(path: &Path) -> bool {
    path.is_dir() || std::fs::File::open(path).is_ok()
}

/// All rows of the tables on ProxySQL's admin port; a table that its version does not have is left out.
fn admin_rows(arguments: &ImportArguments) -> Result<Vec<AdminRow>, String> {
    let password = secret(&arguments.password)?;
    let address = AdminAddress::parse(
        &arguments.from,
        PortKind::ProxySql,
        arguments.user.clone(),
        password,
        false,
    )?;
    let mut client = AdminClient::new(&address, "main").map_err(|error| error.to_string())?;
    let mut rows = Vec::new();
    for table in ADMIN_TABLES {
        let answer = match client.query(&format!("SELECT * FROM {table}")) {
            Ok(answer) => answer,
            Err(AdminError::Refused(_)) => continue,
            Err(error) => return Err(error.to_string()),
        };
        for row in answer.rows {
            let cells = answer
                .columns
                .iter()
                .cloned()
                .zip(row.iter().map(|it| it.text().to_owned()));
            rows.push((
                (*table).to_owned(),
                cells.filter(|(_, value)| !value.is_empty()).collect(),
            ));
        }
    }
    Ok(rows)
}

/// Checks the text in the same way as `--check`.
fn checked(toml: &str) -> Result<(), String> {
    let loaded = Config::load_text(None, toml, &[], rules::faults).and_then(rules::checked);
    loaded.map(drop).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        format!(
            "what comes of the file does not pass a check: {}",
            faults.join("; ")
        )
    })
}

fn write(toml: &str, path: Option<&Path>) -> Result<(), String> {
    if let Some(path) = path {
        return new_file::write(toml, path);
    }
    let written = std::io::stdout().write_all(toml.as_bytes());
    written.map_err(|error| format!("cannot write to standard output: {error}"))
}

fn report(imported: &Imported, arguments: &ImportArguments) -> String {
    let count = |level| imported.notes.iter().filter(|it| it.level == level).count();
    let shown = imported
        .notes
        .iter()
        .filter(|it| arguments.all_notes || it.level != Level::Unneeded);
    let mut report = String::new();
    for note in shown {
        let separator = if note.line.is_some() { ":" } else { ": " };
        report.push_str(&format!("{}{separator}{note}\n", arguments.from));
    }
    let place = match &arguments.output {
        Some(path) => format!("Wrote {}.", path.display()),
        None => "The settings are on standard output.".to_owned(),
    };
    let file = arguments
        .output
        .as_ref()
        .map_or_else(|| "FILE".to_owned(), |it| it.display().to_string());
    report.push_str(&format!(
        "{place} {} settings were not carried over, {} differ, {} need nothing{}.\n\
         Next: read the file, then pilotfish --config {file} --check\n",
        count(Level::Lost),
        count(Level::Differs),
        count(Level::Unneeded),
        if arguments.all_notes {
            ""
        } else {
            " (--all-notes lists these)"
        },
    ));
    report
}
