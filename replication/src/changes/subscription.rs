//! A reader outside the proxy, such as an HTTP client. A thread of its own reads the changes and sends them through
//! a short queue. If the reader is slow, the thread waits, and the changes stay in the relay files.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::error::{ChangeError, ChangeRefusal};
use super::event::{error_event, heartbeat};
use super::reader::{ChangeReader, ChangeStart, Progress};
use super::readers::{ChangeReaderView, ChangeState, ChangeTransport, Reading};
use super::translator::{ChangeRecord, Output};
use crate::status::Streams;

/// How many pieces the queue to the reader holds.
const QUEUE_PIECES: usize = 4;

/// A piece is sent when it has this many bytes, or when no more changes are there.
const PIECE_BYTES: usize = 64 << 10;

/// How often a reader gets a heartbeat with its position while nothing changes.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How often the thread looks for new relay files after a reload, before it gives up: 300 times 100 ms.
const REOPENS_MAX: u32 = 300;
const REOPEN_WAIT: Duration = Duration::from_millis(100);

/// A reader's request.
#[derive(Debug, Clone)]
pub struct ChangeRequest {
    /// The account and the address, for logs and tables.
    pub name: String,
    /// The cluster; none if there is only one with a relay.
    pub cluster: Option<String>,
    /// The tables; none for all.
    pub tables: Vec<String>,
    /// Where the reader begins.
    pub start: ChangeStart,
    /// The maximum number of readers.
    pub readers_max: usize,
}

/// How changes are written for a reader.
pub trait ChangeFormat: Send {
    /// Appends a change, or the error that ends the changes.
    fn put_change(&self, out: &mut Vec<u8>, json: &str, position: &str);

    /// Appends a heartbeat with the reader's position.
    fn put_heartbeat(&self, out: &mut Vec<u8>, json: &str, position: &str);
}

/// Starts to read. Pieces come until the reader drops the queue, or until an error has been sent.
///
/// # Errors
/// The reader cannot begin.
pub fn subscribe(
    streams: &Arc<Streams>,
    request: ChangeRequest,
    format: Box<dyn ChangeFormat>,
) -> Result<mpsc::Receiver<Vec<u8>>, ChangeRefusal> {
    let source = streams.change_source(request.cluster.as_deref())?;
    let reader = ChangeReader::begin(&source, &request.start, &request.tables)?;
    let max = request.readers_max;
    let view = ChangeReaderView {
        transport: ChangeTransport::Http,
        name: request.name.clone(),
        cluster: source.cluster().to_owned(),
        tables: request.tables.join(","),
        since: source.system().clock.unix_micros(),
        position: reader.position().to_owned(),
        ..ChangeReaderView::default()
    };
    let reading = streams.change_readers().begin_within(view, max);
    let reading = reading.ok_or(ChangeRefusal::TooMany(max))?;
    let failed = |error: std::io::Error| ChangeRefusal::System(error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(failed)?;
    let (sender, receiver) = mpsc::channel(QUEUE_PIECES);
    let subscription = Subscription {
        streams: Arc::clone(streams),
        request,
        out: Queue {
            sender,
            format,
            reading,
            piece: Vec::new(),
            events: 0,
            bytes: 0,
        },
        runtime,
    };
    let threads = &source.system().threads;
    let thread = threads.start("changes", move || subscription.run(reader));
    thread.map_err(failed)?;
    Ok(receiver)
}

struct Subscription {
    streams: Arc<Streams>,
    request: ChangeRequest,
    out: Queue,
    runtime: Runtime,
}

/// The queue to the reader, and the piece that is being filled.
struct Queue {
    sender: mpsc::Sender<Vec<u8>>,
    format: Box<dyn ChangeFormat>,
    reading: Reading,
    piece: Vec<u8>,
    /// How many changes and bytes the view does not include yet.
    events: u64,
    bytes: u64,
}

impl Subscription {
    /// The thread's main function.
    fn run(mut self, reader: ChangeReader) {
        let name = &self.request.name;
        tracing::info!(
            kind = "change_reader_begins",
            reader = name,
            position = reader.position(),
            "a client reads changes"
        );
        let Err((error, reader)) = self.read(reader);
        if !matches!(error, ChangeError::Gone) {
            tracing::warn!(
                kind = "change_reader_failed",
                reader = self.request.name,
                cause = error.kind(),
                %error,
                "the changes that a client reads end with an error"
            );
            // If the client has disconnected, it gets the error when it connects again.
            let _ = self.send_error(&error, reader.as_deref());
        }
        tracing::info!(
            kind = "change_reader_ends",
            reader = self.request.name,
            "a client reads no more changes"
        );
    }

    fn read(
        &mut self,
        mut reader: ChangeReader,
    ) -> Result<std::convert::Infallible, (ChangeError, Option<Box<ChangeReader>>)> {
        if let Err(error) = self.out.beat(&reader) {
            return Err((error, Some(Box::new(reader))));
        }
        loop {
            let progress = match self.step(&mut reader) {
                Ok(progress) => progress,
                Err(error) => return Err((error, Some(Box::new(reader)))),
            };
            if progress == Progress::IsLeft {
                reader = self.begin_again(reader).map_err(|error| (error, None))?;
            }
        }
    }

    fn step(&mut self, reader: &mut ChangeReader) -> Result<Progress, ChangeError> {
        let progress = reader.step(&mut self.out)?;
        match progress {
            Progress::Goes if self.out.piece.len() >= PIECE_BYTES => {
                self.out.send(reader, ChangeState::CatchingUp)?;
            }
            Progress::Goes => {}
            Progress::IsLeft => self.out.send(reader, ChangeState::CatchingUp)?,
            Progress::IsLive => {
                self.out.send(reader, ChangeState::Live)?;
                let (sender, additions) = (&self.out.sender, reader.additions());
                let is_silent = self.runtime.block_on(async {
                    tokio::select! {
                        // The log lives as long as its reader, and the log holds the sender.
                        _ = additions.changed() => Ok(false),
                        () = sender.closed() => Err(ChangeError::Gone),
                        () = sleep(HEARTBEAT) => Ok(true),
                    }
                })?;
                if is_silent {
                    self.out.beat(reader)?;
                }
            }
        }
        Ok(progress)
    }

    /// Opens a new reader after the stream's settings or the relay's writer have changed.
    fn begin_again(&self, reader: ChangeReader) -> Result<ChangeReader, ChangeError> {
        let cluster = reader.source().cluster().to_owned();
        for _ in 0..REOPENS_MAX {
            let source = self.streams.change_source(Some(&cluster));
            if let Ok(source) = source
                && source.log().is_some_and(|it| !it.is_closed())
            {
                return Ok(reader.begin_again(&source, &self.request.tables)?);
            }
            if self.out.is_closed() {
                return Err(ChangeError::Gone);
            }
            std::thread::sleep(REOPEN_WAIT);
        }
        let text =
            format!("cluster \"{cluster}\" is not followed any more, or its server is not reached");
        Err(ChangeRefusal::NoStream(text).into())
    }

    fn send_error(
        &mut self,
        error: &ChangeError,
        reader: Option<&ChangeReader>,
    ) -> Result<(), ChangeError> {
        let position = self.out.position();
        let position = reader.map_or(position, |it| it.position().to_owned());
        let next = match error {
            ChangeError::UnknownColumns(_) => reader.and_then(ChangeReader::next_position),
            _ => None,
        };
        let now = reader.map_or(0, |it| it.source().system().clock.unix_micros() / 1000);
        let kind = error.kind();
        let json = error_event((kind, &error.to_string()), &position, next.as_deref(), now);
        let out = &mut self.out;
        out.format.put_change(&mut out.piece, &json, &position);
        out.flush()
    }
}

impl Queue {
    /// Sends a heartbeat with the reader's position.
    fn beat(&mut self, reader: &ChangeReader) -> Result<(), ChangeError> {
        let now = reader.source().system().clock.unix_micros() / 1000;
        let json = heartbeat(reader.position(), now);
        self.format
            .put_heartbeat(&mut self.piece, &json, reader.position());
        self.flush()
    }

    /// Sends the gathered piece, if there is one, and updates the view.
    fn send(&mut self, reader: &ChangeReader, state: ChangeState) -> Result<(), ChangeError> {
        self.flush()?;
        let (events, bytes) = (
            std::mem::take(&mut self.events),
            std::mem::take(&mut self.bytes),
        );
        self.reading.change(|view| {
            view.state = state;
            view.events += events;
            view.bytes += bytes;
            view.position.clear();
            view.position.push_str(reader.position());
            view.delay = match state {
                ChangeState::Live => 0,
                _ => reader.delay(),
            };
        });
        Ok(())
    }

    /// Sends the gathered piece. Waits while the queue is full.
    fn flush(&mut self) -> Result<(), ChangeError> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = std::mem::take(&mut self.piece);
        self.bytes += piece.len() as u64;
        let sent = self.sender.blocking_send(piece);
        sent.map_err(|_| ChangeError::Gone)
    }

    fn position(&self) -> String {
        let mut position = String::new();
        self.reading
            .change(|view| position.clone_from(&view.position));
        position
    }
}

impl Output for Queue {
    fn change(&mut self, change: &ChangeRecord<'_>) -> Result<(), ChangeError> {
        let ChangeRecord { json, position, .. } = change;
        self.format.put_change(&mut self.piece, json, position);
        self.events += 1;
        // One event of the relay files may contain any number of rows, so the limit is checked after each change.
        match self.piece.len() >= PIECE_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn end_of_transaction(&mut self, _: &str) -> Result<(), ChangeError> {
        Ok(())
    }

    fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }
}
