//! TiProxy against HAProxy in front of TiDB: four workloads, sizes of results, cores.

use super::{Row, Sheet, cpu_percent, milliseconds, section, speed_ratio, with_ratio};
use crate::results::{Cpu, Results, Summary};
use crate::run::plan::Load;
use crate::run::plan::article::{SERVER, TIPROXY, TIPROXY_RANGE_THREADS, TIPROXY_RANGES, tiproxy};
use crate::run::sysbench::Script;

/// Queries a second, mean and 95th percentile in ms, CPU of the proxy in %.
type Figures = (f64, f64, f64, f64);

/// TiProxy and HAProxy, by the places of the workloads and their threads.
const WORKLOADS: [[(Figures, Figures); 3]; 4] = [
    [
        ((43_935.0, 0.45, 0.63, 210.0), (43_629.0, 0.46, 0.63, 130.0)),
        (
            (87_870.0, 0.57, 0.77, 350.0),
            (102_934.0, 0.49, 0.61, 320.0),
        ),
        (
            (91_611.0, 1.09, 1.79, 400.0),
            (157_880.0, 0.63, 0.81, 400.0),
        ),
    ],
    [
        (
            (71_816.0, 11.14, 12.98, 340.0),
            (74_945.0, 10.67, 12.08, 250.0),
        ),
        (
            (79_299.0, 20.17, 23.95, 400.0),
            (118_526.0, 13.49, 18.28, 350.0),
        ),
        (
            (83_371.0, 38.37, 46.63, 400.0),
            (131_102.0, 24.39, 34.33, 390.0),
        ),
    ],
    [
        (
            (67_762.0, 8.85, 15.27, 310.0),
            (74_501.0, 8.05, 12.30, 220.0),
        ),
        (
            (81_113.0, 22.18, 38.25, 390.0),
            (97_942.0, 18.36, 31.94, 280.0),
        ),
        (
            (79_260.0, 37.83, 56.84, 400.0),
            (105_352.0, 28.44, 49.21, 300.0),
        ),
    ],
    [
        (
            (60_170.0, 16.62, 18.95, 280.0),
            (58_151.0, 17.19, 20.37, 240.0),
        ),
        (
            (81_691.0, 24.48, 31.37, 340.0),
            (94_123.0, 21.24, 26.68, 370.0),
        ),
        (
            (88_755.0, 45.05, 54.83, 400.0),
            (107_423.0, 37.21, 45.79, 400.0),
        ),
    ],
];

/// The same, by the sizes of results.
const RANGES: [(Figures, Figures); 4] = [
    ((92_100.0, 1.09, 1.34, 330.0), (93_202.0, 1.07, 1.30, 330.0)),
    ((57_931.0, 1.73, 2.30, 370.0), (64_348.0, 1.55, 1.86, 350.0)),
    (
        (8_249.0, 12.12, 18.95, 250.0),
        (8_944.0, 11.18, 14.73, 240.0),
    ),
    (
        (826.0, 120.77, 363.18, 230.0),
        (908.0, 109.96, 139.85, 180.0),
    ),
];

const NAMES: [&str; 4] = [
    "Point select, queries per second (× direct), mean, p95, CPU of the proxy:",
    "Read only:",
    "Write only:",
    "Read write:",
];

const TEXT: &str = "\
TiProxy 0.2 and HAProxy 2.9 with four cores each stood in front of eight TiDB 7.6 of eight cores. \
There were 32 tables of 1,000,000 rows, `--rand-type=uniform`, 20 minutes a point. Here there are \
one MySQL and one table. Writers wait for each other in it, and a transaction that sysbench begins \
again is not an error. The article has no direct way; the column here is the server without a proxy. \
The article's last table has 2 to 8 cores: 58,508, 104,890, 155,520 and 202,134 queries per second. \
The last three are 1.79, 2.66 and 3.45 times the first. Two cores that also carry load and server \
cannot repeat it; *Workers* shows the cost of a second worker.";

pub fn write(page: &mut String, results: &Results) {
    let mut sheets: Vec<Sheet> = (0..WORKLOADS.len()).map(workload).collect();
    sheets.push(ranges());
    section(page, results, "TiProxy and HAProxy (2024)", TEXT, &sheets);
}

fn workload(place: usize) -> Sheet {
    let (load, threads) = TIPROXY[place];
    let figures = threads.into_iter().zip(WORKLOADS[place]);
    let rows = figures.map(|(threads, figures)| row(threads.to_string(), load, threads, figures));
    sheet(NAMES[place], "threads", rows.collect())
}

fn ranges() -> Sheet {
    let rows = TIPROXY_RANGES.into_iter().zip(RANGES);
    let rows = rows.map(|(rows, figures)| {
        let load = tiproxy(Script::Range(rows));
        row(rows.to_string(), load, TIPROXY_RANGE_THREADS, figures)
    });
    sheet("Results of many rows, 100 threads:", "rows", rows.collect())
}

fn sheet(title: &'static str, first: &'static str, rows: Vec<Row>) -> Sheet {
    Sheet {
        title,
        first,
        backend: SERVER,
        theirs: &["TiProxy", "HAProxy"],
        rows,
        figure: ours,
    }
}

fn row(
    label: String,
    load: Load,
    connections: usize,
    (tiproxy, haproxy): (Figures, Figures),
) -> Row {
    let show = |(per_second, mean, p95, cpu): Figures| {
        let per_second = with_ratio(per_second, None);
        format!("{per_second}, {mean} ms, {p95} ms, {cpu:.0} %")
    };
    Row {
        label,
        theirs: vec![show(tiproxy), show(haproxy)],
        load,
        connections,
    }
}

fn ours(summary: &Summary) -> String {
    let latency = summary.latency_us;
    let cpu = summary.proxy_cpu_us.map(Cpu::sum);
    format!(
        "{}, {}, {}{}",
        with_ratio(summary.per_second, speed_ratio(summary)),
        milliseconds(latency.mean),
        milliseconds(latency.p95),
        cpu.map_or(String::new(), |cpu| format!(
            ", {}",
            cpu_percent(cpu, summary)
        )),
    )
}
