//! The states of a reply, decided payload by payload.
//!
//! ```text
//!  First ─┬─ OK / ERR ───────────────────────────────────────────────► end, or First (more results)
//!         ├─ 0xfb ──► client sends its file ──► First
//!         └─ column count ─► Definitions ─► DefinitionsEnd ─► Rows ─► end, or First
//!  Prepared ── OK ─► Definitions (parameters) ─► Definitions (columns) ─► end
//!  Rows (COM_STMT_FETCH), FieldList, Stream (binlog), Auth (COM_CHANGE_USER) ─► EOF / OK / ERR ─► end
//!  Single (COM_STATISTICS, unknown commands) ─► end
//! ```

use wire::reply::{
    EOF, EOF_BYTES_LIMIT, ERR, LOCAL_INFILE, OK, OkPacket, PROGRESS_REPORT, eof_status,
};
use wire::{Capabilities, Command, Malformed, PACKET_PAYLOAD_MAX, Reader, StatusFlags};

const OUT_PARAMETERS_AND_MORE: StatusFlags =
    StatusFlags(StatusFlags::PS_OUT_PARAMS.0 | StatusFlags::MORE_RESULTS_EXISTS.0);

/// The outcome of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// OK, a whole result set, or any other reply that means success.
    Ok,
    /// An ERR packet with this number.
    Err(u16),
}

/// The kind of the next payload of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyState {
    /// The first payload of a result.
    First,
    /// OK or ERR, or the EOF of old commands.
    Simple,
    /// One payload of any content.
    Single,
    /// The reply to COM_STMT_PREPARE.
    Prepared,
    /// Column definitions; `left` more.
    Definitions { left: u64, then: AfterDefinitions },
    /// The EOF behind column definitions.
    DefinitionsEnd { then: AfterDefinitions },
    /// Rows up to EOF.
    Rows,
    /// The row of OUT parameters up to an EOF that lacks MORE_RESULTS_EXISTS: MySQL sets that flag
    /// in the EOF before, and its client library knows (`cli_read_binary_rows`).
    OutParameters,
    /// Column definitions up to EOF.
    FieldList,
    /// Binary log events up to EOF.
    Stream,
    /// A login dialogue up to OK.
    Auth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterDefinitions {
    Rows,
    /// Of a prepared statement: its parameters come first, then its columns.
    PreparedColumns {
        definitions: u64,
    },
    End,
}

/// The effect of a payload on the reply, once its last byte has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyStep {
    /// The reply goes on.
    Continue(ReplyState),
    /// A result ended with these flags.
    ResultEnd(StatusFlags),
    /// The reply ended; with status flags if the payload had them.
    End(Outcome, Option<StatusFlags>),
    /// The server asks for a file of the client.
    LocalInfile,
    /// The reply has no known shape.
    Unknown,
}

/// The shape of the reply to `command`; `None` for commands without one.
pub(crate) fn expected(command: Command) -> Option<ReplyState> {
    Some(match command {
        Command::QUIT | Command::STMT_CLOSE | Command::STMT_SEND_LONG_DATA => return None,
        Command::QUERY
        | Command::STMT_EXECUTE
        | Command::STMT_BULK_EXECUTE
        | Command::PROCESS_INFO => ReplyState::First,
        Command::STMT_PREPARE => ReplyState::Prepared,
        Command::STMT_FETCH => ReplyState::Rows,
        Command::FIELD_LIST => ReplyState::FieldList,
        Command::STATISTICS => ReplyState::Single,
        Command::BINLOG_DUMP | Command::BINLOG_DUMP_GTID | Command::TABLE_DUMP => {
            ReplyState::Stream
        }
        Command::CHANGE_USER => ReplyState::Auth,
        _ => ReplyState::Simple,
    })
}

/// Whether the reply to a command may ask for the client's file.
pub(crate) fn may_ask_for_files(command: Command) -> bool {
    matches!(command, Command::QUERY | Command::STMT_EXECUTE)
}

/// The server asks for a file of the client, and no command of the client has allowed that.
pub(crate) const UNASKED_FILE: Malformed = Malformed::Invalid("request for a file of the client");

/// The beginning of a backend's payload.
pub(crate) struct Payload<'a> {
    /// Its first bytes, at most [`crate::cutter::HEAD_BYTES`].
    pub head: &'a [u8],
    /// Length of its first packet.
    pub length: usize,
    /// The capabilities that client and backend agreed on.
    pub capabilities: Capabilities,
}

impl ReplyState {
    /// Returns the effect of `payload` in this state.
    pub(crate) fn judge(self, payload: &Payload<'_>) -> Result<ReplyStep, Malformed> {
        if payload.first() == Some(ERR) && self != Self::Single {
            return payload.error(self);
        }
        match self {
            Self::First => payload.first_of_result(),
            Self::Simple => payload.simple(),
            Self::Single => Ok(ReplyStep::End(Outcome::Ok, None)),
            Self::Prepared => payload.prepared(),
            Self::Definitions { left, then } => Ok(payload.definitions(left - 1, then)),
            Self::DefinitionsEnd { then } => payload.definitions_end(then),
            Self::Rows => payload.row(self, StatusFlags::default()),
            Self::OutParameters => payload.row(self, StatusFlags::MORE_RESULTS_EXISTS),
            Self::FieldList => match payload.is_terminator() {
                true => Ok(ReplyStep::End(
                    Outcome::Ok,
                    Some(payload.terminator_status()?),
                )),
                false => Ok(ReplyStep::Continue(self)),
            },
            Self::Stream => {
                match payload.first() == Some(EOF) && payload.length < EOF_BYTES_LIMIT {
                    true => Ok(ReplyStep::End(Outcome::Ok, None)),
                    false => Ok(ReplyStep::Continue(self)),
                }
            }
            Self::Auth => match payload.first() {
                Some(OK) => Ok(ReplyStep::End(Outcome::Ok, Some(payload.ok_status()?))),
                _ => Ok(ReplyStep::Continue(self)),
            },
        }
    }
}

/// Whether the rows have to be fetched, instead of following. The flag alone does not say so: MariaDB sets it with each
/// result of a block or procedure that has a cursor of its own open. More results always follow those, and none follow
/// a cursor's; MariaDB's client library tells them apart the same way.
fn announces_cursor(status: StatusFlags) -> bool {
    status.contains(StatusFlags::CURSOR_EXISTS)
        && !status.contains(StatusFlags::MORE_RESULTS_EXISTS)
}

impl Payload<'_> {
    fn first(&self) -> Option<u8> {
        self.head.first().copied()
    }

    fn has(&self, flag: Capabilities) -> bool {
        self.capabilities.contains(flag)
    }

    fn ok_status(&self) -> Result<StatusFlags, Malformed> {
        let ok = match self.has(Capabilities::PROTOCOL_41) {
            true => OkPacket::decode(self.head),
            false => OkPacket::decode_40(self.head),
        };
        ok.map(|ok| ok.status)
    }

    fn error(&self, state: ReplyState) -> Result<ReplyStep, Malformed> {
        let mut reader = Reader::new(self.head);
        reader.u8("ERR header")?;
        match reader.u16("error number")? {
            PROGRESS_REPORT if self.has(Capabilities::MARIADB_PROGRESS) => {
                Ok(ReplyStep::Continue(state))
            }
            number => Ok(ReplyStep::End(Outcome::Err(number), None)),
        }
    }

    fn first_of_result(&self) -> Result<ReplyStep, Malformed> {
        match self.first() {
            Some(OK) => Ok(ReplyStep::ResultEnd(self.ok_status()?)),
            // A client that cannot send files is not asked for one.
            Some(LOCAL_INFILE) if self.has(Capabilities::LOCAL_FILES) => Ok(ReplyStep::LocalInfile),
            _ => {
                let mut reader = Reader::new(self.head);
                let columns = reader.lenenc("column count")?;
                let flagged = self.has(Capabilities::OPTIONAL_RESULTSET_METADATA)
                    || self.has(Capabilities::MARIADB_CACHE_METADATA);
                // Both families append the flag to the count; 0 means that no definitions follow.
                let left = match flagged && !reader.is_empty() && reader.u8("metadata flag")? == 0 {
                    true => 0,
                    false => columns,
                };
                Ok(self.definitions(left, AfterDefinitions::Rows))
            }
        }
    }

    fn simple(&self) -> Result<ReplyStep, Malformed> {
        match self.first() {
            Some(OK) => Ok(ReplyStep::End(Outcome::Ok, Some(self.ok_status()?))),
            Some(EOF) if self.is_terminator() => {
                // COM_SET_OPTION and COM_DEBUG; a bare 0xfe carries no flags.
                Ok(ReplyStep::End(Outcome::Ok, self.terminator_status().ok()))
            }
            _ => Ok(ReplyStep::Unknown),
        }
    }

    fn prepared(&self) -> Result<ReplyStep, Malformed> {
        let mut reader = Reader::new(self.head);
        if reader.u8("prepare header")? != OK {
            return Ok(ReplyStep::Unknown);
        }
        reader.u32("statement id")?;
        let columns = reader.u16("column count")?;
        let parameters = reader.u16("parameter count")?;
        reader.u8("filler")?;
        reader.u16("warning count")?;
        let left_out = self.has(Capabilities::OPTIONAL_RESULTSET_METADATA)
            && !reader.is_empty()
            && reader.u8("metadata flag")? == 0;
        // If definitions are left out, the server still sends their EOF.
        let sent = |count: u16| if left_out { 0 } else { u64::from(count) };
        let then = match columns {
            0 => AfterDefinitions::End,
            _ => AfterDefinitions::PreparedColumns {
                definitions: sent(columns),
            },
        };
        Ok(match parameters {
            0 => self.after_definitions(then),
            _ => self.definitions(sent(parameters), then),
        })
    }

    /// Returns the next step when `left` definitions are still to come.
    fn definitions(&self, left: u64, then: AfterDefinitions) -> ReplyStep {
        match left {
            0 if self.has(Capabilities::DEPRECATE_EOF) => self.after_definitions(then),
            0 => ReplyStep::Continue(ReplyState::DefinitionsEnd { then }),
            _ => ReplyStep::Continue(ReplyState::Definitions { left, then }),
        }
    }

    fn after_definitions(&self, then: AfterDefinitions) -> ReplyStep {
        match then {
            AfterDefinitions::Rows => ReplyStep::Continue(ReplyState::Rows),
            AfterDefinitions::PreparedColumns { definitions } => {
                self.definitions(definitions, AfterDefinitions::End)
            }
            AfterDefinitions::End => ReplyStep::End(Outcome::Ok, None),
        }
    }

    fn definitions_end(&self, then: AfterDefinitions) -> Result<ReplyStep, Malformed> {
        if !self.is_terminator() {
            return Ok(ReplyStep::Unknown);
        }
        let status = self.terminator_status()?;
        Ok(match then {
            AfterDefinitions::Rows if announces_cursor(status) => ReplyStep::ResultEnd(status),
            AfterDefinitions::Rows if status.contains(OUT_PARAMETERS_AND_MORE) => {
                ReplyStep::Continue(ReplyState::OutParameters)
            }
            _ => self.after_definitions(then),
        })
    }

    /// Judges a row, or the end of rows. The flags in `known` are added to those of the end.
    fn row(&self, state: ReplyState, known: StatusFlags) -> Result<ReplyStep, Malformed> {
        match self.is_terminator() {
            true => Ok(ReplyStep::ResultEnd(StatusFlags(
                self.terminator_status()?.0 | known.0,
            ))),
            false => Ok(ReplyStep::Continue(state)),
        }
    }

    /// Whether this is the EOF, or the OK in its place, behind rows or definitions. A row that begins
    /// with 0xfe has a first column of 16 MiB or more and so fills its first packet.
    fn is_terminator(&self) -> bool {
        let limit = match self.has(Capabilities::DEPRECATE_EOF) {
            true => PACKET_PAYLOAD_MAX,
            false => EOF_BYTES_LIMIT,
        };
        self.first() == Some(EOF) && self.length < limit
    }

    fn terminator_status(&self) -> Result<StatusFlags, Malformed> {
        match self.has(Capabilities::DEPRECATE_EOF) {
            // Before protocol 4.1 an EOF packet is one byte: it has no flags.
            _ if self.length == 1 => Ok(StatusFlags::default()),
            // An OK in EOF's place has at least seven bytes, an EOF five; both occur.
            true if self.length >= 7 => self.ok_status(),
            _ => eof_status(self.head),
        }
    }
}
