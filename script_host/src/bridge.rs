//! Translates between the protocol that client and backend have agreed on and the one that scripts know. In
//! the scripts' protocol, statements follow the command's byte, parameters have no names, results end with
//! EOF, columns have no extended metadata.
//!
//! ```text
//!   client's command ── shown ──► read_query             reply ── read ──► read_query_result
//!   a script's command ── sent ──► backend       proxy.response ── told ──► client
//! ```

use std::borrow::Cow;

use script::Payloads;
use wire::column::ColumnDefinition;
use wire::execute::Execute;
use wire::query::Query;
use wire::reply::{EOF, EOF_BYTES_LIMIT, ERR, LOCAL_INFILE, OK, OkPacket, is_progress_report};
use wire::write::put_lenenc_bytes;
use wire::{Capabilities, Command, PACKET_PAYLOAD_MAX, Reader, StatusFlags};

/// Capabilities that sessions with a script do not agree on: scripts cannot read columns that are left out,
/// or that the client remembers. Without these capabilities the client gets all columns.
pub const UNBRIDGED: Capabilities = Capabilities(
    Capabilities::OPTIONAL_RESULTSET_METADATA.0
        | Capabilities::MARIADB_COM_MULTI.0
        | Capabilities::MARIADB_CACHE_METADATA.0,
);

/// Capabilities that decide how packets look. The client's own ones hold, whatever a script puts in their place.
pub const SHAPES: Capabilities = Capabilities(
    Capabilities::DEPRECATE_EOF.0
        | Capabilities::QUERY_ATTRIBUTES.0
        | Capabilities::SESSION_TRACK.0
        // All of MariaDB's extended ones.
        | 0xffff_ffff << 32,
);

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Bridge {
    capabilities: Capabilities,
}

/// Whether a reply to such a command may be a result with rows.
fn has_result(command: Command) -> bool {
    matches!(
        command,
        Command::QUERY | Command::STMT_EXECUTE | Command::PROCESS_INFO
    )
}

/// How far a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Head,
    /// So many definitions are still to come.
    Definitions(u64),
    /// The EOF between definitions and rows.
    Between,
    Rows,
    Over,
}

impl Bridge {
    /// A bridge for a session that has agreed on these capabilities.
    pub fn new(capabilities: Capabilities) -> Self {
        Self { capabilities }
    }

    fn has(self, capability: Capabilities) -> bool {
        self.capabilities.contains(capability)
    }

    /// Whether replies may begin with progress reports.
    pub fn reports_progress(self) -> bool {
        self.has(Capabilities::MARIADB_PROGRESS)
    }

    fn changes_replies(self) -> bool {
        self.has(Capabilities::DEPRECATE_EOF) || self.has(Capabilities::MARIADB_EXTENDED_METADATA)
    }

    /// Returns a command of the client's as scripts see it. `parameters` returns how many a statement has.
    pub fn shown<'a>(
        self,
        payload: Cow<'a, [u8]>,
        parameters: impl FnOnce(u32) -> Option<u16>,
    ) -> Cow<'a, [u8]> {
        if !self.has(Capabilities::QUERY_ATTRIBUTES) {
            return payload;
        }
        match self.without_attributes(&payload, parameters) {
            Some(shown) => Cow::Owned(shown),
            None => payload,
        }
    }

    fn without_attributes(
        self,
        payload: &[u8],
        parameters: impl FnOnce(u32) -> Option<u16>,
    ) -> Option<Vec<u8>> {
        let (command, arguments) = payload.split_first()?;
        let mut shown = Vec::with_capacity(payload.len());
        match Command(*command) {
            Command::QUERY => {
                let query = Query::decode(arguments, self.capabilities).ok()?;
                query.encode(Capabilities::default(), &mut shown);
            }
            Command::STMT_EXECUTE => {
                let id = Reader::new(arguments).u32("statement id").ok()?;
                let own = parameters(id)?;
                let execute = Execute::decode(arguments, self.capabilities, own).ok()?;
                let types = execute.types.map(|types| without_names(types, own));
                Execute {
                    flags: execute.flags & !Execute::PARAMETER_COUNT_AVAILABLE,
                    parameter_count: usize::from(own),
                    null_bitmap: execute
                        .null_bitmap
                        .get(..usize::from(own).div_ceil(8))
                        .unwrap_or_default(),
                    types: types.as_deref(),
                    ..execute
                }
                .encode(Capabilities::default(), &mut shown);
            }
            _ => return None,
        }
        Some(shown)
    }

    /// Returns a script's command as the proxy sends it: without attributes.
    pub fn sent(self, payload: Vec<u8>, parameters: impl FnOnce(u32) -> Option<u16>) -> Vec<u8> {
        if !self.has(Capabilities::QUERY_ATTRIBUTES) {
            return payload;
        }
        self.with_attributes(&payload, parameters)
            .unwrap_or(payload)
    }

    fn with_attributes(
        self,
        payload: &[u8],
        parameters: impl FnOnce(u32) -> Option<u16>,
    ) -> Option<Vec<u8>> {
        let (command, arguments) = payload.split_first()?;
        let mut sent = Vec::with_capacity(payload.len() + 16);
        match Command(*command) {
            Command::QUERY => {
                let query = Query {
                    attributes: &[],
                    text: arguments,
                };
                query.encode(self.capabilities, &mut sent);
            }
            Command::STMT_EXECUTE => {
                let id = Reader::new(arguments).u32("statement id").ok()?;
                let own = parameters(id)?;
                let execute = Execute::decode(arguments, Capabilities::default(), own).ok()?;
                let types = execute.types.map(with_names);
                Execute {
                    types: types.as_deref(),
                    ..execute
                }
                .encode(self.capabilities, &mut sent);
            }
            _ => return None,
        }
        Some(sent)
    }

    /// Returns the reply to a statement as scripts read it.
    pub fn read(self, command: Command, reply: Payloads) -> Payloads {
        let reply = self.without_reports(reply);
        if !has_result(command) || !self.changes_replies() {
            return reply;
        }
        let lacks_eof = self.has(Capabilities::DEPRECATE_EOF);
        let mut read = Payloads::default();
        let mut at = At::Head;
        for payload in reply.iter() {
            match at {
                At::Head | At::Over => put(&mut read, payload),
                At::Definitions(_) => {
                    let from = (self.capabilities, Capabilities::default());
                    read.put(|out| recode(payload, from, out));
                }
                At::Between => put(&mut read, payload),
                At::Rows => match final_ok(payload).filter(|_| lacks_eof) {
                    Some(ok) => put(&mut read, &eof(ok.status, ok.warnings)),
                    None => put(&mut read, payload),
                },
            }
            let before = at;
            at = at.after(payload, lacks_eof);
            if lacks_eof && before != At::Rows && at == At::Rows {
                put(&mut read, &eof(StatusFlags::default(), 0));
            }
        }
        read
    }

    fn without_reports(self, reply: Payloads) -> Payloads {
        let has_reports = self.reports_progress() && reply.iter().any(is_progress_report);
        if !has_reports {
            return reply;
        }
        let mut rest = Payloads::default();
        let others = reply.iter().filter(|it| !is_progress_report(it));
        others.for_each(|it| put(&mut rest, it));
        rest
    }

    /// Returns a script's answer to a command as the client reads it.
    pub fn for_client(self, command: Command, answer: Payloads) -> Payloads {
        match command {
            _ if !self.changes_replies() => answer,
            command if has_result(command) => self.bridged_result(&answer),
            Command::STMT_PREPARE => self.bridged_prepared(&answer),
            Command::STMT_FETCH | Command::FIELD_LIST => {
                let mut told = Payloads::default();
                answer.iter().for_each(|it| self.put_end(&mut told, it));
                told
            }
            _ => answer,
        }
    }

    fn bridged_result(self, answer: &Payloads) -> Payloads {
        let mut told = Payloads::default();
        let mut at = At::Head;
        for payload in answer.iter() {
            match at {
                At::Head | At::Over => put(&mut told, payload),
                At::Definitions(_) => self.put_definition(&mut told, payload),
                At::Between if self.has(Capabilities::DEPRECATE_EOF) && is_eof(payload) => {}
                At::Between => put(&mut told, payload),
                At::Rows => self.put_end(&mut told, payload),
            }
            at = at.after(payload, false);
        }
        told
    }

    /// Translates the OK, definitions of parameters, EOF, definitions of columns, EOF.
    fn bridged_prepared(self, answer: &Payloads) -> Payloads {
        let mut told = Payloads::default();
        for (index, payload) in answer.iter().enumerate() {
            match index {
                0 => put(&mut told, payload),
                _ if is_eof(payload) => {
                    if !self.has(Capabilities::DEPRECATE_EOF) {
                        put(&mut told, payload);
                    }
                }
                _ => self.put_definition(&mut told, payload),
            }
        }
        told
    }

    fn put_definition(self, told: &mut Payloads, payload: &[u8]) {
        let from = (Capabilities::default(), self.capabilities);
        told.put(|out| recode(payload, from, out));
    }

    /// Adds a row, or the EOF behind the rows.
    fn put_end(self, told: &mut Payloads, payload: &[u8]) {
        match payload {
            [_, w0, w1, s0, s1] if is_eof(payload) && self.has(Capabilities::DEPRECATE_EOF) => {
                put(told, &[EOF, 0, 0, *s0, *s1, *w0, *w1]);
            }
            payload => put(told, payload),
        }
    }
}

impl At {
    /// Where the reply is after a payload.
    fn after(self, payload: &[u8], lacks_eof: bool) -> Self {
        let first = payload.first().copied();
        match self {
            Self::Head => match first {
                Some(OK) => next_result(OkPacket::decode(payload).ok().map(|ok| ok.status)),
                Some(LOCAL_INFILE) => Self::Head,
                None | Some(ERR) => Self::Over,
                Some(_) => match Reader::new(payload).lenenc("column count") {
                    Ok(count) if count > 0 => Self::Definitions(count),
                    _ => Self::Over,
                },
            },
            Self::Definitions(1) if lacks_eof => Self::Rows,
            Self::Definitions(1) => Self::Between,
            Self::Definitions(left) => Self::Definitions(left - 1),
            Self::Between => Self::Rows,
            Self::Rows if first.is_none() || first == Some(ERR) => Self::Over,
            Self::Rows if lacks_eof => match final_ok(payload) {
                Some(ok) => next_result(Some(ok.status)),
                None => Self::Rows,
            },
            Self::Rows if is_eof(payload) => {
                let status = payload.get(3..5);
                next_result(status.map(|it| StatusFlags(u16::from_le_bytes([it[0], it[1]]))))
            }
            at => at,
        }
    }
}

fn next_result(status: Option<StatusFlags>) -> At {
    match status {
        Some(status) if status.contains(StatusFlags::MORE_RESULTS_EXISTS) => At::Head,
        _ => At::Over,
    }
}

/// The OK packet that ends rows if EOF is deprecated.
fn final_ok(payload: &[u8]) -> Option<OkPacket> {
    let is_end = payload.first() == Some(&EOF) && payload.len() < PACKET_PAYLOAD_MAX;
    is_end.then(|| OkPacket::decode(payload).ok()).flatten()
}

fn is_eof(payload: &[u8]) -> bool {
    payload.first() == Some(&EOF) && payload.len() < EOF_BYTES_LIMIT
}

fn eof(status: StatusFlags, warnings: u16) -> [u8; 5] {
    let ([w0, w1], [s0, s1]) = (warnings.to_le_bytes(), status.0.to_le_bytes());
    [EOF, w0, w1, s0, s1]
}

fn put(payloads: &mut Payloads, payload: &[u8]) {
    payloads.put(|out| out.extend_from_slice(payload));
}

/// Adds a column's definition in the other form. A payload that is no definition stays as it is.
fn recode(payload: &[u8], (from, to): (Capabilities, Capabilities), out: &mut Vec<u8>) {
    match ColumnDefinition::decode(payload, from) {
        Ok(column) => column.encode(to, out),
        Err(_) => out.extend_from_slice(payload),
    }
}

/// Returns the types of the first parameters, without names.
fn without_names(types: &[u8], count: u16) -> Vec<u8> {
    let mut reader = Reader::new(types);
    let mut plain = Vec::with_capacity(2 * usize::from(count));
    for _ in 0..count {
        let (Ok(kind), Ok(_)) = (reader.u16("type"), reader.lenenc_bytes("name")) else {
            break;
        };
        plain.extend_from_slice(&kind.to_le_bytes());
    }
    plain
}

/// Returns the types with empty names.
fn with_names(types: &[u8]) -> Vec<u8> {
    let mut named = Vec::with_capacity(types.len() / 2 * 3);
    for kind in types.chunks(2) {
        named.extend_from_slice(kind);
        put_lenenc_bytes(&mut named, b"");
    }
    named
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use wire::column::ColumnType;
    use wire::write::put_lenenc_bytes;

    use super::*;

    fn newest() -> Bridge {
        Bridge::new(Capabilities(
            Capabilities::DEPRECATE_EOF.0
                | Capabilities::QUERY_ATTRIBUTES.0
                | Capabilities::MARIADB_EXTENDED_METADATA.0,
        ))
    }

    fn definition(capabilities: Capabilities) -> Vec<u8> {
        let mut payload = Vec::new();
        ColumnDefinition::new(b"n", ColumnType::LONG, 63, 11).encode(capabilities, &mut payload);
        payload
    }

    /// Two results of one column, in the form of an old server and in the form of a new one.
    fn results() -> (Payloads, Payloads) {
        let (mut old, mut new) = (Payloads::default(), Payloads::default());
        for more in [8_u8, 0] {
            for payloads in [&mut old, &mut new] {
                put(payloads, &[1]);
            }
            put(&mut old, &definition(Capabilities::default()));
            put(&mut new, &definition(newest().capabilities));
            put(&mut old, &[EOF, 0, 0, 0, 0]);
            let mut row = Vec::new();
            put_lenenc_bytes(&mut row, b"7");
            put(&mut old, &row);
            put(&mut new, &row);
            put(&mut old, &[EOF, 3, 0, 2 + more, 0]);
            put(&mut new, &[EOF, 0, 0, 2 + more, 0, 3, 0]);
        }
        (old, new)
    }

    #[test]
    fn results_are_the_same_on_both_sides() {
        let (old, new) = results();
        assert_eq!(newest().read(Command::QUERY, new.clone()), old);
        assert_eq!(newest().for_client(Command::QUERY, old.clone()), new);
        let none = Bridge::new(Capabilities::default());
        assert_eq!(none.read(Command::QUERY, old.clone()), old);
        assert_eq!(none.for_client(Command::QUERY, old.clone()), old);
    }

    #[test]
    fn statements_are_shown_without_their_attributes() {
        let attribute = b"\x03\x01\x01\0\x01\xfe\0\x01a\x01bSELECT 1";
        let shown = newest().shown(Cow::Borrowed(attribute), |_| None);
        assert_eq!(&*shown, b"\x03SELECT 1");
        let sent = newest().sent(shown.into_owned(), |_| None);
        assert_eq!(sent, b"\x03\0\x01SELECT 1");
        // The server refuses malformed commands.
        let malformed = b"\x03\x01";
        let shown = newest().shown(Cow::Borrowed(malformed), |_| None);
        assert_eq!(&*shown, malformed);
    }

    #[test]
    fn executions_are_shown_without_names() {
        let head = b"\x17\x05\0\0\0\x08\x01\0\0\0";
        let mut payload = head.to_vec();
        // Two parameters, of which the second is an attribute.
        payload.extend_from_slice(b"\x02\0\x01\x08\0\0\xfe\0\x01a\x07\0\0\0\0\0\0\0\x01b");
        let shown = newest().shown(Cow::Borrowed(&payload), |_| Some(1));
        let plain = b"\x17\x05\0\0\0\0\x01\0\0\0\0\x01\x08\0\x07\0\0\0\0\0\0\0";
        assert!(shown.starts_with(plain), "{shown:?}");
        let sent = newest().sent(plain.to_vec(), |_| Some(1));
        let named = b"\x17\x05\0\0\0\0\x01\0\0\0\x01\0\x01\x08\0\0\x07\0\0\0\0\0\0\0";
        assert_eq!(sent, named);
    }

    #[test]
    fn reports_of_progress_are_not_shown() {
        let mut reported = Payloads::default();
        put(&mut reported, &[ERR, 0xff, 0xff, 1, 1, 1, 0, 0, 0, 0]);
        put(&mut reported, &[OK, 0, 0, 2, 0, 0, 0]);
        let reporting = Bridge::new(Capabilities::MARIADB_PROGRESS);
        let shown = reporting.read(Command::QUERY, reported.clone());
        assert_eq!(shown.iter().next().unwrap()[0], OK);
        // Without the capability, the packet is an error.
        let none = Bridge::new(Capabilities::default());
        assert_eq!(none.read(Command::QUERY, reported.clone()), reported);
    }

    #[test]
    fn replies_that_make_no_sense_pass_unchanged() {
        for garbage in [&b""[..], b"\xfe", b"\xfc", b"\x05", b"\xff\0"] {
            let mut payloads = Payloads::default();
            put(&mut payloads, garbage);
            put(&mut payloads, garbage);
            for command in [Command::QUERY, Command::STMT_PREPARE, Command::STMT_FETCH] {
                let read = newest().read(command, payloads.clone());
                assert_eq!(read, payloads, "{command:?} {garbage:?}");
                // The second 0xfe of an answer to a PREPARE is an EOF, which the client does not expect.
                if command != Command::STMT_PREPARE || !is_eof(garbage) {
                    let told = newest().for_client(command, payloads.clone());
                    assert_eq!(told, payloads, "{command:?} {garbage:?}");
                }
            }
        }
    }

    #[test]
    fn commands_that_make_no_sense_pass_unchanged() {
        for garbage in [&b""[..], b"\xfe", b"\x05", b"\x17", b"\x17\x05\0"] {
            let shown = newest().shown(Cow::Borrowed(garbage), |_| Some(9));
            assert_eq!(&*shown, garbage);
            assert_eq!(newest().sent(garbage.to_vec(), |_| Some(9)), garbage);
        }
        // Truncated attributes.
        let shown = newest().shown(Cow::Borrowed(b"\x03\x01"), |_| Some(9));
        assert_eq!(&*shown, b"\x03\x01");
    }
}
