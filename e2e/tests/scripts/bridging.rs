//! New clients and old scripts: hooks see one protocol version, whatever the client and the server have negotiated.

use e2e::raw::Param::Text;
use e2e::raw::{Execute, query_with_attributes};

use super::*;

in_both_ways! {
    scripts_and_clients_each_get_a_format_that_they_understand
    clients_that_could_omit_columns_get_them
}

both! {
    a_parked_connection_is_taken_only_for_clients_with_its_capabilities
}

fn scripts_and_clients_each_get_a_format_that_they_understand(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                see(packet:sub(2))
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                see(#inj.resultset.fields, inj.resultset.fields[1].name)
                for row in inj.resultset.rows do see("row", row[1]) end
            end
            "#,
        ),
    );
    let newest = capability::DEPRECATE_EOF | capability::QUERY_ATTRIBUTES;
    let newest = match product {
        Product::MySql => newest,
        _ => capability::DEPRECATE_EOF | capability::EXTENDED_METADATA,
    };
    for login in [Login::app().and(newest), older(Login::app())] {
        let mut conn = scripted.connect_as(&login);
        let is_newest = conn.can(capability::DEPRECATE_EOF);
        assert_eq!(conn.can(newest), is_newest);
        match conn.can(capability::QUERY_ATTRIBUTES) {
            true => conn.send(&query_with_attributes(
                &[("name", Text("value"))],
                "SELECT 7 AS n UNION SELECT 8",
            )),
            false => conn.send(b"\x03SELECT 7 AS n UNION SELECT 8"),
        }
        assert_eq!(conn.reply(Shape::Results).texts(), [["7"], ["8"]]);
        let lines = ["SELECT 7 AS n UNION SELECT 8", "1 n", "row 7", "row 8"];
        assert_eq!(seen(&mut conn), lines);
    }
}

/// Clients that can cache column definitions, or omit them, are not offered this. They get all definitions.
fn clients_that_could_omit_columns_get_them(product: Product) {
    let scripted = Scripted::start(
        product,
        &seeing(
            r#"
            function read_query(packet)
                if is_asked(packet) then return seen() end
                proxy.queries:append(1, packet, { resultset_is_needed = true })
                return proxy.PROXY_SEND_QUERY
            end
            function read_query_result(inj)
                if inj.query:byte() == proxy.COM_STMT_EXECUTE then see(inj.resultset.fields[1].name) end
            end
            "#,
        ),
    );
    let wanted = capability::OPTIONAL_RESULTSET_METADATA | capability::CACHE_METADATA;
    let mut conn = scripted.connect_as(&Login::app().and(wanted));
    assert!(!conn.can(capability::OPTIONAL_RESULTSET_METADATA));
    assert!(!conn.can(capability::CACHE_METADATA));
    let id = conn.prepare("SELECT 7 AS n").statement();
    for _ in 0..3 {
        let reply = conn.execute(&Execute::new(id, &[]));
        assert_eq!(reply.results().next().unwrap().columns.len(), 1);
    }
    assert_eq!(seen(&mut conn), ["n", "n", "n"]);
    if product == Product::MySql {
        // The server's error for clients that have not negotiated the capability.
        let refused = conn.query("SET resultset_metadata = NONE");
        assert!(refused.error().is_some(), "{refused:?}");
        assert_eq!(conn.value("SELECT 7"), "7");
    }
}

/// A script that takes a connection for each command and parks it again.
const KEEPER: &str = r#"
    function read_query(packet)
        if is_asked(packet) then
            see(idle())
            return seen()
        end
        proxy.connection.backend_ndx = 1
        proxy.queries:append(1, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
"#;

fn a_parked_connection_is_taken_only_for_clients_with_its_capabilities(product: Product) {
    let scripted = Scripted::start(product, &seeing(&[super::pools::POOLED, KEEPER].concat()));
    let mut newer = scripted.connect();
    let its = newer.value("SELECT CONNECTION_ID()");
    // The parked connection does not fit the old client, so the proxy opens another one for it.
    let mut old = scripted.connect_as(&older(Login::app()));
    let other = old.value("SELECT CONNECTION_ID()");
    assert_ne!(its, other);
    let mut third = scripted.connect_as(&older(Login::app()));
    for _ in 0..3 {
        assert_eq!(newer.value("SELECT CONNECTION_ID()"), its);
        assert_ne!(old.value("SELECT CONNECTION_ID()"), its);
        assert_ne!(third.value("SELECT CONNECTION_ID()"), its);
        // The two old clients share the other connection.
        for (conn, idle) in [(&mut newer, "1"), (&mut old, "2"), (&mut third, "2")] {
            assert_eq!(seen(conn), [idle]);
        }
    }
    let wrong = older(Login::with("app", "wrong")).without(capability::SESSION_TRACK);
    let refused = RawConn::connect(
        &scripted.proxy.address(),
        &wrong.and(capability::FOUND_ROWS),
    );
    assert_eq!(refused.unwrap_err().refusal().code, 1045);
    assert_eq!(newer.value("SELECT 7"), "7");
}
