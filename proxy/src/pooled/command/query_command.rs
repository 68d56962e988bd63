//! A COM_QUERY that is decoded once: every step that needs its text or its attributes has them from here.

use std::borrow::Cow;
use std::rc::Rc;

use sql::{Facts, Flags};
use wire::query::Query;
use wire::write::put_packets;
use wire::{Capabilities, HEADER_BYTES, Malformed};

use crate::pooled::exchange::job::Part;
use link::client_command::Incoming;
use session::track_settings::SessionTrackSettings;

/// A COM_QUERY, or one statement of it.
pub(crate) struct QueryCommand {
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
    pub part: Part,
    /// What the client was told of changes before this SET.
    pub former_settings: Option<Rc<SessionTrackSettings>>,
}

impl QueryCommand {
    /// Finds the text. The facts are the caller's memory, to be filled by [`Facts::read`].
    ///
    /// # Errors
    /// The attributes in front of the text are malformed.
    pub(crate) fn decode(
        incoming: Incoming,
        capabilities: Capabilities,
        facts: Box<Facts>,
        part: Part,
    ) -> Result<Self, Malformed> {
        let argument = incoming.argument();
        let attribute_bytes = Query::decode(&argument, capabilities)?.attributes.len();
        let joined = match argument {
            Cow::Borrowed(_) => None,
            Cow::Owned(joined) => Some(joined),
        };
        Ok(Self {
            incoming,
            joined,
            attribute_bytes,
            capabilities,
            facts,
            digest: None,
            part,
            former_settings: None,
        })
    }

    /// As it came, or with the text that has taken its text's place.
    #[inline]
    pub(crate) fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// What stands behind the command's byte.
    #[inline]
    pub(crate) fn argument(&self) -> &[u8] {
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
    pub(crate) fn text(&self) -> &[u8] {
        let text = self.argument().get(self.attribute_bytes..);
        text.unwrap_or_default()
    }

    /// The statement, and where its facts are put down.
    pub(crate) fn text_and_facts(&mut self) -> (&[u8], &mut Facts) {
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
    pub(crate) fn query(&self) -> Query<'_> {
        let (attributes, text) = self.argument().split_at(self.attribute_bytes);
        Query { attributes, text }
    }

    /// Whether the client has sent attributes along.
    pub(crate) fn carries(&self) -> Carries {
        match self.query().has_attributes() {
            true => Carries::Attributes,
            false => Carries::Nothing,
        }
    }

    /// Puts another text in the place of this one; the attributes stay.
    pub(crate) fn replace_text(&mut self, text: &[u8], flags: Flags) {
        self.incoming.packets = self.packets_with(text);
        self.joined = match self.incoming.argument() {
            Cow::Borrowed(_) => None,
            Cow::Owned(joined) => Some(joined),
        };
        self.attribute_bytes = self.argument().len().saturating_sub(text.len());
        self.facts.read(text, flags);
        self.digest = None;
    }

    /// One of its statements, as a command of its own with the same attributes. `sequence`: the id that its part of
    /// the reply begins with.
    ///
    /// # Errors
    /// None that this command would not have had.
    pub(crate) fn part(
        &self,
        text: &[u8],
        (part, sequence): (Part, u8),
        facts: Box<Facts>,
    ) -> Result<Self, Malformed> {
        let incoming = Incoming {
            packets: self.packets_with(text),
            sequence,
            ..self.incoming
        };
        Self::decode(incoming, self.capabilities, facts, part)
    }

    fn packets_with(&self, text: &[u8]) -> Vec<u8> {
        let attributes = self.query().attributes;
        let mut payload = Vec::new();
        Query { attributes, text }.encode(self.capabilities, &mut payload);
        let mut packets = Vec::new();
        put_packets(&mut packets, 0, &payload);
        packets
    }

    /// Its memory, for the next command.
    pub(crate) fn into_memory(self) -> (Box<Facts>, Vec<u8>) {
        (self.facts, self.incoming.packets)
    }
}

/// Whether a command carries query attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    Attributes,
    Nothing,
}
