//! The login of a client: answered by the proxy, or passed through to a backend.
//!
//! ```text
//!                    ┌─ host_errors, login_throttle: may this host and this user try now?
//!   client ──────────┤
//!                    └─ tls_guard: does the client's TLS meet what its account demands?
//!
//!   relayed_login   backend's greeting ─► client's response ─► dialogue ─► OK       no account is known
//!   server_login    own greeting ─► known_accounts ─► examine ─┬─► AdmittedLogin    the proxy answers
//!                                                              ├─► retry_after_reload: the account has changed
//!                                                              └─► passthrough_auth: only a backend can judge
//!   reception       own greeting ─► examine ─► AdminClient                          the admin port
//!
//!   connect         a backend that greets: choose one, connect, read the greeting; if that fails, the next
//! ```
//!
//! - `login_env`: what a login needs of its worker and of all workers; no function here takes more;
//! - `destination`: the cluster and the roles among which `connect` chooses;
//! - `user_change`, `script_coverage`: which user a session may become later, if its login passed through;
//! - `fresh_accounts`: how old the known state of an account may be;
//! - `host_names`, `known_host_names`: how a refusal names the client's host;
//! - `welcome`: the OK that ends a login; `redirect`: the OK for clients that may go to another address.
//!
//! This crate has no sessions: it ends where a session begins, with [`server_login::LoginOutcome`].

pub mod connect;
pub mod destination;
pub mod examine;
mod fresh_accounts;
pub mod host_errors;
pub mod host_names;
pub mod known_accounts;
pub mod known_host_names;
pub mod login_env;
pub mod login_throttle;
pub mod passthrough_auth;
pub mod reception;
pub mod redirect;
pub mod relayed_login;
pub mod retry_after_reload;
pub mod script_coverage;
pub mod server_login;
pub mod tls_guard;
pub mod user_change;
pub mod welcome;
