//! Measures the reading of statements: `cargo run --release -p pilotfish-sql --example speed` in time; with
//! `-- instructions` in instructions, counted by valgrind, which do not depend on the machine's load.
//!
//! With a statement's name and a number, only that statement is read, that many times and without the clock.

use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

use pilotfish_sql::{Analysis, Facts, Flags, Lexer};
use rustix::time::{ClockId, clock_gettime};

fn statements() -> Vec<(&'static str, Vec<u8>)> {
    let point = b"SELECT c FROM sbtest1 WHERE id=501234".to_vec();
    let update = b"UPDATE sbtest1 SET k=k+1 WHERE id=501234".to_vec();
    let insert =
        b"INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 4993, '68487932199-96439406143', \
        '67847967377-48000963322')"
            .to_vec();
    let join = b"SELECT o.id, o.total, c.name, COUNT(*) AS n FROM orders o INNER JOIN customers c \
        ON c.id = o.customer_id LEFT JOIN items i ON i.order_id = o.id WHERE o.created_at > \
        '2024-01-01' AND c.country IN ('de', 'fr', 'nl') GROUP BY o.id, o.total, c.name HAVING n > \
        3 ORDER BY o.total DESC LIMIT 20"
        .to_vec();
    let rows: Vec<_> = (0..20_000)
        .map(|n| format!("({n},'name {n}',{n}.5,NULL)"))
        .collect();
    let rows = format!("INSERT INTO t (a,b,c,d) VALUES {}", rows.join(","));
    let ids: Vec<_> = (0..100_000).map(|n| (n * 7919).to_string()).collect();
    let ids = format!("SELECT * FROM t WHERE id IN ({})", ids.join(","));
    let blob = format!(
        "INSERT INTO t (b) VALUES ('{}')",
        "lorem ipsum ".repeat(100_000)
    );
    let wide: Vec<_> = (0..2_000)
        .map(|n| format!("'{}'", "text ".repeat(n % 100)))
        .collect();
    let wide = format!("INSERT INTO t (b) VALUES ({})", wide.join("),("));
    vec![
        ("point select", point),
        ("point update", update),
        ("sysbench insert", insert),
        ("join", join),
        ("short rows", rows.into_bytes()),
        ("list of ids", ids.into_bytes()),
        ("rows of text", wide.into_bytes()),
        ("one blob", blob.into_bytes()),
    ]
}

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    for (name, text) in statements() {
        match arguments.as_slice() {
            [] => report(name, &text),
            [chosen] if chosen == "instructions" => count(name, &text),
            [chosen, times] if chosen == name => read_often(&text, times.parse().unwrap_or(1)),
            _ => {}
        }
    }
}

/// Prints the instructions of one reading, as the average of several readings under valgrind.
fn count(name: &str, text: &[u8]) {
    let times = (1_000_000 / text.len()).clamp(1, 1000);
    let program = std::env::current_exe().unwrap_or_default();
    let told = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*read_often*")
        .arg(program)
        .args([name, &times.to_string()])
        .output();
    let told = match &told {
        Ok(told) => String::from_utf8_lossy(&told.stderr),
        Err(cause) => return println!("valgrind does not run: {cause}"),
    };
    let collected = told
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1));
    match collected.and_then(|count| count.trim().parse::<usize>().ok()) {
        None => println!("valgrind has counted nothing: {told}"),
        Some(count) => println!(
            "{name:16} {:>8} B {:>10} instructions {:>8.2} a byte",
            text.len(),
            count / times,
            (count / times) as f64 / text.len() as f64
        ),
    }
}

#[inline(never)]
fn read_often(text: &[u8], times: usize) {
    let mut analysis = Analysis::default();
    for _ in 0..times {
        analysis.read(black_box(text), Flags::default());
        black_box(analysis.digest.hash());
    }
}

fn report(name: &str, text: &[u8]) {
    let mut facts = Facts::default();
    let mut analysis = Analysis::default();
    let lexer = best(text, |text| {
        black_box(Lexer::new(text, Flags::default()).count());
    });
    let only_facts = best(text, |text| facts.read(text, Flags::default()));
    let all = best(text, |text| analysis.read(text, Flags::default()));
    let shown = |time: Duration| {
        let speed = text.len() as f64 / time.as_secs_f64() / 1e9;
        format!("{:>10} ns {speed:>6.2} GB/s", time.as_nanos())
    };
    println!(
        "{name:16} {:>8} B  tokens {}  facts {}  facts + digest {}",
        text.len(),
        shown(lexer),
        shown(only_facts),
        shown(all)
    );
}

/// Returns the shortest CPU time of one reading, from several rounds.
fn best(text: &[u8], mut read: impl FnMut(&[u8])) -> Duration {
    let times = (20_000_000 / text.len().max(1)).clamp(5, 200_000) as u32;
    let mut best = Duration::MAX;
    for _ in 0..9 {
        let start = busy();
        for _ in 0..times {
            read(black_box(text));
        }
        best = best.min((busy() - start) / times);
    }
    best
}

/// Returns the CPU time of this thread, without other threads and processes.
fn busy() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
