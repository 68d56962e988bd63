//! Payloads around and beyond the 16 MiB that one packet holds, in both directions.

use e2e::raw::{Execute, PACKET_MAX, Param, Transcript};
use e2e::{Product, Proxy, Server, Settings, Site, sized};

/// One full packet, a full packet with an empty one behind it, and three packets; at night lengths in between as well.
fn lengths() -> &'static [usize] {
    sized(
        &[PACKET_MAX - 1, PACKET_MAX, 2 * PACKET_MAX + 1000],
        &[
            PACKET_MAX - 1,
            PACKET_MAX,
            PACKET_MAX + 1,
            2 * PACKET_MAX,
            2 * PACKET_MAX + 1000,
        ],
    )
}

scenario!(big_statements_are_taken on mariadb, mysql);
fn big_statements_are_taken(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut transcript = Transcript::default();
    for &length in lengths() {
        let frame = "SELECT LENGTH('')".len() + 1;
        let sql = format!("SELECT LENGTH('{}')", "x".repeat(length - frame));
        assert_eq!(sql.len() + 1, length, "with its command byte");
        let reply = conn.run(&sql);
        assert_eq!(reply.text(0, 0).unwrap(), (length - frame).to_string());
        transcript.note(format!("{length}"));
        drop(conn.transcript());
    }
    conn.run("SELECT 'after'");
    transcript.extend(conn.transcript());
    transcript
}

scenario!(big_rows_arrive on mariadb, mysql);
fn big_rows_arrive(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let mut transcript = Transcript::default();
    for &length in lengths() {
        // The field's length stands before it in 4 bytes, or in 9 from 2^24 on.
        let field = if length - 4 < 1 << 24 {
            length - 4
        } else {
            length - 9
        };
        let reply = conn.run(&format!("SELECT REPEAT('y', {field})"));
        let row = &reply.results().next().unwrap().rows[0];
        assert_eq!(row.len(), length);
        assert!(row[row.len() - field..].iter().all(|&byte| byte == b'y'));
        transcript.extend(conn.transcript());
    }
    conn.run("SELECT 'after'");
    transcript.extend(conn.transcript());
    transcript
}

scenario!(big_parameters_are_taken_and_given_back on mariadb, mysql);
fn big_parameters_are_taken_and_given_back(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let big = vec![0xFE; PACKET_MAX + 5];
    let id = conn.prepare("SELECT ?, ?").statement();
    let reply = conn.execute(&Execute::new(id, &[Param::Bytes(&big), Param::Int(7)]));
    assert!(reply.results().next().unwrap().rows[0].len() > big.len());
    conn.send_long_data(id, 0, &big);
    conn.send_long_data(id, 0, &big);
    let reply = conn.execute(&Execute::new(id, &[Param::Sent, Param::Int(7)]));
    assert!(reply.results().next().unwrap().rows[0].len() > 2 * big.len());
    conn.transcript()
}

both! { a_statement_beyond_max_allowed_packet_gives_the_servers_error }

/// Statements that are longer than one packet, or than the proxy's buffer for a statement, included.
fn a_statement_beyond_max_allowed_packet_gives_the_servers_error(product: Product) {
    const MIB: usize = 1 << 20;
    for (limit, lengths) in [
        (MIB, &[MIB + 1, 3 * MIB, 17 * MIB, 40 * MIB][..]),
        (32 * MIB, &[32 * MIB + 1, 70 * MIB]),
    ] {
        let server = Server::lease_set(product, &[("max_allowed_packet", &limit.to_string())]);
        let proxy = Proxy::start(&Settings::pooled(&server, 2));
        for &length in lengths {
            let text = "SELECT LENGTH('')";
            let fill = "x".repeat(length - text.len() - 1);
            let sql = format!("SELECT LENGTH('{fill}')");
            let mut conn = proxy.connect();
            conn.run("SELECT 1");
            let reply = conn.query(&sql);
            let error = reply.error().map(ToString::to_string);
            let expected = "1153 (08S01) Got a packet bigger than 'max_allowed_packet' bytes";
            assert_eq!(error.as_deref(), Some(expected), "{length} of {limit}");
            assert!(conn.is_closed_by_server(), "{length} of {limit}");
        }
        // A statement of just the allowed length.
        let mut conn = proxy.connect();
        let fill = "x".repeat(limit - "SELECT LENGTH('')".len() - 1 - 1);
        assert_eq!(
            conn.run(&format!("SELECT LENGTH('{fill}')")).text(0, 0),
            Some(fill.len().to_string())
        );
    }
}

scenario!(a_statement_beyond_the_servers_limit_is_refused on mariadb, mysql);
fn a_statement_beyond_the_servers_limit_is_refused(site: &Site) -> Transcript {
    let mut conn = site.connect();
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(129 << 20));
    // The server answers and closes the connection. It may reset the connection while the statement is still being
    // sent.
    let sent = conn.send_query(&sql);
    let reply = sent.and_then(|()| conn.try_reply(e2e::raw::Shape::Results));
    assert!(reply.map_or(true, |reply| {
        reply.error().is_some_and(|error| error.code == 1153)
    }));
    site.connect().run("SELECT 'another'");
    Transcript::default()
}
