//! Whole worlds in one process: the proxy's own code between simulated clients and a model of servers, on a
//! virtual clock and an in-memory network, all of it drawn from one seed.

pub mod server;
