//! The end-to-end tests: one binary, one server of each product for most of them.
#![allow(clippy::unwrap_used, clippy::panic)]

/// Makes tests of a scenario, one for each product named.
macro_rules! scenario {
    ($name:ident on $($product:ident),+) => {
        mod $name {
            $( scenario!(@test $name, $product); )+
        }
    };
    (@test $name:ident, mariadb) => { scenario!(@test $name, mariadb, MariaDb); };
    (@test $name:ident, mariadb_next) => { scenario!(@test $name, mariadb_next, MariaDbNext); };
    (@test $name:ident, mysql) => { scenario!(@test $name, mysql, MySql); };
    (@test $name:ident, $test:ident, $product:ident) => {
        #[test]
        fn $test() {
            e2e::everywhere(e2e::Product::$product, stringify!($name), super::$name);
        }
    };
}

mod balance;
mod capabilities;
mod client_tests;
mod commands;
mod compression;
mod data;
mod faults;
mod infile;
mod kill;
mod large;
mod lifecycle;
mod limits;
mod load;
mod login;
mod prepared;
mod proxy_protocol;
mod replication;
mod sockets;
mod text;
mod tls;
