//! Imports the configuration of another proxy: from its text it makes a commented TOML file and a list of notes.
//!
//! ```text
//!   its file, or ProxySQL's admin tables ──► module of the product ──► Output ──► TOML for pilotfish
//!                                                                        └─────► Notes: what has no meaning here
//! ```
//!
//! Each product has a module that reads its format and translates its settings. All modules write into an
//! [`Output`](output::Output), which keeps the values within their ranges. A setting without a meaning in Pilotfish
//! becomes a [`Note`] with the reason and the nearest way. No setting is dropped without a note.
//!
//! The crate opens no socket and no file: the program reads the file, or asks ProxySQL's admin port.

mod fleet;
mod ini;
mod libconfig;
mod note;
mod output;
mod source;
mod units;

mod haproxy;
mod maxscale;
mod mysql_proxy;
mod mysql_router;
mod proxysql;

pub use note::{Level, Note};
pub use proxysql::{ADMIN_TABLES, AdminRow};
pub use source::{Imported, Product, Refusal, Source};

/// Reads a file of another proxy.
///
/// # Errors
/// The first place that cannot be read, or the reason why the result would not be useful.
pub fn import(product: Product, source: &Source<'_>) -> Result<Imported, Refusal> {
    source.check_size()?;
    let output = match product {
        Product::ProxySql => proxysql::from_file(source),
        Product::MaxScale => maxscale::from_file(source),
        Product::Haproxy => haproxy::from_file(source),
        Product::MysqlRouter => mysql_router::from_file(source),
        Product::MysqlProxy => mysql_proxy::from_file(source),
    }?;
    output.finish(product)
}

/// Reads rows of ProxySQL's admin tables, [`ADMIN_TABLES`], as its admin port gives them.
///
/// # Errors
/// The reason why the result would not be useful.
pub fn import_admin_tables(source: &Source<'_>, rows: &[AdminRow]) -> Result<Imported, Refusal> {
    proxysql::from_admin(source, rows)?.finish(Product::ProxySql)
}
