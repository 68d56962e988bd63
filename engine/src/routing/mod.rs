//! Where the next command of a session goes, and what its reads must see.

pub(crate) mod choose;
pub(crate) mod consistency;
pub(crate) mod definitions;
pub(crate) mod leave_replica;
mod policy_target;
pub(crate) mod routing_state;
pub(crate) mod session_routing;
