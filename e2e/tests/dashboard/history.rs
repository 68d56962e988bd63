//! Charts have lines at once, from the history.

use e2e::http::Http;
use e2e::wait;

use super::*;

#[test]
fn charts_have_lines_after_the_first_refresh() {
    let port = free_port();
    let proxy = start(port);
    let mut client = proxy.connect();
    let caller = Http::new(port).basic("cm9vdDphbGw=");
    let sql = serde_json::json!({
        "sql": "SELECT count(*) FROM load_history WHERE backend IS NULL AND statements > 0"
    });
    wait::until("three intervals are kept", wait::SOON, || {
        client.run("SELECT 1");
        caller.query(&sql).json()["rows"][0][0].as_u64() >= Some(3)
    });
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    // Recorded at the first refresh, because later refreshes would draw lines without the history.
    browser.wait("the page is fresh", "document.body.dataset.fresh");
    let drawn = "document.querySelectorAll('.plot canvas').length";
    browser.wait("all charts are drawn", &format!("{drawn} == 4"));
    browser.click(
        "[...document.querySelectorAll('.ranges button')].find(it => it.textContent == '1 day')",
    );
    browser.wait(
        "the range is chosen",
        "document.querySelector('.ranges [aria-pressed=true]').textContent == '1 day'",
    );
    browser.wait(
        "the backend has a line",
        "document.querySelector('.u-legend').textContent.includes('127.0.0.1')",
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}
