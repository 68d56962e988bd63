//! Digests: the list of the digests that took the most time, and a page for each digest.

use super::*;

#[test]
fn a_digest_is_found_by_keys_and_nothing_of_its_text_runs() {
    under_load(|browser, _, address| {
        browser.open(&format!("{address}#overview"));
        browser.wait("it is there", "document.body.dataset.fresh");
        browser.press("2");
        browser.wait(
            "digests are listed",
            "document.querySelectorAll('tr.open').length > 3",
        );
        browser.wait(
            "the hostile one is among them",
            "document.querySelector('main').textContent.includes('onerror')",
        );
        browser.wait(
            "what is run now is known",
            "[...document.querySelectorAll('.now')].some(it => /[1-9]/.test(it.textContent))",
        );
        browser.press("/");
        browser.press("onerror");
        browser.wait(
            "one is left",
            "document.querySelectorAll('tr.open').length == 1",
        );
        let in_filter = "document.activeElement.matches('main input[type=search]')";
        let is_filtered = "document.querySelector('main input[type=search]').value == 'onerror'";
        browser.press(ESCAPE);
        browser.wait("the field is left", &format!("!{in_filter}"));
        browser.wait("what was typed stays", is_filtered);
        browser.press(&format!("/{DOWN}"));
        let on_row = "document.activeElement.matches('tr.open')";
        browser.wait("the first row has the focus", on_row);
        browser.press(UP);
        browser.wait("the field has it again", in_filter);
        browser.press(DOWN);
        browser.wait("the first row has it again", on_row);
        browser.press(ENTER);
        browser.wait(
            "its page is open",
            "location.hash.startsWith('#digest/') && document.querySelector('.part')",
        );
        browser.wait(
            "its text is text",
            "document.querySelector('.statement').textContent.includes('<img')",
        );
        assert_eq!(
            browser.run("return document.querySelectorAll('main img, main script').length"),
            0
        );
        browser.press(ESCAPE);
        browser.wait("the list is there again", "location.hash == '#digests'");
        browser.wait("it is the same list", is_filtered);
        browser.wait("the focus is where it was", on_row);
        browser.press(ESCAPE);
        browser.wait(
            "all are listed again",
            "document.querySelectorAll('tr.open').length > 3",
        );
        assert_ne!(browser.run("return document.title"), "owned");
    });
}

#[test]
fn the_page_of_a_digest_shows_its_trend_its_histogram_where_it_runs_and_a_sample() {
    under_load(|browser, _, address| {
        browser.open(&format!("{address}#digests"));
        let row = "[...document.querySelectorAll('tr.open')].find(it => it.textContent.includes('CONCAT'))";
        browser.click(row);
        browser.wait(
            "its trend is drawn",
            "document.querySelectorAll('.trend .plot canvas').length == 2",
        );
        browser.wait(
            "its histogram is there, and is all of it",
            "(() => { const parts = [...document.querySelectorAll('.histogram .part')]; \
             const sum = parts.map(it => parseFloat(it.lastChild.textContent.split('·')[1])).reduce((a, b) => a + b, 0); \
             return parts.length > 2 && Math.abs(sum - 100) < 1; })()",
        );
        browser.wait(
            "where it runs",
            "[...document.querySelectorAll('main tbody')].at(-1).textContent.includes('127.0.0.1')",
        );
        browser.wait(
            "a sample has its values",
            "[...document.querySelectorAll('.statement')].at(-1).textContent.includes('a text of some length')",
        );
    });
}
