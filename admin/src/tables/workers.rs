//! The worker threads, which run the sessions.

use worker::{SessionState, WorkerView};

use crate::table::{Asks, Cell, Schema, TableDefinition, columns};
use crate::table_input::TableInput;

/// See the module.
pub static TABLE: TableDefinition<WorkerRow> = TableDefinition {
    schema: Schema::Pilotfish,
    name: "workers",
    about: "The threads that sessions live on.",
    asks: Asks::Sessions,
    columns: columns! {
        integer "worker", "Its number, from 0.", |it| it.worker.into();
        integer "answers", "Whether it has answered in time; if not, all tables lack its figures.",
            |it| it.view.is_some().into();
        integer "sessions", "Sessions that live on it.", |it| it.count(|view| view.sessions.len());
        integer "running", "Of these, sessions that execute something.",
            |it| {
                it.count(|view| {
                    let sessions = view.sessions.iter();
                    sessions
                        .filter(|it| it.state == SessionState::Running)
                        .count()
                })
            };
        integer "pinned", "Of these, pooled sessions that keep a connection.",
            |it| it.count(|view| view.sessions.iter().filter(|it| it.pins.is_some()).count());
        integer "backend_connections", "Pooled connections that it has.",
            |it| it.count(|view| view.pools.iter().map(|it| it.figures.connections()).sum());
        integer "refused_reads",
            "Digests of reads that a replica has refused because they write. Statements with these digests go to the \
             primary.", |it| it.count(|view| view.refused_reads);
    },
    items,
};

/// One worker.
pub struct WorkerRow {
    worker: usize,
    view: Option<WorkerView>,
}

impl WorkerRow {
    fn count(&self, of: fn(&WorkerView) -> usize) -> Cell {
        self.view.as_ref().map(of).into()
    }
}

fn items(input: &TableInput) -> Vec<WorkerRow> {
    (0..input.data_plane.workers())
        .map(|worker| {
            let mut views = input.workers.iter();
            let view = views.find(|view| view.worker == worker).cloned();
            WorkerRow { worker, view }
        })
        .collect()
}
