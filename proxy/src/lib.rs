//! The data plane: clients, backends and the bytes between them.
//!
//! ```text
//!   DataPlane ──► Worker (a thread) ──► serve: one session from its arrival to its end
//!                                         connect    a backend that greets
//!                                         login      greeting, TLS, response, dialogue, until OK
//!                                         relay      command after command, followed by a tracker
//!                                       or
//!                                         pooled     logins answered here, connections lent
//!                                       or
//!                                         scripted   a script of MySQL Proxy's kind sees each packet
//! ```
//!
//! What comes from outside are snapshots ([`Settings`], [`route::Topology`]); what goes out are
//! [`route::Report`]s. No file is read here, no name resolved, nothing decided that another worker
//! would have to know.

mod context;
mod plane;
mod pooled;
mod scripted;
mod serve;
mod window;
mod worker;

pub use backend::settings::Settings;
pub use context::DataPlaneContext;
pub use link::memory::MemoryView;
pub use login::reception::{AdminClient, AdminClientError, AdminState, Reception};
pub use plane::DataPlane;
pub use registry::change_origins::{ChangeOrigins, LoggedChange};
pub use registry::session_registry::Killed;
pub use registry::worker_view::{
    LoadView, PoolView, SessionState, SessionView, SpreadView, StepsView, TimesView, WorkerView,
};
pub use script_host::interpreters::AllScripts;
pub use scripted::admin_script::AdminScript;
pub use window::Window;
