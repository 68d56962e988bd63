//! The query editor.

use super::*;

const RUN: &str =
    "[...document.querySelectorAll('.editor button')].find(it => it.textContent.startsWith('Run'))";

const STATUS: &str = "document.querySelector('.editor [role=status]')";

/// Writes a statement into the editor, in place of the one that is there.
fn write(browser: &Browser, sql: &str) {
    browser.run(&format!(
        "document.querySelector('textarea').value = {sql:?}"
    ));
}

#[test]
fn a_statement_shows_its_result_or_error_and_is_in_the_history() {
    let port = free_port();
    let _proxy = start(port);
    let address = format!("http://127.0.0.1:{port}/");
    let browser = visit(&address);
    browser.press("q");
    browser.wait("the editor is there", "document.querySelector('textarea')");
    browser.run("document.querySelector('textarea').focus()");
    browser
        .press("SELECT 7 AS seven, name FROM settings WHERE name LIKE 'statement_stats.history%' ORDER BY name");
    // The keys Control and Enter.
    browser.run(
        "document.querySelector('textarea').dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true, cancelable: true}))",
    );
    browser.wait(
        "the result is shown",
        "document.querySelector('.result tbody')?.textContent.includes('statement_stats.history_bytes_max')",
    );
    browser.wait(
        "rows are counted",
        &format!("{STATUS}.textContent.includes('rows')"),
    );
    browser.wait(
        "the statement is offered",
        "document.querySelector('.past button').textContent.startsWith('SELECT 7')",
    );
    write(&browser, "SELECT * FROM nowhere");
    browser.click(RUN);
    browser.wait(
        "the error is told",
        &format!("{STATUS}.dataset.kind == 'bad' && {STATUS}.textContent.includes('nowhere')"),
    );
    browser.open("about:blank");
    browser.open(&format!("{address}#query"));
    browser.wait(
        "the browser has kept both",
        "document.querySelectorAll('.past > li > .word').length == 2",
    );
    browser.click("document.querySelectorAll('.past > li > .word')[1]");
    browser.wait(
        "the first is run again",
        "document.querySelector('.result tbody')",
    );
    // The browser logs the refused request to its console.
    let complaints = browser.complaints();
    assert!(
        complaints.iter().all(|it| it.contains("api/query")),
        "{complaints:?}"
    );
}

#[test]
fn a_statement_that_changes_data_needs_a_confirmation_and_is_not_saved() {
    let port = free_port();
    let _proxy = start(port);
    let browser = visit(&format!("http://127.0.0.1:{port}/#query"));
    browser.wait("the editor is there", "document.querySelector('textarea')");
    write(&browser, "SET GLOBAL limits.sessions_max = 4711");
    let preview = "[...document.querySelectorAll('.editor button')].find(it => it.textContent.startsWith('Show what'))";
    browser.click(preview);
    let shown = "document.querySelector('.result tbody')?.textContent.includes('4711')";
    browser.wait("what it would change is shown", shown);
    browser.click(RUN);
    browser.click(
        "[...document.querySelectorAll('dialog button')].find(it => it.textContent == 'Cancel')",
    );
    browser.wait("nothing is done", "!document.querySelector('dialog')");
    browser.click(RUN);
    browser.click("document.querySelector('dialog .primary')");
    browser.wait(
        "it is done",
        &format!("{STATUS}.textContent.includes('done')"),
    );
    assert_eq!(browser.run("return localStorage.length"), 0);
}
