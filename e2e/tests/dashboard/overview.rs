//! The overview: figures, charts, and the flows between clients and backends.

use super::*;

#[test]
fn figures_lines_and_flows_are_visible_in_light_and_dark() {
    under_load(|browser, _, _| {
        browser.wait(
            "statements are counted",
            "document.querySelector('.tile strong')?.textContent.match(/[1-9]/)",
        );
        browser.wait(
            "a chart is drawn",
            "document.querySelectorAll('.plot canvas').length == 4",
        );
        browser.wait("the backend is drawn", "document.querySelector('.box.up')");
        browser.wait("statements flow", "document.querySelector('.moving')");
        browser.prefers("dark");
        browser.prefers("light");
    });
}

#[test]
fn relayed_statements_have_figures_or_a_hint_names_the_setting() {
    let port = free_port();
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)]).http_on(port);
    let proxy = Proxy::start(&settings);
    let mut unseen = proxy.connect();
    unseen.run("SELECT 1");
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let told = "document.querySelector('.unseen:not([hidden]) a')";
    browser.wait(
        "the setting is named",
        &format!("{told}?.textContent == 'statement_stats.transparent'"),
    );
    browser.click(told);
    browser.wait(
        "it is shown",
        "document.querySelectorAll('.settings tbody tr').length == 1",
    );
    proxy.reload(&settings.set("statement_stats.transparent", true));
    proxy.wait_event("config_reloaded", &[]);
    drop(unseen);
    browser.press("1");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| busy(&mut proxy.connect(), 1, &is_over));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for (tile, title) in ["rate", "p50", "p95", "p99"].iter().enumerate() {
                let number = format!("document.querySelectorAll('.tile strong')[{tile}]");
                browser.wait(
                    &format!("{title} has a figure"),
                    &format!("/[1-9]/.test({number}.textContent)"),
                );
            }
            browser.wait("statements flow", "document.querySelector('.moving')");
            browser.wait("nothing is lacking", &format!("!{told}"));
            assert_eq!(browser.complaints(), [] as [String; 0]);
        }));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

#[test]
fn a_missing_primary_is_a_fault_and_a_drained_backend_is_none() {
    let port = free_port();
    let mut server = Server::lease(Product::MariaDb);
    let drained = Server::shared(Product::MariaDb);
    let settings = Settings::in_front_of([&*server])
        .backend_with(drained.tcp(), &[("drain", "true")])
        .set("health.monitor_user", "app")
        .set("health.monitor_password", e2e::PASSWORD)
        .http_on(port);
    let _proxy = Proxy::start(&settings);
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let tile = "[...document.querySelectorAll('.tile')].at(-1)";
    browser.wait(
        "a drained backend is no fault",
        &format!("{tile}?.dataset.kind == 'good'"),
    );
    server.kill();
    let is_told = format!(
        "{tile}?.dataset.kind == 'bad' && {tile}.textContent.includes('no primary in main')"
    );
    browser.wait("no primary is left", &is_told);
}
