//! The dashboard: three files that are built from `web/`, compressed within the program.

use std::io::Read;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// The page may load its own files only, and may not turn text into HTML or code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// A path, its content type, and its compressed bytes.
type File = (&'static str, &'static str, &'static [u8]);

#[cfg(has_dashboard)]
const FILES: [File; 3] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!(concat!(env!("OUT_DIR"), "/index.html.gz")),
    ),
    (
        "/dashboard.js",
        "text/javascript; charset=utf-8",
        include_bytes!(concat!(env!("OUT_DIR"), "/dashboard.js.gz")),
    ),
    (
        "/dashboard.css",
        "text/css; charset=utf-8",
        include_bytes!(concat!(env!("OUT_DIR"), "/dashboard.css.gz")),
    ),
];

#[cfg(not(has_dashboard))]
const FILES: [File; 0] = [];

/// The answer if the program was built without the dashboard.
const LEFT_OUT: &str = "\
This program was built without its dashboard, since there was no Node 18 or newer, with npm.
`make build` with Node builds it in; or `web/build.sh`, and then `cargo build`.

The tables are here all the same: /api/tables, /metrics, /api/openapi.json.
";

/// The routes of the dashboard's files.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let mut router = Router::new();
    for file in FILES {
        router = router.route(
            file.0,
            get(move |headers| async move { send(file, &headers) }),
        );
    }
    match FILES.is_empty() {
        true => router.route("/", get(async || LEFT_OUT)),
        false => router,
    }
}

fn send((_, kind, packed): File, headers: &HeaderMap) -> Response {
    let policy = (header::CONTENT_SECURITY_POLICY, POLICY);
    let kind = (header::CONTENT_TYPE, kind);
    if takes_packed(headers) {
        let packed = Bytes::from_static(packed);
        let encoding = (header::CONTENT_ENCODING, "gzip");
        return ([policy, kind, encoding], packed).into_response();
    }
    let mut plain = Vec::new();
    let mut unpacked = flate2::read::GzDecoder::new(packed);
    match unpacked.read_to_end(&mut plain) {
        Ok(_) => ([policy, kind], plain).into_response(),
        // The files within the program do not change, so an error here is a fault of the build.
        Err(error) => {
            tracing::error!(%error, "the dashboard cannot be shown because its page cannot be unpacked; please report this line");
            axum::http::StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn takes_packed(headers: &HeaderMap) -> bool {
    let told = headers.get(header::ACCEPT_ENCODING);
    let told = told.and_then(|it| it.to_str().ok()).unwrap_or_default();
    let mut encodings = told.split(',');
    encodings.any(|it| it.split(';').next().unwrap_or_default().trim() == "gzip")
}
