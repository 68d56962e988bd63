//! Commands for a running proxy: each runs a statement or two over its admin port.

mod shown;
mod status;

use std::io::Write as _;
use std::process::ExitCode;

use crate::admin_client::{AdminAddress, AdminClient, AdminError, Cell, ResultRows};
use crate::arguments::{BackendArguments, Console};
use crate::table::{Style, table};
use shown::Shown;

/// Exit code: the admin port cannot be reached.
const UNREACHABLE: u8 = 3;

/// Runs a command; the exit codes are in its help.
pub fn console(command: &Console) -> ExitCode {
    let asked = AdminAddress::of(&command.common().admin).map_err(AdminError::Unreachable);
    let shown = asked.and_then(|address| {
        let mut client = AdminClient::new(&address, "pilotfish")?;
        run(command, &mut client)
    });
    match shown {
        Ok(shown) => {
            // If standard output is closed, the error cannot be reported.
            let _ = std::io::stdout().write_all(shown.text.as_bytes());
            ExitCode::from(u8::from(!shown.is_well))
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "pilotfish: {error}");
            match error {
                AdminError::Refused(_) => ExitCode::FAILURE,
                AdminError::Unreachable(_) => ExitCode::from(UNREACHABLE),
            }
        }
    }
}

fn run(command: &Console, client: &mut AdminClient) -> Result<Shown, AdminError> {
    let json = command.common().json;
    let mut list =
        |sql: &str| -> Result<Shown, AdminError> { Ok(print(&client.query(sql)?, json).into()) };
    match command {
        Console::Status(_) => status::status(client, json),
        Console::Backends(_) => list(
            "SELECT name, cluster, state, role, connected_clients AS sessions, in_flight, lag_seconds, latency_us, \
             CASE WHEN disabled THEN 'disabled' WHEN draining THEN 'draining' END AS duty, version, \
             coalesce(complaint, cause) AS remark FROM backends ORDER BY backend_ndx",
        ),
        Console::Sessions { limit, .. } => list(&format!(
            "SELECT id, user, client, db, state, state_seconds, backend, pins, coalesce(statement, digest) AS statement \
             FROM sessions ORDER BY state = 'idle', state_seconds DESC LIMIT {limit}"
        )),
        Console::Pools(_) => list(
            "SELECT backend, account, idle, in_use, waiting, opened, open_failures, reused, waits, timeouts, closed \
             FROM pools ORDER BY waiting DESC, in_use DESC",
        ),
        Console::Digests { limit, .. } => list(&format!(
            "SELECT digest, count, errors, total_us, avg_us, p95_us, rows_sent, backend, digest_text FROM digests \
             ORDER BY total_us DESC LIMIT {limit}"
        )),
        Console::Rules(_) => list(
            "SELECT place, rule, hits, refused, effect, conditions, actions FROM rules ORDER BY place",
        ),
        Console::Drain(one) => switch(client, one, "draining", json),
        Console::Disable(one) => switch(client, one, "disabled", json),
        Console::Kill { id, query, .. } => {
            client.query(&format!(
                "KILL {} {id}",
                if *query { "QUERY" } else { "CONNECTION" }
            ))?;
            let what = if *query {
                "the statement of session"
            } else {
                "session"
            };
            Ok(done(&format!("ended {what} {id}"), json))
        }
        Console::Reload(_) => {
            client.query("REVERT")?;
            Ok(done("read the file again", json))
        }
        Console::Set {
            name, value, save, ..
        } => set(client, name, value, *save, json),
        Console::Settings { part, changed, .. } => list(&settings(part.as_deref(), *changed)),
        Console::LogLevel {
            level: Some(level), ..
        } => set(client, "log.level", level, false, json),
        Console::LogLevel { level: None, .. } => {
            list("SELECT name, value FROM settings WHERE name = 'log.level'")
        }
    }
}

fn settings(part: Option<&str>, changed: bool) -> String {
    let part = quoted(part.unwrap_or(""));
    let only = if changed { " AND NOT is_default" } else { "" };
    format!(
        "SELECT name, value, default_value, applies, about FROM settings WHERE instr(name, {part}) > 0{only} ORDER BY name"
    )
}

/// Changes a setting, and saves the file if wanted.
fn set(
    client: &mut AdminClient,
    name: &str,
    value: &str,
    save: bool,
    json: bool,
) -> Result<Shown, AdminError> {
    let name = config::new_name(name).unwrap_or(name);
    let known = client.query(&format!(
        "SELECT name, applies FROM settings WHERE name = {}",
        quoted(name)
    ))?;
    let Some(row) = known.rows.first() else {
        let text = format!("there is no setting \"{name}\": pilotfish settings lists them");
        return Err(AdminError::Refused(text));
    };
    let when = row.get(1).map_or("", Cell::text).to_owned();
    client.query(&format!(
        "UPDATE settings SET value = {} WHERE name = {}",
        quoted(value),
        quoted(name)
    ))?;
    let saved = saved(client, save, name)?;
    Ok(done(
        &format!("{name} becomes {value} ({when}); {saved}"),
        json,
    ))
}

/// Saves the file if wanted. Returns whether the file has the setting's present value.
fn saved(client: &mut AdminClient, save: bool, setting: &str) -> Result<&'static str, AdminError> {
    if save {
        client.query("SAVE")?;
        return Ok("the file has it");
    }
    let unsaved = client.query("SHOW CHANGES")?.rows;
    let mut unsaved = unsaved.iter().filter_map(|row| row.first());
    Ok(match unsaved.any(|name| name.text() == setting) {
        true => "the file does not have it, --save writes it",
        false => "the file has it",
    })
}

/// Drains or disables a backend, or undoes that.
fn switch(
    client: &mut AdminClient,
    one: &BackendArguments,
    column: &str,
    json: bool,
) -> Result<Shown, AdminError> {
    let name = quoted(&one.backend);
    let names = client.query("SELECT name FROM backends ORDER BY backend_ndx")?;
    let names: Vec<&str> = names
        .rows
        .iter()
        .filter_map(|row| row.first())
        .map(Cell::text)
        .collect();
    if !names.contains(&one.backend.as_str()) {
        let text = format!(
            "there is no backend \"{}\", only {}",
            one.backend,
            names.join(", ")
        );
        return Err(AdminError::Refused(text));
    }
    client.query(&format!(
        "UPDATE backends SET {column} = {} WHERE name = {name}",
        u8::from(!one.undo)
    ))?;
    let key = if column == "draining" {
        "drain"
    } else {
        "disable"
    };
    let setting = format!("backend[{}].{key}", one.backend);
    let saved = saved(client, one.save, &setting)?;
    let becomes = if one.undo {
        format!("is no longer {column}")
    } else {
        format!("is {column}")
    };
    Ok(done(&format!("{} {becomes}; {saved}", one.backend), json))
}

/// A text as a string in SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn done(text: &str, json: bool) -> Shown {
    match json {
        true => format!("{}\n", serde_json::json!({ "done": text })).into(),
        false => format!("{text}\n").into(),
    }
}

/// An answer as a table, or as JSON: a list of objects.
fn print(answer: &ResultRows, json: bool) -> String {
    if json {
        let object = |row: &Vec<Cell>| {
            let cells = answer.columns.iter().cloned().zip(row.iter().map(value));
            serde_json::Value::Object(cells.collect())
        };
        let rows: Vec<_> = answer.rows.iter().map(object).collect();
        return format!("{:#}\n", serde_json::Value::Array(rows));
    }
    let is_number = |column: usize| {
        let cells = answer.rows.iter().filter_map(|row| row.get(column));
        let mut known = cells.filter(|it| **it != Cell::Null).peekable();
        known.peek().is_some() && known.all(|it| matches!(it, Cell::Number(_)))
    };
    let numeric: Vec<bool> = (0..answer.columns.len()).map(is_number).collect();
    let rows: Vec<Vec<String>> = answer
        .rows
        .iter()
        .map(|row| row.iter().map(Cell::printable).collect())
        .collect();
    match rows.is_empty() {
        true => "none\n".to_owned(),
        false => table(&answer.columns, &rows, &numeric, Style::of_stdout()),
    }
}

/// A value in JSON.
fn value(cell: &Cell) -> serde_json::Value {
    match cell {
        Cell::Null => serde_json::Value::Null,
        Cell::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        Cell::Text(text) => text.clone().into(),
    }
}
