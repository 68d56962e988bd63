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

/// Makes tests of a scenario, one for each product named. One that by nature cannot be the same
/// through a pooled proxy says why: `scenario!(name on mariadb, mysql except pooled: "why")`.
macro_rules! scenario {
    ($name:ident on $($product:ident),+) => {
        scenario!(@tests $name, e2e::Pooled::Too, $($product),+);
    };
    ($name:ident on $($product:ident),+ except pooled: $why:literal) => {
        scenario!(@tests $name, e2e::Pooled::Not($why), $($product),+);
    };
    (@tests $name:ident, $pooled:expr, $($product:ident),+) => {
        mod $name {
            $( scenario!(@test $name, $pooled, $product); )+
        }
    };
    (@test $name:ident, $pooled:expr, mariadb) => {
        scenario!(@test $name, $pooled, mariadb, MariaDb);
    };
    (@test $name:ident, $pooled:expr, mariadb_next) => {
        scenario!(@test $name, $pooled, mariadb_next, MariaDbNext);
    };
    (@test $name:ident, $pooled:expr, mysql) => {
        scenario!(@test $name, $pooled, mysql, MySql);
    };
    (@test $name:ident, $pooled:expr, $test:ident, $product:ident) => {
        #[test]
        fn $test() {
            e2e::everywhere(e2e::Product::$product, stringify!($name), $pooled, super::$name);
        }
    };
}

mod balance;
mod bank;
mod capabilities;
mod client_tests;
mod clusters;
mod commands;
mod compression;
mod data;
mod faults;
mod infile;
mod kill;
mod lane_faults;
mod lane_neighbours;
mod lanes;
mod large;
mod learned;
mod ledger;
mod lifecycle;
mod limits;
mod load;
mod login;
mod optimistic;
mod outage;
mod pooled;
mod prepared;
mod proxy_protocol;
mod random;
mod replication;
mod rules;
mod sockets;
mod splitting;
mod suite;
mod text;
mod tls;
