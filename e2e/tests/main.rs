//! The end-to-end tests: one binary, one server of each product for most of them.
#![allow(clippy::unwrap_used, clippy::panic)]

/// Runs a test on both families.
macro_rules! both {
    ($($name:ident)+) => { $(
        mod $name {
            #[test]
            fn mariadb() {
                super::$name(e2e::Product::MariaDb);
            }

            #[test]
            fn mysql() {
                super::$name(e2e::Product::MySql);
            }
        }
    )+ };
}

/// Makes tests of a scenario, one for each named product. If a scenario cannot give the same result through a pooled
/// proxy, or through a script, the list has the reason:
/// `scenario!(name on mariadb, mysql except pooled: "why", scripted: "why")`.
macro_rules! scenario {
    ($name:ident on $($product:ident),+) => {
        scenario!(@tests $name, e2e::Except::default(), $($product),+);
    };
    ($name:ident on $($product:ident),+ except $($way:ident: $why:literal),+) => {
        scenario!(@tests $name, e2e::Except::default()$(.$way($why))+, $($product),+);
    };
    (@tests $name:ident, $except:expr, $($product:ident),+) => {
        mod $name {
            $( scenario!(@test $name, $except, $product); )+
        }
    };
    (@test $name:ident, $except:expr, mariadb) => {
        scenario!(@test $name, $except, mariadb, MariaDb);
    };
    (@test $name:ident, $except:expr, mariadb_next) => {
        scenario!(@test $name, $except, mariadb_next, MariaDbNext);
    };
    (@test $name:ident, $except:expr, mysql) => {
        scenario!(@test $name, $except, mysql, MySql);
    };
    (@test $name:ident, $except:expr, $test:ident, $product:ident) => {
        #[test]
        fn $test() {
            e2e::everywhere(e2e::Product::$product, stringify!($name), $except, super::$name);
        }
    };
}

mod account_limits;
mod adaptive_limit;
mod admin;
mod anonymous;
mod as_account;
mod bad_days;
mod bad_days_ledger;
mod balance;
mod bank;
mod binlog_files;
mod binlog_readers;
mod boundaries;
mod calls;
mod capabilities;
mod client_tests;
mod clusters;
mod commands;
mod compression;
mod dashboard;
mod data;
mod definitions;
mod failed_user_changes;
mod faults;
mod feeding;
mod first_hour;
mod full_authentication;
mod groups;
mod half_closed;
mod http;
mod idle_transactions;
mod infile;
mod infile_theft;
mod injected;
mod journals;
mod kept_connections;
mod kernel_sessions;
mod kill;
mod lane_faults;
mod lane_neighbours;
mod lanes;
mod large;
mod learned;
mod lease;
mod ledger;
mod letters;
mod lexing;
mod lifecycle;
mod limits;
mod load;
mod log_flood;
mod login;
mod login_denials;
mod login_switches;
mod long_texts;
mod manual;
mod memory;
mod model;
mod names;
mod old_servers;
mod optimistic;
mod outage;
mod packages;
mod pooled;
mod prepared;
mod profiling;
mod proxy_protocol;
mod random;
mod redirects;
mod refused;
mod replication;
mod rules;
mod schema_history;
mod script_load;
mod scripts;
mod sockets;
mod splitting;
mod suite;
mod text;
mod throttle;
mod tls;
mod top;
mod tracing;
mod wrappings;
