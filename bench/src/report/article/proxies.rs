//! MySQL Proxy against HAProxy, 2013: sysbench OLTP read-only and mysqlslap.

use super::{Row, Sheet, section, speed_ratio, with_ratio};
use crate::results::{Results, Summary};
use crate::run::contestant::names::DIRECT;
use crate::run::plan::article::{PROXIES_CLIENTS, PROXIES_READ_ONLY, PROXIES_SLAP, SERVER};
use crate::run::sysbench::Script;

/// Transactions a second: direct, MySQL Proxy with 1 thread, HAProxy, MySQL Proxy with 8 threads.
const READ_ONLY: [[f64; 4]; 8] = [
    [229.29, 264.56, 312.24, 270.31],
    [456.42, 510.85, 622.35, 437.58],
    [1224.52, 933.78, 1176.87, 779.16],
    [2409.78, 1000.15, 1181.16, 1393.64],
    [3857.90, 1096.99, 1390.73, 1979.54],
    [4704.87, 1040.50, 1455.58, 2087.63],
    [4682.07, 938.00, 1110.46, 2119.87],
    [4700.08, 859.88, 1062.12, 2109.21],
];

/// Seconds for 100,000 statements of each client: direct, HAProxy.
const SLAP: [[f64; 2]; 8] = [
    [4.719, 6.317],
    [5.090, 6.537],
    [5.630, 7.205],
    [6.285, 13.875],
    [7.514, 25.288],
    [11.273, 50.841],
    [21.714, 107.516],
    [43.227, 210.910],
];

/// Statements of a client.
const STATEMENTS: f64 = 100_000.0;

const TEXT: &str = "\
The article used MySQL 5.6 on 24 hardware threads. It ran sysbench 0.4.12 with one table of 100,000 \
rows and `--db-ps-mode=disable`. mysqlslap sent `SELECT 1111` 100,000 times for each client. HAProxy \
had one thread; MySQL Proxy crashed at its end, and mysqlslap could not log in through it. Here \
sysbench is 1.0.20, whose `oltp_read_only` has the same 16 statements in a transaction. Our own \
generator sends `SELECT 1111` for a second or two, and the seconds for 100,000 are computed from its \
rate.";

pub fn write(page: &mut String, results: &Results) {
    let sheets = [read_only(), slap()];
    let heading = "MySQL Proxy and HAProxy (2013)";
    section(page, results, heading, TEXT, &sheets);
}

fn read_only() -> Sheet {
    let rows = PROXIES_CLIENTS.into_iter().zip(READ_ONLY);
    Sheet {
        title: "sysbench OLTP read-only, transactions per second (× direct):",
        first: "threads",
        backend: SERVER,
        theirs: &["direct", "MySQL Proxy", "HAProxy", "MySQL Proxy, 8 threads"],
        rows: rows
            .map(|(threads, theirs)| Row {
                label: threads.to_string(),
                theirs: beside_first(&theirs),
                load: PROXIES_READ_ONLY,
                connections: threads,
            })
            .collect(),
        figure: |summary| {
            let transactions = summary.per_second / Script::ReadOnly.queries() as f64;
            with_ratio(transactions, speed_ratio(summary))
        },
    }
}

fn slap() -> Sheet {
    let rows = PROXIES_CLIENTS.into_iter().zip(SLAP);
    Sheet {
        title: "mysqlslap `SELECT 1111`, seconds for 100,000 of each client (× direct; less is better):",
        first: "clients",
        backend: SERVER,
        theirs: &["direct", "HAProxy"],
        rows: rows
            .map(|(clients, theirs)| Row {
                label: clients.to_string(),
                theirs: beside_first(&theirs),
                load: PROXIES_SLAP,
                connections: clients,
            })
            .collect(),
        figure: seconds,
    }
}

/// In a closed loop each client waits for the mean latency, so many times.
fn seconds(summary: &Summary) -> String {
    let seconds = summary.latency_us.mean * STATEMENTS / 1e6;
    let ratios = summary.against.get(DIRECT);
    let ratio = ratios.map(|ratios| 1.0 / ratios.per_second.median);
    ratio.map_or(format!("{seconds:.1}"), |ratio| {
        format!("{seconds:.1} ({ratio:.2} ×)")
    })
}

/// Figures with their ratios to the first.
fn beside_first(figures: &[f64]) -> Vec<String> {
    let first = figures[0];
    let each = figures
        .iter()
        .enumerate()
        .map(|(place, figure)| match place {
            0 => format!("{figure:.1}"),
            _ => format!("{figure:.1} ({:.2} ×)", figure / first),
        });
    each.collect()
}
