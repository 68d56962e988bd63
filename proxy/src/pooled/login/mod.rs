//! Logins that the proxy answers itself, up to the session that begins with them.

pub(crate) mod examine;
pub(crate) mod host_names;
pub(crate) mod known_accounts;
pub(crate) mod known_host_names;
pub(crate) mod login_throttle;
pub(crate) mod passthrough_auth;
pub(crate) mod retry_after_reload;
pub(crate) mod server_login;
pub(crate) mod session_start;
