//! The dashboards and the alert rules that ship: each metric, label and label value that an expression names exists
//! on the metrics page of a proxy in front of a cluster.

use std::collections::{BTreeMap, BTreeSet};

use e2e::raw::{Shape, command};
use e2e::{Cluster, Folder, PASSWORD, Product, Settings, wait};
use serde_json::Value;

use super::Watched;
use super::expressions::{Expression, labels_of_series};
use super::metrics::promtool;

const DASHBOARDS: [(&str, &str); 3] = [
    (
        "overview",
        include_str!("../../../packaging/grafana/overview.json"),
    ),
    (
        "cluster",
        include_str!("../../../packaging/grafana/cluster.json"),
    ),
    (
        "lanes-and-pools",
        include_str!("../../../packaging/grafana/lanes-and-pools.json"),
    ),
];
const RULES: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../packaging/prometheus-rules.yml"
);

/// The metrics page of a proxy.
#[derive(Default)]
struct Page {
    /// The type of each metric.
    kinds: BTreeMap<String, String>,
    /// The labels of each series by its name, and the values that the labels have.
    labels: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self::default();
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a name and a type");
                page.kinds.insert(name.to_owned(), kind.to_owned());
            } else if !line.starts_with('#') {
                let (name, labels) = labels_of_series(line);
                let of_name = page.labels.entry(name.to_owned()).or_default();
                for (label, value) in labels {
                    of_name.entry(label).or_default().insert(value);
                }
            }
        }
        page
    }

    /// The faults of an expression; empty if the page has all metrics, labels and values that it names.
    fn faults(&self, expression: &Expression) -> Vec<String> {
        let mut faults = Vec::new();
        for metric in &expression.metrics {
            let Some(labels) = self.labels.get(&metric.name) else {
                faults.push(format!("no series of {}", metric.name));
                continue;
            };
            let named = metric.matchers.iter().map(|it| &it.label);
            for label in named.chain(&expression.labels) {
                // Prometheus adds these when it collects the page.
                let is_of_prometheus = ["instance", "job"].contains(&label.as_str());
                // A label is gone where an expression has no bucket any more.
                let is_known = is_of_prometheus || labels.contains_key(label);
                if !is_known {
                    faults.push(format!("{} has no label {label}", metric.name));
                }
            }
            let of_own = metric.matchers.iter().filter(|it| it.label != "job");
            for it in of_own.filter(|it| it.is_one_value()) {
                let values = labels.get(&it.label);
                if !values.is_some_and(|values| values.contains(&it.value)) {
                    faults.push(format!("no {}=\"{}\": {values:?}", it.label, it.value));
                }
            }
            let ends = ["_bucket", "_sum", "_count"];
            let is_part = ends.iter().any(|end| metric.name.ends_with(end));
            let grows = is_part
                || self
                    .kinds
                    .get(&metric.name)
                    .is_some_and(|it| it == "counter");
            if grows != metric.is_in_rate {
                faults.push(format!("{}: rate() is for counters", metric.name));
            }
        }
        faults
    }
}

/// A proxy that has recorded every metric.
struct World {
    watched: Watched,
    _cluster: e2e::Leased,
    _folder: Folder,
}

impl World {
    fn start(product: Product) -> Self {
        let cluster = Cluster::lease(product, 1);
        let folder = Folder::new("relay");
        let relay = format!("{:?}", folder.path().display().to_string());
        let feed = folder.path().join("changes.jsonl").display().to_string();
        let settings = Settings::of_cluster(&cluster)
            .account("app", PASSWORD)
            .set("workers", 1)
            .set("pool.backend_connections_max", 2)
            .set("routing.lanes", "reads")
            .set("balance.reads", "latency")
            .rule("no drop", &[("kind", "\"DROP\""), ("refuse", "\"no\"")])
            .set("schema_history.file", &folder.path().join("schemas.db"))
            .replication(
                "app",
                &[
                    ("password", &format!("{PASSWORD:?}")),
                    ("server_id", "4242"),
                    ("relay_folder", &relay),
                    ("change_file", &format!("[{{path = {feed:?}}}]")),
                ],
            );
        let watched = Watched::start(settings);
        let mut root = cluster.primary.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
        root.run("INSERT INTO d.t VALUES (1), (2)");
        cluster.wait_caught_up();
        Self {
            watched,
            _cluster: cluster,
            _folder: folder,
        }
    }

    /// The page after statements have used lanes and connections of their own, and failed.
    fn page(&self) -> String {
        let mut client = self.watched.proxy.connect();
        assert!(client.query("SELECT nonsense").error().is_some());
        // Statements use a lane while other statements are in flight.
        let mut crowd: Vec<_> = (0..8).map(|_| self.watched.proxy.connect()).collect();
        let read = [&[command::QUERY], &b"SELECT id FROM d.t WHERE id = 1"[..]].concat();
        let mut text = String::new();
        wait::until("all kinds of statements are counted", wait::SOON, || {
            crowd.iter_mut().for_each(|it| it.send(&read));
            for it in &mut crowd {
                assert!(it.reply(Shape::Results).error().is_none());
            }
            client.run("UPDATE d.t SET id = id WHERE id = 2");
            text = self.watched.look().get("/metrics").text();
            [
                "pilotfish_statement_wait_seconds_count{cluster=\"main\",backend=\"primary\",way=\"own connection\"}",
                "way=\"lane\"",
                "code=\"1054\"",
                "pilotfish_replication_delay_seconds{",
                "pilotfish_change_reader_delay_seconds{",
                "pilotfish_backend_replication_lag_seconds{cluster=\"main\",backend=\"replica1\"} 0",
                "pilotfish_backend_read_latency_seconds{",
            ]
            .iter()
            .all(|it| text.contains(it))
        });
        self.page_while_a_session_waits()
    }

    /// Three transactions share two connections: one of them waits.
    fn page_while_a_session_waits(&self) -> String {
        let mut holders: Vec<_> = (0..3).map(|_| self.watched.proxy.connect()).collect();
        for it in &mut holders {
            it.run("SET autocommit = 0");
        }
        for (number, it) in holders.iter_mut().enumerate() {
            let locking = format!("SELECT id FROM d.t WHERE id = {number} FOR UPDATE");
            it.send(&[&[command::QUERY], locking.as_bytes()].concat());
        }
        wait::for_some("a session waits for a connection", wait::SOON, || {
            let text = self.watched.look().get("/metrics").text();
            let waits = text.contains("pilotfish_pool_oldest_wait_seconds{");
            waits.then_some(text)
        })
    }
}

/// An expression, and the text that its panel or alert shows with it.
struct Shown {
    place: String,
    expression: String,
    legend: String,
}

fn shown_by(name: &str, dashboard: &Value) -> Vec<Shown> {
    let mut shown = Vec::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            shown.push(Shown {
                place: format!("{name}: {}", panel["title"]),
                expression: target["expr"].as_str().unwrap().to_owned(),
                legend: target["legendFormat"].as_str().unwrap().to_owned(),
            });
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        let query = variable["query"].as_str().unwrap();
        if let Some(query) = query.strip_prefix("label_values(") {
            let (series, label) = query.trim_end_matches(')').rsplit_once(", ").unwrap();
            shown.push(Shown {
                place: format!("{name}: variable {}", variable["name"]),
                expression: series.to_owned(),
                legend: format!("{{{{{label}}}}}"),
            });
        }
    }
    shown
}

/// The alerts: their expressions, and the labels that their texts show.
fn alerts() -> Vec<Shown> {
    let text = std::fs::read_to_string(RULES).unwrap();
    let (_, rules) = text.split_once("rules:\n").unwrap();
    let alerts = rules.split("- alert: ").skip(1).map(|alert| {
        let (name, rest) = alert.split_once('\n').unwrap();
        let (_, rest) = rest.split_once("expr: ").unwrap();
        let (expression, rest) = rest.split_once("\n        for:").unwrap();
        let (_, summary) = rest.split_once("summary:").unwrap();
        let labels = summary.split("{{ $labels.").skip(1);
        let labels = labels.map(|it| format!("{{{{{}}}}}", it.split(' ').next().unwrap()));
        Shown {
            place: format!("alert {name}"),
            expression: expression
                .trim_start_matches(['>', '|', '-', '\n'])
                .to_owned(),
            legend: labels.collect(),
        }
    });
    alerts.collect()
}

both! {
    all_shipped_expressions_name_existing_metrics
}

fn all_shipped_expressions_name_existing_metrics(product: Product) {
    let world = World::start(product);
    let page = Page::of(&world.page());
    let mut shown = alerts();
    for (name, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        shown.extend(shown_by(name, &dashboard));
    }
    let mut faults = Vec::new();
    for it in &shown {
        let expression = Expression::parse(&it.expression, &it.legend);
        let found = page.faults(&expression);
        faults.extend(found.iter().map(|fault| format!("{}: {fault}", it.place)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(shown.len() > 110, "{} expressions", shown.len());
}

#[test]
fn prometheus_accepts_all_expressions() {
    promtool(&["check", "rules", RULES], "");
    let mut rules = String::from("groups:\n  - name: all\n    rules:\n");
    for (name, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        for it in shown_by(name, &dashboard) {
            let mut expression = it.expression.replace("$__rate_interval", "5m");
            for variable in variables {
                let variable = format!("${}", variable["name"].as_str().unwrap());
                expression = expression.replace(&variable, ".*");
            }
            assert!(!expression.contains('$'), "{}: {expression}", it.place);
            // No two rules have the same expression.
            let number = rules.lines().count();
            rules +=
                &format!("      - record: expression:{number}\n        expr: {expression:?}\n");
        }
    }
    let folder = Folder::new("rules");
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, rules).unwrap();
    promtool(&["check", "rules", file.to_str().unwrap()], "");
}

#[test]
fn panels_fill_the_width_and_none_covers_another() {
    for (name, text) in DASHBOARDS {
        let dashboard: Value = serde_json::from_str(text).unwrap();
        let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for panel in dashboard["panels"].as_array().unwrap() {
            assert!(ids.insert(panel["id"].as_u64()), "{name}: {}", panel["id"]);
            let at = |key: &str| panel["gridPos"][key].as_u64().unwrap();
            assert!(at("x") + at("w") <= 24, "{name}: {}", panel["title"]);
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{name}: {}", panel["title"]);
                }
            }
        }
        let bottom = taken.iter().map(|(_, y)| y + 1).max().unwrap();
        assert_eq!(taken.len() as u64, bottom * 24, "{name} has holes");
    }
}
