//! The start page's answers: is the proxy healthy, which statements are slow, what has changed?

use super::*;

/// Waits until the answer to a question has these words.
fn is_answered(browser: &Browser, question: &str, words: &str) {
    let answer = format!(
        "[...document.querySelectorAll('.answer')].find(it => it.firstChild.textContent == {question:?})"
    );
    browser.wait(words, &format!("{answer}?.textContent.includes({words:?})"));
}

#[test]
fn a_healthy_proxy_shows_its_name_and_its_version() {
    let port = free_port();
    let proxy = start(port);
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    is_answered(
        &browser,
        "Is it well?",
        "up, and each cluster has a primary",
    );
    is_answered(&browser, "What is slow?", "No statement has become slower");
    is_answered(&browser, "What has changed?", "was started");
    browser.wait(
        "in one sentence as well",
        "document.querySelector('.headline').textContent == 'All is well.'",
    );
    let head = "document.querySelector('header').textContent";
    browser.wait(
        "the version",
        &format!("{head}.includes('version ') && /\\d+\\.\\d+/.test({head})"),
    );
    browser.wait(
        "the user",
        &format!("{head}.includes('root may change things')"),
    );
    drop(proxy);
}

#[test]
fn the_answers_name_a_backend_that_is_down_and_a_long_statement() {
    let port = free_port();
    let mut server = Server::lease(Product::MariaDb);
    let settings = Settings::pooled(&server, 4).set("limits.sessions_max", 77);
    let proxy = Proxy::start(&settings.http_on(port));
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let mut slow = proxy.connect();
    slow.send_query("SELECT SLEEP(600) AS lasting").unwrap();
    is_answered(&browser, "What is slow?", "has run a statement for");
    server.kill();
    is_answered(
        &browser,
        "Is it well?",
        "No primary of the cluster main takes writes",
    );
    is_answered(&browser, "What has changed?", "is down");
    browser.wait(
        "it is the first thing on the page",
        "document.querySelector('.headline').dataset.kind == 'bad'",
    );
}
