//! MaxScale: `maxscale.cnf`, with its servers, monitors, services, listeners and filters.
//!
//! A monitor's servers are a cluster. A listener becomes a `[[listener]]` with the routing of its service. Filters
//! become rules of the listeners whose services name them.

mod filters;
mod globals;
mod objects;
mod services;

use crate::note::Level;
use crate::output::{Origin, Output, Table, Toml};
use crate::source::{Refusal, Source};
use objects::Objects;

/// Reads a file.
///
/// # Errors
/// As [`crate::import`].
pub fn from_file<'a>(source: &'a Source<'a>) -> Result<Output<'a>, Refusal> {
    let objects = Objects::read(source.text)?;
    if objects.of("server").next().is_none() {
        let hint = "sections with type = server are needed; settings made at run time are in \
                    /var/lib/maxscale/maxscale.cnf.d, or whole in maxscale --export-config=FILE";
        return Err(Refusal::whole("the file has no server", hint));
    }
    let mut output = Output::new(source);
    globals::translate(&objects, &mut output);
    globals::monitors(&objects, &mut output);
    globals::servers(&objects, &mut output);
    let listeners = services::translate(&objects, &mut output);
    filters::translate(&objects, &listeners, &mut output);
    accounts(&objects, &mut output);
    listen(&mut output);
    for section in objects.unknown() {
        let from = Origin::named(section.line, format!("[{}]", section.name));
        output.note(
            Level::Lost,
            &from,
            "the section has no type that this import knows",
            "",
        );
    }
    Ok(output)
}

/// In MaxScale a service's user reads the servers' accounts. In Pilotfish the monitor account does.
fn accounts(objects: &Objects, output: &mut Output<'_>) {
    let service = objects.of("service").find(|it| it.value("user").is_some());
    let Some(user) = service.and_then(|it| it.entry("user")) else {
        return;
    };
    let from = Origin::new(user.line, "user", &user.value);
    if !output.has("health.monitor_user") {
        output.text("health.monitor_user", &user.value, &from);
        if let Some(password) = service.and_then(|it| objects::password(it, output)) {
            output.set("health.monitor_password", password, &from);
        }
    }
    output.set("accounts.learn", Toml::Truth(true), &from);
    let monitor = output.get("health.monitor_user").unwrap_or("").to_owned();
    if monitor != user.value {
        let reason = format!("one account does both: health.monitor_user, which is \"{monitor}\"");
        output.differs(
            &from,
            reason,
            "grant it SELECT on mysql.* as well, as the service's user has it",
        );
    }
}

fn listen(output: &mut Output<'_>) {
    let from = Origin::named(None, "listeners");
    if output.listeners.is_empty() {
        let mut table = Table::new("no listener of the file can be had on this machine");
        table.text("address", "0.0.0.0:4006");
        output.listeners.push(table);
    }
    output.set("listen", Toml::List(Vec::new()), &from);
}
