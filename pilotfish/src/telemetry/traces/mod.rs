//! Sends spans of statements to a collector: a thread takes statements out of a bounded queue, so that no
//! worker ever waits for the collector.

mod otlp;
mod spans;

use std::sync::Arc;
use std::sync::mpsc::{Receiver as Ended, Sender as Ending, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use admin::{EventKind, Events};
use config::HttpTarget;
use net::watch;
use prost::Message;
use route::{Dice, Topology};
use stats::{Dropped, StatementView, Traces};
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant as Moment, sleep, timeout_at};
use worker::Settings;

use super::post::{Destination, Failure, post};
use crate::machine;
use spans::Maker;

/// Statements of one batch.
const BATCH_MAX: usize = 512;

/// How long a batch is collected.
const GATHERING: Duration = Duration::from_millis(500);

/// Waits before a batch is sent again.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// How long the last batches may take when the proxy ends.
const TIMEOUT_END: Duration = Duration::from_secs(2);

/// The sending thread.
pub struct Exporter {
    end: watch::Sender<bool>,
    ended: Ended<()>,
}

/// The inputs of the sending thread.
pub struct Sights {
    /// The current configuration.
    pub settings: watch::Receiver<Arc<Settings>>,
    /// The current backends.
    pub topology: watch::Receiver<Arc<Topology>>,
    /// Records whether the collector can be reached.
    pub events: Arc<Events>,
    /// When the process began.
    pub started: Instant,
}

impl Exporter {
    /// Starts to send the spans of the statements from `statements`.
    ///
    /// # Errors
    /// The kernel's error: no thread can be started; or the system has no randomness.
    pub fn start(
        traces: &Arc<Traces>,
        statements: Receiver<StatementView>,
        sights: Sights,
    ) -> std::io::Result<Self> {
        let seed = machine::entropy().bytes().map_err(std::io::Error::other)?;
        let (end, ends) = watch::channel(false);
        let (has_ended, ended) = channel();
        let sending = Sending {
            traces: Arc::clone(traces),
            statements,
            sights,
            ends,
            dice: Dice::new(u64::from_ne_bytes(seed)),
            has_ended,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        thread::Builder::new()
            .name("traces".to_owned())
            .spawn(move || runtime.block_on(sending.run()))?;
        Ok(Self { end, ended })
    }

    /// Sends the waiting spans, unless that takes too long.
    pub fn end(&self) {
        self.end.send_replace(true);
        let _ = self.ended.recv_timeout(TIMEOUT_END);
    }
}

struct Sending {
    traces: Arc<Traces>,
    statements: Receiver<StatementView>,
    sights: Sights,
    ends: watch::Receiver<bool>,
    dice: Dice,
    /// Dropped when the thread ends.
    has_ended: Ending<()>,
}

impl Sending {
    async fn run(mut self) {
        loop {
            let first = tokio::select! {
                statement = self.statements.recv() => statement,
                _ = self.ends.wait_for(|ends| *ends) => None,
            };
            let Some(first) = first else { break };
            let batch = self.gather(first).await;
            self.send(batch).await;
        }
        // Statements that workers sent before they ended.
        while let Ok(first) = self.statements.try_recv() {
            let mut batch = vec![first];
            while batch.len() < BATCH_MAX
                && let Ok(next) = self.statements.try_recv()
            {
                batch.push(next);
            }
            self.send(batch).await;
        }
        drop(self.has_ended);
    }

    async fn gather(&mut self, first: StatementView) -> Vec<StatementView> {
        let mut batch = vec![first];
        let deadline = Moment::now() + GATHERING;
        while batch.len() < BATCH_MAX && !*self.ends.borrow() {
            let next = tokio::select! {
                next = timeout_at(deadline, self.statements.recv()) => next,
                _ = self.ends.wait_for(|ends| *ends) => return batch,
            };
            match next {
                Ok(Some(next)) => batch.push(next),
                Ok(None) | Err(_) => return batch,
            }
        }
        batch
    }

    async fn send(&mut self, batch: Vec<StatementView>) {
        let spans = batch.iter().map(|it| it.spans()).sum();
        let config = Arc::clone(&self.sights.settings.borrow().config);
        let Some(Ok(target)) = config.tracing.target() else {
            // Tracing was switched off in the meantime.
            self.traces.note_dropped(Dropped::Ended, spans);
            self.traces.note_trouble(None);
            return;
        };
        let began = SystemTime::now().checked_sub(self.sights.started.elapsed());
        let topology = Arc::clone(&self.sights.topology.borrow());
        let mut maker = Maker {
            config: &config,
            topology: &topology,
            began: began.unwrap_or(SystemTime::UNIX_EPOCH),
            dice: &mut self.dice,
        };
        let body: hyper::body::Bytes = maker.request(&batch).encode_to_vec().into();
        drop(batch);
        let mut pauses = PAUSES.iter();
        let way = Destination {
            target: &target,
            ca: config.tracing.ca.as_deref(),
            header: config.tracing.extra_header().and_then(Result::ok),
        };
        let posted = loop {
            let posted = post(&way, body.clone(), config.tracing.timeout).await;
            let Err(Failure::Unreachable(_)) = posted else {
                break posted;
            };
            let Some(pause) = pauses.next().filter(|_| !*self.ends.borrow()) else {
                break posted;
            };
            tokio::select! {
                () = sleep(*pause) => {}
                _ = self.ends.wait_for(|ends| *ends) => {}
            }
        };
        self.note(&target, spans, posted);
    }

    fn note(
        &self,
        target: &HttpTarget,
        spans: u64,
        posted: Result<Option<(u64, String)>, Failure>,
    ) {
        let trouble = match posted {
            Ok(None) => {
                self.traces.note_sent(spans);
                None
            }
            Ok(Some((rejected, why))) => {
                let rejected = rejected.min(spans);
                self.traces.note_sent(spans - rejected);
                self.traces.note_dropped(Dropped::Refused, rejected);
                Some(format!("the collector has thrown spans away: {why}"))
            }
            Err(Failure::Unreachable(why)) => {
                self.traces.note_dropped(Dropped::Unreachable, spans);
                Some(why)
            }
            Err(Failure::Refused(why)) => {
                self.traces.note_dropped(Dropped::Refused, spans);
                Some(why)
            }
        };
        let place = format!("{}:{}", target.host, target.port);
        let text = match &trouble {
            Some(why) => format!("spans cannot be sent, and are dropped: {why}"),
            None => "spans are sent again".to_owned(),
        };
        let has_trouble = trouble.is_some();
        if !self.traces.note_trouble(trouble) {
            return;
        }
        match has_trouble {
            true => tracing::warn!(
                kind = "traces_failed",
                collector = place,
                text,
                "the collector does not take spans; the proxy drops them"
            ),
            false => tracing::info!(
                kind = "traces_sent_again",
                collector = place,
                text,
                "traces"
            ),
        }
        let events = &self.sights.events;
        events.note(EventKind::Traces, &place, text, None);
    }
}
