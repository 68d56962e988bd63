//! The dashboard in a real browser, in front of a proxy under load.
//!
//! With PILOTFISH_SCREENSHOTS=1 the manual's pictures of it are made anew.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::browser::Browser;
use e2e::raw::RawConn;
use e2e::{Product, Proxy, Server, Settings, free_port};

/// `root:all`
const ROOT: &str = "Basic cm9vdDphbGw=";

const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/manual/src/images");

/// A statement whose text would run in a page that is not careful, and stays in the digest's text.
const HOSTILE: &str = "SELECT 1 AS `<img src=x onerror=document.title='owned'><script>document.title='owned'</script>`";

/// WebDriver's numbers for keys without a letter.
const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

/// A proxy with clients that are busy as long as a function runs.
fn under_load(look: impl FnOnce(&Browser, &Proxy, &str)) {
    let port = free_port();
    let server = Server::shared(Product::MariaDb);
    // Who changes settings must have a way in at the next start.
    let admin = format!("127.0.0.1:{}", free_port());
    let settings = Settings::pooled(server, 4)
        .set("workers", 2)
        .set("insight.index_usage", true)
        .http_on(port)
        .set("history.interval", "1s")
        .set("insight.samples", true)
        .set("admin.address", [admin.as_str()]);
    let proxy = Proxy::start(&settings);
    proxy.connect().run(HOSTILE);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..6 {
            let (proxy, is_over) = (&proxy, &is_over);
            scope.spawn(move || busy(&mut proxy.connect(), number, is_over));
        }
        // Whatever comes of it, the others are to end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let browser = Browser::start(1280, 900);
            browser.log_in(ROOT);
            let address = format!("http://127.0.0.1:{port}/");
            browser.open(&address);
            look(&browser, &proxy, &address);
            assert_eq!(browser.complaints(), [] as [String; 0]);
        }));
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
    }
}

/// A picture for the manual, if they are wanted.
fn picture(browser: &Browser, name: &str) {
    if std::env::var_os("PILOTFISH_SCREENSHOTS").is_some() {
        std::fs::create_dir_all(IMAGES).unwrap();
        let path = Path::new(IMAGES).join(format!("{name}.png"));
        std::fs::write(path, browser.screenshot()).unwrap();
    }
}

#[test]
fn everything_is_seen_and_nothing_that_is_shown_runs() {
    under_load(|browser, proxy, _| {
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
        if std::env::var_os("PILOTFISH_SCREENSHOTS").is_some() {
            browser.wait("there is something to see", "document.querySelectorAll('.u-legend').length == 4 && (window.began ??= Date.now()) < Date.now() - 45000");
        }
        picture(browser, "dashboard-light");
        browser.prefers("dark");
        picture(browser, "dashboard-dark");
        browser.prefers("light");

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
        picture(browser, "dashboard-digests");
        browser.press("/");
        browser.press("onerror");
        browser.wait(
            "one is left",
            "document.querySelectorAll('tr.open').length == 1",
        );
        browser.press(&format!("{ESCAPE}{DOWN}"));
        browser.wait(
            "it has the focus",
            "document.activeElement.matches('tr.open')",
        );
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
        browser.wait("all are there again", "location.hash == '#digests'");

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
fn the_page_of_a_digest_shows_its_trend_its_histogram_where_it_runs_and_a_sample() {
    under_load(|browser, _, address| {
        browser.open(&format!("{address}#digests"));
        let row = "[...document.querySelectorAll('tr.open')].find(it => it.textContent.includes('CONCAT'))";
        browser.wait("it is listed", row);
        browser.run(&format!("{row}.click()"));
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
        picture(browser, "dashboard-digest");
    });
}

#[test]
fn indexes_are_told_and_lead_to_the_statements_that_read_whole_tables() {
    const HOSTILE_INDEX: &str = "<img src=x onerror=document.title='owned'>";
    let mut root = Server::shared(Product::MariaDb).root();
    let rows: Vec<_> = (1..500)
        .map(|at| format!("({at},{},{at})", at % 50))
        .collect();
    for statement in [
        "DROP DATABASE IF EXISTS dashboard_indexes",
        "CREATE DATABASE dashboard_indexes",
        "CREATE TABLE dashboard_indexes.City (ID INT PRIMARY KEY, District INT, Population INT, \
         KEY Population (Population), KEY Twice (Population))",
        &format!("CREATE TABLE dashboard_indexes.Other (a INT, KEY `{HOSTILE_INDEX}` (a))"),
        &format!(
            "INSERT INTO dashboard_indexes.City VALUES {}",
            rows.join(",")
        ),
    ] {
        root.run(statement);
    }
    under_load(|browser, proxy, address| {
        let mut client = proxy.connect();
        client.run("USE dashboard_indexes");
        client.run("SELECT Population FROM City WHERE ID = 7");
        client.run("SELECT ID, Population FROM City WHERE District = 7");
        client.run("SELECT ID FROM City WHERE Population = 17");
        browser.open(&format!("{address}#overview"));
        browser.press("7");
        let part = |title: &str| {
            format!(
                "[...document.querySelectorAll('main section')].find(it => it.firstChild.textContent == '{title}')\
                 .querySelector('tbody')"
            )
        };
        for (title, words) in [
            ("Suggestions", "ADD INDEX (`District`)"),
            ("Full scans", "SELECT ID, Population FROM City"),
            ("Used indexes", "PRIMARY"),
            ("Unused indexes", "onerror"),
        ] {
            let shown = format!("{}.textContent.includes({words:?})", part(title));
            browser.wait(&format!("{title} are told"), &shown);
        }
        assert_eq!(
            browser.run("return document.querySelectorAll('main img').length"),
            0
        );
        picture(browser, "dashboard-indexes");
        browser.press("/");
        browser.press("district");
        browser.wait(
            "what has it is left",
            &format!(
                "{}.querySelectorAll('tr:not(.empty)').length == 0",
                part("Used indexes")
            ),
        );
        browser.press(&format!("{ESCAPE}{DOWN}"));
        browser.wait(
            "a row has the focus",
            "document.activeElement.matches('tr.open')",
        );
        browser.press(ENTER);
        browser.wait(
            "its page has the plan",
            "location.hash.startsWith('#digest/') && document.querySelector('.plan tbody')?.textContent.includes('ALL')",
        );
        assert_ne!(browser.run("return document.title"), "owned");
    });
}

#[test]
fn a_session_ends_and_a_setting_changes_when_somebody_says_so_twice() {
    under_load(|browser, proxy, address| {
        let mut client = proxy.connect();
        client.run("SELECT 1");
        browser.open(&format!("{address}#sessions"));
        let row = format!(
            "[...document.querySelectorAll('main tr')].find(it => it.dataset.key == '{}')",
            client.id
        );
        browser.wait("it is listed", &row);
        let end = format!(
            "[...{row}.querySelectorAll('button')].find(it => it.textContent == 'End').click()"
        );
        browser.run(&end);
        browser.wait(
            "it is asked",
            "document.querySelector('dialog[open] .primary')",
        );
        assert_eq!(client.value("SELECT 2"), "2");
        browser.run("document.querySelector('dialog .primary').click()");
        browser.wait("it is gone", &format!("!({row})"));
        assert!(
            client
                .try_query("SELECT 3")
                .map_or(true, |it| it.error().is_some())
        );

        browser.open(&format!("{address}#settings"));
        let row = "[...document.querySelectorAll('main tr')].find(it => it.dataset.key == 'limits.sessions_max')";
        browser.wait("settings are listed", row);
        browser.run(&format!("{row}.querySelector('button').click()"));
        browser.run("const it = document.querySelector('dialog input'); it.value = '4321'; it.dispatchEvent(new Event('input'))");
        browser.wait(
            "what it means is shown",
            "document.querySelector('dialog').textContent.includes('→ 4321')",
        );
        browser.run("document.querySelector('dialog .primary').click()");
        browser.wait(
            "it holds, and is not in the file",
            "document.querySelector('.settings .card li')",
        );
        browser.wait(
            "it is shown",
            &format!("{row}.textContent.includes('4321')"),
        );
        browser.run(&format!("{row}.querySelector('button').click()"));
        browser.run("document.querySelector('dialog input').value = 'many'; document.querySelector('dialog .primary').click()");
        browser.wait(
            "what is wrong is said",
            "document.querySelector('dialog[open]')?.textContent.includes('limits.sessions_max')",
        );
        // The browser notes each refusal by itself.
        assert_eq!(browser.complaints().len(), 1);
    });
}

#[test]
fn a_phone_shows_it_without_scrolling_aside() {
    under_load(|browser, _, address| {
        browser.become_phone(390, 844);
        for view in [
            "overview", "digests", "sessions", "lanes", "errors", "indexes", "settings",
        ] {
            browser.open(&format!("{address}#{view}"));
            browser.wait("it is fresh", "document.body.dataset.fresh");
            let fits = "document.documentElement.scrollWidth <= innerWidth";
            browser.wait(&format!("{view} fits"), fits);
        }
        browser.open(&format!("{address}#overview"));
        browser.wait(
            "a chart is drawn",
            "document.querySelectorAll('.plot canvas').length == 4",
        );
        picture(browser, "dashboard-phone");
    });
}
