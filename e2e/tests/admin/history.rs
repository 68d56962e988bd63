//! The history of digests: their costs in each interval, also after restarts.

use e2e::http::Http;
use e2e::{Folder, Product, Proxy, Server, Settings, free_port, wait};

use super::{Watched, columns, rows};

const SQL: &str = "SELECT count(DISTINCT start) AS intervals, sum(count) AS count, sum(errors) AS errors, \
     max(db) AS db, max(account) AS account FROM digest_history WHERE digest_text = 'SELECT ? AS remembered'";

fn sums(watched: &Watched) -> (u64, u64) {
    let row = rows(&mut watched.look(), SQL).remove(0);
    let number = |name: &str| row[name].parse().unwrap_or(0);
    (number("intervals"), number("count"))
}

fn ask(watched: &Watched, times: u64) {
    let mut client = watched.proxy.connect();
    for number in 0..times {
        client.run(&format!("SELECT {number} AS remembered"));
    }
}

fn wait_for(watched: &Watched, count: u64) -> u64 {
    wait::for_some("the history has them all", wait::SOON, || {
        let (intervals, found) = sums(watched);
        assert!(found <= count, "{found} of {count}");
        (found == count).then_some(intervals)
    })
}

#[test]
fn sql_http_and_dashboard_read_the_history_of_before_a_restart() {
    let folder = Folder::new("files");
    let file = folder.path().join("history.db");
    let (admin, http) = (free_port(), free_port());
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("workers", 2)
        .set("statement_stats.history_interval", "1s")
        .set("statement_stats.history_file", file.to_str().unwrap())
        .admin_on(admin)
        .set("http.address", [format!("127.0.0.1:{http}").as_str()]);
    let start = || Watched {
        proxy: Proxy::start(&settings),
        port: admin,
    };
    let watched = start();
    ask(&watched, 5);
    // An interval may end between two statements.
    let first = wait_for(&watched, 5);
    assert!((1..=5).contains(&first), "{first}");
    ask(&watched, 3);
    let second = wait_for(&watched, 8);
    assert!(
        (first + 1..=first + 3).contains(&second),
        "{first} {second}"
    );
    // The proxy writes the last interval when it stops.
    ask(&watched, 2);
    watched.proxy.stop();

    let watched = start();
    let intervals = wait_for(&watched, 10);
    let expected = second..=second + 2;
    assert!(expected.contains(&intervals), "{intervals} {expected:?}");
    ask(&watched, 4);
    wait_for(&watched, 14);
    let mut look = watched.look();
    let table = "`pilotfish`.digest_history";
    let names = columns(&mut look, &format!("SELECT * FROM {table} LIMIT 1"));
    let described = look.run("DESCRIBE digest_history").texts();
    assert_eq!(
        names,
        described
            .into_iter()
            .map(|row| row[0].clone())
            .collect::<Vec<_>>()
    );
    let text = format!(
        "SELECT h.digest = d.digest FROM {table} AS h JOIN digests AS d ON d.digest = h.digest \
         WHERE h.digest_text LIKE '%remembered' LIMIT 1"
    );
    assert_eq!(look.value(&text), "1");
    let row = rows(&mut look, "SELECT * FROM logs WHERE log = 'history'").remove(0);
    assert_eq!((&*row["dropped"], &*row["trouble"]), ("0", "NULL"));
    assert_eq!(row["file"], file.to_str().unwrap());

    let digest = look.value("SELECT max(digest) FROM digests WHERE digest_text LIKE '%remembered'");
    let answer = Http::new(http).basic("cm9vdDphbGw=");
    let answer = answer.get(&format!(
        "/api/tables/digest_history?digest={digest}&columns=start,count,total_us&order=start"
    ));
    let told = answer.json();
    let told = told["rows"].as_array().unwrap();
    assert_eq!(
        told.iter().map(|row| row[1].as_u64().unwrap()).sum::<u64>(),
        14
    );
    assert!(told.iter().all(|row| row[2].as_u64().unwrap() > 0));
    for forbidden in [
        "SELECT * FROM history.series",
        "DELETE FROM digest_history",
        "SELECT * FROM series",
    ] {
        assert!(look.query(forbidden).error().is_some(), "{forbidden}");
    }
}

#[test]
fn the_history_without_a_file_is_in_memory_and_a_reset_counts_no_statement_twice() {
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("statement_stats.history_interval", "1s");
    let watched = Watched::start(settings);
    ask(&watched, 5);
    wait_for(&watched, 5);
    watched.root().run("RESET DIGESTS");
    ask(&watched, 2);
    wait_for(&watched, 7);
}

#[test]
fn a_missing_folder_of_the_history_is_logged_and_stops_no_session() {
    let folder = Folder::new("files");
    let missing = folder.path().join("missing");
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("statement_stats.history_interval", "1s")
        .set(
            "statement_stats.history_file",
            missing.join("history.db").to_str().unwrap(),
        );
    let watched = Watched::start(settings);
    ask(&watched, 5);
    let mut look = watched.look();
    let event = "SELECT count(*) FROM events WHERE kind = 'history'";
    wait::until("it is told", wait::SOON, || look.value(event) == "1");
    let failed = "SELECT dropped FROM logs WHERE log = 'history' AND trouble IS NOT NULL";
    wait::until("it is counted", wait::SOON, || {
        look.run(failed)
            .texts()
            .first()
            .is_some_and(|row| row[0] != "0")
    });
    assert_eq!(sums(&watched).1, 0);
    std::fs::create_dir(&missing).unwrap();
    wait_for(&watched, 5);
    wait::until("its end is told", wait::SOON, || look.value(event) == "2");
    watched.proxy.assert_sound();
}

#[test]
fn the_load_history_has_each_backend_and_outlasts_a_restart() {
    let folder = Folder::new("files");
    let file = folder.path().join("history.db");
    let admin = free_port();
    let settings = Settings::pooled(Server::shared(Product::MariaDb), 4)
        .set("statement_stats.digests", false)
        .set("statement_stats.history_load_interval", "1s")
        .set("statement_stats.history_file", file.to_str().unwrap())
        .admin_on(admin);
    let start = || Watched {
        proxy: Proxy::start(&settings),
        port: admin,
    };
    let sum = |watched: &Watched, what: &str, whose: &str| {
        let sql = format!(
            "SELECT coalesce(sum({what}), 0) FROM load_history WHERE backend IS {whose} NULL"
        );
        watched.look().value(&sql).parse::<u64>().unwrap()
    };
    let watched = start();
    // The history does not include counts from before the first interval.
    wait::until("the first interval is kept", wait::SOON, || {
        sum(&watched, "1", "") > 0
    });
    ask(&watched, 40);
    wait::until("all are told", wait::SOON, || {
        sum(&watched, "statements", "") >= 40
    });
    assert_eq!(
        sum(&watched, "statements", ""),
        sum(&watched, "statements", "NOT")
    );
    let mut look = watched.look();
    let row = "SELECT max(p50_us) > 0 AND max(p99_us) >= max(p50_us) AND max(sessions) >= 0 AND max(resident_bytes) > 1000000 \
               FROM load_history WHERE statements > 0 AND backend IS NULL";
    assert_eq!(look.value(row), "1");
    let told = sum(&watched, "statements", "");
    watched.proxy.stop();
    let watched = start();
    wait::until("it is read again", wait::SOON, || {
        sum(&watched, "statements", "") >= told
    });
    let forbidden = watched
        .look()
        .query("DELETE FROM load_history")
        .error()
        .is_some();
    assert!(forbidden);
}
