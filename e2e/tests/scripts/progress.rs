//! Progress reports, which MariaDB sends before its reply: the client gets them at once, and no hook sees them.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use e2e::raw::Address;
use e2e::scripted::{Dialogue, Scripted as Backend};

use super::*;

/// A progress report: stage 1 of 1, so many thousandths of a percent done, with an empty description.
fn report(done: u8) -> Vec<u8> {
    vec![0xFF, 0xFF, 0xFF, 1, 1, 1, done, 0, 0, 0]
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// A server that sends a report, waits until the test has received it, sends another report and answers.
fn reporting(arrived: Receiver<()>) -> Backend {
    let arrived = Arc::new(Mutex::new(arrived));
    Backend::start(move |dialogue: &mut Dialogue| {
        let offered = capability::USUAL | capability::PROGRESS;
        dialogue.greet_with("mysql_native_password", offered)?;
        dialogue.read()?;
        dialogue.send_ok()?;
        loop {
            let command = dialogue.read()?;
            if command == [1] {
                return Ok(());
            }
            if command.starts_with(b"\x03ALTER") {
                dialogue.send(&report(1))?;
                let _ = arrived.lock().unwrap().recv();
                dialogue.send(&report(2))?;
            }
            match command.ends_with(b"rows") {
                true => {
                    dialogue.send_rows("n", &["7"])?;
                    dialogue.send_end()?;
                }
                false => dialogue.send_ok()?,
            }
        }
    })
}

const SCRIPT: &str = r#"
    function read_query(packet)
        if is_asked(packet) then return seen() end
        local text = packet:sub(2)
        if text == "ALTER rows" then
            return pilotfish.rows(function(row) see("row", row[1]) return { row[1] + 1 } end)
        end
        if text == "ALTER twice" then
            proxy.queries:append(1, packet, { resultset_is_needed = true })
        end
        proxy.queries:append(2, packet, { resultset_is_needed = true })
        return proxy.PROXY_SEND_QUERY
    end
    function read_query_result(inj)
        see(inj.id, inj.resultset.query_status, inj.resultset.raw:byte(), inj.resultset.row_count)
        if inj.id == 1 then return proxy.PROXY_IGNORE_RESULT end
        if inj.query == "\003ALTER replaced" then
            proxy.response = { type = proxy.MYSQLD_PACKET_ERR, errmsg = "no", errcode = 1234 }
            return proxy.PROXY_SEND_RESULT
        end
    end
"#;

/// Packet numbers are consecutive throughout. The client checks them.
#[test]
fn reports_go_to_the_client_at_once_and_to_no_hook() {
    let (arrive, arrived) = channel();
    let backend = reporting(arrived);
    let settings = Settings::default().backend(backend.tcp());
    let scripted = Scripted::with(settings, &seeing(SCRIPT));
    let login = Login::app().and(capability::PROGRESS);
    let mut conn = RawConn::connect(&Address::from(scripted.proxy.tcp()), &login).unwrap();
    assert!(conn.can(capability::PROGRESS));
    for (statement, times, seen_by_hooks) in [
        ("ALTER kept", 1, &["2 0 0 0"][..]),
        ("ALTER replaced", 1, &["2 0 0 0"]),
        ("ALTER twice", 2, &["1 0 0 0", "2 0 0 0"]),
        ("ALTER rows", 1, &["row 7"]),
    ] {
        conn.send_query(statement).unwrap();
        for time in 0..times {
            let first = match time {
                0 => conn.packet(),
                _ => conn.more(),
            };
            assert_eq!(first.unwrap(), report(1), "{statement}");
            // The statement is still running.
            arrive.send(()).unwrap();
            assert_eq!(conn.more().unwrap(), report(2), "{statement}");
        }
        let end = conn.more().unwrap();
        match statement {
            "ALTER replaced" => assert_eq!(end[..3], [0xFF, 0xD2, 4]),
            "ALTER rows" => {
                assert_eq!(end, [1]);
                conn.more().unwrap();
                assert_eq!(conn.more().unwrap(), b"\x018");
                conn.more().unwrap();
            }
            _ => assert_eq!(end, OK, "{statement}"),
        }
        assert_eq!(seen(&mut conn), seen_by_hooks, "{statement}");
    }
}
