//! The SQLite database of the history: a file, or memory of this process. One connection writes, and readers may
//! read at the same time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};
use stats::{Counts, DigestRow};

use crate::digest_deltas::{Grown, named};
use crate::digest_view::DIGEST_HISTORY;
use crate::load::LoadRow;
use crate::load_store;
use crate::span::Span;

/// The size limit in bytes of a history in memory.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// How long a write waits for readers' locks.
const TIMEOUT_BUSY: Duration = Duration::from_secs(15);

/// "PfHi": SQLite's `application_id` of these databases.
const APPLICATION: i64 = 0x5066_4869;

/// The version of the tables.
const VERSION: i64 = 1;

/// How many percent of the rows are deleted at once when the database is full.
const ROOM_PERCENT: i64 = 10;

const TABLES: &str = "
    CREATE TABLE series (
        id INTEGER PRIMARY KEY, digest TEXT, digest_text TEXT NOT NULL, db TEXT NOT NULL,
        account TEXT NOT NULL, backend TEXT NOT NULL
    );
    CREATE INDEX series_by_digest ON series (digest, db, account, backend);
    CREATE TABLE intervals (
        series INTEGER NOT NULL, start INTEGER NOT NULL, seconds INTEGER NOT NULL,
        count INTEGER NOT NULL, errors INTEGER NOT NULL, rows_sent INTEGER NOT NULL,
        rows_affected INTEGER NOT NULL, bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
        proxy_us INTEGER NOT NULL, queue_us INTEGER NOT NULL, backend_us INTEGER NOT NULL,
        p50_us INTEGER NOT NULL, p95_us INTEGER NOT NULL, p99_us INTEGER NOT NULL, max_us INTEGER NOT NULL,
        PRIMARY KEY (series, start)
    ) WITHOUT ROWID;
    CREATE INDEX intervals_by_start ON intervals (start);
";

const FIND: &str = "SELECT id FROM series
    WHERE digest IS ?1 AND db = ?3 AND account = ?4 AND backend = ?5 AND digest_text = ?2";

const ADD_SERIES: &str = "INSERT INTO series (digest, digest_text, db, account, backend)
    VALUES (?1, ?2, ?3, ?4, ?5)";

// If the clock was set back, or an interval begins in the second in which another ended, the row exists already.
const ADD: &str = "INSERT INTO intervals
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
    ON CONFLICT DO UPDATE SET
        seconds = seconds + excluded.seconds, count = count + excluded.count,
        errors = errors + excluded.errors, rows_sent = rows_sent + excluded.rows_sent,
        rows_affected = rows_affected + excluded.rows_affected,
        bytes_in = bytes_in + excluded.bytes_in, bytes_out = bytes_out + excluded.bytes_out,
        proxy_us = proxy_us + excluded.proxy_us, queue_us = queue_us + excluded.queue_us,
        backend_us = backend_us + excluded.backend_us, p50_us = max(p50_us, excluded.p50_us),
        p95_us = max(p95_us, excluded.p95_us), p99_us = max(p99_us, excluded.p99_us),
        max_us = max(max_us, excluded.max_us)";

/// The database of the history.
pub struct Store {
    database: Connection,
    /// The SQLite URI by which readers open the database.
    pub source: String,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
}

/// The limits of the database.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Rows that begin before this time are deleted; in seconds since 1970.
    pub oldest: i64,
    /// The maximum size of a file, in bytes.
    pub bytes_max: u64,
}

impl Store {
    /// Opens the file, or a database in memory. Creates the file and the tables if they do not exist.
    ///
    /// # Errors
    /// The file cannot be opened, or is another kind of database.
    pub fn open(file: Option<&Path>) -> Result<Self, String> {
        let source = match file {
            Some(file) => {
                sqlite_file::create(file).map_err(|error| error.to_string())?;
                sqlite_file::uri(file)
            }
            None => sqlite_file::memory_uri("history"),
        };
        let database = Connection::open(&source).map_err(|error| error.to_string())?;
        let store = Self {
            database,
            source: match file {
                Some(_) => format!("{source}?mode=ro"),
                None => source,
            },
            file: file.map(Path::to_owned),
        };
        match store.prepare() {
            Ok(true) => Ok(store),
            Ok(false) => {
                Err("it is a database of something else, or of another version".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Creates or updates the tables. Returns false if the database is of another kind or version.
    fn prepare(&self) -> rusqlite::Result<bool> {
        self.database.busy_timeout(TIMEOUT_BUSY)?;
        let is_new = self.number("PRAGMA schema_version")? == 0;
        if is_new {
            let view = DIGEST_HISTORY.definition();
            self.database.execute_batch(&format!(
                "PRAGMA auto_vacuum = INCREMENTAL; BEGIN; {TABLES} {view}; PRAGMA application_id = {APPLICATION}; \
                 PRAGMA user_version = {VERSION}; COMMIT;"
            ))?;
        }
        if !self.is_ours()? {
            return Ok(false);
        }
        load_store::prepare(&self.database)?;
        if self.file.is_some() {
            // With WAL, readers do not block the writer.
            self.database
                .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        }
        Ok(true)
    }

    fn is_ours(&self) -> rusqlite::Result<bool> {
        let application = self.number("PRAGMA application_id")?;
        let version = self.number("PRAGMA user_version")?;
        Ok((application, version) == (APPLICATION, VERSION))
    }

    /// Writes the counts of an interval, all of them or none. Returns the number of rows.
    ///
    /// # Errors
    /// SQLite fails: for example, the disk is full or the file was deleted.
    pub fn write(&mut self, span: Span, grown: &Grown, bounds: Bounds) -> rusqlite::Result<u64> {
        self.check_file()?;
        let writing = self.database.transaction()?;
        let mut rows = 0;
        for row in &grown.rows {
            add(&writing, span, Some(row), &row.counts)?;
            rows += 1;
        }
        if grown.other_digests.count > 0 {
            add(&writing, span, None, &grown.other_digests)?;
            rows += 1;
        }
        writing.execute("DELETE FROM intervals WHERE start < ?", [bounds.oldest])?;
        writing.commit()?;
        self.make_room(bounds)?;
        Ok(rows)
    }

    /// Writes the load of an interval.
    ///
    /// # Errors
    /// SQLite fails: for example, the disk is full or the file was deleted.
    pub fn write_load(
        &mut self,
        span: Span,
        rows: &[LoadRow],
        bounds: Bounds,
    ) -> rusqlite::Result<()> {
        self.check_file()?;
        let writing = self.database.transaction()?;
        load_store::add(&writing, span, rows)?;
        load_store::forget_old(&writing, bounds.oldest)?;
        writing.commit()?;
        if self.used_bytes()? > self.bytes_max(bounds) {
            self.make_room(bounds)?;
        }
        Ok(())
    }

    /// Fails if the file was deleted, because SQLite would go on writing to the deleted file.
    fn check_file(&self) -> rusqlite::Result<()> {
        match &self.file {
            Some(file) if !file.exists() => Err(rusqlite::Error::InvalidPath(file.clone())),
            Some(_) | None => Ok(()),
        }
    }

    /// Returns when the newest row begins, in seconds since 1970; none if there is no row.
    ///
    /// # Errors
    /// SQLite fails.
    pub fn newest(&self) -> rusqlite::Result<Option<i64>> {
        let text =
            "SELECT max(start) FROM (SELECT start FROM intervals UNION ALL SELECT start FROM load)";
        self.database.query_row(text, [], |row| row.get(0))
    }

    /// Deletes the oldest rows, until the database is within its limit.
    fn make_room(&self, bounds: Bounds) -> rusqlite::Result<()> {
        while self.used_bytes()? > self.bytes_max(bounds) {
            let of_load = load_store::forget_oldest(&self.database, ROOM_PERCENT)?;
            let of_digests = self.database.execute(
                // Count rows, not time, because the clock may have jumped between two rows.
                "DELETE FROM intervals WHERE start <= (SELECT start FROM intervals ORDER BY start \
                 LIMIT 1 OFFSET (SELECT count(*) * ?1 / 100 FROM intervals))",
                [ROOM_PERCENT],
            )?;
            self.forget_series()?;
            if of_digests + of_load == 0 {
                break;
            }
        }
        self.forget_series()?;
        self.database
            .execute_batch("PRAGMA incremental_vacuum(1000)")
    }

    fn bytes_max(&self, bounds: Bounds) -> i64 {
        let bytes_max = match self.file {
            Some(_) => bounds.bytes_max,
            None => MEMORY_BYTES_MAX,
        };
        i64::try_from(bytes_max).unwrap_or(i64::MAX)
    }

    /// Deletes the series that no row refers to.
    fn forget_series(&self) -> rusqlite::Result<usize> {
        self.database.execute(
            "DELETE FROM series WHERE NOT EXISTS \
             (SELECT 1 FROM intervals WHERE intervals.series = series.id)",
            [],
        )
    }

    pub(crate) fn used_bytes(&self) -> rusqlite::Result<i64> {
        let pages = self.number("PRAGMA page_count")? - self.number("PRAGMA freelist_count")?;
        Ok(pages * self.number("PRAGMA page_size")?)
    }

    /// Limits the database to 20 pages, to simulate a full disk.
    #[cfg(test)]
    pub fn limit_pages(&self) {
        let limited = self.number("PRAGMA max_page_count = 20");
        assert_eq!(limited, Ok(20));
    }

    fn number(&self, text: &str) -> rusqlite::Result<i64> {
        self.database.query_row(text, [], |row| row.get(0))
    }
}

/// Adds a row to an interval. Without a digest, it is the row of all other digests.
fn add(
    database: &Connection,
    span: Span,
    row: Option<&DigestRow>,
    counts: &Counts,
) -> rusqlite::Result<()> {
    let (digest, text) = row.map(named).unzip();
    let text = text.unwrap_or_else(|| "(all others)".into());
    let attribution = row.map(|row| (&*row.attribution.schema, &*row.attribution.account));
    let (db, account) = attribution.unwrap_or_default();
    let backend = row.and_then(|row| row.backend.as_ref());
    let backend = backend.map_or("", |ran| &*ran.name);
    let names = params![digest, &*text, db, account, backend];
    let found = database
        .prepare_cached(FIND)?
        .query_row(names, |row| row.get::<_, i64>(0));
    let series = match found {
        Err(rusqlite::Error::QueryReturnedNoRows) => {
            database.prepare_cached(ADD_SERIES)?.insert(names)?
        }
        found => found?,
    };
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let us = |nanoseconds: u64| number(nanoseconds / 1000);
    database.prepare_cached(ADD)?.execute(params![
        series,
        span.start,
        span.seconds,
        number(counts.count),
        number(counts.errors),
        number(counts.rows_sent),
        number(counts.rows_affected),
        number(counts.bytes_in),
        number(counts.bytes_out),
        us(counts.proxy_ns),
        us(counts.queue_ns),
        us(counts.backend_ns),
        us(counts.percentile_ns(50)),
        us(counts.percentile_ns(95)),
        us(counts.percentile_ns(99)),
        us(counts.max_ns),
    ])?;
    Ok(())
}
