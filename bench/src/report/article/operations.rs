//! MySQL Proxy's own latencies by operation, 2007.

use super::{Row, Sheet, section};
use crate::results::{Results, Summary};
use crate::run::plan::Load;
use crate::run::plan::article::{OPERATIONS, SERVER};

/// What the article calls it and what is measured here; direct and through MySQL Proxy, each the longest
/// and the mean in ms.
const FIGURES: [(&str, [f64; 2], [f64; 2]); 5] = [
    (
        "mysql_real_connect(): connect, log in, close",
        [16.22, 1.038],
        [4.549, 0.769],
    ),
    (
        "mysql_real_query(small): a point select",
        [4.087, 0.1],
        [4.191, 0.184],
    ),
    (
        "mysql_real_query(large): a select of 1,000 rows",
        [19.195, 7.73],
        [15.182, 7.626],
    ),
    ("mysql_stmt_prepare()", [0.176, 0.128], [0.275, 0.185]),
    (
        "mysql_execute(): a prepared point select",
        [4.082, 0.123],
        [4.232, 0.15],
    ),
];

const TEXT: &str = "\
The announcement of MySQL Proxy has these figures: one client, 30 to 150 runs of each call of the C \
library, spikes removed from the means. Calls that send nothing are left out here: \
mysql_stmt_bind_result, mysql_stmt_fetch and mysql_store_result took 1 to 20 µs either way. Sums of \
several calls are left out too: test_prep_stmt + 0.2 ms, test_select + 0.4 ms, benchmark done + 0.9 \
ms. The article does not name its large query. Here our own generator runs one client for a second \
or two, and no value is removed. It closes a prepared statement after each mysql_stmt_prepare().";

pub fn write(page: &mut String, results: &Results) {
    let heading = "Latencies by operation (2007)";
    section(page, results, heading, TEXT, &[sheet()]);
}

fn sheet() -> Sheet {
    let rows = OPERATIONS.into_iter().zip(FIGURES);
    let show = |[longest, mean]: [f64; 2]| format!("{mean:.3}, longest {longest:.2}");
    let rows = rows.map(|(workload, (label, direct, proxy))| Row {
        label: label.to_owned(),
        theirs: vec![show(direct), show(proxy)],
        load: Load::Own(workload),
        connections: 1,
    });
    Sheet {
        title: "Mean and longest in ms:",
        first: "operation",
        backend: SERVER,
        theirs: &["direct", "MySQL Proxy"],
        rows: rows.collect(),
        figure: ours,
    }
}

fn ours(summary: &Summary) -> String {
    let milliseconds = |micros: f64| micros / 1000.0;
    let (mean, longest) = (summary.latency_us.mean, summary.latency_us.max);
    let (mean, longest) = (milliseconds(mean), milliseconds(longest));
    format!("{mean:.3}, longest {longest:.2}")
}
