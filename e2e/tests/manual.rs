//! The examples of the manual's pages, run as a reader would run them: the section `An example` of a page has the
//! configuration file (blocks in TOML), and commands with their outputs (blocks `console`).
//!
//! - `$ ` begins a command for bash, `> ` in the next line goes on with it. The lines up to the next command are its
//!   output, errors included. `…` stands for any text within a line, and a line `…` for any number of lines. The
//!   widths of a table's columns do not count.
//! - `$ pilotfish -c pilotfish.toml &` starts the proxy; it is ready when the next command begins.
//! - 10.0.0.1:3306 is a primary, 10.0.0.2:3306 and 10.0.0.3:3306 are its replicas (`@@server_id` is 1, 2 and 3). No
//!   server answers at other addresses of 10.0.0.0/24. The proxy's ports 4040 to 4099 are free ports here.
//! - A collector of OpenTelemetry listens where the page says 127.0.0.1:4318.
//! - `manual/shop.sql` is what the servers have. All passwords are `secret`.
//! - A page runs on both families, or on MariaDB alone (`page: mariadb`) if its outputs are MariaDB's.
//! - A command that only looks is repeated until its output is that of the page: events take a moment.

mod addresses;
mod example;
mod form;
mod output;
mod servers;
mod terminal;

/// The tests of a page: on both families, or on MariaDB alone.
macro_rules! page {
    ($page:ident) => {
        mod $page {
            #[test]
            fn mariadb() {
                crate::manual::example::run(stringify!($page), e2e::Product::MariaDb);
            }

            #[test]
            fn mysql() {
                crate::manual::example::run(stringify!($page), e2e::Product::MySql);
            }
        }
    };
    ($page:ident mariadb) => {
        mod $page {
            #[test]
            fn mariadb() {
                crate::manual::example::run(stringify!($page), e2e::Product::MariaDb);
            }
        }
    };
}

macro_rules! pages {
    ($($page:ident $(: $only:ident)?)+) => {
        /// The pages whose examples run here.
        const PAGES: &[&str] = &[$(stringify!($page)),+];

        mod the_example_of {
            $(page!($page $($only)?);)+
        }
    };
}

pages! {
    accounts
    admin
    balancing
    clusters
    command_line
    compression
    explain
    http
    index_usage
    insight
    journals
    kernel_sessions
    lanes
    limits
    logging
    lua: mariadb
    metrics
    pooling
    profiling
    proxy_protocol
    rule_guarantees: mariadb
    rules
    sandbox: mariadb
    scripts
    service
    sessions: mariadb
    splitting
    tls
    tracing
}
