//! The arguments of `import`.

use std::path::PathBuf;

use clap::Args;
use import::Product;

/// Takes over the configuration of another proxy: writes a TOML file, and lists what could not be carried over
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  pilotfish import proxysql /etc/proxysql.cnf -o pilotfish.toml
  pilotfish import proxysql 127.0.0.1:6032 --user admin --password file:PATH -o pilotfish.toml

Exit codes: 0 taken over, 1 not taken over, 2 the arguments are wrong.")]
pub struct ImportArguments {
    /// The other proxy: proxysql, maxscale, haproxy, mysqlrouter or mysql-proxy
    #[arg(value_name = "PRODUCT", value_parser = product)]
    pub product: Product,

    /// Its configuration file; of ProxySQL also HOST:PORT of its admin port
    #[arg(value_name = "FILE|ADDRESS")]
    pub from: String,

    /// File to write, which must not be there yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// User of ProxySQL's admin port
    #[arg(long, short, value_name = "NAME", default_value = "admin")]
    pub user: String,

    /// Its password; file:PATH and env:NAME say where it is
    #[arg(long, value_name = "TEXT", default_value = "admin")]
    pub password: String,

    /// List also the settings for which nothing needs to be done
    #[arg(long)]
    pub all_notes: bool,
}

fn product(text: &str) -> Result<Product, String> {
    let found = Product::ALL.iter().find(|it| it.word() == text);
    found.copied().ok_or_else(|| {
        let words: Vec<_> = Product::ALL.iter().map(|it| it.word()).collect();
        format!("must be one of {}", words.join(", "))
    })
}
