//! Shared lanes: one backend connection with statements of several sessions in flight.
//!
//! ```text
//!   session ── LaneRequest ──┐                       ┌─► one write, many statements ──► backend
//!   session ── LaneRequest ──┼─► SharedLane, a queue ┤
//!   session ── LaneRequest ──┘        │              └── one read, many replies ◄────── backend
//!                                     └─► each reply goes to the socket of its client
//! ```
//!
//! - `lanes`: the lanes of one worker: which one a statement uses, when another is opened, and how fast statements of each
//!   digest have been;
//! - `lane`: one lane; `lane_request`: the place of one session's statement there, and how its reply ends;
//! - `statements`: prepared statements on a lane; `lane_command`: the command that a reply belongs to.
//!
//! A lane takes packets and knows no session: which statements may use one is decided by pooled sessions (crate `engine`)
//! and by `route::lane_check`.

pub mod lane;
mod lane_command;
mod lane_env;
pub mod lane_request;
pub mod lanes;
mod statements;
