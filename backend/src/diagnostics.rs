//! The list of warnings and errors of a statement, saved when another session took the connection,
//! and the replies that the proxy makes from it.

use std::cell::Cell;
use std::ops::Range;

use wire::reply::{EOF, put_eof};
use wire::result::{ResultHead, TextRow};
use wire::write::put_lenenc;
use wire::{Capabilities, ErrorCode, StatusFlags};

use crate::own_reply::OwnReply;

/// A whole warning list.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    /// How the reply to SHOW WARNINGS begins: the number of columns, and their definitions.
    head: Vec<Vec<u8>>,
    conditions: Vec<Condition>,
    /// How many conditions there were, which may be more than the list holds (`max_error_count`),
    /// and how many of them were errors.
    counts: Cell<Option<(u64, u64)>>,
    /// The number and the SQLSTATE of the error that ended the statement.
    error: Option<(u16, [u8; 5])>,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Note, Warning or Error.
    pub level: Vec<u8>,
    /// Its number, in digits.
    pub code: Vec<u8>,
    /// The message, in `character_set_results`.
    pub message: Vec<u8>,
}

/// Which rows a reply contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionFilter {
    /// Warnings and errors.
    All,
    /// Errors only, and LIMIT counts errors: MySQL.
    Errors,
    /// Errors among the rows that LIMIT has counted: MariaDB.
    ErrorsOfThem,
}

/// The format of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As rows of the text protocol.
    Text,
    /// As rows of the binary protocol.
    Binary,
}

impl Condition {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.level == b"Error"
    }
}

impl Diagnostics {
    /// Reads the list from the reply to SHOW WARNINGS; `None` if the reply makes no sense.
    pub fn read(own: &OwnReply, capabilities: Capabilities) -> Option<Self> {
        let payloads: Vec<&[u8]> = own.payloads().collect();
        let head = ResultHead::decode(payloads.first()?, capabilities).ok()?;
        let definitions = match head.has_definitions {
            true => usize::try_from(head.columns).ok()?,
            false => 0,
        };
        let (head, rows) = payloads.split_at_checked(1 + definitions)?;
        // A row cannot begin with this byte, because no level is so long. An OK packet may be long,
        // because it reports changes of the session.
        let is_end = |payload: &[u8]| payload.first() == Some(&EOF);
        let conditions: Option<Vec<Condition>> = rows
            .iter()
            .filter(|payload| !is_end(payload))
            .map(|row| condition(row))
            .collect();
        Some(Self {
            head: head.iter().map(|payload| payload.to_vec()).collect(),
            conditions: conditions?,
            counts: Cell::new(None),
            error: None,
        })
    }

    /// Sets the error that ended the statement.
    pub fn failed_with(self, error: Option<(u16, [u8; 5])>) -> Self {
        Self { error, ..self }
    }

    /// Sets the counts that the server has returned.
    pub fn are_counted(&self, conditions: u64, errors: u64) {
        self.counts.set(Some((conditions, errors)));
    }

    /// Appends another list.
    pub fn append(&mut self, later: &Self) {
        let (all, errors) = (self.count(), self.error_count());
        let (more, more_errors) = (later.count(), later.error_count());
        self.conditions.extend_from_slice(&later.conditions);
        self.counts.set(Some((all + more, errors + more_errors)));
        self.error = later.error.or(self.error);
    }

    /// Appends an error.
    pub fn push_error(&mut self, code: ErrorCode, text: &str) {
        let (all, errors) = (self.count(), self.error_count());
        self.conditions.push(Condition {
            level: b"Error".to_vec(),
            code: code.number.to_string().into_bytes(),
            message: text.as_bytes().to_vec(),
        });
        self.counts.set(Some((all + 1, errors + 1)));
    }

    /// Keeps the last entry only.
    pub fn keep_last(&mut self) {
        let before = self.conditions.len().saturating_sub(1);
        self.conditions.drain(..before);
        self.counts.set(None);
    }

    /// Replaces the last message.
    pub fn rename_last(&mut self, rename: impl Fn(&[u8]) -> Vec<u8>) {
        if let Some(last) = self.conditions.last_mut() {
            last.message = rename(&last.message);
        }
    }

    /// Replaces the messages of all conditions with this number.
    pub fn rename_each(&mut self, code: ErrorCode, rename: impl Fn(&[u8]) -> Vec<u8>) {
        let code = code.number.to_string().into_bytes();
        for condition in self.conditions.iter_mut().filter(|it| it.code == code) {
            condition.message = rename(&condition.message);
        }
    }

    /// `@@warning_count`: all conditions.
    pub fn count(&self) -> u64 {
        let listed = self.conditions.len() as u64;
        self.counts.get().map_or(listed, |(all, _)| all)
    }

    /// `@@error_count`
    pub fn error_count(&self) -> u64 {
        let listed = self.conditions.iter().filter(|it| it.is_error()).count();
        self.counts
            .get()
            .map_or(listed as u64, |(_, errors)| errors)
    }

    /// The conditions that are listed.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Returns the SQLSTATE of the condition at this place. The error that ended the statement has
    /// its own SQLSTATE; for other conditions it is the one that servers give to the number.
    pub fn sqlstate(&self, place: usize, is_mariadb: bool) -> [u8; 5] {
        let Some(condition) = self.conditions.get(place) else {
            return *b"HY000";
        };
        match self.error {
            Some((number, state)) if condition.code == number.to_string().as_bytes() => state,
            _ => wire::sqlstate::of_digits(&condition.code, is_mariadb),
        }
    }

    fn shown(&self, told: ConditionFilter, range: Range<u64>) -> Vec<&Condition> {
        let offset = usize::try_from(range.start).unwrap_or(usize::MAX);
        let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let all = self.conditions.iter();
        let is_error = |it: &&Condition| it.is_error();
        match told {
            ConditionFilter::All => all.skip(offset).take(count).collect(),
            ConditionFilter::Errors => all.filter(is_error).skip(offset).take(count).collect(),
            ConditionFilter::ErrorsOfThem => {
                all.skip(offset).take(count).filter(is_error).collect()
            }
        }
    }

    /// Returns the reply to SHOW WARNINGS or SHOW ERRORS, with packet headers and sequence ids from 0.
    pub fn warnings_reply(
        &self,
        told: ConditionFilter,
        range: Range<u64>,
        form: Form,
        status: StatusFlags,
        capabilities: Capabilities,
    ) -> Vec<u8> {
        let mut payloads = self.head.clone();
        let has_eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        let mut eof = Vec::new();
        put_eof(&mut eof, status, 0);
        if has_eof {
            payloads.push(eof.clone());
        }
        let shown = self.shown(told, range);
        payloads.extend(shown.into_iter().map(|it| row(it, form)));
        payloads.push(match has_eof {
            true => eof,
            false => {
                let [low, high] = status.0.to_le_bytes();
                vec![EOF, 0, 0, low, high, 0, 0]
            }
        });
        let mut packets = Vec::new();
        for payload in &payloads {
            wire::write::put_packets(&mut packets, 0, payload);
        }
        packets
    }
}

fn condition(row: &[u8]) -> Option<Condition> {
    let values: Option<Vec<&[u8]>> = TextRow::new(row).map(|value| value.ok()?).collect();
    match values?[..] {
        [level, code, message] => Some(Condition {
            level: level.to_vec(),
            code: code.to_vec(),
            message: message.to_vec(),
        }),
        _ => None,
    }
}

fn row(condition: &Condition, form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    let text = |out: &mut Vec<u8>, bytes: &[u8]| {
        put_lenenc(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    };
    match form {
        Form::Text => {
            text(&mut out, &condition.level);
            text(&mut out, &condition.code);
            text(&mut out, &condition.message);
        }
        Form::Binary => {
            // The first byte of a binary row, and a NULL bitmap without a bit set.
            out.extend_from_slice(&[0, 0]);
            text(&mut out, &condition.level);
            let code = std::str::from_utf8(&condition.code).ok();
            let code: u32 = code.and_then(|code| code.parse().ok()).unwrap_or_default();
            out.extend_from_slice(&code.to_le_bytes());
            text(&mut out, &condition.message);
        }
    }
    out
}
