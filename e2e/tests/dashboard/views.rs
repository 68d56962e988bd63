//! Each view opens by its key.

use super::*;

#[test]
fn every_view_opens_by_its_key() {
    under_load(|browser, proxy, _| {
        browser.press("?");
        browser.wait(
            "keys are told",
            "document.querySelectorAll('dialog[open] kbd').length >= 6",
        );
        browser.press(ESCAPE);
        browser.wait("they have been read", "!document.querySelector('dialog')");

        browser.press("3");
        browser.wait(
            "sessions are listed",
            "document.querySelectorAll('main tbody tr').length > 5",
        );
        browser.wait(
            "a pin is named",
            "document.querySelector('main').textContent.includes('lock')",
        );
        for (key, words) in [
            ("4", "own connection"),
            ("5", "1146"),
            ("6", "There is no rule"),
            ("7", "Suggestions"),
            ("8", "limits.sessions_max"),
        ] {
            browser.press(key);
            let shown = format!("document.querySelector('main').textContent.includes({words:?})");
            if key != "4" {
                browser.wait(&format!("view {key} is there"), &shown);
            } else {
                browser.wait(
                    "lanes and pools are there",
                    "document.querySelectorAll('main table').length == 2",
                );
            }
            browser.wait("it is fresh", "document.querySelector('.banner').hidden");
        }
        assert_ne!(browser.run("return document.title"), "owned");
        proxy.assert_sound();
    });
}

#[test]
fn the_page_is_fresh_when_its_address_has_the_user_and_the_password() {
    let port = free_port();
    let _proxy = start(port);
    let browser = Browser::lease();
    browser.open(&format!("http://root:all@127.0.0.1:{port}/"));
    browser.wait("it is fresh", "document.body.dataset.fresh");
    browser.wait(
        "answers are there",
        "document.querySelectorAll('.findings li').length > 0",
    );
}
