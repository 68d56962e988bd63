//! The change feed in topics of a real Kafka broker, read by Kafka's own client.

use e2e::{Certs, Kafka, KafkaTool};

use super::*;

both! {
    changes_are_in_topics_in_order_after_kills_of_the_proxy_and_absences_of_kafka
}

/// Reads topics from their first record.
struct Reader(KafkaTool);

/// A record: its key and its value.
type Record = (Value, Value);

impl Reader {
    fn new(kafka: &Kafka) -> Self {
        Self(kafka.tool())
    }

    /// All records of a topic.
    fn all(&mut self, topic: &str) -> Vec<Record> {
        let parse = |it: &str| serde_json::from_str(it).unwrap();
        let records = self.0.read(topic).into_iter();
        records
            .map(|(key, value)| (parse(&key), parse(&value)))
            .collect()
    }

    /// The records of a topic, without repeated ones.
    fn once(&mut self, topic: &str) -> Vec<Record> {
        let mut first: Vec<Record> = Vec::new();
        for record in self.all(topic) {
            if !first.iter().any(|it| id(&it.1) == id(&record.1)) {
                first.push(record);
            }
        }
        first
    }

    /// The changes of a topic, as soon as the insert of this number is among them.
    fn until(&mut self, topic: &str, number: u32) -> Vec<Record> {
        wait::for_some("the topic has the changes", wait::SOON, || {
            let first = self.once(topic);
            let mut changes = first.iter().map(|it| &it.1);
            let has = changes.any(|it| it["op"] == "c" && it["after"]["id"] == number);
            has.then_some(first)
        })
    }
}

fn changes_are_in_topics_in_order_after_kills_of_the_proxy_and_absences_of_kafka(product: Product) {
    let starting = std::thread::spawn(Kafka::start);
    let fed = Fed::new(product);
    let Some(kafka) = starting.join().unwrap() else {
        return;
    };
    let below = blocks("toml")[2].replace("kafka.example.com:9092", &kafka.address());
    let feed = Feed::of(fed, &below);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
        "CREATE TABLE shop.lines (a INT, b VARCHAR(9), c INT, PRIMARY KEY (b, a))",
        "INSERT INTO shop.lines VALUES (1, 'x', 1)",
        "UPDATE shop.lines SET c = 2",
        "DELETE FROM shop.lines",
    ]);
    feed.fed.write(0, 10);
    let mut reader = Reader::new(&kafka);
    reader.until("main.shop.orders", 9);
    proxy.kill();
    feed.fed.write(10, 20);
    let proxy = feed.fed.proxy();
    reader.until("main.shop.orders", 19);

    kafka.close();
    feed.fed.write(20, 30);
    proxy.wait_event("kafka_failed", &["no broker can be reached"]);
    let mut admin = feed.admin();
    let select = |state: &str| {
        format!(
            "SELECT COUNT(*) FROM change_readers WHERE way = 'kafka' AND state = '{state}' AND \
             (last_error IS NULL) = (state = 'live')"
        )
    };
    wait::until("the absence is shown", wait::SOON, || {
        admin.value(&select("waiting")) == "1"
    });
    kafka.open();
    let orders = reader.until("main.shop.orders", 29);
    wait::until("the return is shown", wait::SOON, || {
        admin.value(&select("live")) == "1"
    });

    let is_last = |it: &Value| it["op"] == "c" && it["after"]["id"] == 29;
    let expected = feed.open("from=oldest&tables=shop.orders").until(is_last);
    let rows = expected.iter().filter(|it| it.get("before").is_some());
    let rows: Vec<_> = rows.cloned().collect();
    let got: Vec<_> = orders.iter().map(|it| it.1.clone()).collect();
    assert_eq!(ids(&got)[..rows.len()], ids(&rows));
    for (key, change) in &orders {
        assert_eq!(*key, json!({"id": change["after"]["id"]}), "{change}");
    }
    let lines = reader.once("main.shop.lines");
    let ops: Vec<_> = lines
        .iter()
        .map(|it| it.1["op"].as_str().unwrap())
        .collect();
    assert_eq!(ops, ["c", "u", "d"]);
    assert!(
        lines.iter().all(|it| it.0 == json!({"b": "x", "a": 1})),
        "{lines:?}"
    );
    let statements = reader.once("main");
    assert!(
        statements
            .iter()
            .all(|it| it.0.is_null() && it.1["op"] == "ddl")
    );
    assert!(statements.len() >= 2, "{statements:?}");
    proxy.stop();
}

#[test]
fn changes_reach_a_broker_over_tls_with_each_sasl_mechanism() {
    let starting = std::thread::spawn(Kafka::start);
    let fed = Fed::new(Product::MariaDb);
    let Some(kafka) = starting.join().unwrap() else {
        return;
    };
    let mut reader = Reader::new(&kafka);
    for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
        let user = format!("user{}", &mechanism[10..]);
        reader.0.add_user(mechanism, &user, PASSWORD);
    }
    let below = blocks("toml")[2].replace("kafka.example.com:9092", &kafka.secure_address());
    let login = |ca: &Path, sasl: &str, user: &str, password: &str| {
        format!(
            "{below}tls = true\ntls_ca = \"{}\"\nsasl = \"{sasl}\"\nuser = \"{user}\"\npassword = \"{password}\"\n",
            ca.display()
        )
    };
    let certs = Certs::shared();
    let mut now = login(&certs.ca, "scram_sha_512", "user512", "another");
    let feed = Feed::of(fed, &now);
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
    ]);
    proxy.wait_event("kafka_failed", &["the broker refuses the login"]);
    let mut number = 0;
    let mut set = |text: String| {
        let config = std::fs::read_to_string(&feed.fed.config).unwrap();
        let place = feed.fed.config.parent().unwrap().to_str().unwrap();
        let inside = |it: &str| it.replace("/var/lib/pilotfish", place);
        let config = config.replace(&inside(&now), &inside(&text));
        std::fs::write(&feed.fed.config, config).unwrap();
        now = text;
        proxy.signal(Signal::HUP);
    };
    for (sasl, user) in [
        ("scram_sha_512", "user512"),
        ("scram_sha_256", "user256"),
        ("plain", "plain"),
    ] {
        set(login(&certs.ca, sasl, user, PASSWORD));
        feed.fed.write(number, number + 2);
        number += 2;
        reader.until("main.shop.orders", number - 1);
    }
    set(login(&certs.foreign_ca, "plain", "plain", PASSWORD));
    proxy.wait_event("kafka_failed", &["no broker can be reached", "certificate"]);
    proxy.stop();
}

#[test]
fn a_quota_makes_changes_wait_and_none_comes_twice() {
    let starting = std::thread::spawn(Kafka::start);
    let fed = Fed::new(Product::MariaDb);
    let Some(kafka) = starting.join().unwrap() else {
        return;
    };
    let mut reader = Reader::new(&kafka);
    reader.0.set_quota("pilotfish", 30_000);
    let below = blocks("toml")[2].replace("kafka.example.com:9092", &kafka.address());
    let feed = Feed::of(fed, &format!("{below}batch_bytes_max = 65536\n"));
    let proxy = feed.fed.proxy();
    feed.run(&[
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT)",
    ]);
    for number in 0..40 {
        feed.run(&[&format!(
            "INSERT INTO shop.orders VALUES ({number}, REPEAT('x', 10000))"
        )]);
    }
    proxy.wait_event("kafka_throttled", &["quota"]);
    reader.until("main.shop.orders", 39);
    // The client without a quota reads each change once.
    let all: Vec<_> = reader
        .all("main.shop.orders")
        .into_iter()
        .map(|it| it.1)
        .collect();
    let inserts: Vec<_> = all
        .iter()
        .filter(|it| it["op"] == "c")
        .map(|it| it["after"]["id"].clone())
        .collect();
    assert_eq!(inserts, (0..40).map(Value::from).collect::<Vec<_>>());
    assert!(!proxy.log().contains("kafka_failed"), "{}", proxy.log());
    proxy.stop();
}
