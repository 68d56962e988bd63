//! Behaviours of pooled sessions (docs/behaviours.md): each scenario is played directly, and then over one backend
//! connection that an intruder uses between any two commands.

/// Makes tests of a scenario that is played with an intruder on the same backend connection.
macro_rules! shared {
    ($name:ident on $($product:ident),+) => {
        mod $name {
            $( shared!(@test $name, $product); )+
        }
    };
    (@test $name:ident, mariadb) => { shared!(@test $name, mariadb, MariaDb); };
    (@test $name:ident, mariadb_next) => { shared!(@test $name, mariadb_next, MariaDbNext); };
    (@test $name:ident, mysql) => { shared!(@test $name, mysql, MySql); };
    (@test $name:ident, $test:ident, $product:ident) => {
        #[test]
        fn $test() {
            e2e::shared(e2e::Product::$product, stringify!($name), super::$name);
        }
    };
}

mod answers;
mod breaks;
mod charsets;
mod cuts;
mod deferred_begin;
mod distributed;
mod drivers;
mod effects;
mod endings;
mod figures;
mod get_diagnostics;
mod globals;
mod kept;
mod kill;
mod kill_text;
mod pins;
mod prepared;
mod privileges;
mod routines;
mod state;
mod texts;
mod timeouts;
mod times;
mod transactions;
mod waiting;
