//! A COM_QUERY that is decoded once: every later step takes its text and its attributes from here.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use sql::{Analysis, Digest, Facts, Flags};
use wire::query::Query;
use wire::write::put_packets;
use wire::{Capabilities, HEADER_BYTES};

use crate::client_command::Incoming;
use crate::memory::MemoryShare;
use crate::text_reader::{READ_HERE_BYTES_MAX, TextReader};
use session::track_settings::SessionTrackSettings;

/// A client's command, decoded once when it has arrived.
pub enum Arrived {
    /// A COM_QUERY that is whole and well-formed.
    Query(QueryCommand),
    /// Any other command.
    Other(Incoming),
}

impl Arrived {
    /// Returns the command as it arrived.
    pub fn incoming(&self) -> &Incoming {
        match self {
            Self::Query(query) => query.incoming(),
            Self::Other(incoming) => incoming,
        }
    }
}

/// The part of a client's command that is sent at once: the whole, or one statement of several. Each part has its part
/// of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPart {
    /// The whole command.
    Whole,
    /// The first of several statements.
    First,
    /// A statement that is neither the first nor the last.
    Middle,
    /// The last of several statements.
    Last,
}

impl CommandPart {
    /// Whether another part of the reply follows.
    pub fn has_more(self) -> bool {
        matches!(self, Self::First | Self::Middle)
    }

    /// Whether the client has sent several statements in one command.
    pub fn is_of_several(self) -> bool {
        self != Self::Whole
    }

    /// Whether another part of the reply came before.
    pub fn follows(self) -> bool {
        matches!(self, Self::Middle | Self::Last)
    }
}

/// The result of reading a text on another thread, besides the facts.
struct ReadAhead {
    digest: Digest,
    /// The settings of the session that the text was read for.
    flags: Flags,
}

/// A COM_QUERY, or one statement of it.
pub struct QueryCommand {
    incoming: Incoming,
    /// The bytes after the command byte, if the command came in several packets.
    joined: Option<Vec<u8>>,
    /// The number of bytes before the text.
    attribute_bytes: usize,
    /// The client's capabilities, which decide how the packet is decoded.
    capabilities: Capabilities,
    /// The analysis of the text.
    pub facts: Box<Facts>,
    /// The hash of the digest, once it has been computed.
    pub digest: Option<u64>,
    /// The result of reading a long text ahead of its turn.
    ahead: Option<Box<ReadAhead>>,
    /// Which part of the client's command this is.
    pub command_part: CommandPart,
    /// The session variables that the server reported to the client before this SET.
    pub former_settings: Option<Rc<SessionTrackSettings>>,
}

impl QueryCommand {
    /// Finds the text in the command. `facts` is memory of the caller, to be filled by [`Facts::read`].
    ///
    /// # Errors
    /// The attributes in front of the text are malformed. The command is returned.
    pub fn decode(
        incoming: Incoming,
        capabilities: Capabilities,
        facts: Box<Facts>,
        part: CommandPart,
    ) -> Result<Self, Incoming> {
        let argument = incoming.argument();
        let decoded = Query::decode(&argument, capabilities);
        let attribute_bytes = decoded.map(|query| query.attributes.len());
        let joined = match argument {
            Cow::Borrowed(_) => None,
            Cow::Owned(joined) => Some(joined),
        };
        let Ok(attribute_bytes) = attribute_bytes else {
            return Err(incoming);
        };
        Ok(Self {
            incoming,
            joined,
            attribute_bytes,
            capabilities,
            facts,
            digest: None,
            ahead: None,
            command_part: part,
            former_settings: None,
        })
    }

    /// Returns the command as it arrived, or with the text that has replaced its text.
    #[inline]
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// Returns the bytes after the command byte.
    #[inline]
    pub fn argument(&self) -> &[u8] {
        match &self.joined {
            Some(joined) => joined,
            None => {
                let argument = self.incoming.packets.get(HEADER_BYTES + 1..);
                argument.unwrap_or_default()
            }
        }
    }

    /// Returns the statement's text.
    #[inline]
    pub fn text(&self) -> &[u8] {
        let text = self.argument().get(self.attribute_bytes..);
        text.unwrap_or_default()
    }

    /// Returns the statement's text, and the facts to be filled.
    pub fn text_and_facts(&mut self) -> (&[u8], &mut Facts) {
        let argument = match &self.joined {
            Some(joined) => joined,
            None => {
                let argument = self.incoming.packets.get(HEADER_BYTES + 1..);
                argument.unwrap_or_default()
            }
        };
        let text = argument.get(self.attribute_bytes..);
        (text.unwrap_or_default(), &mut self.facts)
    }

    /// Returns the attributes and the text.
    #[inline]
    pub fn query(&self) -> Query<'_> {
        let (attributes, text) = self.argument().split_at(self.attribute_bytes);
        Query { attributes, text }
    }

    /// Whether the client has sent query attributes.
    pub fn carries(&self) -> Carries {
        match self.query().has_attributes() {
            true => Carries::Attributes,
            false => Carries::Nothing,
        }
    }

    /// Replaces the text; the attributes stay. Another thread reads a long text.
    pub async fn replace_text(
        &mut self,
        text: &[u8],
        flags: Flags,
        (reader, memory): (&TextReader, &Arc<MemoryShare>),
    ) {
        self.incoming.packets = self.packets_with(text);
        self.joined = match self.incoming.argument() {
            Cow::Borrowed(_) => None,
            Cow::Owned(joined) => Some(joined),
        };
        self.attribute_bytes = self.argument().len().saturating_sub(text.len());
        self.digest = None;
        self.ahead = None;
        if self.awaits_reader() {
            Box::pin(self.read_ahead(reader, flags, memory)).await;
            self.digest = self.take_digest_ahead(flags).map(|digest| digest.hash());
        } else {
            self.facts.read(text, flags);
        }
    }

    /// Whether the text is long and not yet read. If so, [`Self::read_ahead`] has it read.
    #[inline]
    pub fn awaits_reader(&self) -> bool {
        self.text().len() > READ_HERE_BYTES_MAX && self.ahead.is_none()
    }

    /// Has another thread read facts and digest of a long text. If the caller stops waiting, the text is lost.
    pub async fn read_ahead(
        &mut self,
        reader: &TextReader,
        flags: Flags,
        memory: &Arc<MemoryShare>,
    ) {
        // While the text is away, there are no attributes either.
        let attribute_bytes = std::mem::take(&mut self.attribute_bytes);
        let (bytes, begin) = match &mut self.joined {
            Some(joined) => (joined, attribute_bytes),
            None => {
                let begin = HEADER_BYTES + 1 + attribute_bytes;
                (&mut self.incoming.packets, begin)
            }
        };
        let Analysis { facts, digest } = reader.read(bytes, begin, flags, memory).await;
        self.attribute_bytes = attribute_bytes;
        *self.facts = facts;
        self.ahead = Some(Box::new(ReadAhead { digest, flags }));
    }

    /// Returns the facts, if the text was read ahead of its turn.
    #[inline]
    pub fn facts_ahead(&self) -> Option<&Facts> {
        self.ahead.as_ref().map(|_| &*self.facts)
    }

    /// Takes the digest, if the text was read ahead of its turn for a session with these settings.
    pub fn take_digest_ahead(&mut self, flags: Flags) -> Option<Digest> {
        let ahead = self.ahead.take().filter(|ahead| ahead.flags == flags)?;
        Some(ahead.digest)
    }

    /// Returns the memory that the command takes, in bytes.
    pub fn held_bytes(&self) -> usize {
        let joined = self.joined.as_ref().map_or(0, Vec::capacity);
        self.incoming.packets.capacity() + joined
    }

    /// Returns one statement of the command, as a command with the same attributes. `sequence`: the
    /// first sequence id of its part of the reply.
    ///
    /// # Errors
    /// Only the errors that this command would have had itself.
    pub fn statement_part(
        &self,
        text: &[u8],
        (part, sequence): (CommandPart, u8),
        facts: Box<Facts>,
    ) -> Result<Self, Incoming> {
        let incoming = Incoming {
            packets: self.packets_with(text),
            sequence,
            ..self.incoming
        };
        Self::decode(incoming, self.capabilities, facts, part)
    }

    fn packets_with(&self, text: &[u8]) -> Vec<u8> {
        let attributes = self.query().attributes;
        let mut payload = Vec::with_capacity(1 + attributes.len() + text.len());
        Query { attributes, text }.encode(self.capabilities, &mut payload);
        let mut packets = Vec::with_capacity(HEADER_BYTES + payload.len());
        put_packets(&mut packets, 0, &payload);
        packets
    }

    /// Returns the command's memory, for the next command.
    pub fn into_memory(self) -> (Box<Facts>, Vec<u8>) {
        (self.facts, self.incoming.packets)
    }
}

/// Whether a command carries query attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// At least one attribute.
    Attributes,
    /// No attributes.
    Nothing,
}

#[cfg(test)]
mod tests;
