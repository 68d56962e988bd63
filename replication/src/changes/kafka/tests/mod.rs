//! Changes of captured logs, sent to a broker that refuses requests, breaks connections and loses acknowledgements.

mod double;

use std::time::Duration;

use config::KafkaConfig;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::writer::KafkaWriter;
use crate::changes::error::ChangeError;
use crate::changes::reader::{ChangeReader, ChangeStart, Progress};
use crate::changes::sink::Sink;
use crate::changes::tests::Captured;
use double::{Broker, Fault, Taken};

fn settings(broker: &Broker, folder: &tempfile::TempDir) -> KafkaConfig {
    KafkaConfig {
        brokers: vec![broker.address.clone()],
        topic: "all".to_owned(),
        topic_statements: "all".to_owned(),
        position_file: folder.path().join("position"),
        batch_bytes_max: 4 << 10,
        ..KafkaConfig::default()
    }
}

/// Sends all changes of a capture after the saved position. Ends at the first error.
fn send(captured: &Captured, settings: &KafkaConfig) -> Result<(), ChangeError> {
    let (_stop, stopped) = watch::channel(());
    send_until(captured, settings, stopped)
}

fn send_until(
    captured: &Captured,
    settings: &KafkaConfig,
    stopped: watch::Receiver<()>,
) -> Result<(), ChangeError> {
    let mut writer = KafkaWriter::open(settings, &captured.source, stopped)?;
    let start = match writer.position() {
        Some(position) => ChangeStart::Behind(position.to_owned()),
        None => ChangeStart::Oldest,
    };
    let mut reader = ChangeReader::begin(&captured.source, &start, &[]).unwrap();
    writer.begin(reader.position())?;
    loop {
        let progress = reader.step(&mut writer);
        if progress.is_err() {
            writer.sync()?;
        }
        match progress? {
            Progress::Goes => {}
            Progress::IsLive | Progress::IsLeft => return writer.sync(),
        }
    }
}

fn value(taken: &Taken) -> Value {
    serde_json::from_str(&taken.1).unwrap()
}

/// Each change by its transaction and its number in the transaction.
fn ids(taken: &[Taken]) -> Vec<(String, u64)> {
    let id = |it: &Taken| {
        let value = value(it);
        let transaction = &value["transaction"];
        let id = transaction["id"].as_str().unwrap().to_owned();
        (id, transaction["total_order"].as_u64().unwrap())
    };
    taken.iter().map(id).collect()
}

/// Removes changes that occur a second time.
fn first_of_each(all: Vec<(String, u64)>) -> Vec<(String, u64)> {
    let mut first = Vec::new();
    for id in all {
        if !first.contains(&id) {
            first.push(id);
        }
    }
    first
}

/// All changes in order, as a broker without faults receives them.
fn whole(captured: &Captured) -> Vec<(String, u64)> {
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    send(captured, &settings(&broker, &folder)).unwrap();
    let all = ids(&broker.taken("all"));
    assert!(all.len() > 20);
    assert_eq!(first_of_each(all.clone()), all);
    all
}

fn position(settings: &KafkaConfig) -> Option<String> {
    std::fs::read_to_string(&settings.position_file).ok()
}

#[test]
fn changes_go_to_the_topic_of_their_table_in_small_batches_with_their_keys() {
    let captured = Captured::new("mysql-9.7", 1);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = KafkaConfig {
        topic: KafkaConfig::default().topic,
        topic_statements: "statements".to_owned(),
        ..settings(&broker, &folder)
    };
    send(&captured, &settings).unwrap();
    let topics = broker.topics();
    assert!(topics.len() > 2, "{topics:?}");
    let mut keys = 0;
    for topic in &topics {
        let taken = broker.taken(topic);
        let order = ids(&taken);
        assert_eq!(first_of_each(order.clone()), order, "{topic}");
        for (key, json) in &taken {
            let change: Value = serde_json::from_str(json).unwrap();
            let is_row = change.get("before").is_some();
            let source = &change["source"];
            let expected = match is_row {
                true => format!("main.{}.{}", source["db"], source["table"]).replace('"', ""),
                false => "statements".to_owned(),
            };
            assert_eq!(*topic, expected);
            let Some(key) = key else { continue };
            let key: Value = serde_json::from_str(key).unwrap();
            let image = match change["after"] {
                Value::Null => &change["before"],
                _ => &change["after"],
            };
            for (name, value) in key.as_object().unwrap() {
                assert_eq!(image[name], *value, "{change}");
                keys += 1;
            }
        }
    }
    assert!(keys > 0);
    // A request has about 4 KiB, and all replicas acknowledge it.
    assert!(broker.requests().len() > topics.len());
    assert!(broker.acks().iter().all(|it| *it == -1));
}

#[test]
fn changes_before_the_saved_kafka_position_are_not_sent_again() {
    let captured = Captured::new("mariadb-11.8", 1);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    send(&captured, &settings).unwrap();
    let count = broker.requests().len();
    let end = position(&settings);
    assert!(end.is_some());
    send(&captured, &settings).unwrap();
    assert_eq!(broker.requests().len(), count);
    assert_eq!(position(&settings), end);
    // A second writer of the position file would continue at a wrong position.
    let (_stop, stopped) = watch::channel(());
    let first = KafkaWriter::open(&settings, &captured.source, stopped.clone()).unwrap();
    let second = KafkaWriter::open(&settings, &captured.source, stopped).err();
    assert!(matches!(second, Some(ChangeError::InUse(_))), "{second:?}");
    drop(first);
}

#[test]
fn lost_connections_and_acknowledgements_and_new_leaders_lose_no_change_and_keep_the_order() {
    const NOT_LEADER: Fault = Fault::Refused(6);
    const TOO_FEW_REPLICAS: Fault = Fault::Refused(19);
    let captured = Captured::new("mariadb-11.8", 1);
    let all = whole(&captured);
    for faults in [
        &[Fault::Unsent, Fault::Unsent][..],
        &[Fault::Unacknowledged, NOT_LEADER, Fault::Unacknowledged],
        &[NOT_LEADER, Fault::Unsent, Fault::Unacknowledged, NOT_LEADER],
        &[TOO_FEW_REPLICAS, NOT_LEADER, TOO_FEW_REPLICAS],
    ] {
        // A broker that knows producers stores each batch once.
        let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
        broker.fail(faults);
        send(&captured, &settings(&broker, &folder)).unwrap();
        assert_eq!(broker.faults_left(), 0);
        assert_eq!(ids(&broker.taken("all")), all, "{faults:?}");
        assert_eq!(broker.producers(), 1);

        let (broker, folder) = (Broker::start_old(), tempfile::tempdir().unwrap());
        broker.fail(faults);
        send(&captured, &settings(&broker, &folder)).unwrap();
        assert_eq!(broker.faults_left(), 0);
        let taken = ids(&broker.taken("all"));
        let twice = faults.iter().filter(|it| **it == Fault::Unacknowledged);
        assert_eq!(taken.len() > all.len(), twice.count() > 0, "{faults:?}");
        assert_eq!(first_of_each(taken), all, "{faults:?}");
    }
}

#[test]
fn a_broker_that_has_forgotten_the_producer_gets_the_batch_from_another() {
    let captured = Captured::new("mariadb-11.8", 1);
    let all = whole(&captured);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    // The faults begin after the first batch.
    broker.fail(&[Fault::Throttled(Duration::ZERO), Fault::Forgets]);
    send(&captured, &settings).unwrap();
    assert_eq!(broker.producers(), 2);
    assert_eq!(ids(&broker.taken("all")), all);
}

#[test]
fn a_quota_makes_the_next_request_wait_and_no_change_comes_twice() {
    let captured = Captured::new("mysql-9.7", 1);
    let all = whole(&captured);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    let throttled = Fault::Throttled(Duration::from_millis(50));
    broker.fail(&[throttled, throttled, throttled]);
    send(&captured, &settings).unwrap();
    assert_eq!((broker.faults_left(), broker.too_early()), (0, 0));
    assert_eq!(ids(&broker.taken("all")), all);
    // The broker received each request once.
    let records: usize = broker.requests().iter().map(|it| it.1).sum();
    assert_eq!(records, all.len());
}

#[test]
fn bytes_that_are_no_answer_end_the_sink_and_take_no_memory() {
    let captured = Captured::new("mysql-9.7", 1);
    let all = whole(&captured);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    // The answer that is replaced has the correlation id 5: versions, brokers, producer id and leader come before it.
    for (bytes, expected) in [
        (&b"\x7f\xff\xff\xff\0\0\0\x05"[..], "2147483647 bytes"),
        (b"\xff\xff\xff\xff\0\0\0\x05", "-1 bytes"),
        (b"\0\0\0\x03\0\0\0\x05", "3 bytes"),
        (b"\0\0\0\x08\0\0\0\x09\0\0\0\0", "another request"),
        (
            b"\0\0\0\x08\0\0\0\x05\x7f\xff\xff\xff",
            "ends before its topic",
        ),
        (b"\0\0\0\x08\0\0\0\x05\x80\0\0\0", "impossible length"),
        (
            b"\0\0\0\x08\0\0\0\x05\0\0\0\0",
            "ends before its throttle time",
        ),
    ] {
        broker.fail(&[Fault::Nonsense(bytes)]);
        let refusal = send(&captured, &settings).unwrap_err();
        assert!(refusal.to_string().contains(expected), "{refusal}");
        assert_eq!(position(&settings).as_deref(), Some("\n"));
    }
    send(&captured, &settings).unwrap();
    assert_eq!(ids(&broker.taken("all")), all);
}

#[test]
fn the_position_stays_before_a_refused_change_and_the_error_names_the_correction() {
    let captured = Captured::new("mysql-9.7", 1);
    let all = whole(&captured);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    for (code, expected) in [
        (
            10,
            "topic all: the broker answers MESSAGE_TOO_LARGE: a request is larger than the topic takes",
        ),
        (29, "the user may not do this"),
        (87, "the broker answers INVALID_RECORD"),
    ] {
        broker.fail(&[Fault::Refused(code)]);
        let refusal = send(&captured, &settings).unwrap_err();
        assert_eq!(refusal.kind(), "kafka");
        assert!(refusal.to_string().contains(expected), "{refusal}");
        assert_eq!(broker.taken("all"), []);
        assert_eq!(position(&settings).as_deref(), Some("\n"));
    }
    send(&captured, &settings).unwrap();
    assert_eq!(ids(&broker.taken("all")), all);
}

#[test]
fn a_sink_that_is_to_end_does_not_wait_for_a_silent_broker() {
    let captured = Captured::new("mysql-9.7", 1);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    let settings = settings(&broker, &folder);
    broker.fail(&[Fault::Silence]);
    let (stop, stopped) = watch::channel(());
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while broker.faults_left() > 0 {
                std::thread::yield_now();
            }
            drop(stop);
        });
        send_until(&captured, &settings, stopped)
    });
    assert!(matches!(ended, Err(ChangeError::Gone)), "{ended:?}");
    assert_eq!(position(&settings).as_deref(), Some("\n"));
}

#[test]
fn a_key_has_all_columns_of_the_primary_key_as_they_are_after_the_change() {
    let captured = Captured::new("mariadb-11.8", 1);
    let (broker, folder) = (Broker::start(), tempfile::tempdir().unwrap());
    send(&captured, &settings(&broker, &folder)).unwrap();
    let taken = broker.taken("all");
    let without = taken.iter().filter(|it| it.0.is_none()).map(value);
    // Changes that are statements have no key.
    assert!(without.filter(|it| it["op"] == "ddl").count() > 0);
    let updated = taken.iter().find(|it| value(it)["op"] == "u").unwrap();
    let change = value(updated);
    let key: Value = serde_json::from_str(updated.0.as_ref().unwrap()).unwrap();
    assert_eq!(key, json!({"id": change["after"]["id"]}));
}
