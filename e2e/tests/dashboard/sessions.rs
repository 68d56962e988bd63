//! Sessions: the list of connected clients, and the buttons that end them.

use e2e::raw::Shape;
use e2e::wait;

use super::*;

/// The row of a session.
fn row_of(id: u32) -> String {
    format!("[...document.querySelectorAll('main tr')].find(it => it.dataset.key == '{id}')")
}

/// A button in a session's row.
fn button(row: &str, title: &str) -> String {
    format!(
        "[...({row}?.querySelectorAll('button') ?? [])].find(it => it.textContent == '{title}')"
    )
}

/// Sleeps as long as a test may take, so that it ends only if it is killed.
const SLOW: &str = "SELECT SLEEP(600) AS slow";

#[test]
fn a_statement_or_a_session_is_killed_after_a_confirmation() {
    under_load(|browser, proxy, address| {
        let mut client = proxy.connect();
        client.run("SELECT 1");
        browser.open(&format!("{address}#sessions"));
        let mut slow = proxy.connect();
        slow.send_query(SLOW).unwrap();
        let runs = format!(
            "{}?.querySelector('.wide')?.textContent.includes('AS slow')",
            row_of(slow.id)
        );
        browser.wait("what it runs is told", &runs);
        browser.click(&button(&row_of(slow.id), "Stop"));
        browser.wait(
            "what would be stopped is told",
            "document.querySelector('dialog[open] .statement')?.textContent.includes('AS slow')",
        );
        browser.click("document.querySelector('dialog[open] .primary')");
        // Waits for the client's error, because the row may disappear for other reasons.
        slow.reply(Shape::Results);
        assert_eq!(slow.value("SELECT 2"), "2");

        browser.click(&button(&row_of(client.id), "End"));
        browser.wait(
            "it is asked",
            "document.querySelector('dialog[open] .primary')",
        );
        assert_eq!(client.value("SELECT 2"), "2");
        browser.click("document.querySelector('dialog[open] .primary')");
        wait::until("it has ended", wait::SOON, || {
            let reply = client.try_query("SELECT 3");
            reply.map_or(true, |it| it.error().is_some())
        });
        let gone = format!("!({})", row_of(client.id));
        browser.wait("it is gone", &gone);
    });
}

#[test]
fn a_sessions_statement_links_to_its_digest_and_its_pin_to_the_sessions_with_that_pin() {
    under_load(|browser, proxy, address| {
        browser.open(&format!("{address}#sessions"));
        let mut slow = proxy.connect();
        slow.send_query(SLOW).unwrap();
        let row = row_of(slow.id);
        let runs = format!("{row}?.querySelector('.wide')?.textContent.includes('AS slow')");
        browser.wait("what it runs is told", &runs);
        browser.run(&format!("{row}.focus()"));
        browser.press(ENTER);
        browser.wait(
            "all of it is told",
            "document.querySelector('dialog[open] .details .code')?.textContent.includes('AS slow')",
        );
        browser.click("document.querySelector('dialog[open] a')");
        browser.wait("its page is open", "location.hash.startsWith('#digest/')");
        browser.wait(
            "nothing stands in front",
            "!document.querySelector('dialog')",
        );
        browser.press(ESCAPE);
        browser.wait("Esc leads back", "location.hash == '#sessions'");
        let pin = "document.querySelector('main table[aria-label=Pins] tr.open')";
        browser.wait("a pin is listed", pin);
        browser.run(&format!("{pin}.focus()"));
        browser.press(ENTER);
        browser.wait(
            "they are searched for",
            "document.querySelector('main input').value.includes('lock')",
        );
        browser.wait(
            "they are left",
            "document.querySelectorAll('main section')[0].querySelectorAll('tr.open').length == 1",
        );
        proxy.connect().run(&format!("KILL QUERY {}", slow.id));
        slow.reply(Shape::Results);
    });
}
