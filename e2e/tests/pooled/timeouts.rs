//! Time-outs of sessions that hold no connection (behaviour 9): they end as they would directly.

use std::time::Duration;

use e2e::raw::{RawConn, command};
use e2e::{Product, Proxy, Server, Settings, wait};

const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// Statements that set a short time-out, which is still longer than a busy machine may stop.
const SETS: [&str; 2] = [
    "SET wait_timeout = 6",
    "SET @@session.wait_timeout = LENGTH('second')",
];

/// The text of the error packet before the connection is closed, if there is one.
fn last_words(conn: &mut RawConn) -> Option<String> {
    conn.patience(wait::SOON);
    let words = conn.packet_of_any_order();
    assert!(words.is_err() || conn.is_closed_by_server());
    if let Err(error) = &words {
        let has_waited = std::io::ErrorKind::WouldBlock;
        assert_ne!(error.kind(), has_waited, "it was not closed");
    }
    words
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes[3..]).into_owned())
}

#[test]
fn a_session_without_a_connection_ends_by_its_own_wait_timeout() {
    for product in PRODUCTS {
        let server = Server::shared(product);
        let proxy = Proxy::start(&Settings::pooled(server, 1));
        let mut talking = proxy.connect();
        let mut patient = proxy.connect();
        let mut reset = proxy.connect();
        let mut both = SETS.map(|set| {
            let (mut direct, mut idle) = (server.connect(""), proxy.connect());
            direct.run(set);
            idle.run(set);
            (direct, idle)
        });
        for set in SETS {
            reset.run(set);
            reset.command(command::RESET_CONNECTION, b"");
        }
        patient.run("SET wait_timeout = 600");
        // Another session has the connection, and keeps using it.
        for set in SETS {
            talking.run(set);
        }
        wait::until("they are ended", wait::SOON, || {
            assert_eq!(talking.value("SELECT @@wait_timeout"), "6");
            let mut idle = both.iter_mut().map(|(_, idle)| idle);
            idle.all(|idle| idle.is_answered_within(Duration::from_millis(100)))
        });
        talking.run("SET wait_timeout = 600");
        for ((direct, idle), set) in both.iter_mut().zip(SETS) {
            assert_eq!(last_words(idle), last_words(direct), "{set}");
        }
        assert_eq!(patient.value("SELECT @@wait_timeout"), "600");
        assert_ne!(reset.value("SELECT @@wait_timeout"), "6");
    }
}
