//! Admits requests: a request must address the proxy by one of its names, must not come from a page of another site,
//! and must be from a user of the admin port or have the token.

use std::net::IpAddr;
use std::sync::Arc;

use auth::Password;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use config::AdminRole;
use worker::Settings;

use super::accept::Caller;
use super::refusal::Refusal;
use super::{HEALTH, HttpState};
use admin::admin_session::AdminSession;
use admin::authenticator::Authenticator;
use admin::functions::Asker;
use admin::table::Schema;

/// The user name, in logs and in `USER()`, for a request with the token.
const TOKEN_USER: &str = "token";

/// A user that has logged in.
#[derive(Clone)]
pub struct AuthenticatedUser {
    user: String,
    /// What the user may do.
    pub role: AdminRole,
}

/// Checks that every request must pass, and headers for browsers that every answer gets.
pub async fn receive(
    State(state): State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Response {
    let settings = state.settings();
    // Health probes are answered under any host name.
    let checked = match HEALTH.contains(&request.uri().path()) {
        true => Ok(()),
        false => check(&request, &settings.config.http.names),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'",
        ),
    ] {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

fn check(request: &Request, names: &[String]) -> Result<(), Refusal> {
    let headers = request.headers();
    let host = host(request)?;
    let caller = request.extensions().get::<Caller>();
    if caller.is_some_and(|caller| caller.is_at_home) && !is_home(&host, names) {
        let text = format!("{host:?} is no name of this machine's (http.names)");
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, text));
    }
    if is_of_another_site(request.method(), headers, &host) {
        let text = "A page of another site may not ask here";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text));
    }
    Ok(())
}

/// The proxy's name in the request, as written.
fn host(request: &Request) -> Result<String, Refusal> {
    let told = request.headers().get(header::HOST);
    let told = told.and_then(|it| it.to_str().ok());
    let missing = || Refusal::new(StatusCode::BAD_REQUEST, "A request needs the header Host");
    told.map(str::to_ascii_lowercase).ok_or_else(missing)
}

/// Whether that is a name of this machine. A browser can be made to use any other name that resolves to the proxy, so
/// other names are not trusted.
fn is_home(host: &str, names: &[String]) -> bool {
    let name = without_port(host);
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_address = address
        .parse::<IpAddr>()
        .is_ok_and(|it| it.to_canonical().is_loopback());
    is_address || name == "localhost" || names.iter().any(|it| it.eq_ignore_ascii_case(name))
}

fn without_port(host: &str) -> &str {
    let digits = |it: &str| it.bytes().all(|byte| byte.is_ascii_digit());
    match host.rsplit_once(':') {
        Some((name, port)) if digits(port) => name,
        _ => host,
    }
}

/// Whether a browser says that a page of another site sends the request. Opening a link from there is allowed.
fn is_of_another_site(method: &Method, headers: &HeaderMap, host: &str) -> bool {
    let told = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    if let Some(origin) = told("origin") {
        let authority = origin.split_once("://").map(|(_, it)| it);
        return authority.is_none_or(|it| !it.eq_ignore_ascii_case(host));
    }
    let is_link = method == Method::GET && told("sec-fetch-mode") == Some("navigate");
    match told("sec-fetch-site") {
        Some("cross-site" | "same-site") => !is_link,
        Some(_) | None => false,
    }
}

/// Admits users that may read tables.
pub async fn admit(
    State(state): State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Result<Response, Response> {
    let (known, request) = log_in(&state, request).await?;
    if known.role == AdminRole::Changes {
        let text = "The role changes may read /changes, and nothing else";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text).into_response());
    }
    Ok(next.run(request).await)
}

/// Admits users that may read the change feed.
pub async fn admit_to_changes(
    State(state): State<Arc<HttpState>>,
    request: Request,
    next: Next,
) -> Result<Response, Response> {
    let (known, request) = log_in(&state, request).await?;
    if known.role == AdminRole::Stats {
        let text = "Changes are for users with the role changes or admin";
        return Err(Refusal::new(StatusCode::FORBIDDEN, text).into_response());
    }
    Ok(next.run(request).await)
}

/// Authenticates the request; the request carries the user on.
async fn log_in(
    state: &HttpState,
    mut request: Request,
) -> Result<(AuthenticatedUser, Request), Response> {
    let settings = state.settings();
    let caller = request.extensions().get::<Caller>().cloned();
    let shown = request.headers().get(header::AUTHORIZATION).cloned();
    let (Some(caller), Some(shown)) = (caller, shown) else {
        let text = "Who asks is to be said: a user of the admin port, or the token";
        return Err(unknown(text));
    };
    let (named, known) = match Shown::read(&shown) {
        Some(Shown::Password { user, password }) => {
            let named = user.clone();
            let known = by_password(state, &settings, &caller, user, &password).await;
            (named, known)
        }
        Some(Shown::Token(token)) => {
            let known = by_token(state, &settings, &caller, &token).await;
            (TOKEN_USER.to_owned(), known)
        }
        None => (String::new(), None),
    };
    let Some(known) = known else {
        let who = (state.authenticator.next_id(), &*named, &caller.remote);
        let path = request.uri().path().to_owned();
        state.authenticator.audit("http", "login_failed", who, path);
        tracing::warn!(
            kind = "http_login_failed",
            client = %caller.remote,
            "a login to the HTTP port has failed"
        );
        let text = "The user or the password, or the token, is not right";
        return Err(unknown(text));
    };
    request.extensions_mut().insert(known.clone());
    Ok((known, request))
}

/// The credentials in a request.
enum Shown {
    Password { user: String, password: Password },
    Token(Password),
}

impl Shown {
    fn read(header: &HeaderValue) -> Option<Self> {
        let (scheme, rest) = header.to_str().ok()?.split_once(' ')?;
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Self::Token(Password::new(rest.trim())));
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
        let (user, password) = pair.split_once(':')?;
        Some(Self::Password {
            user: user.to_owned(),
            password: Password::new(password),
        })
    }
}

async fn by_password(
    state: &HttpState,
    settings: &Settings,
    caller: &Caller,
    user: String,
    password: &Password,
) -> Option<AuthenticatedUser> {
    let authenticator = &state.authenticator;
    let session_registry = authenticator.session_registry(&settings.config);
    let reception = &authenticator.reception;
    let is_right = reception.proves(&caller.remote, &user, password, &session_registry, settings);
    let role = Authenticator::role(&settings.config, &user);
    is_right.await.then_some(AuthenticatedUser { user, role })
}

async fn by_token(
    state: &HttpState,
    settings: &Settings,
    caller: &Caller,
    token: &Password,
) -> Option<AuthenticatedUser> {
    let right = settings.config.http.token.as_ref();
    let is_right = right.is_some_and(|right| Password::new(right.expose()) == *token);
    let reception = &state.authenticator.reception;
    let is_right = reception.weighs(&caller.remote, TOKEN_USER, is_right, settings);
    is_right.await.then(|| AuthenticatedUser {
        user: TOKEN_USER.to_owned(),
        role: AdminRole::Stats,
    })
}

fn unknown(text: &str) -> Response {
    let challenge = "Basic realm=\"pilotfish\", charset=\"UTF-8\"";
    let refusal = Refusal::new(StatusCode::UNAUTHORIZED, text);
    ([(header::WWW_AUTHENTICATE, challenge)], refusal).into_response()
}

impl AuthenticatedUser {
    /// The user and the client's address, for logs and tables.
    pub fn name(&self, caller: &Caller) -> String {
        format!("{} from {}", self.user, caller.remote)
    }

    /// An admin session for the user.
    pub fn admin_session(&self, state: &HttpState, caller: &Caller) -> AdminSession {
        let (id, schema) = (state.authenticator.next_id(), Schema::Pilotfish);
        let asker = Asker::new(&self.user, self.role, &caller.remote, id, schema);
        let admin_session = state.authenticator.admin_session(asker);
        admin_session.content_with(Arc::clone(&state.recent))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::*;

    #[test]
    fn only_loopback_and_configured_host_names_are_local() {
        let names = ["Proxy.Example".to_owned()];
        for host in [
            "localhost",
            "localhost:4042",
            "127.0.0.1:4042",
            "127.9.9.9",
            "[::1]:4042",
            "[::1]",
            "proxy.example:80",
        ] {
            assert!(is_home(host, &names), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:4042",
            "localhost.evil.example",
            "10.0.0.1",
            "127.0.0.1.evil.example",
            "",
            ":4042",
            "[::1",
            "localhost:4042:evil",
        ] {
            // A browser cannot address a host with an unclosed bracket.
            let is_odd = host == "[::1";
            assert!(!is_home(host, &names) || is_odd, "{host}");
        }
    }

    #[test]
    fn pages_of_other_sites_may_link_and_nothing_else() {
        let of = |method: Method, headers: &[(&'static str, &'static str)]| {
            let pairs = headers.iter().map(|(name, value)| {
                let name = header::HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            });
            is_of_another_site(&method, &pairs.collect(), "localhost:4042")
        };
        assert!(!of(Method::GET, &[]));
        assert!(!of(Method::GET, &[("sec-fetch-site", "same-origin")]));
        assert!(!of(Method::GET, &[("sec-fetch-site", "none")]));
        let link = ("sec-fetch-mode", "navigate");
        assert!(!of(Method::GET, &[("sec-fetch-site", "cross-site"), link]));
        assert!(of(Method::POST, &[("sec-fetch-site", "cross-site"), link]));
        assert!(of(Method::GET, &[("sec-fetch-site", "cross-site")]));
        assert!(of(Method::GET, &[("sec-fetch-site", "same-site")]));
        assert!(!of(Method::POST, &[("origin", "http://localhost:4042")]));
        assert!(of(Method::POST, &[("origin", "http://localhost:80")]));
        assert!(of(Method::POST, &[("origin", "null")]));
    }

    #[test]
    fn credentials_are_parsed_or_ignored() {
        let read = |text: &'static str| Shown::read(&HeaderValue::from_static(text));
        let Some(Shown::Password { user, password }) = read("basic cm9vdDphOmI=") else {
            panic!("a user and a password");
        };
        assert_eq!((&*user, password), ("root", Password::new("a:b")));
        assert!(matches!(read("Bearer abc"), Some(Shown::Token(_))));
        for text in [
            "",
            "Basic",
            "Basic ?",
            "Basic cm9vdA==",
            "Digest x",
            "Basic /w==",
        ] {
            assert!(read(text).is_none(), "{text}");
        }
    }
}
