//! The bytes that a browser loads for the page.

use super::*;

/// The limit of the page's own files, in bytes as they are sent.
const BYTES_MAX: u64 = 100_000;

#[test]
fn the_page_is_loaded_in_100_kb() {
    let port = free_port();
    let _proxy = start(port);
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    browser.wait("the page is fresh", "document.body.dataset.fresh");
    // Answers of the API do not count as parts of the page.
    let told = browser.run(
        "return performance.getEntries().filter(it => it.transferSize !== undefined && !/\\/(api|metrics)/.test(it.name))\
         .reduce((sum, it) => sum + it.transferSize, 0)",
    );
    let bytes = told.as_u64().unwrap();
    assert!((10_000..BYTES_MAX).contains(&bytes), "{bytes}");
}
