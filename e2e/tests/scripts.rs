//! Scripts of MySQL Proxy's kind: what hooks see and decide, and what happens after errors in scripts.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use e2e::raw::{Login, RawConn, Reply, Shape, capability, command};
use e2e::{Folder, Product, Proxy, Server, Settings};

/// Runs a test on both families, in sessions that log in to a backend themselves, and in pooled sessions.
macro_rules! in_both_ways {
    ($($name:ident)+) => { $(
        mod $name {
            #[test]
            fn mariadb() {
                super::$name(e2e::Product::MariaDb);
            }

            #[test]
            fn mysql() {
                super::$name(e2e::Product::MySql);
            }

            #[test]
            fn mariadb_pooled() {
                super::super::take_turns();
                super::$name(e2e::Product::MariaDb);
            }

            #[test]
            fn mysql_pooled() {
                super::super::take_turns();
                super::$name(e2e::Product::MySql);
            }
        }
    )+ };
}

mod backends;
mod beyond;
mod bridging;
mod chained;
mod connecting;
mod decisions;
mod down;
mod ending;
mod examples;
mod injections;
mod killing;
mod lines;
mod logins;
mod mistakes;
mod mocks;
mod moving;
mod older;
mod parameters;
mod partings;
mod pools;
mod progress;
mod requiring;
mod rows;
mod several;
mod sharing;
mod shipped;
mod shipped_page;
mod sight;
mod waiting;

/// A proxy that runs a script, and the folder that holds it.
struct Scripted {
    proxy: Proxy,
    script: PathBuf,
    _folder: Folder,
}

thread_local! {
    static TAKES_TURNS: Cell<bool> = const { Cell::new(false) };
}

/// Makes the sessions of this test pooled.
fn take_turns() {
    TAKES_TURNS.set(true);
}

/// The usual proxy in front of the shared server.
fn usual(product: Product) -> Settings {
    let server = Server::shared(product);
    match TAKES_TURNS.get() {
        true => Settings::pooled(server, 4),
        false => Settings::in_front_of([server]),
    }
}

impl Scripted {
    fn start(product: Product, script: &str) -> Self {
        Self::with(usual(product), script)
    }

    /// One worker, because scripts share state and the pool within a worker.
    fn with(settings: Settings, script: &str) -> Self {
        Self::with_workers(settings, 1, script)
    }

    fn with_workers(settings: Settings, workers: i32, script: &str) -> Self {
        let folder = Folder::new("files");
        let path = folder.path().join("script.lua");
        fs::write(&path, script).unwrap();
        let file = path.display().to_string();
        let settings = settings.set("workers", workers);
        Self {
            proxy: Proxy::start(&settings.set("routing.script", file.as_str())),
            script: path,
            _folder: folder,
        }
    }

    #[track_caller]
    fn connect(&self) -> RawConn {
        self.connect_as(&Login::app())
    }

    #[track_caller]
    fn connect_as(&self, login: &Login) -> RawConn {
        self.proxy.connect_as(login)
    }

    /// The error that a client gets when it logs in.
    #[track_caller]
    fn refusal(&self) -> (u16, String) {
        let refused = RawConn::connect(&self.proxy.address(), &Login::app());
        let error = refused.unwrap_err().refusal();
        (error.code, error.text)
    }
}

/// A login without the capabilities that need translation for scripts.
fn older(login: Login) -> Login {
    login.without(capability::DEPRECATE_EOF | capability::QUERY_ATTRIBUTES)
}

/// The rows of a reply as text.
fn rows(reply: &Reply) -> Vec<String> {
    let texts = reply.texts().into_iter();
    texts.map(|row| row.join("|")).collect()
}

/// Part of a script: `SELECT seen` returns the lines that its hooks have recorded in `proxy.global`.
const SEES: &str = r##"
proxy.global.seen = proxy.global.seen or {}
local function see(...)
	local words = {}
	for at = 1, select("#", ...) do words[at] = tostring((select(at, ...))) end
	table.insert(proxy.global.seen, table.concat(words, " "))
end
local function seen()
	local rows = {}
	for at, line in ipairs(proxy.global.seen) do rows[at] = { line } end
	proxy.global.seen = {}
	proxy.response = {
		type = proxy.MYSQLD_PACKET_OK,
		resultset = { fields = { { name = "seen", type = proxy.MYSQL_TYPE_STRING } }, rows = rows },
	}
	return proxy.PROXY_SEND_RESULT
end
local function is_asked(packet) return packet:sub(2) == "SELECT seen" end
"##;

/// A script that can report what its hooks have recorded.
fn seeing(script: &str) -> String {
    format!("{SEES}\n{script}")
}

fn seen(conn: &mut RawConn) -> Vec<String> {
    rows(&conn.run("SELECT seen"))
}
