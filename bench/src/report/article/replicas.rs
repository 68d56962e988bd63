//! One server against two replicas behind HAProxy or LVS.

use super::{Row, Sheet, cpu_percent, section, speed_ratio, with_ratio};
use crate::results::{Cpu, Results, Summary};
use crate::run::backend::Kind;
use crate::run::plan::article::{REPLICA_LOAD, REPLICA_THREADS, REPLICA_THREADS_MOST};

/// CPU in %: of the one server; behind HAProxy, of both servers, and of HAProxy on the first machine.
const CPU: [(f64, [f64; 2], f64); 6] = [
    (36.0, [34.0, 0.0], 15.0),
    (67.0, [34.0, 25.0], 22.0),
    (100.0, [70.0, 45.0], 38.0),
    (191.0, [120.0, 73.0], 55.0),
    (340.0, [134.0, 102.0], 40.0),
    (383.0, [127.0, 115.0], 32.0),
];

const TEXT: &str = "\
The article compares one server of four virtual cores with two replicas of the same size. HAProxy 1.5.12 or LVS \
ran beside one of the replicas, the load on another machine. It used MySQL 5.5 and sysbench 0.4.12 \
in its mode `simple` (one point select) with 5,000,000 rows. Two replicas behind HAProxy gave half \
of the throughput of one server alone. LVS does not see the replies: two replicas behind it gave 1.3 \
times, and twice with a second machine for the load. Here two servers of MySQL 9.7 with the same \
rows stand on the same two cores as load and proxy. The second server adds no capacity, so the table \
shows the cost of a balancer. LVS needs machines of its own and was not run. CPU is the CPU of all \
servers and of the proxy; 100 % is one core.";

pub fn write(page: &mut String, results: &Results) {
    let heading = "One server and two behind a balancer";
    section(page, results, heading, TEXT, &[throughput(), cpu()]);
}

fn throughput() -> Sheet {
    let theirs = [
        "35,000",
        "17,000 (0.49 ×)",
        "45,000 (1.29 ×)",
        "70,000 (2.00 ×)",
    ];
    Sheet {
        title: "Point selects per second (× one server):",
        first: "threads",
        backend: Kind::MySqlPair,
        theirs: &[
            "one server",
            "HAProxy",
            "LVS",
            "LVS, load from two machines",
        ],
        rows: vec![Row {
            label: REPLICA_THREADS_MOST.to_string(),
            theirs: theirs.map(str::to_owned).into(),
            load: REPLICA_LOAD,
            connections: REPLICA_THREADS_MOST,
        }],
        figure: |summary| with_ratio(summary.per_second, speed_ratio(summary)),
    }
}

fn cpu() -> Sheet {
    let rows = REPLICA_THREADS.into_iter().zip(CPU);
    let rows = rows.map(|(threads, (one, [first, second], haproxy))| Row {
        label: threads.to_string(),
        theirs: vec![
            format!("{one:.0} %"),
            format!("{first:.0} % + {second:.0} %, HAProxy {haproxy:.0} %"),
        ],
        load: REPLICA_LOAD,
        connections: threads,
    });
    Sheet {
        title: "CPU of the servers, then of the proxy; here with point selects per second (× one server):",
        first: "threads",
        backend: Kind::MySqlPair,
        theirs: &["one server", "HAProxy"],
        rows: rows.collect(),
        figure: ours,
    }
}

fn ours(summary: &Summary) -> String {
    let servers = cpu_percent(summary.backend_cpu_us.sum(), summary);
    let proxy = summary.proxy_cpu_us.map(Cpu::sum);
    let proxy = proxy.map(|cpu| format!(", proxy {}", cpu_percent(cpu, summary)));
    format!(
        "{servers}{}; {}",
        proxy.unwrap_or_default(),
        with_ratio(summary.per_second, speed_ratio(summary))
    )
}
