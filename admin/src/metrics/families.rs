//! Which metrics there are, and of which column of which table each is.

use super::MetricKind::{Counter, Gauge};
use super::{Family, Source, Value};

/// Every one but the histograms, in the order in which they are written.
pub const FAMILIES: &[Family] = &[
    Family {
        about: Some("1; its label says which version runs."),
        ..of(
            "pilotfish_build_info",
            Gauge,
            &[PROCESS.is(Value::One, &[("version", "version")])],
        )
    },
    of(
        "process_start_time_seconds",
        Gauge,
        &[PROCESS.of("started")],
    ),
    of(
        "process_cpu_seconds_total",
        Counter,
        &[PROCESS.of("cpu_us")],
    ),
    of(
        "process_resident_memory_bytes",
        Gauge,
        &[PROCESS.of("resident_bytes")],
    ),
    of(
        "pilotfish_memory_bytes",
        Gauge,
        &[ADMISSION.of("memory_bytes")],
    ),
    of(
        "pilotfish_memory_bytes_max",
        Gauge,
        &[ADMISSION.of("memory_bytes_max")],
    ),
    of(
        "pilotfish_memory_refused_total",
        Counter,
        &[ADMISSION.of("memory_refused")],
    ),
    of(
        "pilotfish_memory_sessions_ended_total",
        Counter,
        &[ADMISSION.of("memory_sessions_ended")],
    ),
    of(
        "pilotfish_idle_transactions_ended_total",
        Counter,
        &[ADMISSION.of("idle_transactions_ended")],
    ),
    of(
        "pilotfish_kept_connections_ended_total",
        Counter,
        &[ADMISSION.of("kept_connections_ended")],
    ),
    of("process_open_fds", Gauge, &[PROCESS.of("open_files")]),
    of("process_max_fds", Gauge, &[PROCESS.of("open_files_max")]),
    Family {
        about: Some("1: the backend is up; 0: it is down, or has not answered yet."),
        ..of(
            "pilotfish_backend_up",
            Gauge,
            &[BACKENDS.is(Value::Is("state", &["up", "full"]), BACKEND)],
        )
    },
    Family {
        about: Some(
            "1: the backend is up and has no connection left (error 1040, or sessions_max).",
        ),
        ..of(
            "pilotfish_backend_full",
            Gauge,
            &[BACKENDS.is(Value::Is("state", &["full"]), BACKEND)],
        )
    },
    Family {
        about: Some("1: the backend is a primary."),
        ..of(
            "pilotfish_backend_primary",
            Gauge,
            &[BACKENDS.is(Value::Is("role", &["primary"]), BACKEND)],
        )
    },
    Family {
        about: Some(
            "1: the replica follows its primary; 0: it has stopped, or its state is not known.",
        ),
        ..of(
            "pilotfish_backend_replicating",
            Gauge,
            &[BACKENDS.is(Value::Is("replication", &["running"]), BACKEND)],
        )
    },
    of(
        "pilotfish_backend_draining",
        Gauge,
        &[BACKENDS.of("draining")],
    ),
    of(
        "pilotfish_backend_disabled",
        Gauge,
        &[BACKENDS.of("disabled")],
    ),
    of(
        "pilotfish_backend_writable",
        Gauge,
        &[BACKENDS.of("writes")],
    ),
    of("pilotfish_backend_weight", Gauge, &[BACKENDS.of("weight")]),
    of(
        "pilotfish_backend_sessions",
        Gauge,
        &[BACKENDS.of("connected_clients")],
    ),
    of(
        "pilotfish_backend_assigned_sessions",
        Gauge,
        &[BACKENDS.of("assigned_sessions")],
    ),
    of(
        "pilotfish_backend_statements_in_flight",
        Gauge,
        &[BACKENDS.of("in_flight")],
    ),
    of(
        "pilotfish_backend_running_limit",
        Gauge,
        &[BACKENDS.of("running_limit")],
    ),
    of(
        "pilotfish_backend_statements_running",
        Gauge,
        &[BACKENDS.of("running")],
    ),
    of(
        "pilotfish_backend_transactions_waiting",
        Gauge,
        &[BACKENDS.of("waiting_to_begin")],
    ),
    of(
        "pilotfish_backend_transactions_waited_total",
        Counter,
        &[BACKENDS.of("waited_to_begin")],
    ),
    of(
        "pilotfish_backend_replication_lag_seconds",
        Gauge,
        &[BACKENDS.of("lag_seconds")],
    ),
    of(
        "pilotfish_backend_latency_seconds",
        Gauge,
        &[BACKENDS.of("latency_us")],
    ),
    of(
        "pilotfish_backend_read_latency_seconds",
        Gauge,
        &[BACKENDS.of("read_latency_us")],
    ),
    Family {
        about: Some("Pooled connections to a backend, by account and by what they are doing."),
        ..of(
            "pilotfish_pool_connections",
            Gauge,
            &[
                POOLS.with("idle", ("state", "idle")),
                POOLS.with("in_use", ("state", "in_use")),
                POOLS.with("opening", ("state", "opening")),
                POOLS.with("closing", ("state", "closing")),
            ],
        )
    },
    Family {
        about: Some(
            "Connections that idle sessions keep, by backend, account and by what they keep them for.",
        ),
        ..of(
            "pilotfish_pool_kept_connections",
            Gauge,
            &[
                POOLS.with("idle_transactions", ("reason", "transaction")),
                POOLS.with("pinned", ("reason", "pin")),
            ],
        )
    },
    of(
        "pilotfish_pool_waiting_sessions",
        Gauge,
        &[POOLS.of("waiting")],
    ),
    of(
        "pilotfish_pool_oldest_wait_seconds",
        Gauge,
        &[POOLS.of("oldest_wait_us")],
    ),
    of(
        "pilotfish_pool_opened_total",
        Counter,
        &[POOLS.of("opened")],
    ),
    of(
        "pilotfish_pool_open_failures_total",
        Counter,
        &[POOLS.of("open_failures")],
    ),
    of(
        "pilotfish_pool_reused_total",
        Counter,
        &[POOLS.of("reused")],
    ),
    of(
        "pilotfish_pool_reused_in_same_state_total",
        Counter,
        &[POOLS.of("reused_in_same_state")],
    ),
    of("pilotfish_pool_waits_total", Counter, &[POOLS.of("waits")]),
    of(
        "pilotfish_pool_wait_timeouts_total",
        Counter,
        &[POOLS.of("timeouts")],
    ),
    of(
        "pilotfish_pool_waits_cancelled_total",
        Counter,
        &[POOLS.of("cancelled")],
    ),
    of(
        "pilotfish_pool_refused_total",
        Counter,
        &[POOLS.of("refused")],
    ),
    of("pilotfish_pool_pings_total", Counter, &[POOLS.of("pings")]),
    Family {
        about: Some("Pooled connections that were closed, by reason."),
        ..of(
            "pilotfish_pool_closed_total",
            Counter,
            &[
                POOLS.with("closed_too_old", ("reason", "too_old")),
                POOLS.with("closed_idle_too_long", ("reason", "idle_too_long")),
                POOLS.with("closed_too_many", ("reason", "too_many")),
                POOLS.with("closed_shut", ("reason", "shut")),
                POOLS.with("closed_yielded", ("reason", "yielded")),
                POOLS.with("closed_broken", ("reason", "broken")),
                POOLS.with("closed_ended", ("reason", "ended")),
                POOLS.with("closed_dropped", ("reason", "dropped")),
                POOLS.with("closed_idle_transaction", ("reason", "idle_transaction")),
            ],
        )
    },
    of(
        "pilotfish_lane_statements_total",
        Counter,
        &[LANES.of("statements")],
    ),
    of(
        "pilotfish_kernel_sessions_total",
        Counter,
        &[KERNEL_SESSIONS.of("sessions")],
    ),
    of(
        "pilotfish_kernel_sessions",
        Gauge,
        &[KERNEL_SESSIONS.of("current")],
    ),
    of(
        "pilotfish_kernel_bytes_sent_total",
        Counter,
        &[KERNEL_SESSIONS.of("bytes_sent")],
    ),
    of(
        "pilotfish_kernel_bytes_received_total",
        Counter,
        &[KERNEL_SESSIONS.of("bytes_received")],
    ),
    of("pilotfish_rule_hits_total", Counter, &[RULES.of("hits")]),
    of(
        "pilotfish_rule_not_understood_total",
        Counter,
        &[RULES.of("not_understood")],
    ),
    of("pilotfish_rule_unfit_total", Counter, &[RULES.of("unfit")]),
    of(
        "pilotfish_rule_queued_total",
        Counter,
        &[RULES.of("queued")],
    ),
    of(
        "pilotfish_rule_refused_total",
        Counter,
        &[RULES.of("refused")],
    ),
    of(
        "pilotfish_rule_mirror_dropped_total",
        Counter,
        &[RULES.of("mirror_dropped")],
    ),
    of(
        "pilotfish_profiling_statements_total",
        Counter,
        &[PROFILING.of("statements")],
    ),
    of(
        "pilotfish_profiling_sent_total",
        Counter,
        &[PROFILING.of("sent")],
    ),
    of(
        "pilotfish_profiling_failed_total",
        Counter,
        &[PROFILING.of("failed")],
    ),
    of(
        "pilotfish_profiling_seconds_total",
        Counter,
        &[PROFILING.of("cost_us")],
    ),
    of(
        "pilotfish_trace_spans_total",
        Counter,
        &[TRACING.of("spans")],
    ),
    of(
        "pilotfish_listener_sessions",
        Gauge,
        &[LISTENERS.of("sessions")],
    ),
    of("pilotfish_worker_answers", Gauge, &[WORKERS.of("answers")]),
    of(
        "pilotfish_worker_sessions",
        Gauge,
        &[WORKERS.of("sessions")],
    ),
    of(
        "pilotfish_worker_running_sessions",
        Gauge,
        &[WORKERS.of("running")],
    ),
    Family {
        about: Some(
            "Statements that ended with this error, of a backend or, without one, of the proxy's own; without a \
             code, those of errors that have made room for others.",
        ),
        ..of(
            "pilotfish_statement_errors_total",
            Counter,
            &[ERRORS.of("count")],
        )
    },
    of(
        "pilotfish_worker_pinned_sessions",
        Gauge,
        &[WORKERS.of("pinned")],
    ),
    Family {
        about: Some("1: events of the cluster come; 0: the stream connects, or has failed."),
        ..of(
            "pilotfish_replication_up",
            Gauge,
            &[REPLICATION.is(Value::Is("state", &["streaming"]), STREAM)],
        )
    },
    of(
        "pilotfish_replication_delay_seconds",
        Gauge,
        &[REPLICATION.of("delay")],
    ),
    of(
        "pilotfish_replication_events_total",
        Counter,
        &[REPLICATION.of("events")],
    ),
    of(
        "pilotfish_replication_bytes_total",
        Counter,
        &[REPLICATION.of("bytes")],
    ),
    of(
        "pilotfish_replication_events_dropped_total",
        Counter,
        &[REPLICATION.of("events_dropped")],
    ),
    of(
        "pilotfish_replication_events_changed_total",
        Counter,
        &[REPLICATION.of("events_changed")],
    ),
    of(
        "pilotfish_replication_transactions_total",
        Counter,
        &[REPLICATION.of("transactions")],
    ),
    of(
        "pilotfish_replication_schema_changes_total",
        Counter,
        &[REPLICATION.of("changes")],
    ),
    of(
        "pilotfish_replication_errors_total",
        Counter,
        &[REPLICATION.of("errors")],
    ),
    Family {
        about: Some(
            "1: the replica has been sent everything that the proxy has; 0: it catches up.",
        ),
        ..of(
            "pilotfish_fed_replica_live",
            Gauge,
            &[FED_REPLICAS.is(Value::Is("state", &["live"]), FED_REPLICA)],
        )
    },
    of(
        "pilotfish_fed_replica_bytes_total",
        Counter,
        &[FED_REPLICAS.of("bytes")],
    ),
    of(
        "pilotfish_change_reader_delay_seconds",
        Gauge,
        &[CHANGE_READERS.of("delay")],
    ),
    of(
        "pilotfish_change_reader_events_total",
        Counter,
        &[CHANGE_READERS.of("events")],
    ),
];

const BACKEND: &[(&str, &str)] = &[("cluster", "cluster"), ("backend", "name")];

/// What tells streams of replication apart.
const STREAM: &[(&str, &str)] = &[("cluster", "cluster"), ("stream", "stream")];

/// What tells replicas apart that the proxy feeds.
const FED_REPLICA: &[(&str, &str)] = &[("cluster", "cluster"), ("replica", "replica")];

/// What tells those apart who get the change feed.
const CHANGE_READER: &[(&str, &str)] =
    &[("cluster", "cluster"), ("way", "way"), ("reader", "reader")];

/// What tells the outcomes of sessions apart that the kernel was to join.
const KERNEL_SESSION: &[(&str, &str)] = &[
    ("listener", "listener"),
    ("backend", "backend"),
    ("outcome", "outcome"),
    ("reason", "reason"),
];

const CHANGE_READERS: LabelledTable = LabelledTable("change_readers", CHANGE_READER);
const REPLICATION: LabelledTable = LabelledTable("replication", STREAM);
const FED_REPLICAS: LabelledTable = LabelledTable("fed_replicas", FED_REPLICA);
const ADMISSION: LabelledTable = LabelledTable("admission", &[]);
const PROCESS: LabelledTable = LabelledTable("process", &[]);
const BACKENDS: LabelledTable = LabelledTable("backends", BACKEND);
const POOLS: LabelledTable =
    LabelledTable("pools", &[("backend", "backend"), ("account", "account")]);
const LANES: LabelledTable =
    LabelledTable("lanes", &[("outcome", "outcome"), ("reason", "reason")]);
const KERNEL_SESSIONS: LabelledTable = LabelledTable("kernel_sessions", KERNEL_SESSION);
const RULES: LabelledTable = LabelledTable("rules", &[("rule", "rule")]);
const PROFILING: LabelledTable =
    LabelledTable("profiling", &[("outcome", "outcome"), ("reason", "reason")]);
const TRACING: LabelledTable =
    LabelledTable("tracing", &[("outcome", "outcome"), ("reason", "reason")]);
const ERRORS: LabelledTable = LabelledTable(
    "errors",
    &[
        ("code", "number"),
        ("sqlstate", "sqlstate"),
        ("backend", "backend"),
    ],
);
const LISTENERS: LabelledTable = LabelledTable(
    "listeners",
    &[("address", "address"), ("purpose", "purpose")],
);
const WORKERS: LabelledTable = LabelledTable("workers", &[("worker", "worker")]);

/// A table, and the labels that its rows have.
struct LabelledTable(&'static str, &'static [(&'static str, &'static str)]);

impl LabelledTable {
    const fn of(&self, column: &'static str) -> Source {
        self.is(Value::Of(column), self.1)
    }

    const fn with(&self, column: &'static str, label: (&'static str, &'static str)) -> Source {
        Source {
            fixed: Some(label),
            ..self.of(column)
        }
    }

    const fn is(&self, value: Value, labels: &'static [(&'static str, &'static str)]) -> Source {
        Source {
            table: self.0,
            value,
            labels,
            fixed: None,
        }
    }
}

const fn of(name: &'static str, kind: super::MetricKind, sources: &'static [Source]) -> Family {
    Family {
        name,
        kind,
        about: None,
        sources,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_metric_is_of_a_column_that_is_there_and_says_what_it_is() {
        let mut names = HashSet::new();
        for family in FAMILIES {
            let name = family.name;
            assert!(names.insert(name), "{name} is there twice");
            assert!(family.about().ends_with('.'), "{name} {:?}", family.about());
            assert_eq!(name.ends_with("_total"), family.kind == Counter, "{name}");
            for source in family.sources {
                let table = source.table().map(|table| table.columns());
                let table = table.unwrap_or_default();
                let columns: HashSet<_> = table.iter().map(|column| column.name).collect();
                let value = match source.value {
                    Value::Of(column) | Value::Is(column, _) => Some(column),
                    Value::One => None,
                };
                let labels = source.labels.iter().map(|(_, column)| *column);
                for column in labels.chain(value) {
                    assert!(
                        columns.contains(column),
                        "{name}: {}.{column}",
                        source.table
                    );
                }
                let mut times = table
                    .iter()
                    .filter(|it| matches!(it.unit, Some("s" | "us")));
                if let Some(column) = times.find(|it| Some(it.name) == value) {
                    assert!(name.contains("_seconds"), "{name} {}", column.name);
                }
            }
        }
    }
}
