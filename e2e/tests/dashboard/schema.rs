//! The time line of schema changes, and the streams that supply them.

use e2e::http::Http;
use e2e::{Folder, wait};

use super::*;

/// A proxy that follows a server, with the folder of its history.
pub(super) fn following(port: u16, server: &Server) -> (Settings, Folder) {
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    root.run("CREATE OR REPLACE USER follower IDENTIFIED BY 'follows4711'");
    root.run("GRANT REPLICATION SLAVE, SELECT, SHOW VIEW, TRIGGER, EVENT ON *.* TO follower");
    root.run("GRANT BINLOG MONITOR ON *.* TO follower");
    let folder = Folder::new("files");
    let file = folder.path().join("schemas.db");
    let settings = Settings::pooled(server, 4)
        .http_on(port)
        .set("workers", 2)
        .set("statement_stats.history_load_interval", "1s")
        .set("schema_history.file", file.to_str().unwrap())
        .replication(
            "follower",
            &[
                ("password", "\"follows4711\""),
                ("server_id", "4242"),
                ("heartbeat", "\"1s\""),
            ],
        );
    (settings, folder)
}

/// A server whose log has GTIDs.
pub(super) fn server() -> Server {
    let mut options = e2e::primary_options(Product::MariaDb);
    options.push("--server-id=1");
    Server::start(Product::MariaDb, &options)
}

/// Makes a table and a view, and changes the table, through the proxy.
pub(super) fn change(port: u16, proxy: &Proxy) {
    let caller = Http::new(port).basic("cm9vdDphbGw=");
    let is_not_zero = |what: &str, sql: &str| {
        wait::until(what, wait::SOON, || {
            let answer = caller.query(&serde_json::json!({ "sql": sql })).json();
            answer["rows"][0][0].as_u64() > Some(0)
        });
    };
    let streams = "SELECT count(*) FROM replication WHERE state = 'streaming'";
    is_not_zero("the stream streams", streams);
    let mut client = proxy.connect();
    client.run("CREATE DATABASE IF NOT EXISTS shop");
    client.run(
        "CREATE TABLE shop.goods (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8, 2), KEY by_price (price))",
    );
    // The proxy must read the definition first. Otherwise the server would return it with both changes.
    let made = "SELECT count(*) FROM schema_versions WHERE object = 'goods'";
    is_not_zero("the table is known", made);
    client.run("ALTER TABLE shop.goods ADD COLUMN stock INT, DROP KEY by_price");
    client.run("CREATE VIEW shop.cheap AS SELECT name FROM shop.goods WHERE price < 10");
    let view = "SELECT count(*) FROM schema_versions WHERE object = 'cheap'";
    is_not_zero("the view is known", view);
}

#[test]
fn a_change_is_on_the_time_line_and_shows_the_table_before_and_after_it() {
    let (port, server) = (free_port(), server());
    let (settings, _folder) = following(port, &server);
    let proxy = Proxy::start(&settings);
    let address = format!("http://127.0.0.1:{port}/");
    let browser = visit(&address);
    change(port, &proxy);
    go(&browser, &address, "schema");
    let link = "[...document.querySelectorAll('.times a')].find(it => it.textContent.includes('ALTER TABLE'))";
    browser.click(link);
    browser.wait(
        "the address names the change",
        "/^#schema\\/\\d+$/.test(location.hash)",
    );
    let side = |class: &str, text: &str| {
        format!(
            "[...document.querySelectorAll('.diff .{class}')].some(it => it.textContent.includes({text:?}))"
        )
    };
    browser.wait("what is new is marked", &side("come", "`stock`"));
    browser.wait("what is gone is marked", &side("gone", "by_price"));
    browser.wait(
        "what is the same is beside itself",
        "[...document.querySelectorAll('.diff tr')].some(it => it.cells[0].textContent.includes('`name`') && it.cells[1].textContent == it.cells[0].textContent)",
    );
    browser.wait(
        "the statement is told",
        "document.querySelector('.change .statement').textContent.includes('ADD COLUMN stock')",
    );
    browser.press("/");
    browser.press("cheap");
    browser.wait(
        "changes are searched",
        "[...document.querySelectorAll('.times a')].some(it => it.textContent.includes('CREATE VIEW'))",
    );
    go(&browser, &address, "overview");
    browser.wait(
        "the start page tells it",
        "[...document.querySelectorAll('.answer a')].some(it => it.textContent.includes('shop.goods'))",
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn without_a_stream_the_page_names_the_setting_that_starts_one() {
    let port = free_port();
    let _proxy = start(port);
    let address = format!("http://127.0.0.1:{port}/");
    let browser = visit(&address);
    for view in ["schema", "replication"] {
        go(&browser, &address, view);
        browser.wait(
            view,
            "document.querySelector('main').textContent.includes('[[replication]]')",
        );
    }
}
