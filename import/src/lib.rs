//! Takes over the configuration of another proxy: text in, a commented TOML file and a list of notes out.
//!
//! ```text
//!   its file, or ProxySQL's admin tables ──► module of the product ──► Output ──► TOML for pilotfish
//!                                                                        └─────► Notes: what has no meaning here
//! ```
//!
//! Each product has a module that reads its format and says what each of its settings means here. All of them write
//! into one [`Output`](output::Output), which keeps the values within their ranges. A setting that has no meaning
//! here becomes a [`Note`] with the reason and the nearest way; no setting is dropped without a note.
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
/// The first place that cannot be read, or the reason why nothing useful would come of it.
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
/// The reason why nothing useful would come of it.
pub fn import_admin_tables(source: &Source<'_>, rows: &[AdminRow]) -> Result<Imported, Refusal> {
    proxysql::from_admin(source, rows)?.finish(Product::ProxySql)
}
