//! SET: of settings, and of session variables. Session variables have no effect here, but are
//! accepted, because client libraries set them when they connect.

use crate::dialect::{Text, setting, unscoped};
use crate::fault::Fault;
use crate::functions;
use crate::statement::Statement;

/// Session variables that only MariaDB has, or a cloud service.
const OTHERS: &str = "\
    aurora_replica_read_consistency character_set_collations check_constraint_checks deadlock_search_depth_long \
    deadlock_search_depth_short gtid_domain_id gtid_seq_no idle_readonly_transaction_timeout \
    idle_transaction_timeout idle_write_transaction_timeout join_cache_level max_recursive_iterations \
    max_statement_time old_mode optimizer_use_condition_selectivity server_id skip_replication sql_if_exists \
    system_versioning_alter_history system_versioning_asof use_stat_tables wsrep_on wsrep_osu_method \
    wsrep_sync_wait";

/// The scope of an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// No scope is given.
    Open,
    Session,
    Global,
    /// A user variable.
    User,
}

/// Reads the text after SET.
///
/// # Errors
/// A name or value that cannot be set.
pub fn set(text: Text<'_>) -> Result<Statement, Fault> {
    let own = text.without(&["SESSION", "LOCAL"]);
    if ["TRANSACTION", "ROLE", "RESOURCE"]
        .iter()
        .any(|it| own.begins_with(it))
    {
        return Ok(Statement::Nothing);
    }
    if text.begins_with("PASSWORD")
        || text
            .behind("DEFAULT")
            .is_some_and(|it| it.begins_with("ROLE"))
    {
        return Err(Fault::syntax(
            "Accounts are changed by UPDATE accounts or UPDATE admin_accounts",
        ));
    }
    if text.begins_with("STATEMENT") {
        return Err(Fault::syntax(
            "There is no SET STATEMENT … FOR here; say the statement alone",
        ));
    }
    let mut settings = Vec::new();
    let mut rest = text;
    loop {
        let (assigned, behind) = assignment(rest)?;
        settings.extend(assigned);
        match behind.behind(",") {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    match settings.is_empty() {
        true => Ok(Statement::Nothing),
        false => Ok(Statement::Set(settings)),
    }
}

/// A setting and its value; `None` is the default value.
type Assigned = (String, Option<String>);

/// One assignment, if it is of a setting, and the text after it.
fn assignment(text: Text<'_>) -> Result<(Option<Assigned>, Text<'_>), Fault> {
    let charset = text
        .behind_any(&["NAMES", "CHARSET"])
        .or_else(|| text.behind_words("CHARACTER SET"));
    if let Some(rest) = charset.filter(|rest| rest.behind_any(&["=", ":="]).is_none()) {
        let (_, rest) = value(rest);
        return Ok((None, rest));
    }
    let wrong = || Fault::syntax("SET name = value; SET GLOBAL name = value");
    let (scope, name, rest) = target(text)?.ok_or_else(wrong)?;
    if rest.begins_with("-") && matches!(&*name.to_ascii_lowercase(), "mysql" | "admin") {
        return Err(Fault::no_variable(
            "ProxySQL's variables are settings here: SELECT name, about FROM settings; SET GLOBAL name = value",
        ));
    }
    let rest = rest.behind_any(&["=", ":="]).ok_or_else(wrong)?;
    let is_missing = rest.is_empty() || rest.begins_with(",");
    let behind_string = rest.string().map(|(_, behind)| behind);
    let is_one = behind_string.is_none_or(|it| it.is_empty() || it.begins_with(","));
    let (value, rest) = value(rest);
    if is_missing {
        return Err(wrong());
    }
    let assigned = match scope {
        Scope::User => None,
        Scope::Global => Some((name, value)),
        Scope::Open | Scope::Session => match setting(&name) {
            Some(_) if scope == Scope::Session => return Err(Fault::for_all(&name)),
            Some(setting) => Some((setting.name.to_owned(), value)),
            None if is_of_sessions(&name) => None,
            None => {
                return Err(Fault::no_variable(format!(
                    "Unknown system variable '{name}'; SELECT name, about FROM settings lists what can be set here"
                )));
            }
        },
    };
    match assigned.is_none() || is_one {
        true => Ok((assigned, rest)),
        false => Err(wrong()),
    }
}

/// The target of an assignment: its scope, its name, and the text after it.
type Named<'a> = (Scope, String, Text<'a>);

fn target(text: Text<'_>) -> Result<Option<Named<'_>>, Fault> {
    let first = text.first();
    if let Some(behind) = first.strip_prefix("@@") {
        let (name, rest) = joined(behind.to_owned(), text.rest());
        refuse_persist(&name.to_ascii_uppercase())?;
        let bare = unscoped(&name).to_owned();
        let scope = match name.len() - bare.len() {
            0 => Scope::Open,
            _ if name.to_ascii_lowercase().starts_with("global") => Scope::Global,
            _ => Scope::Session,
        };
        return Ok(Some((scope, bare, rest)));
    }
    if first.starts_with('@') {
        return Ok(Some((Scope::User, first.to_owned(), text.rest())));
    }
    let (scope, text) = match &*first.to_ascii_uppercase() {
        "GLOBAL" => (Scope::Global, text.rest()),
        "SESSION" | "LOCAL" => (Scope::Session, text.rest()),
        word => {
            refuse_persist(word)?;
            (Scope::Open, text)
        }
    };
    let Some((name, rest)) = text.name() else {
        return Ok(None);
    };
    let (name, rest) = joined(name, rest);
    Ok(Some((scope, name, rest)))
}

fn refuse_persist(word: &str) -> Result<(), Fault> {
    match word.starts_with("PERSIST") {
        true => Err(Fault::syntax(
            "SET GLOBAL name = value, and SAVE writes it to the file",
        )),
        false => Ok(()),
    }
}

/// A name with all its parts: `limits.sessions_max`.
fn joined(name: String, rest: Text<'_>) -> (String, Text<'_>) {
    let (mut name, mut rest) = (name, rest);
    while rest.begins_with(".")
        && let Some((part, behind)) = rest.rest().name()
    {
        name.push('.');
        name.push_str(&part);
        rest = behind;
    }
    (name, rest)
}

/// A value, up to the comma before the next assignment; `None` for DEFAULT.
fn value(text: Text<'_>) -> (Option<String>, Text<'_>) {
    let mut rest = text;
    let mut count = 0;
    while !rest.is_empty() && !is_another(rest) {
        rest = rest.rest();
        count += 1;
    }
    let all = text.up_to(count);
    let value = match all.string() {
        Some((value, behind)) if behind.is_empty() => Some(value),
        _ if matches!(&*all.words(), "DEFAULT" | "NULL") => None,
        _ => Some(all.as_written().to_owned()),
    };
    (value, rest)
}

/// Whether a comma and another assignment follow here.
fn is_another(text: Text<'_>) -> bool {
    let Some(rest) = text.behind(",") else {
        return false;
    };
    if rest.begins_with("NAMES") || rest.begins_with("CHARACTER") || rest.begins_with("CHARSET") {
        return true;
    }
    match target(rest) {
        Ok(Some((_, _, rest))) => rest.behind_any(&["=", ":="]).is_some(),
        Ok(None) => false,
        Err(_) => true,
    }
}

/// Whether servers have a session variable of this name.
fn is_of_sessions(name: &str) -> bool {
    let is_it = |other: &str| other.eq_ignore_ascii_case(name);
    session::state::Baseline::tracked(crate::dialect::FLAGS.server)
        .split(',')
        .chain(OTHERS.split(' '))
        .chain(functions::VARIABLES.iter().map(|(name, _)| *name))
        .any(is_it)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::dialect::tokens;

    fn read(text: &str) -> Result<Statement, u16> {
        let tokens = tokens(text).unwrap();
        set(Text::new(text, &tokens)).map_err(|fault| fault.code.number)
    }

    fn pairs(pairs: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        let owned =
            |(name, value): &(&str, Option<&str>)| ((*name).to_owned(), value.map(str::to_owned));
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn session_settings_of_clients_are_accepted() {
        for text in [
            "NAMES utf8mb4",
            "NAMES 'utf8mb4' COLLATE 'utf8mb4_general_ci'",
            "NAMES utf8mb4, autocommit = 1, @@session.sql_mode = CONCAT(@@sql_mode, ',STRICT')",
            "CHARACTER SET utf8",
            "character_set_results = NULL",
            "SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY",
            "sql_mode = '', @x = '', SESSION character_set_results = \"\"",
            "@mine = 5, @yours := (SELECT 1, 2)",
            "time_zone = '+00:00', SQL_SAFE_UPDATES=1, net_write_timeout = 600",
            "@@session.max_statement_time = 1.5, local wait_timeout = 28800",
        ] {
            assert_eq!(read(text), Ok(Statement::Nothing), "{text}");
        }
    }

    #[test]
    fn settings_are_set() {
        let settings = |them: &[_]| Ok(Statement::Set(pairs(them)));
        for (text, expected) in [
            (
                "limits.sessions_max=900",
                settings(&[("limits.sessions_max", Some("900"))]),
            ),
            (
                "@@GLOBAL.workers = DEFAULT, autocommit = 1, zone = 'b'",
                settings(&[("workers", None), ("zone", Some("b"))]),
            ),
            (
                "GLOBAL listen = ['0.0.0.0:4040', '0.0.0.0:4042']",
                settings(&[("listen", Some("['0.0.0.0:4040', '0.0.0.0:4042']"))]),
            ),
            ("zone = ''", settings(&[("zone", Some(""))])),
            ("autocommit = , zone = 'b'", Err(1064)),
            ("SESSION workers = 2", Err(1229)),
            ("mysql-nothing = 2", Err(1193)),
            ("limits.nothing = 2", Err(1193)),
            ("autocommit = 1, nothing = 2", Err(1193)),
            ("PERSIST workers = 2", Err(1064)),
            ("@@persist.workers = 2", Err(1064)),
            ("autocommit = 1, PASSWORD = 'x'", Err(1193)),
            ("PASSWORD = 'x'", Err(1064)),
            ("STATEMENT max_statement_time=1 FOR SELECT 1", Err(1064)),
            ("workers", Err(1064)),
            ("workers =", Err(1064)),
            ("", Err(1064)),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn no_setting_is_a_variable_of_sessions() {
        for setting in config::settings() {
            assert!(!is_of_sessions(setting.name), "{}", setting.name);
        }
    }
}
