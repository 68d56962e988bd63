//! Sessions that run a script of MySQL Proxy's kind: their packets are whole, and hooks see them.
//!
//! ```text
//!  begin     connect_server, and the login
//!  passing   logins that go to a backend
//!  entering  logins that the proxy answers
//!  completed_login  the session that follows from it
//!  alone     greeting and login of sessions that a script answers all by itself
//!
//!  session   sessions whose login has passed through: one backend connection
//!  exchange  a command to that, and its reply
//!  change_user  COM_CHANGE_USER, which is a dialogue
//!  file      a file that the client sends
//!  killing   KILL, which may name ids of the proxy's
//!
//!  scripting sessions whose login the proxy has answered: the connection is whichever they get
//!
//!  script_coverage  a client may not become an account with a script where that script sees nothing
//! ```
//!
//! What a script decides about a command is the crate `script_hooks`. Sessions without a script never come here. What a script could not read is bridged where the proxy has
//! answered the login (`bridge` of crate `script_host`), and not agreed on where it has passed through: its
//! connections may become others'.

pub(crate) mod alone;
pub(crate) mod begin;
pub(crate) mod change_user;
pub(crate) mod completed_login;
pub(crate) mod entering;
pub(crate) mod exchange;
pub(crate) mod file;
pub(crate) mod killing;
pub(crate) mod meet;
pub(crate) mod passing;
pub(crate) mod scripting;
pub(crate) mod session;
pub(crate) mod session_script;
