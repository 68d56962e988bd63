//! The configuration file, and the report for the terminal.

use std::fmt::Write as _;

use super::findings::{Findings, FoundServer};
use super::monitor::Monitor;
use crate::arguments::InitArguments;

/// The text of the configuration file.
pub fn toml(
    arguments: &InitArguments,
    findings: &Findings,
    monitor: &Monitor,
    admin_password: &str,
) -> String {
    let mut text = format!(
        "# Pilotfish settings, written by pilotfish init.\n\
         # Check them with: pilotfish --config FILE --check\n\
         # All settings with their defaults: pilotfish --help, or the manual's page Settings.\n\n\
         # Where clients connect.\nlisten = [{}]\n",
        quoted(&arguments.listen.to_string())
    );
    health(&mut text, monitor);
    let _ = write!(
        text,
        "\n# The admin port and the page: mysql -h127.0.0.1 -P4041 -uadmin -p, http://127.0.0.1:4042\n\
         [admin]\nusername = \"admin\"\npassword = {}\n",
        quoted(admin_password)
    );
    for server in &findings.servers {
        backend(&mut text, server, monitor);
    }
    text
}

fn health(text: &mut String, monitor: &Monitor) {
    text.push_str("\n# The account with which the proxy asks servers for their role, lag and accounts.\n[health]\n");
    match monitor {
        Monitor::Ready { user, password, .. } => {
            let _ = write!(
                text,
                "monitor_user = {}\nmonitor_password = {}\n\n\
                 # The proxy answers logins itself, with the accounts of the servers, so that sessions share\n\
                 # connections and reads go to replicas.\n[accounts]\nlearn = true\n",
                quoted(user),
                quoted(password.expose())
            );
        }
        Monitor::Missing { statements, .. } => {
            text.push_str("# These statements create it on the primary:\n");
            for statement in statements {
                let _ = writeln!(text, "#   {statement};");
            }
            text.push_str("# monitor_user = \"pilotfish\"\n# monitor_password = \"file:PATH\"\n");
        }
    }
}

fn backend(text: &mut String, server: &FoundServer, monitor: &Monitor) {
    let address = &server.address;
    let Some(identity) = &server.identity else {
        let fault = server
            .fault
            .as_deref()
            .unwrap_or("")
            .replace(char::is_control, " ");
        let _ = write!(
            text,
            "\n# This server is named by another one, and did not answer: {fault}\n\
             # [[backend]]\n# address = {}\n# role = \"replica\"\n",
            quoted(&address.to_string())
        );
        return;
    };
    let writes = if identity.is_read_only {
        "is read-only"
    } else {
        "takes writes"
    };
    let role = match (monitor, identity.is_read_only) {
        // The proxy finds the primary itself, also when it changes.
        (Monitor::Ready { .. }, _) => "auto",
        (_, true) => "replica",
        (_, false) => "primary",
    };
    let _ = write!(
        text,
        "\n# {}, {writes}\n[[backend]]\naddress = {}\nrole = \"{role}\"\n",
        identity.title(),
        quoted(&address.to_string())
    );
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            it if it.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(it));
            }
            it => quoted.push(it),
        }
    }
    quoted.push('"');
    quoted
}

/// The report: servers found, actions done, and next steps.
pub fn report(arguments: &InitArguments, findings: &Findings, monitor: &Monitor) -> String {
    let mut text = String::from("Found:\n");
    for server in &findings.servers {
        let found = match &server.identity {
            Some(identity) => {
                let writes = if identity.is_read_only {
                    "read-only"
                } else {
                    "takes writes"
                };
                let gtids = if identity.has_gtids {
                    "with GTIDs"
                } else {
                    "without GTIDs"
                };
                format!("{}, {writes}, {gtids}", identity.title())
            }
            None => "did not answer, so it stands in the file as a comment".to_owned(),
        };
        let _ = writeln!(text, "  {}  {found}", server.address);
    }
    if let Some(accounts) = findings.accounts {
        let _ = writeln!(text, "  {accounts} accounts");
    }
    let writers = findings
        .reached()
        .filter(|it| it.identity.as_ref().is_some_and(|it| !it.is_read_only))
        .count();
    if writers > 1 {
        let _ = writeln!(
            text,
            "  {writers} servers take writes: set read_only on the replicas, or the proxy takes one of them as primary"
        );
    }
    text.push_str("Done:\n");
    match monitor {
        Monitor::Ready {
            user, is_new: true, ..
        } => {
            let _ = writeln!(text, "  created the monitor account {user}");
        }
        Monitor::Ready { user, .. } => {
            let _ = writeln!(text, "  took the monitor account {user} as it is");
        }
        Monitor::Missing { reason, .. } => {
            let _ = writeln!(
                text,
                "  created no monitor account: {reason}. The file has the statements that create it"
            );
        }
    }
    let _ = writeln!(
        text,
        "  wrote {}, which has passwords: only you can read it",
        arguments.output.display()
    );
    text.push_str("Next:\n");
    let next = next_steps(arguments, findings);
    let width = next.iter().map(|(command, _)| command.len()).max();
    let width = width.unwrap_or_default();
    for (command, effect) in next {
        let _ = writeln!(text, "  {command:width$}  {effect}");
    }
    text
}

/// Commands for the reader, each with its effect.
fn next_steps(arguments: &InitArguments, findings: &Findings) -> [(String, &'static str); 4] {
    let file = arguments.output.display();
    let host = match &arguments.listen {
        config::ListenAddress::Tcp(address) if address.ip().is_unspecified() => {
            format!("-h127.0.0.1 -P{}", address.port())
        }
        config::ListenAddress::Tcp(address) => format!("-h{} -P{}", address.ip(), address.port()),
        config::ListenAddress::Unix(path) => format!("-S{}", path.display()),
    };
    let is_mariadb = findings.primary().identity.as_ref();
    let client = match is_mariadb.is_some_and(|it| it.is_mariadb) {
        true => "mariadb",
        false => "mysql",
    };
    [
        (
            format!("pilotfish probe -c {file}"),
            "asks every server as the proxy will",
        ),
        (format!("pilotfish -c {file}"), "starts the proxy"),
        (
            format!("{client} {host} -uUSER -p"),
            "connects through it, as a user of the server",
        ),
        (
            format!("pilotfish status -c {file}"),
            "says whether all is well",
        ),
    ]
}
