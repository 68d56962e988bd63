//! The tables, a file for each.

pub mod accounts;
pub mod admin_accounts;
pub mod backends;
pub mod columns;
pub mod digests;
pub mod errors;
pub mod help;
pub mod information;
pub mod lanes;
pub mod listeners;
pub mod mysql_servers;
pub mod pools;
pub mod process;
pub mod proxy_connections;
pub mod rules;
pub mod script_metrics;
pub mod scripts;
pub mod sessions;
pub mod settings;
pub mod stats_connection_pool;
pub mod stats_processlist;
pub mod stats_query_digest;
pub mod status;
pub mod times;
pub mod variables;
pub mod workers;
