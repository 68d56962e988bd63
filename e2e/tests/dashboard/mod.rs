//! The dashboard in a real browser, in front of a proxy under load.
//!
//! With PILOTFISH_WRITE=1 the test makes the manual's pictures anew: `pictures.rs`.

mod answers;
mod backends;
mod digests;
mod events;
mod history;
mod indexes;
mod keys;
mod overview;
mod phone;
mod pictures;
mod query;
mod roles;
mod rules;
mod schema;
mod sessions;
mod settings;
mod sight;
mod size;
mod views;
mod widths;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use e2e::browser::{Browser, LeasedBrowser};
use e2e::raw::RawConn;
use e2e::{Product, Proxy, Server, Settings, free_port};

/// `root:all`
const ROOT: &str = "Basic cm9vdDphbGw=";

/// The pause between two statements of a busy client.
const PAUSE: Duration = Duration::from_millis(10);

/// A statement that would run as script in a page that does not escape it. Its digest keeps the text.
const HOSTILE: &str = "SELECT 1 AS `<img src=x onerror=document.title='owned'><script>document.title='owned'</script>`";

/// WebDriver's numbers for keys without a letter.
const DOWN: &str = "\u{e015}";
const UP: &str = "\u{e013}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

/// A proxy that serves the dashboard at this port, for a user who may change settings.
fn start(port: u16) -> Proxy {
    let server = Server::shared(Product::MariaDb);
    // To change settings, the proxy needs an admin port at the next start.
    let admin = format!("127.0.0.1:{}", free_port());
    let settings = Settings::pooled(server, 4)
        .set("workers", 2)
        .set("statement_stats.index_usage", true)
        .http_on(port)
        .set("statement_stats.history_interval", "1s")
        .set("statement_stats.history_load_interval", "1s")
        .set("statement_stats.include_values", true)
        .set("admin.address", [admin.as_str()]);
    Proxy::start(&settings)
}

/// A browser that shows the page.
fn visit(address: &str) -> LeasedBrowser {
    let browser = Browser::lease();
    browser.log_in(ROOT);
    browser.open(address);
    browser
}

/// The views that the page lists.
fn views(browser: &Browser) -> Vec<String> {
    browser.wait(
        "views are listed",
        "document.querySelector('nav a[aria-current]')",
    );
    let told =
        browser.run("return [...document.querySelectorAll('nav a')].map(it => it.hash.slice(1))");
    let views: Vec<_> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap().to_owned())
        .collect();
    assert!(views.len() > 10, "{views:?}");
    views
}

/// Opens a view, and waits until its data was requested.
fn go(browser: &Browser, address: &str, view: &str) {
    browser.open("about:blank");
    browser.open(&format!("{address}#{view}"));
    browser.wait(&format!("{view} is fresh"), "document.body.dataset.fresh");
}

/// Calls a function with a browser and a proxy whose clients are busy meanwhile.
fn under_load(look: impl FnOnce(&Browser, &Proxy, &str)) {
    let port = free_port();
    let proxy = start(port);
    proxy.connect().run(HOSTILE);
    busy_while(&proxy, || {
        let address = format!("http://127.0.0.1:{port}/");
        let browser = visit(&address);
        look(&browser, &proxy, &address);
        assert_eq!(browser.complaints(), [] as [String; 0]);
    });
}

/// Keeps clients busy while a function runs.
fn busy_while(proxy: &Proxy, look: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..6 {
            let is_over = &is_over;
            scope.spawn(move || busy(&mut proxy.connect(), number, is_over));
        }
        // The clients must end even if the function panics.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(look));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

fn busy(conn: &mut RawConn, number: usize, is_over: &AtomicBool) {
    if number == 0 {
        conn.run("SELECT GET_LOCK('dashboard', 0)");
    }
    let mut turn = number;
    while !is_over.load(Ordering::Relaxed) {
        turn += 1;
        match turn % 7 {
            0 => conn.query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'mysql' ORDER BY 1"),
            1 => conn.query("SELECT * FROM nowhere.nothing WHERE id = 17"),
            2 => conn.query("SELECT SLEEP(0.005)"),
            _ => conn.query(&format!("SELECT {turn}, 'a text of some length', CONCAT('a', 'b')")),
        };
        // A pause between two statements. Six clients without one would keep all processors busy for as long as a page
        // is looked at.
        thread::sleep(PAUSE);
    }
}

/// Waits until the page has requested its data again, so many times.
fn wait_refreshed(browser: &Browser, times: usize) {
    for _ in 0..times {
        let fresh = browser.run("return document.body.dataset.fresh");
        let is_newer = format!("document.body.dataset.fresh != {fresh}");
        browser.wait("it is shown anew", &is_newer);
    }
}
