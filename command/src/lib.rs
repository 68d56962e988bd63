//! One command of a client, as the values that a pooled session handles it by.
//!
//! ```text
//!   packets ──► CurrentCommand      from the packet to the end of the reply: times, policy, subject, delivery
//!                 │
//!                 ├─ Statement      a text, an execution, or a command that runs no statement
//!                 ├─ CommandPolicy  what rules, hints and scripts want of it; Injecting: what is sent around it
//!                 ├─ CommandTarget  where it goes; LaneChoice: its lane; LaneUseState: what a session keeps of lanes
//!                 ├─ kill           what a KILL names, and how a server is asked about it
//!                 ├─ Job            what is sent to the backend; Repeat: whether it may be sent again
//!                 ├─ TextTable      the proxy's own answer
//!                 └─ Ending         how it has ended
//! ```
//!
//! Nothing here reads a socket or knows a session: the steps between these values are the crate `engine`.

pub mod command_policy;
pub mod current_command;
pub mod delivery;
pub mod ending;
pub mod injecting;
pub mod job;
pub mod kill;
pub mod lane_use;
pub mod literals;
pub mod repeat;
pub mod statement;
pub mod target;
pub mod text_table;
pub mod trace;
