//! Statements that the proxy keeps prepared, where the server has room for few.

use e2e::raw::{Execute, RawConn};
use e2e::{Product, Proxy, Server, Settings};

both! {
    kept_statements_do_not_keep_a_client_from_its_own
}

fn runs(conn: &mut RawConn, number: u32) {
    let prepared = conn.prepare(&format!("SELECT {number}, CONCAT('kept', {number})"));
    assert!(prepared.error().is_none(), "{number}: {prepared:?}");
    let reply = conn.execute(&Execute::new(prepared.statement(), &[]));
    assert!(reply.error().is_none(), "{number}: {reply:?}");
    conn.close_statement(prepared.statement());
}

fn kept_statements_do_not_keep_a_client_from_its_own(product: Product) {
    let server = Server::start(product, &["--max-prepared-stmt-count=20"]);
    let settings = Settings::in_front_of([&server])
        .set("workers", 2)
        .set("pool.lanes", "off")
        .set("pool.backend_connections_max", 8);
    let proxy = Proxy::start(&settings.account("app", e2e::PASSWORD));
    let mut conns: Vec<RawConn> = (0..6).map(|_| proxy.connect()).collect();
    let mut number = 0;
    // Each is on a connection of its own, which keeps the statements.
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
