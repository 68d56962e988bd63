//! Backends, as they are changed from the overview.

use super::*;

#[test]
fn a_backend_is_put_out_of_use_when_somebody_says_so_twice() {
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
