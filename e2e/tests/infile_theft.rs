//! A server that asks the client for a file which the statement does not name: the client gets no such request.

use e2e::raw::{Login, Outcome, RawConn, capability};
use e2e::{Cut, Folder, Product, Proxy, Relay, Server, Settings, wait};

/// Checks that the client gets an error or the end of its connection, and no request for a file.
#[track_caller]
fn assert_not_asked(conn: &mut RawConn, sql: &str) {
    match conn.try_query(sql) {
        Ok(reply) => assert!(
            !matches!(reply.outcomes.last(), Some(Outcome::LocalFile(_))),
            "{sql}"
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn scripted(relay: &Relay, folder: &std::path::Path) -> Settings {
    let script = folder.join("passes.lua");
    std::fs::write(&script, "function read_query(packet) end").unwrap();
    Settings::default()
        .backend(relay.tcp())
        .set("routing.script", &script)
}

both! {
    a_file_is_asked_for_only_if_the_statement_names_it
    a_client_without_the_capability_is_not_asked_for_files
}

fn a_file_is_asked_for_only_if_the_statement_names_it(product: Product) {
    let server = Server::shared(product);
    let folder = Folder::new("files");
    let relay = Relay::start(server.tcp());
    for settings in [
        Settings::pooled_behind(&relay, product, 2),
        scripted(&relay, folder.path()),
    ] {
        let proxy = Proxy::start(&settings);
        for sql in [
            "SELECT 'theft'",
            "LOAD DATA LOCAL INFILE 'theft' INTO TABLE t",
            "SELECT 'LOAD DATA LOCAL INFILE', '/etc/passwd', 'theft'",
        ] {
            relay.cut(Cut::AskFile("/etc/passwd"), "theft");
            let mut conn = proxy.connect();
            assert_not_asked(&mut conn, sql);
        }
        // The server may ask for the file that the statement names.
        relay.cut(Cut::AskFile("theft"), "theft");
        let mut conn = proxy.connect();
        let reply = conn.query("LOAD DATA LOCAL INFILE 'theft' INTO TABLE t");
        assert!(matches!(&reply.outcomes[..], [Outcome::LocalFile(name)] if name == b"theft"));
    }
    wait::until("each request was made", wait::SOON, || relay.cuts() == 8);
}

fn a_client_without_the_capability_is_not_asked_for_files(product: Product) {
    let server = Server::shared(product);
    let folder = Folder::new("files");
    let relay = Relay::start(server.tcp());
    let login = Login::app().without(capability::LOCAL_FILES);
    for settings in [
        Settings::pooled_behind(&relay, product, 2),
        scripted(&relay, folder.path()),
        Settings::default().backend(relay.tcp()),
    ] {
        let proxy = Proxy::start(&settings);
        relay.cut(Cut::AskFile("theft"), "theft");
        let mut conn = proxy.connect_as(&login);
        assert_not_asked(&mut conn, "LOAD DATA LOCAL INFILE 'theft' INTO TABLE t");
    }
    wait::until("each request was made", wait::SOON, || relay.cuts() == 3);
}
