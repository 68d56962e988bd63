//! ProxySQL against MaxScale, 2016: OLTP read-only to 1,000 threads, and its maximum response times.

use super::{Row, Sheet, milliseconds, section, speed_ratio, with_ratio};
use crate::results::{Results, Summary};
use crate::run::plan::article::{RESPONSE_LOAD, RESPONSE_THREADS, SERVER};

/// Threads, and the longest response in ms of MaxScale 1.4.1 and ProxySQL 1.2.0b.
const LONGEST: [(usize, f64, f64); 2] = [(100, 13_795.69, 22.72), (300, 120_252.33, 97.88)];

const TEXT: &str = "\
MaxScale 1.4.1 ran with 8 threads and ProxySQL 1.2.0b with 16. Load and proxy shared a machine of 56 \
hardware threads, and MySQL 5.7 had another. There were ten tables of 10,000,000 rows, \
`--rand-type=pareto`. The article shows the throughput only in pictures. A comment gives the longest \
response for 100 and 300 threads. A product has a column under *here* if it is installed on this \
machine.";

pub fn write(page: &mut String, results: &Results) {
    let heading = "ProxySQL and MaxScale (2016)";
    section(page, results, heading, TEXT, &[sheet()]);
}

fn sheet() -> Sheet {
    let rows = RESPONSE_THREADS.map(|threads| {
        let longest = LONGEST.iter().find(|(known, ..)| *known == threads);
        let show = |longest: Option<f64>| {
            longest.map_or("–".to_owned(), |longest| format!("longest {longest} ms"))
        };
        Row {
            label: threads.to_string(),
            theirs: vec![show(longest.map(|it| it.1)), show(longest.map(|it| it.2))],
            load: RESPONSE_LOAD,
            connections: threads,
        }
    });
    Sheet {
        title: "sysbench OLTP read-only, queries per second (× direct), p99 and the longest of a transaction:",
        first: "threads",
        backend: SERVER,
        theirs: &["MaxScale", "ProxySQL"],
        rows: rows.into(),
        figure: ours,
    }
}

fn ours(summary: &Summary) -> String {
    format!(
        "{}, p99 {}, longest {}",
        with_ratio(summary.per_second, speed_ratio(summary)),
        milliseconds(summary.latency_us.p99),
        milliseconds(summary.latency_us.max),
    )
}
