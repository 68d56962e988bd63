//! The manual's pictures: one of each view, made by the real page in front of real servers.
//!
//! With PILOTFISH_WRITE=1 they are made anew. Without it the test checks that each view that the page lists has a
//! picture and can be drawn. It compares no pixels.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manual/src/images");

const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/manual/src/dashboard.md"
);

/// The size limit is small because a reader of the manual loads all pictures.
const BYTES_MAX: usize = 60_000;

fn is_written() -> bool {
    std::env::var_os("PILOTFISH_WRITE").is_some()
}

/// Makes a picture, or checks that it exists and that a page of the manual shows it.
fn picture(browser: &Browser, name: &str) {
    let path: PathBuf = Path::new(IMAGES).join(format!("dashboard-{name}.webp"));
    let qualities = [60, 50, 40, 30, 20];
    let mut drawn = qualities.iter().map(|quality| browser.picture(*quality));
    let drawn = drawn.find(|it| it.len() < BYTES_MAX).unwrap();
    assert!(
        drawn.starts_with(b"RIFF") && drawn.len() > 5_000,
        "{name} is drawn"
    );
    if is_written() {
        fs::create_dir_all(IMAGES).unwrap();
        fs::write(&path, &drawn).unwrap();
    }
    let kept =
        fs::read(&path).unwrap_or_else(|_| panic!("PILOTFISH_WRITE=1 makes {}", path.display()));
    assert!(kept.len() < BYTES_MAX, "{name}: {} bytes", kept.len());
    let page = fs::read_to_string(PAGE).unwrap();
    assert!(
        page.contains(&format!("dashboard-{name}.webp")),
        "dashboard.md shows no picture of {name}"
    );
}

/// Waits while the charts get longer, if the pictures are made.
fn look_on(browser: &Browser) {
    if is_written() {
        let waited = "(window.began ??= Date.now()) < Date.now() - 40000";
        browser.wait("there is something to see", waited);
    }
}

#[test]
fn the_manual_has_a_picture_of_each_view() {
    let (port, server) = (free_port(), schema::server());
    let (settings, _folder) = schema::following(port, &server);
    let settings = settings
        .set("statement_stats.index_usage", true)
        .set("statement_stats.include_values", true)
        .set("statement_stats.history_interval", "1s")
        .rule(
            "no drops",
            &[("digest_regex", "'^DROP'"), ("refuse", "'not here'")],
        );
    let proxy = Proxy::start(&settings);
    let address = format!("http://127.0.0.1:{port}/");
    busy_while(&proxy, || {
        let browser = visit(&address);
        browser.become_desktop(1440, 900);
        schema::change(port, &proxy);
        let mut client = proxy.connect();
        let rows: Vec<_> = (1..400)
            .map(|id| format!("({id}, 'an article', 9.99, {})", id % 50))
            .collect();
        client.run(&format!("INSERT INTO shop.goods VALUES {}", rows.join(",")));
        for statement in [
            "SELECT name, stock FROM shop.goods WHERE stock = 3",
            "SELECT name FROM shop.goods WHERE id = 7",
        ] {
            client.run(statement);
        }
        go(&browser, &address, "schema");
        browser.wait(
            "changes are listed",
            "document.querySelectorAll('.times a').length > 3",
        );
        go(&browser, &address, "overview");
        browser.wait(
            "charts are drawn",
            "document.querySelectorAll('.plot canvas').length == 4",
        );
        look_on(&browser);
        for view in views(&browser) {
            go(&browser, &address, &view);
            wait_refreshed(&browser, usize::from(is_written() && view == "digests"));
            prepare(&browser, &view);
            picture(&browser, &view);
        }
        digest(&browser, &address);
        go(&browser, &address, "overview");
        settled(&browser);
        browser.prefers("dark");
        picture(&browser, "dark");
        browser.prefers("light");
        browser.become_phone(390, 844);
        go(&browser, &address, "overview");
        settled(&browser);
        picture(&browser, "phone");
        assert_eq!(browser.complaints(), [] as [String; 0]);
    });
}

/// Opens the part of a view that the picture shows.
fn prepare(browser: &Browser, view: &str) {
    match view {
        "overview" => settled(browser),
        "schema" => {
            browser.click("[...document.querySelectorAll('.times a')].find(it => it.textContent.includes('ALTER TABLE'))");
            browser.wait(
                "both sides are shown",
                "document.querySelector('.change h2')?.textContent.includes('ALTER TABLE') && document.querySelector('.diff .gone')",
            );
        }
        "query" => {
            browser.click("[...document.querySelectorAll('.examples button')].find(it => it.textContent == 'Statements by time')");
            browser.wait(
                "there is a result",
                "document.querySelector('.result tbody tr')",
            );
        }
        "indexes" => browser.wait(
            "statements are explained",
            "document.querySelectorAll('main tbody tr.open').length >= 3",
        ),
        _ => {}
    }
}

/// Waits until the start page has all of its figures.
fn settled(browser: &Browser) {
    browser.wait(
        "answers are there",
        "document.querySelectorAll('.findings li').length > 2",
    );
    browser.wait("statements flow", "document.querySelector('.moving')");
    browser.wait(
        "all figures are known",
        "[...document.querySelectorAll('.tile strong')].every(it => it.textContent != '–')",
    );
}

fn digest(browser: &Browser, address: &str) {
    go(browser, address, "digests");
    browser.click(
        "[...document.querySelectorAll('tr.open')].find(it => it.textContent.includes('CONCAT'))",
    );
    browser.wait(
        "its trend is drawn",
        "document.querySelectorAll('.trend .plot canvas').length == 2",
    );
    picture(browser, "digest");
}
