//! Metrics by OTLP: a collector gets the metrics of the metrics page.

use std::collections::BTreeMap;

use e2e::collector::{Collector, text_of};
use e2e::{Product, Proxy, Server, Settings, free_port, wait};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
};

use super::Watched;
use super::expressions::labels_of_series;

/// Series by their names and labels, as the metrics page has them.
type SeriesMap = BTreeMap<(String, Labels), f64>;

type Labels = BTreeMap<String, String>;

fn settings(product: Product, endpoint: &str) -> Settings {
    Settings::pooled(Server::shared(product), 4)
        .set("tracing.metrics_endpoint", endpoint)
        .set("tracing.metrics_interval", "1s")
        .set("tracing.service", "shop")
        .set("tracing.timeout", "30s")
}

fn metrics(message: &ResourceMetrics) -> impl Iterator<Item = &Metric> {
    message.scope_metrics.iter().flat_map(|it| &it.metrics)
}

/// The series of a message as the metrics page would show them, without the buckets of histograms.
fn series_of(message: &ResourceMetrics) -> SeriesMap {
    let mut all = SeriesMap::new();
    for metric in metrics(message) {
        let name = &metric.name;
        match metric.data.as_ref().expect("it has values") {
            Data::Gauge(it) => it
                .data_points
                .iter()
                .for_each(|it| put_number(&mut all, name, it)),
            Data::Sum(it) => {
                assert!(it.is_monotonic, "{name}");
                assert_eq!(
                    it.aggregation_temporality(),
                    AggregationTemporality::Cumulative
                );
                it.data_points
                    .iter()
                    .for_each(|it| put_number(&mut all, name, it));
            }
            Data::Histogram(it) => {
                assert_eq!(
                    it.aggregation_temporality(),
                    AggregationTemporality::Cumulative
                );
                it.data_points
                    .iter()
                    .for_each(|it| put_histogram(&mut all, name, it));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
    all
}

fn put_number(all: &mut SeriesMap, name: &str, point: &NumberDataPoint) {
    let Some(Value::AsDouble(value)) = point.value else {
        panic!("{name}: {point:?}");
    };
    assert!(point.start_time_unix_nano < point.time_unix_nano, "{name}");
    let before = all.insert((name.to_owned(), labels(&point.attributes)), value);
    assert!(before.is_none(), "{name} is there twice");
}

fn put_histogram(all: &mut SeriesMap, name: &str, point: &HistogramDataPoint) {
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert!(point.explicit_bounds.is_sorted(), "{name}");
    assert_eq!(
        point.bucket_counts.iter().sum::<u64>(),
        point.count,
        "{name}"
    );
    let labels = labels(&point.attributes);
    all.insert(
        (format!("{name}_count"), labels.clone()),
        point.count as f64,
    );
    all.insert((format!("{name}_sum"), labels), point.sum.unwrap());
}

fn labels(attributes: &[KeyValue]) -> Labels {
    let pairs = attributes.iter();
    let pairs = pairs.map(|it| (it.key.clone(), text_of(attributes, &it.key)));
    pairs.collect()
}

/// The series of the metrics page.
fn series_on(page: &str) -> SeriesMap {
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let series = lines.filter_map(|line| {
        let (name, labels) = labels_of_series(line);
        let value = line.rsplit(' ').next()?.parse().ok()?;
        Some(((name.to_owned(), labels.into_iter().collect()), value))
    });
    series
        .filter(|((name, _), _)| !name.ends_with("_bucket"))
        .collect()
}

/// Whether a number changes without a statement.
fn is_restless(name: &str) -> bool {
    let restless = [
        "process_",
        "pilotfish_memory_bytes",
        "latency_seconds",
        "pilotfish_listener_",
    ];
    restless.iter().any(|it| name.contains(it))
}

both! {
    a_collector_gets_the_figures_of_the_metrics_page
}

fn a_collector_gets_the_figures_of_the_metrics_page(product: Product) {
    let collector = Collector::start();
    let watched = Watched::start(settings(product, &collector.endpoint()));
    let mut client = watched.proxy.connect();
    for _ in 0..20 {
        client.run("SELECT 1");
    }
    assert!(client.query("SELECT nonsense").error().is_some());
    // Both have the same figures, unless the proxy has counted between the two.
    let (mut sent, mut shown) = (SeriesMap::new(), SeriesMap::new());
    wait::until("the collector has what the page has", wait::SOON, || {
        shown = series_on(&watched.look().get("/metrics").text());
        let messages = collector.metrics();
        sent = messages.last().map(series_of).unwrap_or_default();
        let is_same = |(key, value): (&(String, Labels), &f64)| {
            is_restless(&key.0) || sent.get(key) == Some(value)
        };
        shown.iter().all(is_same)
    });
    let (sent, shown): (Vec<_>, Vec<_>) = (sent.keys().collect(), shown.keys().collect());
    assert_eq!(sent, shown);
    assert!(
        sent.iter()
            .any(|it| it.0 == "pilotfish_statement_errors_total")
    );

    let messages = collector.metrics();
    let message = messages.last().unwrap();
    let resource = &message.resource.as_ref().unwrap().attributes;
    assert_eq!(text_of(resource, "service.name"), "shop");
    let instance = text_of(resource, "service.instance.id");
    assert!(
        instance.ends_with(&watched.proxy.port().to_string()),
        "{instance}"
    );
    for (name, unit) in [
        ("pilotfish_statement_wait_seconds", "s"),
        ("process_resident_memory_bytes", "By"),
        ("pilotfish_pool_opened_total", ""),
    ] {
        let metric = metrics(message).find(|it| it.name == name).unwrap();
        assert_eq!(
            (&*metric.unit, metric.description.is_empty()),
            (unit, false)
        );
    }
    let request = &collector.requests()[0];
    assert!(
        request.starts_with("post /v1/metrics http/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("content-type: application/x-protobuf"),
        "{request}"
    );
    watched.proxy.assert_sound();
}

/// Neither port is open. Errors are counted all the same.
#[test]
fn metrics_are_sent_without_an_admin_port_and_once_more_at_the_end() {
    let collector = Collector::start();
    let settings = settings(Product::MariaDb, &collector.endpoint());
    let proxy = Proxy::start(&settings.set("tracing.metrics_interval", "1h"));
    let mut client = proxy.connect();
    assert!(client.query("SELECT nonsense").error().is_some());
    assert!(collector.metrics().is_empty());
    proxy.stop();
    let messages = collector.metrics();
    assert_eq!(messages.len(), 1);
    let series = series_of(&messages[0]);
    let errors = series
        .iter()
        .filter(|it| it.0.0 == "pilotfish_statement_errors_total");
    let errors: Vec<_> = errors
        .map(|((_, labels), value)| (&*labels["code"], *value))
        .collect();
    assert_eq!(errors, [("1054", 1.0)]);
}

#[test]
fn a_collector_that_takes_no_metrics_is_reported_once_and_gets_them_later() {
    let port = free_port();
    let endpoint = format!("http://127.0.0.1:{port}");
    let watched = Watched::start(settings(Product::MariaDb, &endpoint));
    watched
        .proxy
        .wait_event("metrics_failed", &["sends them again"]);
    let collector = Collector::on(port);
    watched.proxy.wait_event("metrics_sent_again", &[]);
    collector.answer_with(400);
    wait::until("the answer is reported", wait::SOON, || {
        watched.proxy.log().contains("the collector answers 400")
    });
    assert_eq!(watched.proxy.count_events("metrics_failed"), 2);
    watched.proxy.assert_sound();
}

#[test]
fn an_invalid_address_is_refused() {
    let settings = settings(Product::MariaDb, "otel:4318").to_toml();
    let folder = e2e::Folder::new("otlp");
    let file = folder.path().join("pilotfish.toml");
    std::fs::write(&file, settings).unwrap();
    let (status, told) = Proxy::run_to_the_end(&["--config", file.to_str().unwrap()]);
    assert!(!status.success());
    for words in [
        "tracing.metrics_endpoint",
        "must begin with http:// or https://",
    ] {
        assert!(told.contains(words), "{told}");
    }
}
