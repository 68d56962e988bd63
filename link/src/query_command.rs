//! A COM_QUERY that is decoded once: every step that needs its text or its attributes has them from here.

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

/// A command of the client: what its steps need of it is decoded once, when it has come.
pub enum Arrived {
    /// A COM_QUERY that is whole and well formed.
    Query(QueryCommand),
    /// Any other.
    Other(Incoming),
}

impl Arrived {
    /// As it came.
    pub fn incoming(&self) -> &Incoming {
        match self {
            Self::Query(query) => query.incoming(),
            Self::Other(incoming) => incoming,
        }
    }
}

/// A client's command as it is sent: whole, or statement by statement, each with a part of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPart {
    /// All that the client has sent.
    Whole,
    /// The first of several statements.
    First,
    /// One that is neither the first nor the last.
    Middle,
    /// The last of several statements.
    Last,
}

impl CommandPart {
    /// Whether more of the reply follows.
    pub fn has_more(self) -> bool {
        matches!(self, Self::First | Self::Middle)
    }

    /// Whether the client has sent other statements along.
    pub fn is_of_several(self) -> bool {
        self != Self::Whole
    }

    /// Whether some of the reply has gone before.
    pub fn follows(self) -> bool {
        matches!(self, Self::Middle | Self::Last)
    }
}

/// What another thread has read of a text besides the facts.
struct ReadAhead {
    digest: Digest,
    /// It was read for a session with these settings.
    flags: Flags,
}

/// A COM_QUERY, or one statement of it.
pub struct QueryCommand {
    incoming: Incoming,
    /// What stands behind the command's byte, where that came in several packets.
    joined: Option<Vec<u8>>,
    /// The length of what stands in front of the text.
    attribute_bytes: usize,
    /// Those of the client, which say how the packet is read.
    capabilities: Capabilities,
    /// What the text says.
    pub facts: Box<Facts>,
    /// The hash of its digest, as soon as somebody has needed it.
    pub digest: Option<u64>,
    /// What was read of a long text before the text's turn.
    ahead: Option<Box<ReadAhead>>,
    /// What of the client's command it is.
    pub command_part: CommandPart,
    /// What the client was told of changes before this SET.
    pub former_settings: Option<Rc<SessionTrackSettings>>,
}

impl QueryCommand {
    /// Finds the text. The facts are the caller's memory, to be filled by [`Facts::read`].
    ///
    /// # Errors
    /// The attributes in front of the text are malformed. The command is given back.
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

    /// As it came, or with the text that has taken its text's place.
    #[inline]
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// What stands behind the command's byte.
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

    /// The statement.
    #[inline]
    pub fn text(&self) -> &[u8] {
        let text = self.argument().get(self.attribute_bytes..);
        text.unwrap_or_default()
    }

    /// The statement, and where its facts are put down.
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

    /// Its attributes and its text.
    #[inline]
    pub fn query(&self) -> Query<'_> {
        let (attributes, text) = self.argument().split_at(self.attribute_bytes);
        Query { attributes, text }
    }

    /// Whether the client has sent attributes along.
    pub fn carries(&self) -> Carries {
        match self.query().has_attributes() {
            true => Carries::Attributes,
            false => Carries::Nothing,
        }
    }

    /// Puts another text in the place of this one; the attributes stay. A long one is read by another thread.
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

    /// Whether the text is long, and nothing of it is known yet: [`Self::read_ahead`] has it read.
    #[inline]
    pub fn awaits_reader(&self) -> bool {
        self.text().len() > READ_HERE_BYTES_MAX && self.ahead.is_none()
    }

    /// Has another thread read facts and digest of a long text. A caller who does not wait for the end has lost the text.
    pub async fn read_ahead(
        &mut self,
        reader: &TextReader,
        flags: Flags,
        memory: &Arc<MemoryShare>,
    ) {
        // Without the text there are no attributes either.
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

    /// What the text says, if that was read before its turn.
    #[inline]
    pub fn facts_ahead(&self) -> Option<&Facts> {
        self.ahead.as_ref().map(|_| &*self.facts)
    }

    /// Takes the digest, if facts and digest were read before the text's turn, for a session with these settings.
    pub fn take_digest_ahead(&mut self, flags: Flags) -> Option<Digest> {
        let ahead = self.ahead.take().filter(|ahead| ahead.flags == flags)?;
        Some(ahead.digest)
    }

    /// The memory that the command takes.
    pub fn held_bytes(&self) -> usize {
        let joined = self.joined.as_ref().map_or(0, Vec::capacity);
        self.incoming.packets.capacity() + joined
    }

    /// One of its statements, as a command of its own with the same attributes. `sequence`: the id that its part of
    /// the reply begins with.
    ///
    /// # Errors
    /// None that this command would not have had.
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

    /// Its memory, for the next command.
    pub fn into_memory(self) -> (Box<Facts>, Vec<u8>) {
        (self.facts, self.incoming.packets)
    }
}

/// Whether a command carries query attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carries {
    /// At least one.
    Attributes,
    /// None.
    Nothing,
}

#[cfg(test)]
mod tests;
