//! Keys reach the rows of every table. A refresh does not move the focus.

use super::*;

const HOME: &str = "\u{e011}";
const END: &str = "\u{e010}";
const TAB: &str = "\u{e004}";

/// The row that has the focus, by its place among all.
fn place(browser: &Browser) -> i64 {
    let place =
        "return [...document.querySelectorAll('main tr.open')].indexOf(document.activeElement)";
    browser.run(place).as_i64().unwrap()
}

fn count(browser: &Browser) -> i64 {
    let count = "return document.querySelectorAll('main tr.open').length";
    browser.run(count).as_i64().unwrap()
}

/// Goes to a view, and waits until rows are listed.
fn go_to_rows(browser: &Browser, address: &str, view: &str) {
    go(browser, address, view);
    browser.wait("rows are listed", "document.querySelector('main tr.open')");
}

/// There is no load, so each refresh lists the rows in the same order.
#[test]
fn rows_of_every_table_are_reached_by_keys_and_show_all_their_columns() {
    let port = free_port();
    let proxy = start(port);
    let (mut pinned, mut other) = (proxy.connect(), proxy.connect());
    pinned.run("SELECT GET_LOCK('walked through', 0)");
    other.query("SELECT * FROM nowhere.nothing WHERE id = 17");
    let address = format!("http://127.0.0.1:{port}/");
    let browser = visit(&address);
    for view in [
        "overview", "sessions", "lanes", "errors", "workers", "accounts", "settings",
    ] {
        go_to_rows(&browser, &address, view);
        browser.press(DOWN);
        assert_eq!(place(&browser), 0, "{view}");
        let seen = "getComputedStyle(document.activeElement).outlineStyle != 'none'";
        browser.wait("the focus is seen", seen);
        if count(&browser) > 1 {
            browser.press(DOWN);
            assert_eq!(place(&browser), 1, "{view}");
            browser.press(UP);
        }
        browser.press(ENTER);
        browser.wait("it is opened", "document.querySelector('dialog[open]')");
        browser.press(ESCAPE);
        browser.wait("it is closed", "!document.querySelector('dialog')");
        browser.wait(
            "the focus is a row's",
            "document.activeElement.matches('main tr.open')",
        );
    }
    assert_eq!(browser.complaints(), [] as [String; 0]);
}

#[test]
fn the_arrow_key_moves_from_the_last_row_to_the_next_table_and_a_refresh_keeps_the_focus() {
    under_load(|browser, _, address| {
        browser.open(&format!("{address}#errors"));
        let tables = "document.querySelectorAll('main table')";
        let filled = format!("[0, 1].every(at => {tables}[at]?.querySelector('tr.open'))");
        browser.wait("errors and events are listed", &filled);
        browser.run(&format!(
            "[...{tables}[0].querySelectorAll('tr.open')].at(-1).focus()"
        ));
        browser.press(DOWN);
        let within = format!("{tables}[1].contains(document.activeElement)");
        browser.wait("the next table has the focus", &within);
        // Recorded as soon as the key was handled, because slower work may follow.
        browser.run(
            "addEventListener('keydown', () => { \
             window.isLast = document.activeElement === [...document.querySelectorAll('main tr.open')].at(-1); })",
        );
        browser.press(END);
        browser.wait("the last row has it", "window.isLast");
        browser.press(HOME);
        browser.wait(
            "the first row has it",
            "document.activeElement === document.querySelector('main tr.open')",
        );
        browser.run("window.reached = document.activeElement");
        wait_refreshed(browser, 2);
        browser.wait("it still has", "document.activeElement === window.reached");
        browser.press(UP);
        browser.wait(
            "above it is the filter",
            "document.activeElement.matches('main input[type=search]')",
        );
    });
}

#[test]
fn tab_moves_to_one_row_of_a_table_and_then_to_its_buttons() {
    under_load(|browser, _, address| {
        go_to_rows(browser, address, "settings");
        browser.press(&format!("{DOWN}{DOWN}{TAB}"));
        browser.wait(
            "its button has the focus",
            "document.activeElement === document.querySelectorAll('main tr.open')[1].querySelector('button')",
        );
        let reachable = "[...document.querySelector('main tbody').querySelectorAll('tr, button')].filter(it => it.tabIndex == 0).length";
        assert_eq!(browser.run(&format!("return {reachable}")), 2);
        wait_refreshed(browser, 1);
        browser.wait(
            "it has it still",
            "document.activeElement.matches('main tr.open button')",
        );
        browser.press(TAB);
        browser.wait(
            "behind it nothing of the table is left",
            "document.activeElement.closest('main tbody') !== document.querySelector('main tbody')",
        );
    });
}
