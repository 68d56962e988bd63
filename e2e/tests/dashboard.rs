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
const UP: &str = "\u{e013}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

/// A proxy whose page is at this port, for whoever may change settings.
fn start(port: u16) -> Proxy {
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
    Proxy::start(&settings)
}

/// A browser that shows the page.
fn visit(address: &str) -> Browser {
    let browser = Browser::start(1280, 900);
    browser.log_in(ROOT);
    browser.open(address);
    browser
}

/// A proxy with clients that are busy as long as a function runs.
fn under_load(look: impl FnOnce(&Browser, &Proxy, &str)) {
    let port = free_port();
    let proxy = start(port);
    proxy.connect().run(HOSTILE);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..6 {
            let (proxy, is_over) = (&proxy, &is_over);
            scope.spawn(move || busy(&mut proxy.connect(), number, is_over));
        }
        // Whatever comes of it, the others are to end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let address = format!("http://127.0.0.1:{port}/");
            let browser = visit(&address);
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

/// Has the lines grow for a while, if pictures are wanted.
fn look_on(browser: &Browser) {
    if std::env::var_os("PILOTFISH_SCREENSHOTS").is_some() {
        browser.wait(
            "there is something to see",
            "(window.began ??= Date.now()) < Date.now() - 45000",
        );
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
        look_on(browser);
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
        browser.press(ESCAPE);
        browser.wait(
            "all are listed again",
            "document.querySelectorAll('tr.open').length > 3",
        );
        browser.press("?");
        browser.wait(
            "keys are told",
            "document.querySelectorAll('dialog[open] kbd').length >= 6",
        );
        browser.press(ESCAPE);
        browser.wait("they have been read", "!document.querySelector('dialog')");

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
fn relayed_statements_have_figures_or_it_is_said_what_gives_them() {
    let port = free_port();
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)]).http_on(port);
    let proxy = Proxy::start(&settings);
    let mut unseen = proxy.connect();
    unseen.run("SELECT 1");
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let told = "document.querySelector('.unseen:not([hidden]) a')";
    browser.wait(
        "the setting is named",
        &format!("{told}?.textContent == 'insight.transparent'"),
    );
    browser.run(&format!("{told}.click()"));
    browser.wait(
        "it is shown",
        "document.querySelectorAll('.settings tbody tr').length == 1",
    );
    proxy.reload(&settings.set("insight.transparent", true));
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
        look_on(browser);
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
        let mut slow = proxy.connect();
        slow.send_query("SELECT SLEEP(30) AS slow").unwrap();
        let its = format!(
            "[...document.querySelectorAll('main tr')].find(it => it.dataset.key == '{}')",
            slow.id
        );
        let runs = format!("{its}?.querySelector('.wide')?.textContent.includes('AS slow')");
        browser.wait("what it runs is told", &runs);
        browser.run(&format!("{its}.querySelector('button').click()"));
        browser.wait(
            "what would be stopped is told",
            "document.querySelector('dialog[open] .statement')?.textContent.includes('AS slow')",
        );
        browser.run("document.querySelector('dialog .primary').click()");
        browser.wait("it runs no more", &format!("!({runs})"));
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
        let told = "document.querySelector('dialog[open] .told')";
        browser.wait(
            "the value can be typed",
            "document.activeElement.matches('dialog input')",
        );
        browser.wait(
            "that nothing changes is said",
            &format!("{told}.textContent.includes('Nothing changes')"),
        );
        browser.press("4321");
        browser.wait(
            "what the proxy says of it is shown",
            &format!("{told}.textContent.includes('→ 4321, takes effect now')"),
        );
        browser.press(ENTER);
        browser.wait("it is done", "!document.querySelector('dialog')");
        browser.wait(
            "it holds, and is not in the file",
            "document.querySelector('.settings .card li')",
        );
        browser.wait(
            "it is shown",
            &format!("{row}.textContent.includes('4321')"),
        );
        browser.run(&format!("{row}.querySelector('button').click()"));
        let focus = "document.activeElement.matches('dialog input')";
        browser.wait("the next value can be typed", focus);
        browser.press("many");
        let refused = format!(
            "{told}?.dataset.kind == 'bad' && {told}.textContent.includes('limits.sessions_max')"
        );
        browser.wait("what is wrong is said before", &refused);
        browser.press(ENTER);
        browser.wait("the question stays", &refused);
        browser.press(ESCAPE);
        browser.wait("it is given up", "!document.querySelector('dialog')");
        browser.wait(
            "what held holds",
            &format!("{row}.textContent.includes('4321')"),
        );

        browser.run(&format!(
            "{}.querySelector('button').click()",
            row.replace("limits.sessions_max", "workers")
        ));
        browser.wait("the number of workers can be typed", focus);
        browser.press("7");
        browser.wait(
            "what waits for a restart is said",
            &format!("{told}.textContent.includes('→ 7, takes effect at a restart')"),
        );
        browser.press(ESCAPE);
        browser.wait("that is given up", "!document.querySelector('dialog')");
        // The browser notes each refusal by itself.
        let complaints = browser.complaints();
        assert!(
            complaints.iter().all(|it| it.contains("api/query")),
            "{complaints:?}"
        );

        browser.open(&format!("{address}#errors"));
        browser.wait(
            "the latest event stands in front",
            "[...document.querySelectorAll('main section')].find(it => it.firstChild.textContent == 'Events')\
             .querySelector('tbody tr')?.textContent.includes('limits.sessions_max')",
        );
    });
}

#[test]
fn a_rule_says_whom_it_means_and_what_it_does() {
    let port = free_port();
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 2).http_on(port);
    let rule = [
        ("user", "'app'"),
        ("digest_regex", "'^DROP'"),
        ("refuse", "'not here'"),
    ];
    let _proxy = Proxy::start(&settings.rule("no drops", &rule));
    let browser = visit(&format!("http://127.0.0.1:{port}/#rules"));
    for words in [
        "user = [\"app\"]; digest_regex = ^DROP",
        "refuse = not here",
    ] {
        let shown =
            format!("document.querySelector('main tbody')?.textContent.includes({words:?})");
        browser.wait(words, &shown);
    }
}

#[test]
fn a_backend_is_put_out_of_use_when_somebody_says_so_twice() {
    let port = free_port();
    let proxy = start(port);
    let browser = visit(&format!("http://127.0.0.1:{port}/"));
    let click = |what: &str, title: &str| {
        let button = format!(
            "[...document.querySelectorAll('{what} button')].find(it => it.textContent == '{title}')"
        );
        browser.wait(&format!("{title} can be clicked"), &button);
        browser.run(&format!("{button}.click()"));
    };
    let stands = |word: &str| {
        let state = "document.querySelector('.backends .state')";
        browser.wait(word, &format!("{state}?.textContent == '{word}'"));
    };
    let is_told = |conn: &mut RawConn| {
        let reply = conn.query("SELECT 1");
        reply.error().map(|error| error.text.clone())
    };
    stands("up");
    let mut conn = proxy.connect();
    click(".backends", "Disable");
    click("dialog", "Cancel");
    assert_eq!(is_told(&mut conn), None);
    click(".backends", "Disable");
    click("dialog", "Disable");
    stands("disabled");
    let told = is_told(&mut conn);
    assert!(told.is_some_and(|it| it.contains("is disabled")));
    click(".backends", "Use");
    click("dialog", "Use");
    stands("up");
    assert_eq!(is_told(&mut conn), None);
    click(".backends", "Drain");
    click("dialog", "Drain");
    stands("draining");
}

#[test]
fn a_phone_shows_it_without_scrolling_aside() {
    under_load(|browser, _, address| {
        browser.become_phone(390, 844);
        for view in [
            "overview", "digests", "sessions", "lanes", "errors", "rules", "indexes", "settings",
        ] {
            browser.open(&format!("{address}#{view}"));
            browser.wait("it is fresh", "document.body.dataset.fresh");
            let fits = "document.documentElement.scrollWidth <= innerWidth";
            browser.wait(&format!("{view} fits"), fits);
            let link = "document.querySelector('nav a[aria-current]').getBoundingClientRect()";
            let is_seen = format!("{link}.left >= 0 && {link}.right <= innerWidth");
            browser.wait(&format!("that it is {view} is seen"), &is_seen);
            let aside = "[...document.querySelectorAll('main tbody td, main tbody button')]\
                         .filter(it => it.getBoundingClientRect().right > innerWidth + 1).length";
            browser.wait(&format!("all of {view} is seen"), &format!("{aside} == 0"));
            let first = match view {
                "errors" => "main tbody td.wide",
                "sessions" => "main tbody td.first .state",
                _ => continue,
            };
            browser.wait(
                &format!("what matters stands in front in {view}"),
                &format!(
                    "(() => {{ const it = document.querySelector({first:?}); \
                     return it && it.getBoundingClientRect().top <= it.closest('tr').getBoundingClientRect().top + 30; }})()"
                ),
            );
        }
        browser.open(&format!("{address}#overview"));
        browser.wait(
            "a chart is drawn",
            "document.querySelectorAll('.plot canvas').length == 4",
        );
        look_on(browser);
        picture(browser, "dashboard-phone");
    });
}
