//! Rules.

use super::*;

#[test]
fn a_rule_shows_its_conditions_and_its_actions() {
    let port = free_port();
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2).http_on(port);
    let rule = [
        ("user", "'app'"),
        ("digest_regex", "'^DROP'"),
        ("refuse", "'not here'"),
    ];
    let _proxy = Proxy::start(&settings.rule("no drops", &rule));
    let browser = visit(&format!("http://127.0.0.1:{port}/#rules"));
    for words in [
        "user = [\"app\"]; digest_regex = ^DROP",
        "refuse = not here",
    ] {
        let shown =
            format!("document.querySelector('main tbody')?.textContent.includes({words:?})");
        browser.wait(words, &shown);
    }
}
