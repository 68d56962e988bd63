//! The change feed in topics of a real broker of Kafka.

use e2e::Kafka;
use rskafka::client::partition::UnknownTopicHandling;
use rskafka::client::{Client, ClientBuilder};

use super::*;

both! {
    changes_are_in_topics_in_order_after_kills_of_the_proxy_and_absences_of_kafka
}

/// Reads topics from their begin on.
struct Reader {
    client: Client,
    runtime: tokio::runtime::Runtime,
}

/// A record: its key and its value.
type Record = (Value, Value);

impl Reader {
    fn new(kafka: &Kafka) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let builder = ClientBuilder::new(vec![kafka.address()]);
        let client = runtime.block_on(builder.build()).unwrap();
        Self { client, runtime }
    }

    /// All records of a topic.
    fn all(&self, topic: &str) -> Vec<Record> {
        self.runtime.block_on(async {
            let retry = UnknownTopicHandling::Retry;
            let partition = self.client.partition_client(topic, 0, retry).await.unwrap();
            let mut all = Vec::new();
            loop {
                let offset = i64::try_from(all.len()).unwrap();
                let fetched = partition.fetch_records(offset, 1..4 << 20, 0).await;
                let (records, end) = fetched.unwrap();
                let parse = |it: Option<Vec<u8>>| {
                    it.map_or(Value::Null, |it| serde_json::from_slice(&it).unwrap())
                };
                let records = records.into_iter().map(|it| it.record);
                all.extend(records.map(|it| (parse(it.key), parse(it.value))));
                if i64::try_from(all.len()).unwrap() >= end {
                    return all;
                }
            }
        })
    }

    /// The same without those that have come before.
    fn once(&self, topic: &str) -> Vec<Record> {
        let mut first: Vec<Record> = Vec::new();
        for record in self.all(topic) {
            if !first.iter().any(|it| id(&it.1) == id(&record.1)) {
                first.push(record);
            }
        }
        first
    }

    /// The changes of a topic, as soon as they have this insert.
    fn until(&self, topic: &str, number: u32) -> Vec<Record> {
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
    let reader = Reader::new(&kafka);
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
    let reader = Reader::new(&kafka);
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
