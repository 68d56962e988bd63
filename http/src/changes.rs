//! `GET /changes?cluster=main&tables=shop.*&from=oldest`: the change feed, with one JSON object per line, or as
//! server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Bytes, Frame};
use net::patient::LongAnswer;
use replication::{
    ChangeFormat, ChangeLines, ChangeRefusal, ChangeRequest, ChangeStart, OLDEST_POSITION,
    ServerSentEvents, subscribe,
};
use tokio::sync::mpsc;

use super::HttpState;
use super::accept::Caller;
use super::guard::AuthenticatedUser;
use super::refusal::Refusal;

const EVENT_STREAM: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";

/// `GET /changes`
pub async fn changes(
    State(state): State<Arc<HttpState>>,
    Extension(known): Extension<AuthenticatedUser>,
    Extension(caller): Extension<Caller>,
    Extension(is_long): Extension<LongAnswer>,
    pairs: Result<Query<Vec<(String, String)>>, QueryRejection>,
    request: Request,
) -> Result<Response, Refusal> {
    let bad = |text: String| Refusal::new(StatusCode::BAD_REQUEST, text);
    let Query(pairs) =
        pairs.map_err(|error| bad(format!("The parameters cannot be read: {error}")))?;
    let headers = request.headers();
    let mut wanted = ChangeQuery::read(pairs).map_err(bad)?;
    if let Some(last) = last_event(headers) {
        wanted.start = last;
    }
    let (content_type, format): (_, Box<dyn ChangeFormat>) = match accepts_event_stream(headers) {
        true => (EVENT_STREAM, Box::new(ServerSentEvents)),
        false => (LINES, Box::new(ChangeLines)),
    };
    let settings = state.settings();
    let request = ChangeRequest {
        name: known.name(&caller),
        cluster: wanted.cluster,
        tables: wanted.tables,
        start: wanted.start,
        readers_max: settings.config.http.change_readers_max,
    };
    let pieces =
        subscribe(&state.authenticator.sources.streams, request, format).map_err(refusal)?;
    is_long.set();
    let headers = [
        (header::CONTENT_TYPE.as_str(), content_type),
        // Without this header nginx would buffer events.
        ("x-accel-buffering", "no"),
    ];
    Ok((headers, Body::new(Pieces(pieces))).into_response())
}

/// The parameters of a request.
#[derive(Debug, PartialEq, Eq)]
struct ChangeQuery {
    cluster: Option<String>,
    tables: Vec<String>,
    start: ChangeStart,
}

impl ChangeQuery {
    fn read(pairs: Vec<(String, String)>) -> Result<Self, String> {
        let mut wanted = Self {
            cluster: None,
            tables: Vec::new(),
            start: ChangeStart::Now,
        };
        for (name, value) in pairs {
            match name.as_str() {
                "cluster" => wanted.cluster = Some(value),
                "tables" => {
                    for entry in value.split(',').map(str::trim) {
                        if !is_table(entry) {
                            return Err(format!(
                                "{entry:?} is no table; write TABLE, SCHEMA.TABLE or SCHEMA.*, with commas between"
                            ));
                        }
                        wanted.tables.push(entry.to_owned());
                    }
                }
                "from" => wanted.start = start(&value),
                _ => {
                    return Err(format!(
                        "There is no parameter {name:?}; there are cluster, tables and from"
                    ));
                }
            }
        }
        Ok(wanted)
    }
}

fn start(text: &str) -> ChangeStart {
    match text.trim() {
        "now" => ChangeStart::Now,
        OLDEST_POSITION => ChangeStart::Oldest,
        position => ChangeStart::Behind(position.to_owned()),
    }
}

fn is_table(entry: &str) -> bool {
    let name = entry.strip_prefix('!').unwrap_or(entry);
    let is_named = name.split('.').all(|part| !part.trim().is_empty());
    is_named && name.split('.').count() <= 2
}

/// The position at which a client that reconnects left off.
fn last_event(headers: &HeaderMap) -> Option<ChangeStart> {
    let id = headers.get("last-event-id")?.to_str().ok()?.trim();
    (!id.is_empty()).then(|| start(id))
}

fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    let mut accepted = accepted.filter_map(|it| it.to_str().ok());
    accepted.any(|it| it.contains(EVENT_STREAM))
}

fn refusal(refusal: ChangeRefusal) -> Refusal {
    let status = match &refusal {
        ChangeRefusal::NoStream(_) => StatusCode::NOT_FOUND,
        ChangeRefusal::NotBegun(_) | ChangeRefusal::TooMany(_) => StatusCode::SERVICE_UNAVAILABLE,
        ChangeRefusal::BadPosition { .. } => StatusCode::BAD_REQUEST,
        ChangeRefusal::Deleted { .. } => StatusCode::GONE,
        ChangeRefusal::Ahead(_) => StatusCode::CONFLICT,
        ChangeRefusal::System(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Refusal::new(status, refusal.to_string())
}

/// The body: pieces as they come. When the client disconnects, the body is dropped, and the thread that reads ends.
struct Pieces(mpsc::Receiver<Vec<u8>>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(context);
        piece.map(|it| it.map(|bytes| Ok(Frame::data(bytes.into()))))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ChangeQuery, String> {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        ChangeQuery::read(pairs.collect())
    }

    #[test]
    fn parameters_select_the_tables_and_the_position() {
        let wanted = read(&[
            ("cluster", "main"),
            ("tables", "shop.*, !shop.log"),
            ("tables", "orders"),
            ("from", "0-1-5"),
        ]);
        let expected = ChangeQuery {
            cluster: Some("main".to_owned()),
            tables: ["shop.*", "!shop.log", "orders"].map(str::to_owned).into(),
            start: ChangeStart::Behind("0-1-5".to_owned()),
        };
        assert_eq!(wanted, Ok(expected));
        assert_eq!(read(&[]).unwrap().start, ChangeStart::Now);
        assert_eq!(
            read(&[("from", "oldest")]).unwrap().start,
            ChangeStart::Oldest
        );
        for (name, value) in [("tables", ""), ("tables", "a.b.c"), ("table", "a")] {
            assert!(read(&[(name, value)]).is_err(), "{name}={value}");
        }
    }

    #[test]
    fn a_reconnecting_browser_sends_the_id_of_its_last_event() {
        let mut headers = HeaderMap::new();
        assert_eq!(last_event(&headers), None);
        assert!(!accepts_event_stream(&headers));
        headers.insert("last-event-id", "0-1-7".parse().unwrap());
        headers.insert("accept", EVENT_STREAM.parse().unwrap());
        assert_eq!(
            last_event(&headers),
            Some(ChangeStart::Behind("0-1-7".to_owned()))
        );
        assert!(accepts_event_stream(&headers));
    }
}
