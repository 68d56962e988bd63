//! The logs of statements and logins, and how many entries they wrote and lost.

use std::path::PathBuf;

use stats::Log;

use crate::table::{Asks, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<LogRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "logs",
    about: "The logs of statements and logins, and the digests' history: what was written, and what was not.",
    asks: Asks::Nothing,
    columns: columns! {
        text "log", "slow_log, query_log, audit_log, profiling or history.", |it| it.name.into();
        text "file", "The file; NULL: the log is not written, and the history is kept in memory.",
            |it| {
                let file = it.file.as_ref();
                file.map(|file| file.display().to_string()).into()
            };
        integer "written", "Entries since the start; of the history rows.", |it| it.written.into();
        integer "dropped",
            "Entries that were not written: too many waited, or they could not be; of the history intervals, which \
             come with the next.", |it| it.dropped.into();
        text "trouble", "Why nothing can be written now; NULL: it can.", |it| it.trouble.clone().into();
    },
    items,
};

/// One log.
pub struct LogRow {
    name: &'static str,
    file: Option<PathBuf>,
    written: u64,
    dropped: u64,
    trouble: Option<String>,
}

fn items(input: &TableInput) -> Vec<LogRow> {
    let config = &input.settings.config;
    let journal = input.data_plane.journal();
    let logs = Log::ALL.into_iter();
    let mut items: Vec<_> = logs
        .map(|log| {
            let counts = journal.counts(log);
            let file = match log {
                Log::Slow => &config.slow_log.file,
                Log::Query => &config.query_log.file,
                Log::Audit => &config.audit_log.file,
                Log::Profiles => &config.profiling.file,
            };
            LogRow {
                name: log.name(),
                file: file.clone(),
                written: counts.written(),
                dropped: counts.dropped(),
                trouble: counts.trouble().filter(|_| file.is_some()),
            }
        })
        .collect();
    let history = &input.port.history;
    items.push(LogRow {
        name: "history",
        file: history.file.clone(),
        written: history.written,
        dropped: history.failed,
        trouble: history.trouble.clone(),
    });
    items
}
