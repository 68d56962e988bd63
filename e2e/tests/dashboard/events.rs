//! Errors and events.

use e2e::Signal;

use super::*;

#[test]
fn the_latest_event_comes_first() {
    under_load(|browser, proxy, address| {
        browser.open(&format!("{address}#errors"));
        let events = "[...document.querySelectorAll('main section')]\
                      .find(it => it.firstChild.textContent == 'Events')?.querySelectorAll('tr.open')";
        browser.wait("some are told", &format!("{events}?.length"));
        let settings = std::fs::read_to_string(proxy.config_file()).unwrap();
        let changed = settings.replace("timeout_drain = \"3s\"", "timeout_drain = \"7s\"");
        assert_ne!(changed, settings);
        proxy.write_settings(&changed);
        proxy.signal(Signal::HUP);
        // Other events may follow this one meanwhile.
        let told = format!("[...{events}].some(it => it.textContent.includes('timeout_drain'))");
        browser.wait("what has just happened is told", &told);
        let numbers = format!("[...{events}].map(it => Number(it.dataset.key))");
        let falls = format!("{numbers}.every((it, at, all) => at == 0 || it < all[at - 1])");
        browser.wait("the latest stands in front", &falls);
    });
}
