//! A statement as spans: one for the whole, by OpenTelemetry's conventions for database calls, and within
//! it spans for its wait in the proxy, for its backend's work, and for the rest of its reply.

use std::time::{Duration, SystemTime};

use config::{BackendAddress, Config};
use route::{Dice, Family, Topology};
use sql::{Flags, Server, StatementKind};
use stats::StatementView;

use super::otlp::{
    CLIENT, ERROR, FLAGS_OWN, FLAGS_REMOTE, INTERNAL, Request, ResourceSpans, ScopeSpans, Span,
    Status,
};
use crate::telemetry::common::{KeyValue, Resource, Scope, attribute, nanoseconds};

/// The longest summary of a statement, in bytes, by the conventions.
const SUMMARY_BYTES_MAX: usize = 255;

/// Makes spans of statements.
pub struct Maker<'a> {
    /// The current configuration.
    pub config: &'a Config,
    /// The current backends.
    pub topology: &'a Topology,
    /// When the process began, by the present wall clock.
    pub began: SystemTime,
    /// The randomness for ids.
    pub dice: &'a mut Dice,
}

impl Maker<'_> {
    /// A message with the spans of a batch of statements.
    pub fn request(&mut self, statements: &[StatementView]) -> Request {
        let spans = statements.iter().flat_map(|it| self.spans(it)).collect();
        Request {
            resource_spans: vec![ResourceSpans {
                resource: Some(Resource::of_service(&self.config.tracing.service, [])),
                scope_spans: vec![ScopeSpans {
                    scope: Some(Scope::own()),
                    spans,
                }],
            }],
        }
    }

    /// The spans of one statement; the first is for the whole statement.
    fn spans(&mut self, it: &StatementView) -> Vec<Span> {
        let end = self.began + it.at;
        let begin = end.checked_sub(it.whole()).unwrap_or(end);
        let left = begin + it.times.proxy + it.times.queue;
        let first_byte = (left + it.times.first_byte).min(end);
        let whole = self.whole(it, (begin, end));
        let waited = self.child_span(&whole, "wait", (begin, left));
        let is_queued = attribute("pilotfish.queued", it.times.queue > Duration::ZERO);
        let mut spans = vec![Span {
            attributes: vec![is_queued],
            ..waited
        }];
        if it.backend.is_some() {
            spans.push(self.child_span(&whole, "backend", (left, first_byte)));
            spans.push(self.child_span(&whole, "reply", (first_byte, end)));
        }
        spans.insert(0, whole);
        spans
    }

    fn whole(&mut self, it: &StatementView, (begin, end): (SystemTime, SystemTime)) -> Span {
        let text = Summary::of(&it.digest_text);
        let (trace_id, parent_span_id, flags) = match &it.parent {
            Some(parent) => (
                parent.trace_id.to_vec(),
                parent.span_id.to_vec(),
                FLAGS_REMOTE,
            ),
            None => {
                let both = [self.dice.throw(), self.dice.throw()];
                let bytes = both.iter().flat_map(|it| it.to_be_bytes()).collect();
                (bytes, Vec::new(), FLAGS_OWN)
            }
        };
        Span {
            trace_id,
            span_id: self.id(),
            parent_span_id,
            name: text.summary.clone(),
            kind: CLIENT,
            start_time_unix_nano: nanoseconds(begin),
            end_time_unix_nano: nanoseconds(end),
            attributes: self.attributes(it, text),
            status: it.error.as_ref().map(|(_, message)| Status {
                message: message.clone(),
                code: ERROR,
            }),
            flags,
        }
    }

    fn child_span(
        &mut self,
        whole: &Span,
        name: &str,
        (begin, end): (SystemTime, SystemTime),
    ) -> Span {
        Span {
            trace_id: whole.trace_id.clone(),
            span_id: self.id(),
            parent_span_id: whole.span_id.clone(),
            name: name.to_owned(),
            kind: INTERNAL,
            start_time_unix_nano: nanoseconds(begin),
            end_time_unix_nano: nanoseconds(end.max(begin)),
            attributes: Vec::new(),
            status: None,
            flags: FLAGS_OWN,
        }
    }

    /// A random id: eight bytes that are not all 0.
    fn id(&mut self) -> Vec<u8> {
        self.dice.throw().max(1).to_be_bytes().to_vec()
    }

    fn attributes(&self, it: &StatementView, text: Summary) -> Vec<KeyValue> {
        let said = it.text.as_deref().unwrap_or(&it.digest_text);
        let mut all = vec![
            attribute("db.system.name", self.system(it)),
            attribute("db.query.text", said),
            attribute("db.query.summary", text.summary),
            attribute("pilotfish.session", u64::from(it.session)),
            attribute("pilotfish.account", &*it.attribution.account),
            attribute("pilotfish.digest", format!("0x{:016X}", it.digest)),
        ];
        if !it.attribution.schema.is_empty() {
            all.push(attribute("db.namespace", &*it.attribution.schema));
        }
        all.extend(text.operation.map(|it| attribute("db.operation.name", it)));
        all.extend(text.table.map(|it| attribute("db.collection.name", it)));
        if it.volume.rows_sent > 0 {
            all.push(attribute("db.response.returned_rows", it.volume.rows_sent));
        }
        if let Some((number, _)) = &it.error {
            let number = number.to_string();
            all.push(attribute("db.response.status_code", number.clone()));
            all.push(attribute("error.type", number));
        }
        if let Some(ran) = &it.backend {
            all.push(attribute("pilotfish.backend", &*ran.name));
            all.extend(self.server(&ran.name));
        }
        all
    }

    fn system(&self, it: &StatementView) -> &'static str {
        let asked = || {
            let backend = it.backend.as_ref().map(|ran| ran.backend);
            let backend = backend.and_then(|id| self.topology.backend(id));
            let server = backend.and_then(|it| it.monitored.server.as_ref());
            server.map(|it| it.family)
        };
        let is_mariadb = match it.server {
            Server::MariaDb(_) => true,
            Server::MySql(_) => false,
            Server::Unknown => asked() == Some(Family::MariaDb),
        };
        match is_mariadb {
            true => "mariadb",
            // An unknown kind of server speaks MySQL's protocol.
            false => "mysql",
        }
    }

    /// The backend's configured address, if it is still configured.
    fn server(&self, name: &str) -> Vec<KeyValue> {
        let mut backends = self.config.backends.iter();
        match backends.find(|it| it.name == name).map(|it| &it.address) {
            Some(BackendAddress::Tcp { host, port }) => vec![
                attribute("server.address", &**host),
                attribute("server.port", u64::from(*port)),
            ],
            Some(BackendAddress::Unix(path)) => {
                vec![attribute("server.address", path.display().to_string())]
            }
            None => Vec::new(),
        }
    }
}

/// A short summary of a statement; there are few different summaries.
struct Summary {
    summary: String,
    /// The operation; `None` if the statement does several things.
    operation: Option<String>,
    /// The only table, if there is one.
    table: Option<String>,
}

impl Summary {
    fn of(digest: &str) -> Self {
        let facts = sql::facts(digest.as_bytes(), Flags::default());
        let mut tables: Vec<String> = Vec::new();
        for table in facts.tables() {
            let name = table.name.name(digest.as_bytes());
            let name = String::from_utf8_lossy(&name).into_owned();
            if !tables.contains(&name) {
                tables.push(name);
            }
        }
        let is_one = !matches!(
            facts.kind,
            StatementKind::Empty | StatementKind::Unknown | StatementKind::Multi
        );
        let operation = is_one.then(|| facts.kind.to_string());
        let mut summary = operation.clone().unwrap_or_else(|| "statement".to_owned());
        for table in &tables {
            if summary.len() + 1 + table.len() > SUMMARY_BYTES_MAX {
                break;
            }
            summary.push(' ');
            summary.push_str(table);
        }
        Self {
            summary,
            operation,
            table: tables.pop().filter(|_| tables.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_operation_and_its_tables() {
        for (digest, summary, operation, table) in [
            ("SELECT ?", "SELECT", Some("SELECT"), None),
            (
                "SELECT MAX(population) FROM Country GROUP BY continent",
                "SELECT Country",
                Some("SELECT"),
                Some("Country"),
            ),
            (
                "SELECT * FROM a JOIN b ON a.x = b.x JOIN a AS c WHERE a.n IN (...)",
                "SELECT a b",
                Some("SELECT"),
                None,
            ),
            (
                "INSERT INTO d.t VALUES (...)",
                "INSERT t",
                Some("INSERT"),
                Some("t"),
            ),
            ("", "statement", None, None),
        ] {
            let of = Summary::of(digest);
            assert_eq!(of.summary, summary, "{digest}");
            assert_eq!(of.operation.as_deref(), operation, "{digest}");
            assert_eq!(of.table.as_deref(), table, "{digest}");
        }
    }
}
