//! A replica's connection.

use wire::Capabilities;

/// The first sequence id of a reply.
pub const FIRST: u8 = 1;

/// A replica that has logged in.
pub trait ReplicaConnection: Send {
    /// Returns the next command, including its command byte; none if the replica has disconnected.
    fn command(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;

    /// Sends packets with their headers. Returns false if the replica has disconnected.
    fn send_packets(&mut self, packets: &[u8]) -> impl Future<Output = bool> + Send;

    /// The capabilities, which decide the format of answers.
    fn capabilities(&self) -> Capabilities;

    /// The replica's name for logs.
    fn name(&self) -> String;

    /// The cluster whose transactions the replica gets.
    fn cluster(&self) -> String;
}
