//! The data plane: workers, and what each of them gives to its sessions.
//!
//! ```text
//!   DataPlane ──► Worker (a thread) ──► serve: one session from its arrival to its end
//!                                         │   login (crate login)
//!                                         ├─► engine     one command at a time, each over a leased connection
//!                                         │                lanes: several sessions on one connection
//!                                         │                explain: what a client asks about its session
//!                                         ├─► scripted   a script of MySQL Proxy's kind sees each packet
//!                                         │                script_hooks: what it decides about a command
//!                                         └─► relay      one connection, bytes pass
//!
//!   DataPlaneHandle ──► what others see of the workers, and ask of them
//! ```
//!
//! Configuration comes in as snapshots ([`Settings`], [`route::Topology`]); reports go out as [`route::Report`]s.
//! This crate reads no file, resolves no name, and decides nothing that another worker would have to know.

mod context;
mod data_plane_handle;
mod plane;
mod serve;
mod worker;

pub use backend::settings::Settings;
pub use context::DataPlaneContext;
pub use data_plane_handle::DataPlaneHandle;
pub use link::memory::MemoryView;
pub use login::reception::{AdminClient, AdminClientError, AdminState, Reception};
pub use plane::DataPlane;
pub use registry::change_origins::{ChangeOrigins, LoggedChange};
pub use registry::session_registry::Killed;
pub use registry::worker_view::{
    LoadView, PoolView, SessionState, SessionView, SpreadView, StepsView, TimesView, WorkerView,
};
pub use relay::joined_counts::{JoinObstacle, JoinView};
pub use script_hooks::admin_script::AdminScript;
pub use script_host::interpreters::AllScripts;
