//! Settings of replication: whose changes are followed, and where the history of schemas is kept.

use std::path::PathBuf;
use std::time::Duration;

use super::http_target::HttpTarget;
use super::units::{DAY, HOUR, MINUTE, SECOND};
use crate::define::{choices, settings};
use crate::{Secret, Traits};

settings! {
    /// The clusters whose changes the proxy follows as a replica does, one `[[replication]]` table for each. See
    /// [Schema history](schema-history.md).
    pub struct ReplicationConfig in [[replication]], "Replication" {
        /// Its name in logs, tables and metrics. A stream of another name begins anew.
        name: String = String::new(), Traits::RELOAD.default_text("the cluster's name");

        /// The cluster that is followed.
        cluster: String = "main".to_owned(), Traits::RELOAD;

        /// The account with which the proxy logs in to the server. It needs `REPLICATION SLAVE`. To see what the
        /// objects of the schemas are, it also needs `SELECT`, `SHOW VIEW`, `TRIGGER` and `EVENT`, and for routines
        /// `SELECT` on `mysql.proc` (MariaDB) or `SHOW_ROUTINE` (MySQL).
        user: String = String::new(), Traits::RELOAD.required();

        /// Password of `user`. `"file:PATH"` reads it from a file, `"env:NAME"` from the environment. It is never
        /// shown.
        password: Option<Secret> = None, Traits::RELOAD;

        /// The id by which the server knows the proxy among its replicas. No other server, replica or proxy of the
        /// cluster may have it: the server ends the older of two streams with one id.
        server_id: u32 = 0, Traits::RELOAD.within(1, 4_294_967_295).required();

        /// Which server of the cluster is followed.
        from: ReplicationSource = ReplicationSource::Primary, Traits::RELOAD;

        /// The reaction of the proxy if the server has deleted the binary logs that come next.
        on_purged: OnPurged = OnPurged::Stop, Traits::RELOAD;

        /// How often the server says that it is there while nothing changes. If it says nothing for three times as
        /// long, the proxy connects again.
        heartbeat: Duration = Duration::from_secs(5), Traits::RELOAD.within(SECOND, HOUR);

        /// The longest event that is read, in bytes. It bounds the memory that the stream takes.
        event_bytes_max: u64 = 1 << 30, Traits::RELOAD.within(1 << 16, 1 << 30);

        /// Folder in which the proxy keeps the stream's transactions in binary log files, for a listener with
        /// `serves = "replication"`. It must be there, and be of this stream alone. See
        /// [Feeding replicas](feeding-replicas.md).
        relay_folder: Option<PathBuf> = None, Traits::RELOAD.nothing("no transaction is kept");

        /// Whether the proxy acknowledges each transaction to the server when the transaction is synced in the relay
        /// files (semi-synchronous replication). A commit on the server then waits for the proxy, as the server's
        /// settings say. Needs a `relay_folder`.
        semi_sync: bool = false, Traits::RELOAD;

        /// If the relay files are larger together, the proxy deletes the oldest. The newest file always stays.
        relay_bytes_max: u64 = 10 << 30, Traits::RELOAD.within(1 << 20, 1 << 50);

        /// The proxy deletes a relay file when its last transaction is older.
        relay_age_max: Duration = Duration::from_secs(7 * 24 * 3600), Traits::RELOAD.within(MINUTE, 3650 * DAY);
    }
    below {
        /// Changes that are left out of the relay files, or are written there in another form.
        filters: Vec<ReplicationFilterConfig>,

        /// Files that get the stream's changes as JSON.
        change_files: Vec<ChangeFileConfig>,

        /// Kafka clusters that get the stream's changes as JSON.
        kafka: Vec<KafkaConfig>,
    }
}

settings! {
    /// Filters of the stream, as many `[[replication.filter]]` tables below it as are needed. The relay files hold
    /// the filtered changes, so no replica gets anything else. A filter either keeps or drops changes, or it changes
    /// tables. See [Replication filters](replication-filters.md).
    pub struct ReplicationFilterConfig in [[replication.filter]], "Replication filters" {
        /// Tables: `"orders"` in each schema, `"shop.orders"`, `"shop.*"`. A `*` stands for any characters, and an
        /// entry that begins with `!` takes out the tables that it matches. Case does not matter. Without entries the
        /// filter is for every table.
        tables: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Whether the changes are kept or dropped. The first filter that matches a change decides; a change that no
        /// filter matches is kept.
        action: Option<FilterAction> = None, Traits::RELOAD.nothing("the filter changes its tables");

        /// The changes that `action` is for. Without entries it is for all.
        changes: Vec<FilteredChange> = Vec::new(), Traits::RELOAD;

        /// The servers that executed the changes first. Without entries `action` is for every server.
        server_ids: Vec<u32> = Vec::new(), Traits::RELOAD;

        /// The GTID domains of the changes (MariaDB). Without entries `action` is for every domain.
        domains: Vec<u32> = Vec::new(), Traits::RELOAD;

        /// The schema that the tables have on the replicas. The entries of `tables` must name one schema.
        rename_schema: Option<String> = None, Traits::RELOAD;

        /// The name that the table has on the replicas. `tables` must name one table.
        rename_table: Option<String> = None, Traits::RELOAD;

        /// Columns that row events do not have. The column of a replica keeps its default value.
        columns_dropped: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Columns that are NULL on the replicas.
        columns_null: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Columns that have one value on the replicas: `"note=removed"`.
        columns_constant: Vec<String> = Vec::new(), Traits::RELOAD;

        /// Columns whose values are replaced by a hash (SHA-256 of `hash_key` and the value). Equal values have equal
        /// hashes. The columns must hold characters, bytes or integers.
        columns_hashed: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The key of `columns_hashed`, without which values could be guessed. `"file:PATH"` reads it from a file,
        /// `"env:NAME"` from the environment. It is never shown.
        hash_key: Option<Secret> = None, Traits::RELOAD;

        /// A Lua script, whose function `on_change(change)` is called for each row that changes and for each statement
        /// that changes objects. It drops the change, changes it, or lets it pass. It runs in an interpreter of its
        /// own, under the limits of `script`. The stream stops at an error of the script.
        script: Option<PathBuf> = None, Traits::RELOAD;
    }
}

settings! {
    /// Files that get the stream's changes, one JSON object a line. Write as many `[[replication.change_file]]` tables
    /// below the stream as there are files. The stream needs a `relay_folder`. See [Change feed](change-feed.md).
    pub struct ChangeFileConfig in [[replication.change_file]], "Change files" {
        /// The file that is written. The proxy keeps `PATH.position` and `PATH.lock` beside it. The folder must be there.
        path: PathBuf = PathBuf::new(), Traits::RELOAD.required();

        /// Tables: `"orders"` in each schema, `"shop.orders"`, `"shop.*"`. A `*` stands for any characters, and an
        /// entry that begins with `!` takes out the tables that it matches. Without entries the file gets the changes
        /// of every table.
        tables: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The first transaction of a file that the proxy has never written.
        from: ChangeFileStart = ChangeFileStart::Oldest, Traits::RELOAD;

        /// A larger file is renamed to `PATH.000001`, `PATH.000002` and so on, and another one begins.
        bytes_max: u64 = 1 << 30, Traits::RELOAD.within(1 << 10, 1 << 40);

        /// How many renamed files stay. The proxy deletes the oldest, whether they have been read or not.
        files_max: usize = 10, Traits::RELOAD.within(1, 100_000);
    }
}

choices! {
    /// The first transaction of a change file or a Kafka cluster that has none yet.
    pub enum ChangeFileStart {
        /// The oldest transaction that the relay files have.
        Oldest = "oldest",
        /// The next transaction.
        Now = "now",
    }
}

settings! {
    /// Kafka clusters that get the stream's changes, one JSON object a record. Write as many `[[replication.kafka]]`
    /// tables below the stream as are needed. The stream needs a `relay_folder`. See
    /// [Change feed](change-feed.md#into-kafka).
    pub struct KafkaConfig in [[replication.kafka]], "Kafka" {
        /// Some brokers of the Kafka cluster, as `"HOST:PORT"`. They name the others.
        brokers: Vec<String> = Vec::new(), Traits::RELOAD.required();

        /// The topic of the changes of a table. `{cluster}`, `{schema}` and `{table}` stand for these names; a
        /// character that no topic can have becomes `_`. A name without them is one topic for all tables. Each topic
        /// gets its changes in one partition, the first, so that they stay in order.
        topic: String = "{cluster}.{schema}.{table}".to_owned(), Traits::RELOAD;

        /// The topic of the other changes, which are not about the rows of one table: `ddl`, `statement`, `incident`.
        /// `{cluster}` stands for the cluster's name.
        topic_statements: String = "{cluster}".to_owned(), Traits::RELOAD;

        /// The file in which the proxy keeps the position behind which it goes on. The proxy writes it after the
        /// brokers have acknowledged the changes. It keeps `PATH.lock` beside it. The folder must be there.
        position_file: PathBuf = PathBuf::new(), Traits::RELOAD.required();

        /// Tables: `"orders"` in each schema, `"shop.orders"`, `"shop.*"`. A `*` stands for any characters, and an
        /// entry that begins with `!` takes out the tables that it matches. Without entries the changes of every
        /// table are sent.
        tables: Vec<String> = Vec::new(), Traits::RELOAD;

        /// The first transaction that is sent if there is no `position_file` yet.
        from: ChangeFileStart = ChangeFileStart::Oldest, Traits::RELOAD;

        /// How much is sent in one request to one topic. It must not be larger than the topic's `max.message.bytes`.
        /// A change that is larger by itself is a request of its own.
        batch_bytes_max: u64 = 900 << 10, Traits::RELOAD.within(1 << 10, 64 << 20);

        /// Whether the proxy compresses the records.
        compression: KafkaCompression = KafkaCompression::None, Traits::RELOAD;

        /// Whether the brokers are spoken to over TLS. Their certificates must be for the names in `brokers`, and for
        /// those that the brokers name.
        tls: bool = false, Traits::RELOAD;

        /// PEM file with the authorities that sign the brokers' certificates; without it the system's are trusted.
        tls_ca: Option<PathBuf> = None, Traits::RELOAD.nothing("the system's authorities");

        /// PEM file with a certificate to show to the brokers.
        tls_certificate: Option<PathBuf> = None, Traits::RELOAD;

        /// PEM file with that certificate's private key.
        tls_key: Option<PathBuf> = None, Traits::RELOAD;

        /// The SASL mechanism with which the proxy logs in as `user`.
        sasl: KafkaSasl = KafkaSasl::None, Traits::RELOAD;

        /// The user of `sasl`.
        user: Option<String> = None, Traits::RELOAD;

        /// Password of `user`. `"file:PATH"` reads it from a file, `"env:NAME"` from the environment. It is never
        /// shown.
        password: Option<Secret> = None, Traits::RELOAD;
    }
}

choices! {
    /// How records for Kafka are compressed.
    pub enum KafkaCompression {
        /// Not at all.
        None = "none",
        /// Zstandard, which brokers from 2.1 on know.
        Zstd = "zstd",
    }
}

choices! {
    /// How the proxy logs in to Kafka.
    pub enum KafkaSasl {
        /// Not at all.
        None = "none",
        /// With the password as it is. Use TLS.
        Plain = "plain",
        /// With a proof of the password.
        ScramSha256 = "scram_sha_256",
        /// With a proof of the password.
        ScramSha512 = "scram_sha_512",
    }
}

choices! {
    /// What becomes of changes.
    pub enum FilterAction {
        /// The replicas get them.
        Keep = "keep",
        /// The replicas do not get them. Their transactions stay, without them, so that the replicas have no gaps.
        Drop = "drop",
    }
}

choices! {
    /// A kind of change.
    pub enum FilteredChange {
        /// Rows that are inserted.
        Insert = "insert",
        /// Rows that are updated.
        Update = "update",
        /// Rows that are deleted.
        Delete = "delete",
        /// TRUNCATE
        Truncate = "truncate",
        /// CREATE, ALTER, DROP, RENAME of tables, indexes, sequences and databases; ANALYZE, OPTIMIZE, REPAIR.
        Ddl = "ddl",
        /// CREATE, ALTER, DROP of views, routines, triggers, events and packages.
        Code = "code",
        /// Users, roles and privileges. Their tables are those of schema `mysql`.
        Account = "account",
    }
}

choices! {
    /// Which server of a cluster is followed.
    pub enum ReplicationSource {
        /// The primary. The stream moves to the new one when the primary changes.
        Primary = "primary",
        /// A replica that writes binary logs itself (`log_slave_updates`). When it stops, stops to replicate or becomes the
        /// primary, the stream moves to another one. The primary is followed while no replica replicates.
        Replica = "replica",
    }
}

choices! {
    /// What becomes of a stream whose next transactions the server has deleted.
    pub enum OnPurged {
        /// It waits for a server that has them, and says which are missing.
        Stop = "stop",
        /// It leaves the missing transactions out, and goes on with the oldest that the server has.
        Continue = "continue",
    }
}

settings! {
    /// Data that the proxy keeps from replication: the position of each stream, changes of the schemas, and
    /// the objects after each change. See [Schema history](schema-history.md).
    pub struct SchemaHistoryConfig in [schema_history], "Schema history" {
        /// SQLite file that keeps it over restarts; without one it is kept in 16 MiB of memory, and streams begin
        /// anew. Its folder must be there.
        file: Option<PathBuf> = None, Traits::RESTART;

        /// The file grows no larger than that: the oldest changes and versions make room.
        bytes_max: u64 = 1 << 30, Traits::RESTART.within(1 << 20, 1 << 50);

        /// A program, with its arguments, that the proxy starts for each change of a schema. The change is one line of
        /// JSON on the program's standard input. If the program does not end with 0, the proxy starts it again after 1
        /// to 60 seconds, and later changes wait. It is told of changes that are noted after it has been set.
        hook: Vec<String> = Vec::new(), Traits::RELOAD;

        /// An address, `http://…` or `https://…`, to which the proxy posts each change as JSON, in the way of `hook`:
        /// the answer must have a status from 200 to 299. If the address has a secret in it, write `"file:PATH"` or
        /// `"env:NAME"`, where it stands.
        webhook: Option<Secret> = None, Traits::RELOAD;

        /// PEM file with the authorities that sign the webhook's certificate, where `webhook` begins with `https://`;
        /// without it the system's are trusted.
        webhook_ca: Option<PathBuf> = None, Traits::RELOAD;

        /// A Lua script, whose function `on_schema_change(change)` is called for each change, in the way of `hook`. It
        /// runs in an interpreter of its own, under the limits of `script`.
        script: Option<PathBuf> = None, Traits::RELOAD;

        /// How long the program of `hook` may run, and how long the webhook may take to answer.
        timeout_hook: Duration = Duration::from_secs(30), Traits::RELOAD.within(SECOND, HOUR);
    }
}

impl SchemaHistoryConfig {
    /// Where each change is posted, if it is.
    ///
    /// # Errors
    /// Why that is no place.
    pub fn webhook_target(&self) -> Option<Result<HttpTarget, &'static str>> {
        let webhook = self.webhook.as_ref()?;
        Some(HttpTarget::parse(webhook.expose(), (80, "/")))
    }
}
