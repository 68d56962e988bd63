//! The proxy acknowledges transactions to the primary (semi-synchronous replication).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

both! {
    semi_sync_commits_wait_for_the_proxy_and_continue_after_its_restart
    nothing_that_was_acknowledged_is_lost
    changes_of_one_table_in_a_row_do_not_wait_for_the_timeout
}

/// A primary whose commits wait for an acknowledgement longer than any test lasts.
fn waiting(product: Product) -> Fed {
    let fed = Fed::new(product);
    let mut root = fed.primary.root();
    root.run("SET sql_log_bin = 0");
    if product.is_mariadb() {
        root.run("SET GLOBAL rpl_semi_sync_master_timeout = 3600000");
        root.run("SET GLOBAL rpl_semi_sync_master_enabled = ON");
    } else {
        root.run("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
        root.run("SET GLOBAL rpl_semi_sync_source_timeout = 3600000");
        root.run("SET GLOBAL rpl_semi_sync_source_enabled = ON");
    }
    let text = std::fs::read_to_string(&fed.config).unwrap();
    let text = text.replace("server_id = 4242\n", "server_id = 4242\nsemi_sync = true\n");
    std::fs::write(&fed.config, text).unwrap();
    fed
}

/// One of the primary's status variables of semi-synchronous replication.
fn status(root: &mut RawConn, product: Product, name: &str) -> String {
    let side = match product.is_mariadb() {
        true => "master",
        false => "source",
    };
    let show = format!("SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_{side}_{name}'");
    root.run(&show).text(0, 1).unwrap()
}

fn wait_status(fed: &Fed, name: &str, expected: &str) {
    let mut root = fed.primary.root();
    wait::until(&format!("{name} is {expected}"), wait::SOON, || {
        status(&mut root, fed.primary.product, name) == expected
    });
}

fn semi_sync_commits_wait_for_the_proxy_and_continue_after_its_restart(product: Product) {
    let fed = waiting(product);
    let proxy = fed.proxy();
    wait_status(&fed, "clients", "1");
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)");
    fed.write(0, 5);
    assert_eq!(status(&mut root, product, "status"), "ON");
    // A definition is locked until its statement is acknowledged, and the proxy asks for the definition.
    assert_eq!(proxy.count_events("replication_failed"), 0);
    assert_eq!(status(&mut root, product, "no_tx"), "0");

    // While the proxy is stopped, a commit waits.
    proxy.signal(e2e::Signal::STOP);
    let mut conn = fed.primary.root();
    let commit = std::thread::spawn(move || {
        conn.run("INSERT INTO shop.orders VALUES (100, 'waits')");
    });
    wait_status(&fed, "wait_sessions", "1");
    assert!(!commit.is_finished());
    proxy.signal(e2e::Signal::CONT);
    commit.join().unwrap();

    // While no proxy runs, a commit waits until the next proxy has started.
    proxy.kill();
    let mut conn = fed.primary.root();
    let commit = std::thread::spawn(move || {
        conn.run("INSERT INTO shop.orders VALUES (101, 'waits')");
    });
    wait_status(&fed, "wait_sessions", "1");
    let proxy = fed.proxy();
    commit.join().unwrap();
    assert_eq!(status(&mut root, product, "no_tx"), "0");
    fed.check(&[&fed.replica(2)]);
    proxy.stop();
}

fn nothing_that_was_acknowledged_is_lost(product: Product) {
    let mut fed = waiting(product);
    let proxy = fed.proxy();
    wait_status(&fed, "clients", "1");
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY, writer INT)");
    let acknowledged: Arc<[AtomicU32; 4]> = Arc::default();
    let writers: Vec<_> = (0..4_u32)
        .map(|writer| {
            let mut conn = fed.primary.root();
            let acknowledged = Arc::clone(&acknowledged);
            std::thread::spawn(move || {
                for number in 1.. {
                    let id = number * 4 + writer;
                    let insert = format!("INSERT INTO shop.orders VALUES ({id}, {writer})");
                    match conn.try_query(&insert) {
                        Ok(reply) if reply.error().is_none() => {}
                        _ => return,
                    }
                    acknowledged[writer as usize].store(number, Ordering::Release);
                }
            })
        })
        .collect();
    wait::until("each writer has committed", wait::SOON, || {
        acknowledged
            .iter()
            .all(|it| it.load(Ordering::Acquire) > 20)
    });
    proxy.kill();
    // The next commit waits. MySQL commits in groups, and only the first of a group is counted.
    wait::until("a commit waits", wait::SOON, || {
        status(&mut root, product, "wait_sessions") != "0"
    });
    fed.primary.kill();
    writers.into_iter().for_each(|it| it.join().unwrap());

    // Only the relay files have all transactions that the clients were told of.
    let proxy = fed.proxy();
    let replica = fed.replica(2);
    let expected: Vec<u32> = acknowledged
        .iter()
        .map(|it| it.load(Ordering::Acquire))
        .collect();
    let mut root = replica.root();
    wait::until("the replica has all", wait::SOON, || {
        let counts = "SELECT COUNT(*) FROM shop.orders GROUP BY writer ORDER BY writer";
        // The table may be missing at first.
        let reply = root.query(counts);
        if reply.error().is_some() {
            return false;
        }
        let counts: Vec<u32> = reply
            .texts()
            .concat()
            .iter()
            .map(|it| it.parse().unwrap())
            .collect();
        counts.len() == 4
            && counts
                .iter()
                .zip(&expected)
                .all(|(have, told)| have >= told)
    });
    proxy.stop();
}

fn changes_of_one_table_in_a_row_do_not_wait_for_the_timeout(product: Product) {
    let fed = waiting(product);
    let proxy = fed.proxy();
    wait_status(&fed, "clients", "1");
    let mut root = fed.primary.root();
    root.run("CREATE DATABASE shop");
    root.run("CREATE TABLE shop.orders (id INT PRIMARY KEY)");
    // Each statement keeps the table locked until it is acknowledged. The next one locks it while the proxy asks
    // for the definition that the last one has made.
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let mut conn = fed.primary.root();
            std::thread::spawn(move || {
                for number in 0..10 {
                    conn.run(&format!(
                        "ALTER TABLE shop.orders COMMENT = '{writer}.{number}'"
                    ));
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|it| it.join().unwrap());
    // Without an acknowledgement the writers would wait until the proxy's query for the definition fails.
    assert_eq!(proxy.count_events("replication_failed"), 0);
    assert_eq!(status(&mut root, product, "no_tx"), "0");
    let address = Address::Tcp(([127, 0, 0, 1], fed.admin).into());
    let mut admin = RawConn::connect(&address, &Login::with("root", "all")).unwrap();
    wait::until("all changes are in the history", wait::SOON, || {
        let select = "SELECT COUNT(*) FROM schema_changes WHERE object = 'orders'";
        admin.run(select).text(0, 0).as_deref() == Some("31")
    });
    proxy.stop();
}
