//! What sysbench's report says.

use crate::load::Latency;

/// What a run's output holds. Latencies are those of sysbench's events: one query of a point select,
/// one transaction of the others.
#[derive(Debug, PartialEq)]
pub struct Report {
    pub transactions: u64,
    pub queries: u64,
    pub seconds: f64,
    pub latency_us: Latency,
    /// Errors after which sysbench went on.
    pub ignored: u64,
    pub reconnects: u64,
}

impl Report {
    /// None of what is no report.
    pub fn read(text: &str) -> Option<Self> {
        let histogram = Histogram::read(text);
        let micros = |label| Some(field(text, label)?.parse::<f64>().ok()? * 1000.0);
        Some(Self {
            transactions: field(text, "transactions:")?.parse().ok()?,
            queries: field(text, "queries:")?.parse().ok()?,
            seconds: field(text, "total time:")?
                .trim_end_matches('s')
                .parse()
                .ok()?,
            latency_us: Latency {
                p50: histogram.quantile_us(0.50)?,
                p95: histogram.quantile_us(0.95)?,
                p99: histogram.quantile_us(0.99)?,
                max: micros("max:")?,
                mean: micros("avg:")?,
            },
            ignored: field(text, "ignored errors:")?.parse().ok()?,
            reconnects: field(text, "reconnects:")?.parse().ok()?,
        })
    }
}

/// The first word behind the label of a line.
fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(label))?;
    line.split_ascii_whitespace().next()
}

/// sysbench's histogram: upper bounds in milliseconds and how many events fell below each.
struct Histogram(Vec<(f64, u64)>);

impl Histogram {
    fn read(text: &str) -> Self {
        let bars = text.lines().filter_map(|line| {
            let (value, bar) = line.split_once('|')?;
            let count = bar.rsplit(' ').next()?;
            Some((value.trim().parse().ok()?, count.parse().ok()?))
        });
        Self(bars.collect())
    }

    fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|(_, count)| count).sum();
        let mut below = 0;
        let found = self.0.iter().find(|(_, count)| {
            below += count;
            below as f64 >= all as f64 * quantile
        });
        found.map(|(milliseconds, _)| milliseconds * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// sysbench 1.0.20 against MariaDB 10.11, shortened.
    const OUTPUT: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.037 |****************                         50
       0.041 |****************************************  47
       0.500 |                                         3

SQL statistics:
    queries performed:
        read:                            100
        write:                           0
        other:                           0
        total:                           100
    transactions:                        100    (99.65 per sec.)
    queries:                             100    (99.65 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          1.0035s
    total number of events:              100

Latency (ms):
         min:                                    0.02
         avg:                                    0.03
         max:                                    0.52
         95th percentile:                        0.04
         sum:                                  995.23
";

    #[test]
    fn the_report_and_its_histogram_are_read() {
        let report = Report::read(OUTPUT).expect("it is a report");
        assert_eq!((report.transactions, report.reconnects), (100, 0));
        assert_eq!((report.queries, report.seconds), (100, 1.0035));
        let Latency {
            p50,
            p95,
            p99,
            max,
            mean,
        } = report.latency_us;
        assert_eq!([p50, p95, p99, max, mean], [37.0, 41.0, 500.0, 520.0, 30.0]);
    }

    #[test]
    fn output_without_a_sysbench_report_is_not_a_report() {
        assert_eq!(Report::read("FATAL: unable to connect"), None);
    }
}
