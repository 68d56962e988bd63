//! The log: lines for people or JSON objects, on standard error or in a file.

mod line_bound;

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use config::{LogConfig, LogFormat, LogLevel};
use line_bound::LineBound;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

/// The running log; a reload applies its changes to it.
pub struct Log {
    level: Handle<LevelFilter, Registry>,
    output: Output,
    bound: LineBound,
}

impl Drop for Log {
    /// Reports the lines that were held back in the last second.
    fn drop(&mut self) {
        self.bound.log_kept();
    }
}

impl Log {
    /// Starts to log. Panics are logged too: a panic ends its session, not the proxy.
    ///
    /// # Errors
    /// The kernel's error: the file cannot be opened.
    pub fn start(config: &LogConfig) -> io::Result<Log> {
        let output = Output::open(config.file.clone())?;
        let (filter, level) = reload::Layer::new(level_filter(config.level));
        let bound = LineBound::default();
        let lines = layer(config.format, output.clone(), bound.clone());
        // In tests a log may have been started already; the first one stays.
        let _ = tracing_subscriber::registry()
            .with(filter)
            .with(lines)
            .try_init();
        std::panic::set_hook(Box::new(|panic| {
            let place = panic
                .location()
                .map(ToString::to_string)
                .unwrap_or_default();
            let text = panic.payload_as_str().unwrap_or("a panic without a text");
            tracing::error!(
                side = "proxy",
                place,
                text,
                "panic: a fault in Pilotfish has ended a session or a task; please report this line"
            );
        }));
        bound.log_each_second()?;
        Ok(Log {
            level,
            output,
            bound,
        })
    }

    /// Applies the settings that a reload may change, and opens the file again, because it may have been rotated.
    ///
    /// # Errors
    /// The kernel's error: the file cannot be opened; the log continues in the old file.
    pub fn reload(&self, config: &LogConfig) -> io::Result<()> {
        let _ = self.level.reload(level_filter(config.level));
        self.reopen()
    }

    /// Opens the file again.
    ///
    /// # Errors
    /// The kernel's error: the file cannot be opened; the log continues in the old file.
    pub fn reopen(&self) -> io::Result<()> {
        self.output.reopen()
    }
}

fn level_filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warning => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}

fn layer<S>(format: LogFormat, output: Output, bound: LineBound) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let is_terminal = output.path.is_none() && io::stderr().is_terminal();
    let lines = fmt::layer().with_writer(output).with_target(false);
    match format {
        LogFormat::Text => {
            let lines = lines.with_ansi(is_terminal);
            lines.with_filter(bound).boxed()
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_ansi(false);
            lines.with_filter(bound).boxed()
        }
    }
}

/// The output of the log.
#[derive(Clone)]
struct Output {
    path: Option<PathBuf>,
    file: Option<Arc<RwLock<File>>>,
}

impl Output {
    fn open(path: Option<PathBuf>) -> io::Result<Self> {
        let file = path.as_ref().map(append_to).transpose()?;
        Ok(Self {
            path,
            file: file.map(|file| Arc::new(RwLock::new(file))),
        })
    }

    fn reopen(&self) -> io::Result<()> {
        if let (Some(path), Some(file)) = (&self.path, &self.file) {
            let new = append_to(path)?;
            *file.write().unwrap_or_else(PoisonError::into_inner) = new;
        }
        Ok(())
    }
}

fn append_to(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

impl<'a> MakeWriter<'a> for Output {
    type Writer = LogLine;

    fn make_writer(&'a self) -> LogLine {
        LogLine {
            file: self.file.clone(),
        }
    }
}

/// One line of the log; the layer writes it as a whole.
struct LogLine {
    file: Option<Arc<RwLock<File>>>,
}

impl Write for LogLine {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.file {
            Some(file) => (&*file.read().unwrap_or_else(PoisonError::into_inner)).write(bytes),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
