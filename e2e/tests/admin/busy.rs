//! The admin tables leave out a worker that does not answer, and a warning says so.

use std::fs;

use e2e::raw::Shape;
use e2e::{Folder, Product, Server, Settings, wait};

use super::{Watched, rows};

#[test]
fn rows_of_a_busy_worker_are_missing_with_a_warning() {
    let folder = Folder::new("files");
    let (script, end) = (folder.path().join("busy.lua"), folder.path().join("end"));
    let text = format!(
        "function read_query(packet)\n  if packet:sub(2) ~= 'BUSY' then return end\n  \
         repeat local file = io.open({:?}) until file\n  \
         proxy.response = {{ type = proxy.MYSQLD_PACKET_OK }}\n  return proxy.PROXY_SEND_RESULT\nend\n",
        end.display().to_string()
    );
    fs::write(&script, text).unwrap();
    let settings = Settings::in_front_of([Server::shared(Product::MariaDb)])
        .set("routing.script", &script)
        .set("script.isolation", "worker")
        .set("script.time_max", "10m")
        .set("script.instructions_max", 0);
    let watched = Watched::start(settings);
    let mut look = watched.look();
    let (mut first, mut second) = (watched.proxy.connect(), watched.proxy.connect());
    assert_eq!(look.value("SELECT COUNT(*) FROM sessions"), "2");
    assert!(look.run("SHOW WARNINGS").texts().is_empty());
    first.send_query("BUSY").unwrap();
    wait::until("a worker is busy", wait::SOON, || {
        look.value("SELECT MIN(answers) FROM workers") == "0"
    });
    let warnings = look.run("SHOW WARNINGS").texts();
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0][2].contains("is too busy to answer"),
        "{warnings:?}"
    );
    let workers = rows(&mut look, "SELECT * FROM workers ORDER BY answers");
    assert_eq!(
        (&*workers[0]["answers"], &*workers[0]["sessions"]),
        ("0", "NULL")
    );
    assert_eq!(
        (&*workers[1]["answers"], &*workers[1]["sessions"]),
        ("1", "1")
    );
    assert_eq!(look.value("SELECT mode FROM sessions"), "script");
    // Statements that need no worker do not wait for the busy one.
    look.run("SELECT * FROM settings");
    assert!(look.run("SHOW WARNINGS").texts().is_empty());
    assert_eq!(second.value("SELECT 1"), "1");
    fs::write(&end, "").unwrap();
    assert!(first.reply(Shape::Results).error().is_none());
    assert_eq!(look.value("SELECT COUNT(*) FROM sessions"), "2");
}
