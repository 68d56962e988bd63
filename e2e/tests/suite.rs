//! MariaDB's own test suite: its tests print the same bytes through a proxy that splits their statements over a primary
//! and two replicas, as on a server alone. `suite.txt` lists the tests, and those left out. The same holds for pooled
//! sessions with one server, by `suite_pooled.txt`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use e2e::{Cluster, Folder, Product, Proxy, Server, Settings, is_nightly, primary_options, sized};

/// The tests' account, which has no password, as in the suite.
const ACCOUNT: &str = "root";

/// The options that the suite expects, and a count of SELECTs for each account.
const OPTIONS: &[&str] = &[
    "--default-storage-engine=MyISAM",
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--userstat=ON",
];

/// Longest that one test may take, in seconds; none of the list needs a tenth of it.
const LIMIT: &str = "60";

/// The smallest share of SELECTs at the replicas, in percent. Tests also read in procedures and transactions, which run
/// at the primary.
const SHARE_MIN: u64 = 40;

/// The variable of the environment that names the tests to run instead of the list.
const CHOICE: &str = "PILOTFISH_SUITE";

/// A test of the suite.
struct Test {
    name: String,
    /// Whether the test opens more connections, which must read each other's writes.
    has_connections: bool,
}

impl Test {
    fn new(name: &str) -> Self {
        let path = Product::suite().join(format!("main/{name}.test"));
        let text = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self {
            name: name.to_owned(),
            has_connections: String::from_utf8_lossy(&text).contains("connect"),
        }
    }

    /// Runs the test at a port. The result file is in `folder`.
    fn run(&self, port: u16, folder: &Path) -> Outcome {
        let results = folder.join(format!("{}.result", self.name));
        let mut arguments: Vec<String> = ["--no-defaults", "--host=127.0.0.1", "--protocol=tcp"]
            .map(str::to_owned)
            .into();
        arguments.extend(["--silent", "--record", "--database=test"].map(str::to_owned));
        arguments.extend([
            format!("--user={ACCOUNT}"),
            format!("--port={port}"),
            format!("--test-file=main/{}.test", self.name),
            format!("--result-file={}", results.display()),
            format!("--logdir={}", folder.display()),
            format!("--tmpdir={}", folder.display()),
        ]);
        let output = limited(Product::suite_program().args(arguments), port, folder);
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        Outcome {
            results: fs::read(&results).unwrap_or_default(),
            failure: (!output.status.success()).then_some(complaint),
        }
    }
}

/// The outcome of a test.
struct Outcome {
    /// The output of the test.
    results: Vec<u8>,
    /// The error output, if the test failed.
    failure: Option<String>,
}

/// Runs the suite's program in the folder that its tests expect, with a time limit.
fn limited(program: &Command, port: u16, folder: &Path) -> Output {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(program.get_program());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
        .args(program.get_args())
        .current_dir(Product::suite())
        .env("MYSQLTEST_VARDIR", folder)
        .env("MYSQL_TMP_DIR", folder)
        .env("MYSQL_TEST_DIR", Product::suite())
        .env("MASTER_MYPORT", port.to_string())
        .output()
        .expect("timeout is everywhere")
}

/// Each change runs one test of this number; the night runs all tests.
const ONE_OF: usize = 12;
const ONE_OF_POOLED: usize = 50;

const SPLIT: &str = include_str!("suite.txt");
const POOLED: &str = include_str!("suite_pooled.txt");

/// The mark in front of the line of behaviours.md that explains the tests below it.
const EXPLAINED: char = ':';

/// Every `one_of`th test of a list, or the tests named in [`CHOICE`].
fn tests(list: &str, one_of: usize) -> Vec<Test> {
    let named = std::env::var(CHOICE).ok();
    let text = named.as_deref().unwrap_or(list);
    let lines = text.lines().take_while(|line| !line.starts_with(EXPLAINED));
    let lines = lines.filter(|line| !line.starts_with('#') && !line.contains(':'));
    let step = match named {
        Some(_) => 1,
        None => sized(one_of, 1),
    };
    lines
        .flat_map(str::split_whitespace)
        .step_by(step)
        .map(Test::new)
        .collect()
}

/// Makes the tests' account on this server only.
fn let_in(server: &Server) {
    let mut root = server.root();
    root.run("SET sql_log_bin = 0");
    root.run(&format!("CREATE USER {ACCOUNT}@'%'"));
    root.run(&format!(
        "GRANT ALL ON *.* TO {ACCOUNT}@'%' WITH GRANT OPTION"
    ));
}

/// Removes the objects of the previous test, and makes the objects that the next test expects.
fn clean(server: &Server) {
    let mut root = server.root();
    let others = "SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN \
                  ('mysql', 'sys', 'information_schema', 'performance_schema')";
    for row in root.run(others).texts() {
        let drop = format!("DROP DATABASE `{}`", row[0]);
        if root.query(&drop).error().is_some() {
            // SELECT … INTO OUTFILE of a test that was cut off has left files, which the server does not remove.
            remove_files(&server.folder().join("data").join(&row[0]));
            root.run(&drop);
        }
    }
    root.run("CREATE DATABASE test");
    root.run("CREATE DATABASE mtr");
    root.run("CREATE PROCEDURE mtr.add_suppression(pattern VARCHAR(255)) BEGIN END");
}

fn remove_files(folder: &Path) {
    for file in fs::read_dir(folder).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
}

/// How many SELECTs the tests have run on a server.
fn selects(server: &Server) -> u64 {
    let ask = format!(
        "SELECT SUM(select_commands) FROM information_schema.user_statistics \
         WHERE user = '{ACCOUNT}'"
    );
    server.root().value(&ask).parse().unwrap()
}

fn alone_options() -> Vec<&'static str> {
    let mut options = primary_options(Product::MariaDb);
    options.push("--server-id=1");
    options.extend(OPTIONS);
    options
}

/// Runs tests on a server alone, which writes a binary log as a primary does.
fn run_alone(tests: &[Test], folder: &Path) -> Vec<Outcome> {
    let server = Server::start(Product::MariaDb, &alone_options());
    let_in(&server);
    let play = |test: &Test| {
        clean(&server);
        test.run(server.port(), folder)
    };
    tests.iter().map(play).collect()
}

/// Runs tests through the proxy.
fn run_split(tests: &[Test], folder: &Path) -> Vec<Outcome> {
    let cluster = Cluster::start_with(Product::MariaDb, 2, OPTIONS);
    let_in(&cluster.primary);
    for replica in &cluster.replicas {
        let_in(replica);
        // The account may not write on a replica, even if the proxy sends a write there.
        let mut root = replica.root();
        root.run("SET sql_log_bin = 0");
        root.run(&format!("REVOKE READ ONLY ADMIN ON *.* FROM {ACCOUNT}@'%'"));
    }
    let settings = Settings::of_cluster(&cluster)
        .account(ACCOUNT, "")
        .set("log.level", "info")
        .set("balance.timeout_consistency", "5s");
    let of_session = Proxy::start(&settings);
    let of_all = Proxy::start(&settings.set("routing.consistency", "global"));
    let play = |test: &Test| {
        clean(&cluster.primary);
        cluster.wait_caught_up();
        let proxy = match test.has_connections {
            true => &of_all,
            false => &of_session,
        };
        test.run(proxy.port(), folder)
    };
    let outcomes = tests.iter().map(play).collect();
    assert_split(&cluster);
    outcomes
}

/// Runs tests in pooled sessions.
fn run_pooled(tests: &[Test], folder: &Path) -> Vec<Outcome> {
    let server = Server::start(Product::MariaDb, &alone_options());
    let_in(&server);
    let proxy = Proxy::start(&Settings::pooled(&server, 8).account(ACCOUNT, ""));
    let play = |test: &Test| {
        clean(&server);
        test.run(proxy.port(), folder)
    };
    tests.iter().map(play).collect()
}

/// Checks that replicas ran the reads, each of them a share.
fn assert_split(cluster: &Cluster) {
    let primary = selects(&cluster.primary);
    let replicas: Vec<u64> = cluster.replicas.iter().map(selects).collect();
    println!("SELECTs: {primary} at the primary, {replicas:?} at the replicas");
    if std::env::var_os(CHOICE).is_some() || !is_nightly() {
        // A few tests may have few reads.
        return;
    }
    let all: u64 = primary + replicas.iter().sum::<u64>();
    let share = (all - primary) * 100 / all;
    assert!(share >= SHARE_MIN, "{share} percent");
    // The share of each replica depends on its load.
    let is_idle = |at_one: &u64| at_one * 100 / all < SHARE_MIN / 4;
    assert!(!replicas.iter().any(is_idle), "{replicas:?} of {all}");
}

/// The difference of a test through the proxy, if there is one.
fn difference(expected: &Outcome, seen: &Outcome) -> Option<String> {
    if let Some(failure) = &expected.failure {
        return Some(format!("fails on a server alone: {failure}"));
    }
    if let Some(failure) = &seen.failure {
        return Some(format!("fails: {failure}"));
    }
    let lines = |outcome: &Outcome| -> Vec<String> {
        let text = String::from_utf8_lossy(&outcome.results);
        text.lines().map(str::to_owned).collect()
    };
    let (is, should) = (lines(seen), lines(expected));
    let number = (0..=is.len()).find(|&number| is.get(number) != should.get(number));
    (expected.results != seen.results).then(|| {
        let number = number.unwrap_or(is.len());
        let line = |lines: &[String]| lines.get(number).cloned().unwrap_or_default();
        let (is, should) = (line(&is), line(&should));
        format!("line {}: {is:?} instead of {should:?}", number + 1)
    })
}

/// Runs tests on a server alone and through a proxy, and checks that their output is the same.
fn see_no_difference(tests: &[Test], run_proxied: fn(&[Test], &Path) -> Vec<Outcome>) {
    let folder = Folder::new("suite");
    let place = |name: &str| {
        let path = folder.join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let (alone, proxied) = (place("alone"), place("proxied"));
    let (expected, seen) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| run_alone(tests, &alone));
        let seen = run_proxied(tests, &proxied);
        (expected.join().unwrap(), seen)
    });
    let wrong = tests.iter().zip(expected.iter().zip(&seen));
    let wrong = wrong.filter_map(|(test, (expected, seen))| {
        let difference = difference(expected, seen)?;
        Some(format!("{}: {difference}", test.name))
    });
    let wrong: Vec<String> = wrong.collect();
    let text = wrong.join("\n");
    assert!(wrong.is_empty(), "{text}\n{}", folder.path().display());
}

#[test]
fn mariadbs_own_tests_see_no_difference() {
    see_no_difference(&tests(SPLIT, ONE_OF), run_split);
}

#[test]
fn mariadbs_own_tests_see_no_pool() {
    see_no_difference(&tests(POOLED, ONE_OF_POOLED), run_pooled);
}

#[test]
fn differences_from_the_server_are_listed_in_the_behaviours() {
    let behaviours = include_str!("../../docs/behaviours.md");
    for list in [SPLIT, POOLED] {
        let lines = list.lines();
        let named: Vec<&str> = lines.filter_map(|line| line.strip_prefix(": ")).collect();
        assert!(!named.is_empty());
        for line in named {
            let line = format!("- {line}");
            assert!(behaviours.lines().any(|it| it == line), "{line}");
        }
    }
}
