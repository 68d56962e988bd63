//! The phase of a connection, and how the tracker follows it.

use wire::Command;

use crate::cutter::Cutter;

/// The proxy's treatment of sequence ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequences {
    /// The ids must follow; bytes pass unchanged.
    Checked,
    /// The ids are written anew. This is needed if one side compresses: the servers set the inner
    /// ids of compressed packets to the frame's at each flush (`net_flush` in `net_serv.cc`), and
    /// only compressing clients accept that.
    Renumbered,
}

/// The number of commands that may be in flight at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pipelining {
    /// As many as the client likes, within a bound.
    Deep,
    /// One after the other, each taken by a call of its own. A compressed backend needs it, because it counts its frames
    /// from 0 in every command. Scripts need it too, because they act between two exchanges.
    OneByOne,
}

/// The step that is needed before the client's next bytes pass; see [`Tracker::holding_change_user`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeUserHold {
    /// Nothing.
    Nothing,
    /// More of the client's bytes have to arrive.
    Partly,
    /// The bytes begin with COM_CHANGE_USER, whose first packet's payload has so many bytes.
    ChangeUser(usize),
}

/// The current meaning of the client's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientMode {
    /// Commands, each beginning with sequence id 0.
    Commands,
    /// A file, up to an empty packet.
    Infile,
    /// The client's side of a dialogue, until the reply ends (login, acknowledgements of binlog events).
    Dialogue,
}

/// The packets that come from the client.
#[derive(Debug, Clone)]
pub(super) struct ClientPackets {
    pub(super) cutter: Cutter,
    pub(super) mode: ClientMode,
    /// The sequence id that the next packet has.
    pub(super) sequence: u8,
    /// Bytes of the current payload so far.
    pub(super) payload_bytes: u64,
    /// The command that is arriving.
    pub(super) incoming: Command,
}

/// A command whose reply has not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) command: Command,
    /// The sequence id that the reply begins with; unknown while the command is still coming.
    pub(super) reply_sequence: Option<u8>,
}
