//! The schema's character set: the server reads files in it, and stored programs keep it. MariaDB's
//! COM_RESET_CONNECTION sets the server's character set in its place, and ALTER DATABASE changes it for other sessions.

use e2e::raw::{Login, Outcome, RawConn, Shape, command};
use e2e::{Product, Proxy, Server, Settings};

const FILE: &str = "ж€é";

/// The results of a client that loads files and creates stored programs in a schema.
fn observe(conn: &mut RawConn, file: &str) -> Vec<String> {
    conn.run("CREATE OR REPLACE VIEW v AS SELECT 1 AS one");
    for drop in ["TABLE", "PROCEDURE", "FUNCTION", "EVENT"] {
        conn.run(&format!("DROP {drop} IF EXISTS it"));
    }
    conn.run("DROP TABLE IF EXISTS plain");
    conn.run("CREATE TABLE it (n INT, s TEXT CHARACTER SET utf8mb4)");
    conn.run("CREATE TABLE plain (s VARCHAR(9))");
    conn.run("CREATE PROCEDURE it (t VARCHAR(9)) SELECT t");
    conn.run("CREATE FUNCTION it (t VARCHAR(9)) RETURNS VARCHAR(9) DETERMINISTIC RETURN t");
    conn.run("CREATE TRIGGER it BEFORE INSERT ON plain FOR EACH ROW SET @a = 1");
    conn.run("CREATE EVENT it ON SCHEDULE EVERY 1 YEAR DO SELECT 1");
    conn.run(&format!(
        "LOAD DATA INFILE '{file}' INTO TABLE it (s) SET n = 1"
    ));
    local(
        conn,
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE it (s) SET n = 2",
        FILE,
    );
    conn.run("BEGIN");
    local(
        conn,
        "LOAD DATA LOCAL INFILE 'f' INTO TABLE it (s) SET n = 3",
        FILE,
    );
    conn.run("COMMIT");
    let xml = format!("<row><s>{FILE}</s></row>");
    local(
        conn,
        "LOAD XML LOCAL INFILE 'f' INTO TABLE it (s) SET n = 4",
        &xml,
    );
    local(
        conn,
        "SELECT 1; LOAD DATA LOCAL INFILE 'f' INTO TABLE it (s) SET n = 5",
        FILE,
    );
    let mut seen = Vec::new();
    for ask in [
        "SELECT n, HEX(s) FROM it ORDER BY n",
        "SELECT @@character_set_database, @@collation_database",
        "SELECT TABLE_NAME, COLUMN_NAME, COLLATION_NAME FROM information_schema.COLUMNS \
         WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1, 2",
        "SELECT SPECIFIC_NAME, ORDINAL_POSITION, ROUTINE_TYPE, COLLATION_NAME \
         FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = DATABASE() ORDER BY 3, 2",
        "SELECT ROUTINE_TYPE, DATABASE_COLLATION FROM information_schema.ROUTINES \
         WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 1",
        "SELECT DATABASE_COLLATION FROM information_schema.TRIGGERS \
         WHERE TRIGGER_SCHEMA = DATABASE()",
        "SELECT DATABASE_COLLATION FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()",
    ] {
        seen.push(format!("{ask}: {:?}", conn.run(ask).texts()));
    }
    seen
}

fn local(conn: &mut RawConn, load: &str, file: &str) {
    let reply = conn.query(load);
    assert!(
        matches!(reply.outcomes.last(), Some(Outcome::LocalFile(_))),
        "{reply:?}"
    );
    conn.send_on(file.as_bytes());
    conn.send_on(b"");
    assert!(conn.reply(Shape::Results).error().is_none());
}

/// A client that pins its connection and disconnects, so that the connection is reset before the next session gets it.
fn spoil(proxy: &Proxy, login: &Login) {
    let mut conn = proxy.connect_as(login);
    conn.run("CREATE TEMPORARY TABLE tt (n INT)");
    conn.quit();
}

both! { files_and_programs_have_the_character_set_of_the_schema }
fn files_and_programs_have_the_character_set_of_the_schema(product: Product) {
    let products: &[Product] = match product {
        Product::MariaDb => &[Product::MariaDb, Product::MariaDbNext],
        _ => &[product],
    };
    for (product, default) in products
        .iter()
        .flat_map(|it| [(*it, "latin1"), (*it, "utf8mb4")])
    {
        let set = format!("--character-set-server={default}");
        let server = Server::start(product, &[&set, "--secure-file-priv="]);
        let file = server.folder().join("file");
        std::fs::write(&file, FILE).unwrap();
        let file = file.display().to_string();
        let mut root = server.root();
        let proxy = Proxy::start(&Settings::pooled(&server, 1));
        for charset in ["latin1", "utf8mb4", "cp1251"] {
            let schema = format!("in_{charset}");
            root.run(&format!("CREATE DATABASE {schema} CHARACTER SET {charset}"));
            let login = Login::app().schema(&schema).collation(product.collation());
            let wanted = observe(
                &mut RawConn::connect(&server.tcp().into(), &login).unwrap(),
                &file,
            );
            let what = format!("{product:?}, {default}, {charset}");
            spoil(&proxy, &login);
            assert_eq!(
                observe(&mut proxy.connect_as(&login), &file),
                wanted,
                "{what}"
            );
            // The same after a USE, and after the client's own COM_RESET_CONNECTION.
            spoil(&proxy, &login);
            let mut conn = proxy.connect_as(&Login::app().collation(product.collation()));
            conn.run(&format!("USE {schema}"));
            assert_eq!(observe(&mut conn, &file), wanted, "{what}, by USE");
            conn.run("CREATE TEMPORARY TABLE tt (n INT)");
            conn.command(command::RESET_CONNECTION, b"");
            let names = "SET NAMES utf8mb4";
            conn.run(names);
            let mut direct = RawConn::connect(&server.tcp().into(), &login).unwrap();
            direct.run(names);
            let wanted = observe(&mut direct, &file);
            assert_eq!(observe(&mut conn, &file), wanted, "{what}, reset");
            conn.quit();
        }
        // The schema's character set changes while a connection is in the schema.
        let login = Login::app()
            .schema("in_latin1")
            .collation(product.collation());
        let mut before = proxy.connect_as(&login);
        before.run("SELECT DATABASE()");
        root.run("ALTER DATABASE in_latin1 CHARACTER SET utf8mb4");
        let wanted = observe(
            &mut RawConn::connect(&server.tcp().into(), &login).unwrap(),
            &file,
        );
        let what = format!("{product:?}, {default}, altered");
        assert_eq!(
            observe(&mut proxy.connect_as(&login), &file),
            wanted,
            "{what}"
        );
    }
}
