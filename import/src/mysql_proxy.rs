//! MySQL Proxy's `--defaults-file`. The meaning of its options is in `config`, because the program itself accepts these
//! options, too. This module turns them into a configuration file.

use config::mysql_proxy::{Replicant, Translation, read_defaults_text};
use config::{BackendAddress, Fault, Override, PRIMARIES, REPLICAS, ValueType};

use crate::note::Level;
use crate::output::{Origin, Output, Table, Toml};
use crate::source::{Refusal, Source};
use crate::units::truth;

/// Reads a file.
///
/// # Errors
/// As [`crate::import`].
pub fn from_file<'a>(source: &'a Source<'a>) -> Result<Output<'a>, Refusal> {
    let mut translation = read_defaults_text(std::path::Path::new(""), source.text);
    if let Some(fault) = translation.faults.iter().find(|it| it.setting.is_none()) {
        let hint = fault
            .hint
            .clone()
            .unwrap_or_else(|| "correct the line, or put # before it".to_owned());
        return Err(Refusal {
            line: line(fault),
            text: fault.text.clone(),
            hint,
        });
    }
    translation.resolve_paths();
    let mut output = Output::new(source);
    for given in &translation.overrides {
        put(given, &mut output);
    }
    notes(&translation, &mut output);
    if output.backends.is_empty() && !output.has("routing.script") {
        // MySQL Proxy's own default.
        let mut table = Table::new("MySQL Proxy's default, because the file names no backend");
        table.text("address", "127.0.0.1:3306");
        table.text("role", "primary");
        output.backends.push(table);
    }
    if !output
        .backends
        .iter()
        .any(|it| it.get("role") == Some("primary"))
    {
        let origin = Origin::named(None, "proxy-read-only-backend-addresses");
        output.text("routing.replicas", "any", &origin);
    }
    if !output.has("admin.username") || !output.has("admin.password") {
        output.unset("admin.username");
        output.unset("admin.password");
    }
    Ok(output)
}

fn line(fault: &Fault) -> Option<usize> {
    fault.location.position.map(|(line, _)| line)
}

fn notes(translation: &Translation, output: &mut Output<'_>) {
    if translation.replicant != Replicant::default() {
        let text = "the replication client is a process of its own, with the same options";
        let nearest = "pilotfish --plugins=replicant, or [[replication]] in the proxy's file";
        let origin = Origin::named(None, "replicant-…");
        output.note(Level::Lost, &origin, text.to_owned(), nearest);
    }
    let both = [
        (&translation.warnings, Level::Unneeded),
        (&translation.faults, Level::Lost),
    ];
    for (faults, level) in both {
        for fault in faults {
            let name = fault
                .setting
                .clone()
                .unwrap_or_else(|| "the file".to_owned());
            let origin = Origin::named(line(fault), name);
            let nearest = fault.hint.clone().unwrap_or_default();
            output.note(level, &origin, fault.text.clone(), &nearest);
        }
    }
}

fn put(given: &Override, output: &mut Output<'_>) {
    let line = given.location.position.map(|(line, _)| line);
    let value = given.words.join(",");
    let origin = Origin::new(line, &given.name, &value);
    let role = match given.setting {
        PRIMARIES => "primary",
        REPLICAS => "replica",
        _ => return setting(given, &value, &origin, output),
    };
    for word in value.split(',').map(str::trim).filter(|it| !it.is_empty()) {
        match word.parse::<BackendAddress>() {
            Ok(address) => {
                let address = address.to_string();
                if output
                    .backends
                    .iter()
                    .any(|it| it.get("address") == Some(&address))
                {
                    output.unneeded(&origin, format!("{address} is a backend already"));
                    continue;
                }
                let mut table = Table::new(&origin.setting);
                table.text("address", address);
                table.text("role", role);
                output.backends.push(table);
            }
            Err(error) => output.lost(&origin, error.to_string(), "HOST:PORT"),
        }
    }
}

fn setting(given: &Override, value: &str, origin: &Origin, output: &mut Output<'_>) {
    let name = given.setting;
    let Some(setting) = config::setting(name) else {
        return;
    };
    match setting.kind {
        ValueType::List(ValueType::ListenAddress) => {
            let words = value.split(',').filter(|it| !it.trim().is_empty());
            let addresses: Vec<_> = words
                .filter_map(|it| output.listen_address(it, origin))
                .collect();
            if !addresses.is_empty() {
                output.set(name, Toml::List(addresses), origin);
            }
        }
        ValueType::Count => match value.parse() {
            Ok(number) => output.count(name, number, origin),
            Err(_) => output.unreadable(origin, "a number"),
        },
        ValueType::Duration => match value.parse::<f64>() {
            Ok(seconds) if (0.0..1e12).contains(&seconds) => {
                output.time(name, (seconds * 1000.0) as u64, origin)
            }
            _ => output.unreadable(origin, "a number of seconds"),
        },
        ValueType::Truth => match truth(value) {
            Some(truth) => output.set(name, Toml::Truth(truth), origin),
            None => output.unreadable(origin, "true or false"),
        },
        ValueType::Secret => {
            if let Some(secret) = output.secret(value, origin) {
                output.set(name, secret, origin);
            }
        }
        ValueType::List(ValueType::Path) => {
            output.file(name, value, origin);
        }
        ValueType::Path if name == "admin.script" || name == "script.base_folder" => {
            output.file(name, value, origin);
        }
        ValueType::Path => {
            output.new_file(name, value, origin);
        }
        ValueType::Choice(_) => match value.to_ascii_lowercase().as_str() {
            level @ ("error" | "critical" | "warning" | "info" | "message" | "debug") => {
                output.text(name, level, origin);
            }
            _ => output.unreadable(origin, "a level of the log"),
        },
        _ => output.text(name, value, origin),
    }
}
