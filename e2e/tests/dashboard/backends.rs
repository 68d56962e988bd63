//! Backends, and how they are changed from the overview.

use super::*;

#[test]
fn a_backend_is_disabled_after_a_confirmation() {
    let port = free_port();
    let proxy = start(port);
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let click = |what: &str, title: &str| {
        let button = format!(
            "[...document.querySelectorAll('{what} button')].find(it => it.textContent == '{title}')"
        );
        browser.click(&button);
    };
    let stands = |word: &str| {
        let state = "document.querySelector('.backends .state')";
        browser.wait(word, &format!("{state}?.textContent == '{word}'"));
    };
    let is_told = |conn: &mut RawConn| {
        let reply = conn.query("SELECT 1");
        reply.error().map(|error| error.text.clone())
    };
    stands("up");
    let mut conn = proxy.connect();
    click(".backends", "Disable");
    click("dialog", "Cancel");
    assert_eq!(is_told(&mut conn), None);
    click(".backends", "Disable");
    click("dialog", "Disable");
    stands("disabled");
    let told = is_told(&mut conn);
    assert!(told.is_some_and(|it| it.contains("is disabled")));
    click(".backends", "Use");
    click("dialog", "Use");
    stands("up");
    assert_eq!(is_told(&mut conn), None);
    click(".backends", "Drain");
    click("dialog", "Drain");
    stands("draining");
}

#[test]
fn a_backend_at_max_connections_is_shown_as_full_and_not_as_down() {
    let mut server = Server::lease(Product::MariaDb);
    let port = free_port();
    let limit = [("name", "\"db1\""), ("sessions_max", "1")];
    let settings = Settings::default().backend_with(server.tcp(), &limit);
    let proxy = Proxy::start(&settings.http_on(port));
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let stands = |word: &str| {
        let state = "document.querySelector('.backends .state')";
        browser.wait(word, &format!("{state}?.textContent == '{word}'"));
    };
    let tile = |kind: &str, words: &str| {
        let found = format!(
            "[...document.querySelectorAll('.tile')].some(it => it.dataset.kind == '{kind}' && \
             it.textContent.includes('{words}'))"
        );
        browser.wait(words, &found);
    };
    stands("up");
    let conn = proxy.connect();
    stands("full");
    tile("good", "up; full: db1");
    drop(conn);
    stands("up");
    server.kill();
    // Without a monitor account, the proxy notices a lost backend only if a client connects.
    drop(std::net::TcpStream::connect(proxy.tcp()));
    stands("down");
    tile("bad", "no primary in main");
}
