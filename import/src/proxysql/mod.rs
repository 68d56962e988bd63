//! ProxySQL: its file `proxysql.cnf`, or the tables of its admin port.
//!
//! Both become [`Tables`](tables::Tables). Host groups become clusters first ([`groups`]), because servers, users and
//! rules refer to them.

mod accounts;
mod chains;
mod groups;
mod rules;
mod servers;
mod tables;
mod variables;

use crate::output::Output;
use crate::source::{Refusal, Source};

pub use tables::{ADMIN_TABLES, AdminRow};

/// Reads a file.
///
/// # Errors
/// As [`crate::import`].
pub fn from_file<'a>(source: &'a Source<'a>) -> Result<Output<'a>, Refusal> {
    let tables = tables::Tables::of_file(source.text)?;
    translate(source, &tables)
}

/// Reads rows of the admin port.
///
/// # Errors
/// As [`crate::import_admin_tables`].
pub fn from_admin<'a>(source: &'a Source<'a>, rows: &[AdminRow]) -> Result<Output<'a>, Refusal> {
    translate(source, &tables::Tables::of_admin(rows)?)
}

fn translate<'a>(source: &'a Source<'a>, tables: &tables::Tables) -> Result<Output<'a>, Refusal> {
    if tables.rows("mysql_servers").next().is_none() {
        let hint = "ProxySQL keeps servers in its database once it has run: \
                    import from its admin port, pilotfish import proxysql 127.0.0.1:6032";
        return Err(Refusal::whole("the file has no mysql_servers", hint));
    }
    let mut output = Output::new(source);
    variables::translate(tables, &mut output);
    let groups = groups::Groups::of(tables);
    groups.note_groups(tables, &mut output);
    servers::translate(tables, &groups, &mut output);
    accounts::translate(tables, &groups, &mut output);
    rules::translate(tables, &groups, &mut output);
    tables.note_other_tables(&mut output);
    Ok(output)
}
