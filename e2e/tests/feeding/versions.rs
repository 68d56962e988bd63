//! Replicas of MariaDB 11.8 behind the proxy, with a primary of the same version and of an older one.

use e2e::Certs;

use super::*;

/// Statements whose events differ in newer versions.
const STATEMENTS: [&str; 12] = [
    "CREATE DATABASE IF NOT EXISTS shop",
    "CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, note TEXT)",
    "INSERT INTO shop.orders (note) VALUES ('a'), (REPEAT('b', 60000))",
    "CREATE SEQUENCE shop.numbers INCREMENT BY 5",
    "INSERT INTO shop.orders VALUES (NEXTVAL(shop.numbers) + 10, 'a number')",
    "XA START 'x'",
    "UPDATE shop.orders SET note = 'c' WHERE id = 1",
    "XA END 'x'",
    "XA PREPARE 'x'",
    "XA COMMIT 'x'",
    "ALTER TABLE shop.orders MODIFY note LONGTEXT, ALGORITHM = COPY",
    "DELETE FROM shop.orders WHERE id = 2",
];

/// Makes the replica follow the proxy over TLS. A replica of this version checks the proxy's certificate unless it
/// is configured otherwise.
fn follow_over_tls(replica: &Server, port: u16, check: &str) {
    let mut root = replica.root();
    root.run(&format!(
        "CHANGE MASTER TO master_host='127.0.0.1', master_port={port}, master_user='app', \
         master_password='{PASSWORD}', master_use_gtid=slave_pos, master_connect_retry=1, master_ssl=1, {check}"
    ));
    root.run("START SLAVE");
}

fn newer_replicas_have_the_data_of_their_primary(product: Product) {
    let fed = Fed::new(product);
    let certs = Certs::shared();
    let text = std::fs::read_to_string(&fed.config).unwrap();
    let tls = format!(
        "[client_tls]\ncertificate = {:?}\nkey = {:?}\n",
        certs.server.certificate, certs.server.key
    );
    std::fs::write(&fed.config, format!("{text}\n{tls}")).unwrap();
    let mut root = fed.primary.root();
    if product == Product::MariaDbNext {
        // The server logs an ALTER TABLE when it begins and again when it ends.
        root.run("SET GLOBAL binlog_alter_two_phase = ON");
    }
    root.run("SET GLOBAL log_bin_compress = ON");
    let proxy = fed.proxy();
    let mut root = fed.primary.root();
    for statement in &STATEMENTS[..3] {
        root.run(statement);
    }
    let [one, other] = [2, 3].map(|id| super::start(Product::MariaDbNext, id));
    let ca = format!("master_ssl_ca='{}'", certs.ca.display());
    follow_over_tls(&one, fed.port, &ca);
    follow_over_tls(&other, fed.port, "master_ssl_verify_server_cert=0");
    for statement in &STATEMENTS[3..] {
        root.run(statement);
    }
    fed.write(100, 120);
    fed.check(&[&one, &other]);
    for replica in [&one, &other] {
        let next = "SELECT next_not_cached_value FROM shop.numbers";
        assert_eq!(replica.root().value(next), fed.primary.root().value(next));
    }
    proxy.stop();
}

#[test]
fn replicas_of_11_8_have_the_data_of_a_primary_of_10_11() {
    newer_replicas_have_the_data_of_their_primary(Product::MariaDb);
}

#[test]
fn replicas_of_11_8_have_the_data_of_a_primary_of_11_8() {
    newer_replicas_have_the_data_of_their_primary(Product::MariaDbNext);
}
