//! Settings: each has a description and can be changed in place.

use super::*;

#[test]
fn a_setting_changes_after_a_preview_of_its_effect() {
    under_load(|browser, _, address| {
        browser.open(&format!("{address}#settings"));
        let row = "[...document.querySelectorAll('main tr')].find(it => it.dataset.key == 'limits.sessions_max')";
        let button = format!("{row}?.querySelector('button')");
        browser.click(&button);
        let told = "document.querySelector('dialog[open] .told')";
        let focus = "document.activeElement.matches('dialog input')";
        browser.wait("the value can be typed", focus);
        browser.wait(
            "that nothing changes is said",
            &format!("{told}?.textContent.includes('Nothing changes')"),
        );
        browser.press("4321");
        browser.wait(
            "what the proxy says of it is shown",
            &format!("{told}?.textContent.includes('→ 4321, takes effect now')"),
        );
        browser.press(ENTER);
        browser.wait("it is done", "!document.querySelector('dialog')");
        browser.wait(
            "it holds, and is not in the file",
            "document.querySelector('.settings .card li')",
        );
        browser.wait(
            "it is shown",
            &format!("{row}?.textContent.includes('4321')"),
        );
        browser.click(&button);
        browser.wait("the next value can be typed", focus);
        browser.press("many");
        let refused = format!(
            "{told}?.dataset.kind == 'bad' && {told}?.textContent.includes('limits.sessions_max')"
        );
        browser.wait("what is wrong is said before", &refused);
        browser.press(ENTER);
        browser.wait("the question stays", &refused);
        browser.press(ESCAPE);
        browser.wait("it is given up", "!document.querySelector('dialog')");
        browser.wait(
            "what held holds",
            &format!("{row}?.textContent.includes('4321')"),
        );

        browser.click(&button.replace("limits.sessions_max", "workers"));
        browser.wait("the number of workers can be typed", focus);
        browser.press("7");
        browser.wait(
            "what waits for a restart is said",
            &format!("{told}?.textContent.includes('→ 7, takes effect at a restart')"),
        );
        browser.press(ESCAPE);
        browser.wait("that is given up", "!document.querySelector('dialog')");
        // The browser logs each refused request to its console.
        let complaints = browser.complaints();
        assert!(
            complaints.iter().all(|it| it.contains("api/query")),
            "{complaints:?}"
        );
    });
}

#[test]
fn one_button_undoes_a_change_and_a_group_is_found_by_its_name() {
    let port = free_port();
    let _proxy = start(port);
    let address = format!("http://127.0.0.1:{port}/");
    let browser = visit(&address);
    go(&browser, &address, "settings");
    let row = "[...document.querySelectorAll('main tr')].find(it => it.dataset.key == 'limits.sessions_max')";
    let value = format!("{row}.querySelector('.value')");
    let before = browser.run(&format!("return {value}.textContent"));
    let group = format!("{row}.closest('section').querySelector('h2').firstChild.data");
    let group = browser.run(&format!("return {group}"));
    browser.run(&format!(
        "const it = document.querySelector('main select'); it.value = {group}; it.dispatchEvent(new Event('input'))"
    ));
    browser.wait(
        "one group is left",
        "document.querySelectorAll('.settings table').length == 1",
    );
    let change = |words: &str| {
        browser.click(&format!("{row}.querySelector('button')"));
        browser.wait(
            "it can be typed",
            "document.activeElement.matches('dialog input')",
        );
        browser.press(&format!("{words}{ENTER}"));
        browser.wait("it is done", "!document.querySelector('dialog')");
        browser.wait(words, &format!("{value}.textContent == '{words}'"));
    };
    let undo = |place: &str, becomes: &str| {
        browser.click(&format!(
            "[...document.querySelectorAll('{place} button')].find(it => it.textContent == 'Undo')"
        ));
        browser.wait(
            "what it comes to is told before",
            "document.querySelector('dialog[open] li')?.textContent.includes('limits.sessions_max')",
        );
        browser.click("document.querySelector('dialog .primary')");
        browser.wait(becomes, &format!("{value}.textContent == '{becomes}'"));
    };
    change("4321");
    change("5432");
    undo(".undo", "4321");
    undo(".undo", before.as_str().unwrap());
    browser.wait(
        "nothing is left to undo",
        "document.querySelector('.undo').hidden",
    );
    change("6543");
    // The list of settings that differ from the file stays after the page is reloaded.
    go(&browser, &address, "settings");
    undo(".settings > .card", before.as_str().unwrap());
    browser.wait(
        "all is as in the file",
        "[...document.querySelectorAll('.settings > .card')].every(it => it.hidden)",
    );
    assert_eq!(browser.complaints(), [] as [String; 0]);
}
