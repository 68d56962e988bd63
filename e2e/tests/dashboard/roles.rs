//! Users with read access have no button that would change something.

use super::*;

/// `look:some`
const LOOK: &str = "Basic bG9vazpzb21l";

/// Buttons and fields that change something.
const ACTING: &str = "return [...document.querySelectorAll('main button, dialog button')].filter(it => it.checkVisibility())\
    .map(it => it.textContent)\
    .filter(it => /^(Drain|Disable|Use|End|Stop|Change|Undo|Save to.*|Back to.*|Show what.*)$/.test(it))";

#[test]
fn a_user_with_the_role_stats_sees_no_buttons_for_actions() {
    let port = free_port();
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4).http_on(port);
    let proxy = Proxy::start(&settings);
    let _client = proxy.connect();
    let address = format!("http://127.0.0.1:{port}/");
    let browser = Browser::lease();
    browser.log_in(ROOT);
    browser.open(&format!("{address}#settings"));
    browser.wait(
        "settings are listed",
        "document.querySelector('main tr.open')",
    );
    assert_ne!(
        browser.run(ACTING),
        serde_json::json!([]),
        "the pattern finds buttons"
    );
    browser.log_in(LOOK);
    browser.open("about:blank");
    browser.open(&address);
    for view in views(&browser) {
        go(&browser, &address, &view);
        assert_eq!(browser.run(ACTING), serde_json::json!([]), "{view}");
        if browser.run("return document.querySelector('main tr.open') != null") == true {
            browser.press(&format!("{DOWN}{ENTER}"));
            if view != "digests" && view != "query" {
                browser.wait("a row is open", "document.querySelector('dialog[open]')");
            }
            assert_eq!(browser.run(ACTING), serde_json::json!([]), "{view}, a row");
        }
    }
    browser.wait(
        "the user is told",
        "document.querySelector('header').textContent.includes('look may only look')",
    );
    go(&browser, &address, "query");
    browser.run("document.querySelector('textarea').value = 'SET GLOBAL limits.sessions_max = 1'");
    browser.click("document.querySelector('.editor .primary')");
    browser.wait(
        "the proxy refuses the change",
        "document.querySelector('.editor [role=status]').dataset.kind == 'bad'",
    );
}
