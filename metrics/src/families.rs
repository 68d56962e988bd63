//! The list of metrics, and the table column that each is made from.

use crate::family::{Family, MetricKind, Source, Value};

/// The families, one entry each: kind, name, a sentence if it differs from the column's, and
/// the columns that they are made from.
macro_rules! families {
    ($($kind:ident $name:literal $(($about:literal))? = $($source:expr),+;)*) => {
        &[$(Family {
            name: $name,
            kind: MetricKind::$kind,
            about: about(&[$($about)?]),
            sources: &[$($source),+],
        }),*]
    };
}

/// All families except the histograms, in the order in which they are written.
pub const FAMILIES: &[Family] = families! {
    Gauge "pilotfish_build_info" ("1; its label says which version runs.") =
        PROCESS.is(Value::One, &[("version", "version")]);
    Gauge "process_start_time_seconds" = PROCESS.of("started");
    Counter "process_cpu_seconds_total" = PROCESS.of("cpu_us");
    Gauge "process_resident_memory_bytes" = PROCESS.of("resident_bytes");
    Gauge "pilotfish_memory_bytes" = ADMISSION.of("memory_bytes");
    Gauge "pilotfish_memory_bytes_max" = ADMISSION.of("memory_bytes_max");
    Counter "pilotfish_memory_refused_total" = ADMISSION.of("memory_refused");
    Counter "pilotfish_memory_sessions_ended_total" = ADMISSION.of("memory_sessions_ended");
    Counter "pilotfish_idle_transactions_ended_total" = ADMISSION.of("idle_transactions_ended");
    Counter "pilotfish_kept_connections_ended_total" = ADMISSION.of("kept_connections_ended");
    Gauge "process_open_fds" = PROCESS.of("open_files");
    Gauge "process_max_fds" = PROCESS.of("open_files_max");
    Gauge "pilotfish_backend_up" ("1: the backend is up; 0: it is down, or has not answered yet.") =
        BACKENDS.is(Value::Is("state", &["up", "full"]), BACKEND);
    Gauge "pilotfish_backend_full" ("1: the backend is up and has no connection left (error 1040, or sessions_max).") =
        BACKENDS.is(Value::Is("state", &["full"]), BACKEND);
    Gauge "pilotfish_backend_primary" ("1: the backend is a primary.") =
        BACKENDS.is(Value::Is("role", &["primary"]), BACKEND);
    Gauge "pilotfish_backend_replicating"
        ("1: the replica follows its primary; 0: it has stopped, or its state is not known.") =
        BACKENDS.is(Value::Is("replication", &["running"]), BACKEND);
    Gauge "pilotfish_backend_draining" = BACKENDS.of("draining");
    Gauge "pilotfish_backend_disabled" = BACKENDS.of("disabled");
    Gauge "pilotfish_backend_writable" = BACKENDS.of("writes");
    Gauge "pilotfish_backend_weight" = BACKENDS.of("weight");
    Gauge "pilotfish_backend_sessions" = BACKENDS.of("connected_clients");
    Gauge "pilotfish_backend_assigned_sessions" = BACKENDS.of("assigned_sessions");
    Gauge "pilotfish_backend_statements_in_flight" = BACKENDS.of("in_flight");
    Gauge "pilotfish_backend_running_limit" = BACKENDS.of("running_limit");
    Gauge "pilotfish_backend_statements_running" = BACKENDS.of("running");
    Gauge "pilotfish_backend_transactions_waiting" = BACKENDS.of("waiting_to_begin");
    Counter "pilotfish_backend_transactions_waited_total" = BACKENDS.of("waited_to_begin");
    Gauge "pilotfish_backend_replication_lag_seconds" = BACKENDS.of("lag_seconds");
    Gauge "pilotfish_backend_latency_seconds" = BACKENDS.of("latency_us");
    Gauge "pilotfish_backend_read_latency_seconds" = BACKENDS.of("read_latency_us");
    Gauge "pilotfish_pool_connections" ("Pooled connections to a backend, by account and by what they are doing.") =
        POOLS.with("idle", ("state", "idle")),
        POOLS.with("in_use", ("state", "in_use")),
        POOLS.with("opening", ("state", "opening")),
        POOLS.with("closing", ("state", "closing"));
    Gauge "pilotfish_pool_kept_connections"
        ("Connections that idle sessions keep, by backend, account and by what they keep them for.") =
        POOLS.with("idle_transactions", ("reason", "transaction")), POOLS.with("pinned", ("reason", "pin"));
    Gauge "pilotfish_pool_waiting_sessions" = POOLS.of("waiting");
    Gauge "pilotfish_pool_oldest_wait_seconds" = POOLS.of("oldest_wait_us");
    Counter "pilotfish_pool_opened_total" = POOLS.of("opened");
    Counter "pilotfish_pool_open_failures_total" = POOLS.of("open_failures");
    Counter "pilotfish_pool_reused_total" = POOLS.of("reused");
    Counter "pilotfish_pool_reused_in_same_state_total" = POOLS.of("reused_in_same_state");
    Counter "pilotfish_pool_waits_total" = POOLS.of("waits");
    Counter "pilotfish_pool_wait_timeouts_total" = POOLS.of("timeouts");
    Counter "pilotfish_pool_waits_cancelled_total" = POOLS.of("cancelled");
    Counter "pilotfish_pool_refused_total" = POOLS.of("refused");
    Counter "pilotfish_pool_pings_total" = POOLS.of("pings");
    Counter "pilotfish_pool_closed_total" ("Pooled connections that were closed, by reason.") =
        POOLS.with("closed_too_old", ("reason", "too_old")),
        POOLS.with("closed_idle_too_long", ("reason", "idle_too_long")),
        POOLS.with("closed_too_many", ("reason", "too_many")),
        POOLS.with("closed_shut", ("reason", "shut")),
        POOLS.with("closed_yielded", ("reason", "yielded")),
        POOLS.with("closed_broken", ("reason", "broken")),
        POOLS.with("closed_ended", ("reason", "ended")),
        POOLS.with("closed_dropped", ("reason", "dropped")),
        POOLS.with("closed_idle_transaction", ("reason", "idle_transaction"));
    Counter "pilotfish_lane_statements_total" = LANES.of("statements");
    Counter "pilotfish_kernel_sessions_total" = KERNEL_SESSIONS.of("sessions");
    Gauge "pilotfish_kernel_sessions" = KERNEL_SESSIONS.of("current");
    Counter "pilotfish_kernel_bytes_sent_total" = KERNEL_SESSIONS.of("bytes_sent");
    Counter "pilotfish_kernel_bytes_received_total" = KERNEL_SESSIONS.of("bytes_received");
    Counter "pilotfish_rule_hits_total" = RULES.of("hits");
    Counter "pilotfish_rule_not_understood_total" = RULES.of("not_understood");
    Counter "pilotfish_rule_unfit_total" = RULES.of("unfit");
    Counter "pilotfish_rule_queued_total" = RULES.of("queued");
    Counter "pilotfish_rule_refused_total" = RULES.of("refused");
    Counter "pilotfish_rule_mirror_dropped_total" = RULES.of("mirror_dropped");
    Counter "pilotfish_profiling_statements_total" = PROFILING.of("statements");
    Counter "pilotfish_profiling_sent_total" = PROFILING.of("sent");
    Counter "pilotfish_profiling_failed_total" = PROFILING.of("failed");
    Counter "pilotfish_profiling_seconds_total" = PROFILING.of("cost_us");
    Counter "pilotfish_trace_spans_total" = TRACING.of("spans");
    Gauge "pilotfish_listener_sessions" = LISTENERS.of("sessions");
    Gauge "pilotfish_worker_answers" = WORKERS.of("answers");
    Gauge "pilotfish_worker_sessions" = WORKERS.of("sessions");
    Gauge "pilotfish_worker_running_sessions" = WORKERS.of("running");
    Counter "pilotfish_statement_errors_total"
        ("Statements that ended with this error, of a backend or, without one, of the proxy's own; without a code, \
          those of errors that have made room for others.") = ERRORS.of("count");
    Gauge "pilotfish_worker_pinned_sessions" = WORKERS.of("pinned");
    Gauge "pilotfish_replication_up" ("1: events of the cluster come; 0: the stream connects, or has failed.") =
        REPLICATION.is(Value::Is("state", &["streaming"]), STREAM);
    Gauge "pilotfish_replication_delay_seconds" = REPLICATION.of("delay");
    Counter "pilotfish_replication_events_total" = REPLICATION.of("events");
    Counter "pilotfish_replication_bytes_total" = REPLICATION.of("bytes");
    Counter "pilotfish_replication_events_dropped_total" = REPLICATION.of("events_dropped");
    Counter "pilotfish_replication_events_changed_total" = REPLICATION.of("events_changed");
    Counter "pilotfish_replication_transactions_total" = REPLICATION.of("transactions");
    Counter "pilotfish_replication_schema_changes_total" = REPLICATION.of("changes");
    Counter "pilotfish_replication_errors_total" = REPLICATION.of("errors");
    Gauge "pilotfish_fed_replica_live"
        ("1: the replica has been sent everything that the proxy has; 0: it catches up.") =
        FED_REPLICAS.is(Value::Is("state", &["live"]), FED_REPLICA);
    Counter "pilotfish_fed_replica_bytes_total" = FED_REPLICAS.of("bytes");
    Gauge "pilotfish_change_reader_delay_seconds" = CHANGE_READERS.of("delay");
    Counter "pilotfish_change_reader_events_total" = CHANGE_READERS.of("events");
};

const BACKEND: &[(&str, &str)] = &[("cluster", "cluster"), ("backend", "name")];

/// Labels that tell streams of replication apart.
const STREAM: &[(&str, &str)] = &[("cluster", "cluster"), ("stream", "stream")];

/// Labels that tell apart the replicas that the proxy feeds.
const FED_REPLICA: &[(&str, &str)] = &[("cluster", "cluster"), ("replica", "replica")];

/// Labels that tell apart the readers of the change feed.
const CHANGE_READER: &[(&str, &str)] =
    &[("cluster", "cluster"), ("way", "way"), ("reader", "reader")];

/// Labels that tell apart the outcomes of sessions that the kernel was to join.
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

/// A table, and the labels of its rows.
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

/// The sentence of a family, if it has one.
const fn about(texts: &[&'static str]) -> Option<&'static str> {
    match texts {
        [text] => Some(*text),
        _ => None,
    }
}
