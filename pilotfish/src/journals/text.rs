//! The formats of entries: JSON, one object per line, or the servers' slow-log format.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::json;
use stats::{AuditEvent, Log, StatementView};

/// A statement as a JSON object.
pub fn json(out: &mut Vec<u8>, log: Log, it: &StatementView, began: SystemTime) {
    let error = it.error.as_ref();
    let backend = it.backend.as_ref().map(|ran| &*ran.name);
    line(
        out,
        &json!({
            "time": time(began + it.at),
            "log": log.name(),
            "session": it.session,
            "user": it.attribution.user,
            "account": it.attribution.account,
            "client": &*it.client,
            "db": it.attribution.schema,
            "backend": backend,
            "digest": format!("0x{:016X}", it.digest),
            "statement": it.text.as_deref().unwrap_or(&it.digest_text),
            "total_us": micros(it.whole()),
            "proxy_us": micros(it.times.proxy),
            "queue_us": micros(it.times.queue),
            "backend_us": micros(it.times.taken),
            "first_byte_us": micros(it.times.first_byte),
            "rows_sent": it.volume.rows_sent,
            "rows_affected": it.volume.rows_affected,
            "bytes_in": it.volume.bytes_in,
            "bytes_out": it.volume.bytes_out,
            "error": error.map(|(number, _)| number),
            "message": error.map(|(_, message)| message),
        }),
    );
}

/// An audit event as a JSON object.
pub fn audit(out: &mut Vec<u8>, it: &AuditEvent) {
    line(
        out,
        &json!({
            "time": time(it.at),
            "log": Log::Audit.name(),
            "event": it.event,
            "port": it.port,
            "session": it.session,
            "user": it.user,
            "client": it.client,
            "db": it.schema,
            "detail": it.detail,
        }),
    );
}

fn line(out: &mut Vec<u8>, value: &serde_json::Value) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}

/// A statement in the format of servers' slow logs, with Percona's lines for fields that the format does not
/// have. Texts chosen by a client cannot begin an entry.
pub fn mysql(out: &mut Vec<u8>, it: &StatementView, began: SystemTime) {
    let at = began + it.at;
    let user = word(&it.attribution.user);
    let host = host(&it.client);
    let schema = &it.attribution.schema;
    let error = it.error.as_ref().map_or(0, |(number, _)| *number);
    let mut entry = String::with_capacity(512 + it.digest_text.len());
    let _ = writeln!(entry, "# Time: {}", time(at));
    let _ = writeln!(
        entry,
        "# User@Host: {user}[{user}] @  [{host}]  Id: {}",
        it.session
    );
    let _ = writeln!(
        entry,
        "# Schema: {}  Last_errno: {error}  Killed: 0",
        word(schema)
    );
    let _ = writeln!(
        entry,
        "# Query_time: {}  Lock_time: 0.000000  Rows_sent: {}  Rows_examined: 0  Rows_affected: {}",
        seconds(it.whole()),
        it.volume.rows_sent,
        it.volume.rows_affected
    );
    let _ = writeln!(
        entry,
        "# Bytes_sent: {}  Bytes_received: {}",
        it.volume.bytes_out, it.volume.bytes_in
    );
    let backend = it.backend.as_ref().map_or("", |ran| &ran.name);
    let _ = writeln!(
        entry,
        "# Proxy_time: {}  Queue_time: {}  Backend_time: {}  First_byte_time: {}  Backend: {}",
        seconds(it.times.proxy),
        seconds(it.times.queue),
        seconds(it.times.taken),
        seconds(it.times.first_byte),
        word(backend)
    );
    if !schema.is_empty() {
        let _ = writeln!(entry, "use {};", name(schema));
    }
    let second = at
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let _ = writeln!(entry, "SET timestamp={};", second.as_secs());
    let text = it.text.as_deref().unwrap_or(&it.digest_text);
    let text = text.trim_end().trim_end_matches(';');
    // A line of the statement that begins with `#` would look like the start of an entry.
    let text = text.replace('\r', " ").replace("\n#", "\n #");
    let _ = match text.starts_with('#') {
        true => writeln!(entry, " {text};"),
        false => writeln!(entry, "{text};"),
    };
    out.extend_from_slice(entry.as_bytes());
}

/// A name as one word; an empty name stays empty.
fn word(name: &str) -> String {
    let is_plain = |it: char| !it.is_whitespace() && !it.is_control() && !"[]#@".contains(it);
    let shown = name.chars().map(|it| if is_plain(it) { it } else { '_' });
    shown.collect()
}

/// A schema's name for use in a statement.
fn name(schema: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '$';
    match schema.chars().all(is_plain) {
        true => schema.to_owned(),
        false => {
            let shown = schema.replace(|it: char| it.is_control(), "_");
            format!("`{}`", shown.replace('`', "``"))
        }
    }
}

/// A client's address without its port.
fn host(client: &str) -> String {
    let host = client.rsplit_once(':').map_or(client, |(host, _)| host);
    word(host.trim_matches(['[', ']']))
}

fn seconds(time: Duration) -> String {
    format!("{}.{:06}", time.as_secs(), time.subsec_micros())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A time in UTC, to the microsecond.
fn time(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
