//! Sends the metrics of the metrics page to a collector, each interval, on a thread of its own: no other part waits for
//! the collector.

mod convert;
mod otlp;

use std::sync::Arc;
use std::sync::mpsc::{Receiver as Ended, Sender as Ending, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use admin::table::demands_of;
use admin::table_input::TableInput;
use admin::{AdminSources, EventKind, metrics};
use config::{Config, HttpTarget};
use hyper::body::Bytes;
use net::watch;
use prost::Message as _;
use tokio::time::{Instant as Moment, sleep_until};
use worker::Settings;

use super::common::{KeyValue, Resource, Scope, attribute, nanoseconds};
use super::post::{Destination, Failure, post};
use convert::Starts;
use otlp::{Data, Metric, MetricsRequest, ResourceMetrics, ScopeMetrics};

/// The most points of one message: about a megabyte. A metric is not divided.
const POINTS_MAX: usize = 5_000;

/// How long the last message may take when the proxy ends.
const TIMEOUT_END: Duration = Duration::from_secs(2);

/// The sending thread.
pub struct MetricsExporter {
    end: watch::Sender<bool>,
    ended: Ended<()>,
}

impl MetricsExporter {
    /// Starts to send the metrics of the metrics page, by the current settings. The process began at `started`.
    ///
    /// # Errors
    /// The kernel's error in words: no thread can be started.
    pub fn start(
        settings: watch::Receiver<Arc<Settings>>,
        admin_sources: &AdminSources,
        started: Instant,
    ) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("metrics cannot be sent: {error}");
        let (end, ends) = watch::channel(false);
        let (has_ended, ended) = channel();
        let now = SystemTime::now();
        let began = now.checked_sub(started.elapsed());
        let exporting = Exporting {
            starts: Starts::new(nanoseconds(began.unwrap_or(now))),
            settings,
            admin_sources: admin_sources.clone(),
            ends,
            has_trouble: false,
            has_ended,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(failed)?;
        thread::Builder::new()
            .name("metrics".to_owned())
            .spawn(move || runtime.block_on(exporting.run()))
            .map_err(failed)?;
        Ok(Self { end, ended })
    }

    /// Sends the last metrics, unless that takes too long.
    pub fn end(&self) {
        self.end.send_replace(true);
        let _ = self.ended.recv_timeout(TIMEOUT_END);
    }
}

struct Exporting {
    settings: watch::Receiver<Arc<Settings>>,
    admin_sources: AdminSources,
    starts: Starts,
    ends: watch::Receiver<bool>,
    /// Whether the last message was not accepted.
    has_trouble: bool,
    /// Dropped when the thread ends.
    has_ended: Ending<()>,
}

impl Exporting {
    async fn run(mut self) {
        let mut last = Moment::now();
        loop {
            let config = Arc::clone(&self.settings.borrow_and_update().config);
            let is_wanted = config.tracing.metrics_endpoint.is_some();
            let due = last + config.tracing.metrics_interval;
            let is_over = tokio::select! {
                () = sleep_until(due), if is_wanted => false,
                // A new interval or endpoint applies at once.
                Ok(()) = self.settings.changed() => continue,
                _ = self.ends.wait_for(|ends| *ends) => true,
            };
            last = Moment::now();
            if is_wanted {
                self.send(&config).await;
            }
            if is_over {
                return drop(self.has_ended);
            }
        }
    }

    /// Sends the present values. A message that was not accepted is not sent again, because the next message has all
    /// counts since the start as well.
    async fn send(&mut self, config: &Config) {
        let Some(Ok(target)) = config.tracing.metrics_target() else {
            return;
        };
        let admin_sources = &self.admin_sources;
        let input = TableInput::gather(
            &admin_sources.sources.data_plane,
            demands_of(&metrics::tables()),
            admin_sources.facts(),
            None,
        )
        .await;
        let measured = metrics::of_input(&input);
        drop(input);
        let messages = self
            .starts
            .messages(&measured, nanoseconds(SystemTime::now()));
        let mut trouble = None;
        for batch in batches(messages) {
            trouble = self.post(config, &target, batch).await;
            if trouble.is_some() {
                break;
            }
        }
        self.note(&target, trouble);
    }

    /// Sends one message. Returns why it was not accepted, if it was not.
    async fn post(
        &self,
        config: &Config,
        target: &HttpTarget,
        metrics: Vec<Metric>,
    ) -> Option<String> {
        let request = MetricsRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(Resource::of_service(
                    &config.tracing.service,
                    instance(config),
                )),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(Scope::own()),
                    metrics,
                }],
            }],
        };
        let body: Bytes = request.encode_to_vec().into();
        let way = Destination {
            target,
            ca: config.tracing.ca.as_deref(),
            header: config.tracing.extra_header().and_then(Result::ok),
        };
        match post(&way, body, config.tracing.timeout).await {
            Ok(None) => None,
            Ok(Some((rejected, why))) => Some(format!(
                "the collector has rejected {rejected} points: {why}"
            )),
            Err(Failure::Unreachable(why) | Failure::Refused(why)) => Some(why),
        }
    }

    /// Logs, and records in the table `events`, when metrics cannot be sent, and when they can again.
    fn note(&mut self, target: &HttpTarget, trouble: Option<String>) {
        let has_trouble = trouble.is_some();
        if has_trouble == std::mem::replace(&mut self.has_trouble, has_trouble) {
            return;
        }
        let place = format!("{}:{}", target.host, target.port);
        let text = match trouble {
            Some(why) => {
                tracing::warn!(
                    kind = "metrics_failed",
                    collector = place,
                    error = why,
                    "the collector does not take metrics; the proxy sends them again at the next interval"
                );
                format!("metrics cannot be sent: {why}")
            }
            None => {
                tracing::info!(
                    kind = "metrics_sent_again",
                    collector = place,
                    "the collector takes metrics again"
                );
                "metrics are sent again".to_owned()
            }
        };
        let events = self.admin_sources.sources.editor.events();
        events.note(EventKind::Metrics, &place, text, None);
    }
}

/// Attributes that tell this proxy from others of the same service: the host name, and the first address for clients.
fn instance(config: &Config) -> [KeyValue; 2] {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let more = config.listeners.iter().map(|it| &it.address);
    let listener = config.listen.iter().chain(more).next();
    let listener = listener.map(ToString::to_string).unwrap_or_default();
    [
        attribute("host.name", host),
        attribute("service.instance.id", format!("{host}/{listener}")),
    ]
}

/// Divides metrics into messages of bounded size.
fn batches(metrics: Vec<Metric>) -> Vec<Vec<Metric>> {
    let mut batches = vec![Vec::new()];
    let mut points = 0;
    for metric in metrics {
        let own = match &metric.data {
            Some(Data::Gauge(it)) => it.data_points.len(),
            Some(Data::Sum(it)) => it.data_points.len(),
            Some(Data::Histogram(it)) => it.data_points.len(),
            None => 0,
        };
        if points > 0 && points + own > POINTS_MAX {
            batches.push(Vec::new());
            points = 0;
        }
        points += own;
        if let Some(batch) = batches.last_mut() {
            batch.push(metric);
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::otlp::{Gauge, NumberDataPoint};
    use super::*;

    #[test]
    fn messages_have_a_bounded_number_of_points_and_every_metric_once() {
        let of_points = |points: usize| Metric {
            name: points.to_string(),
            description: String::new(),
            unit: String::new(),
            data: Some(Data::Gauge(Gauge {
                data_points: vec![NumberDataPoint::default(); points],
            })),
        };
        let batches = batches([3_000, 2_000, 1, 9_000, 0, 10].map(of_points).to_vec());
        let names = batches.iter().map(|batch| {
            let names = batch.iter().map(|it| &*it.name);
            names.collect::<Vec<_>>().join(" ")
        });
        let names: Vec<_> = names.collect();
        assert_eq!(names, ["3000 2000", "1", "9000", "0 10"]);
    }
}
