//! The data plane: workers, and the sessions that keep no connection of their own or run a script.
//!
//! ```text
//!   DataPlane ──► Worker (a thread) ──► serve: one session from its arrival to its end
//!                                         │   login (crate login)
//!                                         ├─► pooled     one command at a time, each over a leased connection
//!                                         │                lanes (crate lanes): several sessions on one connection
//!                                         ├─► scripted   a script of MySQL Proxy's kind sees each packet
//!                                         │                script_hooks (crate): what it decides about a command
//!                                         └─► relay (crate relay)   one connection, bytes pass
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
pub use script_hooks::admin_script::AdminScript;
pub use script_host::interpreters::AllScripts;
pub use window::Window;
