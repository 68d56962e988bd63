//! Creates the monitor account on the primary; replication carries it to the replicas.

use config::Secret;

use super::findings::Findings;
use crate::admin_client::{AdminClient, secret};
use crate::arguments::InitArguments;
use crate::new_file;

/// The outcome for the monitor account.
#[derive(Clone, Debug)]
pub enum Monitor {
    /// The account exists, with this password.
    Ready {
        user: String,
        password: Secret,
        is_new: bool,
    },
    /// The account could not be created; these statements would create it.
    Missing {
        reason: String,
        statements: Vec<String>,
    },
}

/// Creates the account, unless the arguments forbid it or name an existing one.
///
/// # Errors
/// The password cannot be read or generated.
pub fn account(arguments: &InitArguments, findings: &Findings) -> Result<Monitor, String> {
    let user = arguments.monitor_user.clone();
    if let Some(text) = &arguments.monitor_password {
        return Ok(Monitor::Ready {
            user,
            password: secret(text)?,
            is_new: false,
        });
    }
    let password = new_file::random_password().map_err(|error| error.to_string())?;
    let statements = statements(arguments, findings, &password);
    let hidden = statements
        .iter()
        .map(|it| it.replace(&password, "PASSWORD"))
        .collect();
    if arguments.no_monitor {
        let reason = "--no-monitor was given".to_owned();
        return Ok(Monitor::Missing {
            reason,
            statements: hidden,
        });
    }
    let client = AdminClient::new(&findings.primary().address, "");
    let mut client = client.map_err(|error| error.to_string())?;
    for (index, statement) in statements.iter().enumerate() {
        if let Err(error) = client.query(statement) {
            if index > 0 {
                // An account that was created without all its privileges is removed again.
                let _ = client.query(&format!("DROP USER {}", name(arguments)));
            }
            let reason = error.to_string().replace(&password, "PASSWORD");
            return Ok(Monitor::Missing {
                reason,
                statements: hidden,
            });
        }
    }
    Ok(Monitor::Ready {
        user,
        password: Secret::new(password),
        is_new: true,
    })
}

fn name(arguments: &InitArguments) -> String {
    format!(
        "{}@{}",
        quoted(&arguments.monitor_user),
        quoted(&arguments.monitor_host)
    )
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Statements that create the account with the privileges to ask for role and lag, to kill statements, and to read
/// accounts and the definitions of views, triggers and routines of all schemas.
fn statements(arguments: &InitArguments, findings: &Findings, password: &str) -> Vec<String> {
    let name = name(arguments);
    let is_mariadb = findings
        .primary()
        .identity
        .as_ref()
        .is_some_and(|it| it.is_mariadb);
    let (global, grants) = match is_mariadb {
        true => ("SLAVE MONITOR, CONNECTION ADMIN", "mysql.global_priv"),
        false => ("REPLICATION CLIENT, CONNECTION_ADMIN", "mysql.user"),
    };
    vec![
        format!("CREATE USER {name} IDENTIFIED BY '{password}'"),
        format!("GRANT {global} ON *.* TO {name}"),
        format!("GRANT SELECT ON {grants} TO {name}"),
        format!("GRANT SELECT, SHOW VIEW, TRIGGER ON *.* TO {name}"),
    ]
}
