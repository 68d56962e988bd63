//! Measures the CPU time of the rules per statement: `cargo run --release -p pilotfish-route --example judge`.
//!
//! The statement is a point select that matches no rule, with 0 to 1,000 rules of each sort. The facts and the
//! digest are computed outside the measurement, because the proxy has them anyway. The first line of the
//! output is the time to compute them.

use std::hint::black_box;
use std::time::Duration;

use config::{Config, Day, RuleConfig, TimeOfDay};
use pilotfish_route::rules::{Chance, Client, Counters, LocalTime, Occasion, Rules};
use rustix::time::{ClockId, clock_gettime};
use sql::{Analysis, Facts, Flags};

const STATEMENT: &[u8] = b"SELECT c FROM sbtest1 WHERE id=501234";

/// A rule of one sort, by its number.
type Sort = fn(&mut RuleConfig, usize);

const SORTS: [(&str, Sort); 7] = [
    ("digest", |rule, number| {
        rule.digest = vec![
            format!("SELECT c{number} FROM t WHERE id = ?")
                .as_str()
                .into(),
        ];
    }),
    ("user", |rule, number| {
        rule.user = vec![format!("user{number}")]
    }),
    ("kind", |rule, _| rule.kind = vec!["INSERT".to_owned()]),
    ("tables", |rule, number| {
        rule.tables = vec![format!("t{number}")]
    }),
    ("tag", |rule, number| rule.tag = vec![format!("t{number}")]),
    ("regex", |rule, number| {
        rule.regex = Some(format!("FROM t{number}\\b").as_str().into());
    }),
    ("digest_regex", |rule, number| {
        rule.digest_regex = Some(format!("^SELECT .* FROM t{number} ").as_str().into());
    }),
];

fn main() {
    let mut facts = Facts::default();
    let mut analysis = Analysis::default();
    let reading = measured(|| facts.read(black_box(STATEMENT), Flags::default()));
    let digesting = measured(|| analysis.read(black_box(STATEMENT), Flags::default()));
    println!("reading: facts {reading:.0} ns, facts and digest {digesting:.0} ns\n");
    println!("{:14}{:>9}{:>9}{:>9}{:>9}", "ns of rules", 1, 10, 100, 1000);
    println!("{:14}{:>9.1}", "none", asking(&Rules::default(), &analysis));
    for (name, sort) in SORTS {
        print!("{name:14}");
        for count in [1, 10, 100, 1000] {
            print!("{:>9.1}", asking(&rules(count, sort), &analysis));
        }
        println!();
    }
}

fn rules(count: usize, sort: Sort) -> Rules {
    let rule = |number| {
        let mut rule = RuleConfig {
            name: format!("rule {number}"),
            ..RuleConfig::default()
        };
        sort(&mut rule, number);
        rule
    };
    let config = Config {
        rules: (0..count).map(rule).collect(),
        ..Config::default()
    };
    let compiled = Rules::compile(&config);
    compiled.map(|it| it.rules).unwrap_or_default()
}

fn asking(rules: &Rules, analysis: &Analysis) -> f64 {
    let counters = Counters::new(rules);
    let occasion = Occasion {
        text: STATEMENT,
        flags: Flags::default(),
        facts: &analysis.facts,
        digest: Some(&analysis.digest),
        digest_hash: None,
        client: Client {
            user: b"sbtest",
            schema: b"sbtest",
            ..Client::default()
        },
        attributes: &[],
        prepared: &(),
        time: LocalTime {
            day: Day::Monday,
            time: TimeOfDay::NOON,
        },
        chance: Chance::Thrown {
            session: 1,
            statement: 2,
        },
    };
    measured(|| {
        let judgement = rules.judge(black_box(&occasion), &counters, &mut ());
        assert_eq!(black_box(&judgement).matched.count(), 0);
    })
}

/// Returns the CPU time of `work` in nanoseconds, the least of several rounds.
fn measured(mut work: impl FnMut()) -> f64 {
    const ROUND: Duration = Duration::from_millis(10);
    let round = |_| {
        let start = busy();
        let mut times = 0u32;
        while busy() - start < ROUND {
            for _ in 0..64 {
                work();
            }
            times += 64;
        }
        (busy() - start).as_nanos() as f64 / f64::from(times)
    };
    (0..9).map(round).fold(f64::INFINITY, f64::min)
}

/// Returns the CPU time of this thread, without other threads and processes.
fn busy() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
