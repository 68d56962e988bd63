//! The statement that a connection runs in place of a statement about the one before it. It has literals, as far as the
//! proxy knows the answer.

use sql::{Answers, DiagnosticsItem, Facts, GetDiagnostics, Show, StatementKind, Uses};

use super::get::Get;
use super::warning_list::WarningListLocation;
use crate::session::PooledSession;
use backend::diagnostics::Diagnostics;

/// A statement that stands in for another.
pub(super) struct StandIn {
    pub(super) text: Vec<u8>,
    pub(super) role: Option<Role>,
}

/// The kind of statement that another statement stands in for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// SHOW COUNT(*) WARNINGS
    Count,
    /// GET DIAGNOSTICS
    Get,
    /// GET DIAGNOSTICS of a condition that does not exist. It adds one more condition.
    Missing,
    /// GET STACKED DIAGNOSTICS, which fails and leaves the list alone.
    Stacked,
}

/// A condition number that no list has.
const NUMBER_BEYOND: &[u8] = b"1000000";

impl PooledSession {
    /// The statement to run instead. `None`: the statement may stay as it is.
    pub(super) fn stand_in(
        &self,
        facts: &Facts,
        text: &[u8],
        place: &WarningListLocation,
        get: Option<&Get>,
    ) -> Result<Option<StandIn>, Unknown> {
        let flags = self.sql_state.session().flags();
        let plain = |text: &[u8], role| StandIn {
            text: text.to_vec(),
            role,
        };
        let stand_in = match (facts.kind, place) {
            _ if let Some(get) = get => return self.stand_in_for_get(get, text, place),
            (_, WarningListLocation::Here) => None,
            (
                StatementKind::Show(Show::Warnings | Show::SomeWarnings),
                WarningListLocation::Nowhere,
            ) => Some(plain(b"SHOW WARNINGS LIMIT 0", None)),
            (
                StatementKind::Show(Show::Errors | Show::SomeErrors),
                WarningListLocation::Nowhere,
            ) => Some(plain(b"SHOW ERRORS LIMIT 0", None)),
            (StatementKind::Show(Show::WarningCount), _) => {
                Some(plain(b"SELECT @@session.warning_count", Some(Role::Count)))
            }
            (StatementKind::Show(Show::ErrorCount), _) => {
                Some(plain(b"SELECT @@session.error_count", Some(Role::Count)))
            }
            _ => None,
        };
        let own = stand_in.as_ref().map(|it| sql::facts(&it.text, flags));
        let (facts, text) = match (&own, &stand_in) {
            (Some(facts), Some(stand_in)) => (facts, &stand_in.text[..]),
            _ => (facts, text),
        };
        let mut answers = self.answers(place);
        // MySQL warns when FOUND_ROWS() is read, and counts that warning.
        let counts_anew = self.is_mysql() && facts.uses.has(Uses::FOUND_ROWS);
        if counts_anew {
            (answers.warning_count, answers.error_count) = (None, None);
        }
        let rewritten = facts.rewrite(text, flags, &answers);
        let is_unknown = rewritten.left.has(Uses::DIAGNOSTICS)
            && matches!(place, WarningListLocation::Kept(_))
            && stand_in.is_none()
            && !counts_anew;
        if is_unknown {
            return Err(Unknown);
        }
        let role = stand_in.as_ref().and_then(|it| it.role);
        Ok(match rewritten.text {
            Some(text) => Some(StandIn { text, role }),
            None => stand_in,
        })
    }

    /// The statement to run instead of a GET DIAGNOSTICS. `None`: it may stay as it is.
    fn stand_in_for_get(
        &self,
        get: &Get,
        text: &[u8],
        place: &WarningListLocation,
    ) -> Result<Option<StandIn>, Unknown> {
        let same = |role| StandIn {
            text: text.to_vec(),
            role: Some(role),
        };
        match get {
            Get::Told { get, number } => self.got((get, *number), text, place).map(Some),
            Get::Stacked => Ok(Some(same(Role::Stacked))),
            Get::Appended => Ok(Some(same(Role::Missing))),
            Get::Refused => Ok(None),
            Get::Unknown => Err(Unknown),
        }
    }

    /// GET DIAGNOSTICS as a SET of literals.
    fn got(
        &self,
        (get, number): (&GetDiagnostics, Option<u64>),
        text: &[u8],
        place: &WarningListLocation,
    ) -> Result<StandIn, Unknown> {
        let list = match place {
            WarningListLocation::Kept(list) => Some(&**list),
            WarningListLocation::Here | WarningListLocation::Nowhere => None,
        };
        let conditions = list.map(Diagnostics::conditions).unwrap_or_default();
        let at = match number {
            None => None,
            Some(number) => {
                let place = usize::try_from(number)
                    .ok()
                    .and_then(|it| it.checked_sub(1));
                match place.filter(|place| *place < conditions.len()) {
                    Some(place) => Some(place),
                    None => return Ok(missing(get, text)),
                }
            }
        };
        let mut out = b"SET ".to_vec();
        for (at_item, (target, item)) in get.items.iter().enumerate() {
            if at_item > 0 {
                out.push(b',');
            }
            out.extend_from_slice(target.of(text));
            out.push(b'=');
            let value = match (item, at, list) {
                (DiagnosticsItem::Number, _, _) => unsigned(conditions.len() as u64),
                (DiagnosticsItem::RowCount, _, _) => self
                    .sql_state
                    .session()
                    .diagnostics()
                    .row_count
                    .to_string()
                    .into_bytes(),
                (item, Some(at), Some(list)) => self.item_of(*item, at, list)?,
                _ => return Err(Unknown),
            };
            out.extend_from_slice(&value);
        }
        Ok(StandIn {
            text: out,
            role: Some(Role::Get),
        })
    }

    fn item_of(
        &self,
        item: DiagnosticsItem,
        at: usize,
        list: &Diagnostics,
    ) -> Result<Vec<u8>, Unknown> {
        let is_mariadb = !self.is_mysql();
        let condition = list.conditions().get(at).ok_or(Unknown)?;
        let state = list.sqlstate(at, is_mariadb);
        // SIGNAL may set items that no warning list contains.
        let is_signalled =
            matches!(&*condition.code, b"1642" | b"1643" | b"1644") || state.starts_with(b"45");
        Ok(match item {
            DiagnosticsItem::ReturnedSqlstate => system_text(b"utf8mb4", &state),
            DiagnosticsItem::MysqlErrno => {
                let code = std::str::from_utf8(&condition.code).ok();
                unsigned(code.and_then(|code| code.parse().ok()).ok_or(Unknown)?)
            }
            DiagnosticsItem::MessageText => {
                system_text(&self.results_charset(), &condition.message)
            }
            DiagnosticsItem::RowNumber => return Err(Unknown),
            _ if is_signalled => return Err(Unknown),
            DiagnosticsItem::Origin if !is_mariadb => system_text(b"utf8mb4", b"ISO 9075"),
            _ => system_text(b"utf8mb4", b""),
        })
    }

    /// The character set of messages.
    fn results_charset(&self) -> Vec<u8> {
        match self.sql_state.session().results_charset() {
            None | Some(b"" | b"binary" | b"utf8" | b"utf8mb3") => b"utf8mb4".to_vec(),
            Some(charset) => charset.to_vec(),
        }
    }

    /// The answers that the proxy knows about the connection that the client believes to have.
    pub(super) fn answers(&self, place: &WarningListLocation) -> Answers {
        let pending_answers = self.sql_state.session().diagnostics();
        let id = u64::from(self.identity.id());
        let is_set = self
            .sql_state
            .session()
            .values()
            .variable(b"pseudo_thread_id")
            .is_some();
        let (warning_count, error_count) = match place {
            WarningListLocation::Here => (None, None),
            WarningListLocation::Kept(list) => (Some(list.count()), Some(list.error_count())),
            WarningListLocation::Nowhere => (Some(0), Some(0)),
        };
        Answers {
            connection_id: Some(id),
            pseudo_thread_id: (!is_set).then_some(id),
            row_count: Some(pending_answers.row_count),
            found_rows: pending_answers.found_rows,
            warning_count,
            error_count,
            ..Answers::default()
        }
    }
}

/// The proxy does not know the answer.
pub(super) struct Unknown;

/// A statement to which the server replies that there is no such condition.
fn missing(get: &GetDiagnostics, text: &[u8]) -> StandIn {
    let target = get.items.first().map(|(target, _)| target.of(text));
    let text = [
        b"GET DIAGNOSTICS CONDITION ",
        NUMBER_BEYOND,
        b" ",
        target.unwrap_or(b"@n"),
        b" = MESSAGE_TEXT",
    ];
    StandIn {
        text: text.concat(),
        role: Some(Role::Missing),
    }
}

fn unsigned(value: u64) -> Vec<u8> {
    format!("CAST({value} AS UNSIGNED)").into_bytes()
}

/// Text in the servers' own character set, like VERSION(). Naming that character set makes MySQL warn.
fn system_text(charset: &[u8], text: &[u8]) -> Vec<u8> {
    let mut out = b"INSERT(VERSION(),1,1000,_".to_vec();
    out.extend_from_slice(charset);
    out.extend_from_slice(b" X'");
    for byte in text {
        out.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    out.extend_from_slice(b"')");
    out
}
