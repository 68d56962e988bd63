//! A replica's connection.

use wire::Capabilities;

/// A reply begins with this sequence id.
pub const FIRST: u8 = 1;

/// A replica that has logged in.
pub trait ReplicaConnection: Send {
    /// Its next command, with the number in front; none when it is gone.
    fn command(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send;

    /// Sends packets with their headers; false when it is gone.
    fn send_packets(&mut self, packets: &[u8]) -> impl Future<Output = bool> + Send;

    /// What the packets of answers look like.
    fn capabilities(&self) -> Capabilities;

    /// Who it is, for logs.
    fn name(&self) -> String;

    /// The cluster whose transactions it gets.
    fn cluster(&self) -> String;
}
