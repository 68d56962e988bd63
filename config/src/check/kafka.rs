//! Checks of Kafka clusters that get changes: each needs a stream that keeps its transactions, its own position file,
//! brokers, valid topics, and all settings of its login.

use std::collections::HashSet;

use super::change_files::is_table;
use super::files::{folder_fault, pem_fault};
use crate::load::written::Written;
use crate::setting::KAFKA;
use crate::{Config, Fault, KafkaConfig, KafkaSasl, ReplicationConfig};

/// Kafka's own limit of a topic's name, in characters.
const TOPIC_LENGTH_MAX: usize = 249;

/// Adds every fault of the Kafka clusters.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    let streams = config.replications.iter();
    let clusters = streams.flat_map(|stream| stream.kafka.iter().map(move |it| (stream, it)));
    let files = config.replications.iter().flat_map(|it| &it.change_files);
    let mut paths: HashSet<_> = files.map(|it| position_of(&it.path)).collect();
    for (index, (stream, kafka)) in clusters.enumerate() {
        let mut list = KafkaFaults {
            written,
            index,
            kafka,
            faults,
        };
        list.of_program();
        list.of_stream(stream);
        list.of_brokers();
        list.of_topics();
        list.of_tables();
        list.of_tls();
        list.of_login();
        if list.of_position_file() && !paths.insert(kafka.position_file.clone()) {
            let text = format!("\"{}\" is given twice", kafka.position_file.display());
            let hint = "give each change file and each Kafka cluster a position file of its own";
            list.add("position_file", text, Some(hint));
        }
    }
}

/// The file in which a change file keeps its position.
fn position_of(path: &std::path::Path) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".position");
    name.into()
}

/// The faults of one cluster.
struct KafkaFaults<'a> {
    written: &'a Written,
    index: usize,
    kafka: &'a KafkaConfig,
    faults: &'a mut Vec<Fault>,
}

impl KafkaFaults<'_> {
    fn name(&self, key: &str) -> String {
        Written::of(KAFKA.name, self.index, key)
    }

    fn add(&mut self, key: &str, text: impl Into<String>, hint: Option<&str>) {
        let fault = self.written.fault(&self.name(key), text.into());
        self.faults.push(match hint {
            Some(hint) => fault.hint(hint),
            None => fault,
        });
    }

    fn of_program(&mut self) {
        if !cfg!(feature = "kafka") {
            let text = "this program was built without the feature \"kafka\"";
            let hint = "build it with its default features, or leave [[replication.kafka]] out";
            self.add("brokers", text, Some(hint));
        }
    }

    fn of_stream(&mut self, stream: &ReplicationConfig) {
        if stream.relay_folder.is_none() {
            let text = "needs a relay_folder in its [[replication]]";
            let hint = "relay_folder = \"/var/lib/pilotfish/relay\"";
            self.add("brokers", text, Some(hint));
        }
    }

    fn of_brokers(&mut self) {
        let hint = "write \"HOST:PORT\", such as \"kafka.example.com:9092\"";
        if self.kafka.brokers.is_empty() && self.written.has(&self.name("brokers")) {
            self.add("brokers", "names no broker", Some(hint));
        }
        let kafka = self.kafka;
        for broker in kafka.brokers.iter().filter(|it| !is_broker(it)) {
            self.add("brokers", format!("\"{broker}\" is no broker"), Some(hint));
        }
    }

    fn of_topics(&mut self) {
        let kafka = self.kafka;
        let all = ["{cluster}", "{schema}", "{table}"];
        for (key, topic, names) in [
            ("topic", &kafka.topic, &all[..]),
            ("topic_statements", &kafka.topic_statements, &all[..1]),
        ] {
            if let Some(text) = topic_fault(topic, names) {
                let hint = format!(
                    "use letters, digits, \".\", \"_\", \"-\", {}",
                    names.join(", ")
                );
                self.add(key, text, Some(&hint));
            }
        }
    }

    fn of_tables(&mut self) {
        let kafka = self.kafka;
        for entry in kafka.tables.iter().filter(|it| !is_table(it)) {
            let hint = "write \"TABLE\" or \"SCHEMA.TABLE\"";
            self.add("tables", format!("\"{entry}\" is no table"), Some(hint));
        }
    }

    fn of_tls(&mut self) {
        const CERTIFICATE: &str = "CERTIFICATE-----";
        let kafka = self.kafka;
        let files = [
            ("tls_ca", &kafka.tls_ca, CERTIFICATE),
            ("tls_certificate", &kafka.tls_certificate, CERTIFICATE),
            ("tls_key", &kafka.tls_key, "PRIVATE KEY-----"),
        ];
        for (key, path, holds) in files {
            let Some(path) = path else { continue };
            if !kafka.tls {
                self.add(key, "is of no use without tls", Some("tls = true"));
            } else if let Some(text) = pem_fault(path, holds) {
                self.add(key, text, None);
            }
        }
        let (key, missing) = match (&kafka.tls_certificate, &kafka.tls_key) {
            (Some(_), None) => ("tls_certificate", "tls_key"),
            (None, Some(_)) => ("tls_key", "tls_certificate"),
            _ => return,
        };
        self.add(key, format!("is of no use without {missing}"), None);
    }

    fn of_login(&mut self) {
        let kafka = self.kafka;
        let wants = kafka.sasl != KafkaSasl::None;
        for (key, is_given) in [
            ("user", kafka.user.is_some()),
            ("password", kafka.password.is_some()),
        ] {
            if wants && !is_given {
                let name = self.name("sasl");
                let fault = self.written.fault(&name, format!("needs {key}"));
                self.faults.push(fault);
            } else if !wants && is_given {
                let hint = "sasl = \"scram_sha_512\"";
                self.add(key, "is of no use without sasl", Some(hint));
            }
        }
    }

    /// Whether a position file is given, and its path names a file.
    fn of_position_file(&mut self) -> bool {
        let path = &self.kafka.position_file;
        if !self.written.has(&self.name("position_file")) {
            return false;
        }
        if path.file_name().is_none() {
            self.add("position_file", "must name a file", None);
            return false;
        }
        if let Some(text) = folder_fault(path) {
            self.add("position_file", text, None);
        }
        true
    }
}

/// `HOST:PORT`
fn is_broker(text: &str) -> bool {
    let parts = text.rsplit_once(':');
    parts.is_some_and(|(host, port)| {
        !host.is_empty()
            && !host.contains(|it: char| it.is_whitespace() || it == '/')
            && port.parse::<u16>().is_ok_and(|it| it > 0)
    })
}

/// Why no topic can have this name, which may contain these placeholders.
fn topic_fault(topic: &str, names: &[&str]) -> Option<String> {
    let mut rest = topic.to_owned();
    for name in names {
        rest = rest.replace(name, "");
    }
    let is_legal = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    if topic.is_empty() {
        return Some("is empty".to_owned());
    }
    if !rest.chars().all(is_legal) || matches!(topic, "." | "..") {
        return Some(format!("\"{topic}\" is no name of a topic"));
    }
    (rest.len() > TOPIC_LENGTH_MAX)
        .then(|| format!("is longer than the {TOPIC_LENGTH_MAX} characters that a topic can have"))
}
