//! A reply whose rows a script rewrites. The reply is split into payloads, which get new sequence ids.
//!
//! ```text
//!  Head ─ count ─► Definitions ─ EOF ─► Rows ─ EOF ─► Over
//!    ▲   OK, ERR ───────────────────────│─────────────►│
//!    └──────────── more results ────────┘      a row cannot be rewritten: ERR, and nothing behind it
//! ```

use script::{ResultRows, Rows};
use wire::reply::{EOF, EOF_BYTES_LIMIT, ERR, LOCAL_INFILE, OK, OkPacket, is_progress_report};
use wire::write::put_packets;
use wire::{
    Capabilities, Command, HEADER_BYTES, Header, PACKET_PAYLOAD_MAX, Reader, StatusFlags, errors,
};

/// Rewrites the rows of a reply; see the module.
pub struct Rewriting {
    rows: Rows,
    is_binary: bool,
    capabilities: Capabilities,
    /// Whether results end with an OK packet, without an EOF between definitions and rows.
    lacks_eof: bool,
    /// Whether progress reports may come between two payloads; scripts do not see them.
    reports_progress: bool,
    bytes_max: usize,
    stage: Stage,
    /// Packets of a payload that is not complete yet.
    partial: Vec<u8>,
    /// The sequence id of the next packet for the client.
    next: Option<u8>,
}

enum Stage {
    Head,
    /// This many definitions are still missing.
    Definitions(u64, Vec<Vec<u8>>),
    /// The EOF after the definitions comes next.
    Begins(Vec<Vec<u8>>),
    Rows(ResultRows),
    Over,
    /// The client has received an error.
    Failed,
}

impl Rewriting {
    /// Returns the rewriting of the reply to a command; `None` if the reply has no rows.
    pub fn of(
        rows: Rows,
        command: Command,
        capabilities: Capabilities,
        bytes_max: usize,
    ) -> Option<Self> {
        let is_binary = match command {
            Command::QUERY => false,
            Command::STMT_EXECUTE | Command::STMT_BULK_EXECUTE => true,
            _ => return None,
        };
        Some(Self {
            rows,
            is_binary,
            capabilities,
            lacks_eof: capabilities.contains(Capabilities::DEPRECATE_EOF),
            reports_progress: capabilities.contains(Capabilities::MARIADB_PROGRESS),
            bytes_max,
            stage: Stage::Head,
            partial: Vec::new(),
            next: None,
        })
    }

    /// Returns the next sequence id, once a packet was seen.
    pub fn next_sequence(&self) -> Option<u8> {
        self.next
    }

    /// Sets the sequence id of the next packet.
    pub fn align(&mut self, next: u8) {
        self.next = Some(next);
    }

    /// Takes bytes of a reply; returns the bytes for the client.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        if matches!(self.stage, Stage::Failed) {
            // The caller finds the reply's end itself.
            return Vec::new();
        }
        self.partial.extend_from_slice(bytes);
        let mut out = Vec::with_capacity(bytes.len());
        let mut taken = 0;
        while let Some((first, payload, length)) = whole(&self.partial[taken..]) {
            taken += length;
            let next = self.next.unwrap_or(first);
            self.next = Some(self.pass(&mut out, next, payload));
        }
        self.partial.drain(..taken);
        let is_done = matches!(self.stage, Stage::Over | Stage::Failed);
        if self.partial.len() > self.bytes_max && !is_done {
            let next = self.next.unwrap_or(1);
            self.next = Some(self.fail(
                &mut out,
                next,
                "a row is longer than script.result_bytes_max",
            ));
        }
        if matches!(self.stage, Stage::Failed) {
            self.partial = Vec::new();
        }
        out
    }

    /// Passes a payload on, rewritten; returns the next sequence id.
    fn pass(&mut self, out: &mut Vec<u8>, next: u8, payload: Vec<u8>) -> u8 {
        if self.reports_progress && is_progress_report(&payload) {
            return put_packets(out, next, &payload);
        }
        match &mut self.stage {
            Stage::Over => put_packets(out, next, &payload),
            Stage::Failed => next,
            Stage::Head => {
                self.stage = after_head(&payload);
                put_packets(out, next, &payload)
            }
            Stage::Definitions(left, definitions) => {
                definitions.push(payload.clone());
                *left -= 1;
                let next = put_packets(out, next, &payload);
                if *left > 0 {
                    return next;
                }
                let definitions = std::mem::take(definitions);
                match self.lacks_eof {
                    true => self.begin(out, next, &definitions),
                    false => {
                        self.stage = Stage::Begins(definitions);
                        next
                    }
                }
            }
            Stage::Begins(definitions) => {
                let definitions = std::mem::take(definitions);
                let next = put_packets(out, next, &payload);
                self.begin(out, next, &definitions)
            }
            Stage::Rows(rows) => {
                if let Some(after) = after_end(&payload, self.lacks_eof) {
                    self.stage = after;
                    return put_packets(out, next, &payload);
                }
                match rows.rewrite(&payload) {
                    Ok(Some(row)) => put_packets(out, next, &row),
                    Ok(None) => next,
                    Err(_) => self.fail(out, next, "the script could not rewrite a row"),
                }
            }
        }
    }

    fn begin(&mut self, out: &mut Vec<u8>, next: u8, definitions: &[Vec<u8>]) -> u8 {
        match self
            .rows
            .begin(definitions, self.capabilities, self.is_binary)
        {
            Ok(rows) => {
                self.stage = Stage::Rows(rows);
                next
            }
            Err(cause) => self.fail(out, next, &cause),
        }
    }

    fn fail(&mut self, out: &mut Vec<u8>, next: u8, cause: &str) -> u8 {
        self.stage = Stage::Failed;
        put_packets(out, next, &errors::rows_not_rewritten(cause).payload())
    }
}

/// Returns the first payload, its first sequence id and its size in bytes; `None` if the payload is not complete.
fn whole(bytes: &[u8]) -> Option<(u8, Vec<u8>, usize)> {
    let mut payload = Vec::new();
    let mut first = None;
    let mut at = 0;
    loop {
        let (header, rest) = bytes.get(at..)?.split_first_chunk::<HEADER_BYTES>()?;
        let header = Header::decode(*header);
        payload.extend_from_slice(rest.get(..header.length)?);
        at += HEADER_BYTES + header.length;
        let first = *first.get_or_insert(header.sequence);
        if !header.is_continued() {
            return Some((first, payload, at));
        }
    }
}

fn after_head(payload: &[u8]) -> Stage {
    match payload.first() {
        Some(&OK) => next_result(OkPacket::decode(payload).ok().map(|ok| ok.status)),
        // The client's file comes next, and then another head.
        Some(&LOCAL_INFILE) => Stage::Head,
        None | Some(&ERR) => Stage::Over,
        Some(_) => match Reader::new(payload).lenenc("column count") {
            Ok(count) if count > 0 => Stage::Definitions(count, Vec::new()),
            _ => Stage::Over,
        },
    }
}

/// Returns the stage after the end of the rows; `None` if the payload is a row.
fn after_end(payload: &[u8], lacks_eof: bool) -> Option<Stage> {
    match payload.first() {
        None | Some(&ERR) => Some(Stage::Over),
        Some(&EOF) if lacks_eof && payload.len() < PACKET_PAYLOAD_MAX => Some(next_result(
            OkPacket::decode(payload).ok().map(|ok| ok.status),
        )),
        Some(&EOF) if !lacks_eof && payload.len() < EOF_BYTES_LIMIT => {
            let status = payload.get(3..5);
            let status = status.map(|it| StatusFlags(u16::from_le_bytes([it[0], it[1]])));
            Some(next_result(status))
        }
        Some(_) => None,
    }
}

fn next_result(status: Option<StatusFlags>) -> Stage {
    match status {
        Some(status) if status.contains(StatusFlags::MORE_RESULTS_EXISTS) => Stage::Head,
        _ => Stage::Over,
    }
}
