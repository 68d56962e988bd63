//! Statements that the proxy keeps prepared, on a server whose limit is low.

use e2e::raw::{Execute, RawConn};
use e2e::{Product, Proxy, Server, Settings};

both! {
    statements_kept_by_the_proxy_do_not_block_new_prepares
    kept_statements_do_not_keep_a_client_from_preparing_text
}

fn runs(conn: &mut RawConn, number: u32) {
    let prepared = conn.prepare(&format!("SELECT {number}, CONCAT('kept', {number})"));
    assert!(prepared.error().is_none(), "{number}: {prepared:?}");
    let reply = conn.execute(&Execute::new(prepared.statement(), &[]));
    assert!(reply.error().is_none(), "{number}: {reply:?}");
    conn.close_statement(prepared.statement());
}

fn statements_kept_by_the_proxy_do_not_block_new_prepares(product: Product) {
    let server = Server::lease_set(product, &[("max_prepared_stmt_count", "20")]);
    let settings = Settings::in_front_of([&*server])
        .set("workers", 2)
        .set("routing.lanes", "off")
        .set("pool.backend_connections_max", 8);
    let proxy = Proxy::start(&settings.account("app", e2e::PASSWORD));
    let mut conns: Vec<RawConn> = (0..6).map(|_| proxy.connect()).collect();
    let mut number = 0;
    // Each client has a connection of its own, which keeps the statements.
    for conn in &mut conns {
        conn.run("BEGIN");
        for _ in 0..3 {
            number += 1;
            runs(conn, number);
        }
    }
    for conn in &mut conns {
        conn.run("COMMIT");
    }
    for conn in &mut conns {
        for _ in 0..30 {
            number += 1;
            runs(conn, number);
        }
    }
}

/// Clients that have disconnected prepared as many statements by SQL text as the server allows. Each new client can
/// still prepare its own, also while it holds its connection, and when it moves to another one.
fn kept_statements_do_not_keep_a_client_from_preparing_text(product: Product) {
    let server = Server::lease_set(product, &[("max_prepared_stmt_count", "12")]);
    let settings = Settings::in_front_of([&*server])
        .set("workers", 2)
        .set("pool.backend_connections_max", 6);
    let proxy = Proxy::start(&settings.account("app", e2e::PASSWORD));
    let prepare = |conn: &mut RawConn, number: u32| {
        conn.run(&format!("PREPARE p{number} FROM 'SELECT {number}'"));
        assert_eq!(
            conn.value(&format!("EXECUTE p{number}")),
            number.to_string()
        );
    };
    for round in 0..4 {
        let mut conns: Vec<RawConn> = (0..3).map(|_| proxy.connect()).collect();
        for (conn, is_held) in conns.iter_mut().zip([false, true, false]) {
            if is_held {
                conn.run("BEGIN");
            }
            (0..3).for_each(|number| prepare(conn, 10 * round + number));
        }
        for conn in &mut conns {
            for number in 0..3 {
                let number = 10 * round + number;
                assert_eq!(
                    conn.value(&format!("EXECUTE p{number}")),
                    number.to_string()
                );
            }
        }
    }
    // The proxy cannot make room, so the client gets the server's error.
    let mut conn = proxy.connect();
    conn.run("BEGIN");
    let outcomes = (0..13).map(|number| conn.query(&format!("PREPARE q{number} FROM 'SELECT 1'")));
    let codes: Vec<_> = outcomes
        .filter_map(|it| it.error().map(|error| error.code))
        .collect();
    assert_eq!(codes, [1461]);
}
