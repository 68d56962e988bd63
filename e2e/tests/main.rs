//! The end-to-end tests: one binary, one pair of servers.
#![allow(clippy::unwrap_used, clippy::panic)]

/// A scenario as tests: one for each product named.
macro_rules! scenario {
    ($name:ident on $($product:ident),+ : $play:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $( scenario!(@test $name, $product, $play); )+
        }
    };
    (@test $name:ident, mariadb, $play:expr) => {
        #[test]
        fn mariadb() {
            let name = concat!(stringify!($name));
            e2e::everywhere(e2e::Product::MariaDb, name, $play);
        }
    };
    (@test $name:ident, mariadb_next, $play:expr) => {
        #[test]
        fn mariadb_next() {
            let name = concat!(stringify!($name));
            e2e::everywhere(e2e::Product::MariaDbNext, name, $play);
        }
    };
    (@test $name:ident, mysql, $play:expr) => {
        #[test]
        fn mysql() {
            let name = concat!(stringify!($name));
            e2e::everywhere(e2e::Product::MySql, name, $play);
        }
    };
}

mod text;
