//! Statements prepared from SQL text. The proxy prepares them again on the connection where their
//! session wants them, and hides them there from other sessions.

use std::rc::Rc;

use sql::{Effects, Facts, Role, StatementKind};

use super::connection::ConnectionState;
use super::needs::{Needs, Texts};
use super::session::SessionState;
use super::text_statement::{TextStatement, key};
use super::values::ValuesTable;
use super::variables;

/// The number of other sessions' statements that a connection keeps before they are dropped.
const OTHERS_MAX: usize = 64;

impl Texts {
    /// The statements that a command names, or may run.
    pub(super) fn of(facts: &Facts, text: &[u8]) -> Self {
        let about = Effects::ANYTHING | Effects::DEALLOCATED;
        if !facts.effects.has(about) && !is_half_prepare(facts) {
            return Self::None;
        }
        let is_named = |part: &sql::StatementFacts| {
            part.kind == StatementKind::Execute || !part.effects.has(Effects::ANYTHING)
        };
        let is_crowded = facts.marks.has(sql::Marks::CROWDED);
        let are_named =
            !is_crowded && !facts.statements.is_empty() && facts.statements.iter().all(is_named);
        let mentions = facts.mentions_of(Role::Prepared);
        let names: Option<Vec<Rc<[u8]>>> = mentions.map(|it| key(it.name.of(text))).collect();
        match names {
            Some(names) if facts.kind == StatementKind::Deallocate && !is_crowded => {
                Self::Dropped(names)
            }
            Some(names) if are_named && !names.is_empty() => Self::Named(names),
            _ => Self::All,
        }
    }
}

/// Whether a PREPARE is not understood to its end. The server may not read it either, and then the
/// name keeps its former statement.
fn is_half_prepare(facts: &Facts) -> bool {
    let texts = facts.mentions_of(Role::PreparedText).count();
    facts.effects.has(Effects::PREPARED) && texts < facts.mentions_of(Role::Prepared).count().max(1)
}

impl Needs {
    /// Whether the command may need statements prepared from text, or must not find some.
    pub fn wants_texts(&self) -> bool {
        self.texts != Texts::None
    }

    /// Whether the command names this statement, and does not just run it besides.
    pub fn names_text(&self, text: &TextStatement) -> bool {
        self.texts != Texts::All && self.texts.names(&text.name)
    }
}

impl SessionState {
    /// The statements that the command needs, and that the connection does not have: prepare each
    /// there, and then call [`ConnectionState::text_is_made`] or [`ConnectionState::text_is_gone`].
    pub fn texts_to_make(
        &self,
        connection: &ConnectionState,
        needs: &Needs,
    ) -> Vec<Rc<TextStatement>> {
        let own = self.held.prepared.iter();
        let made = own.filter_map(|prepared| prepared.made.as_ref());
        let wants_all = self.wants_all_texts(needs);
        let is_wanted = |it: &&Rc<TextStatement>| wants_all || needs.texts.names(&it.name);
        let is_missing = |it: &&Rc<TextStatement>| !connection.has_text(it);
        let missing = made.filter(is_wanted).filter(is_missing);
        match needs.texts {
            Texts::Dropped(_) => missing.map(|text| self.stand_in(text)).collect(),
            _ => missing.cloned().collect(),
        }
    }

    /// Returns a stand-in for a statement that is only dropped: the server may not prepare the original now.
    fn stand_in(&self, text: &TextStatement) -> Rc<TextStatement> {
        let mut make = b"PREPARE ".to_vec();
        variables::quote_name(&mut make, &text.name);
        make.extend_from_slice(b" FROM 'DO 0'");
        Rc::new(TextStatement {
            name: Rc::clone(&text.name),
            make,
            values: Rc::clone(&self.values),
            runs_others: false,
        })
    }

    /// The names that the command could find on the connection, and that are not its session's:
    /// drop each there with [`drop_text`], and then call [`ConnectionState::text_is_gone`].
    pub fn texts_to_hide(&self, connection: &ConnectionState, needs: &Needs) -> Vec<Rc<[u8]>> {
        let are_many = connection.texts.len() > OTHERS_MAX;
        let wants_all = are_many || self.wants_all_texts(needs);
        let names = connection.texts.keys();
        let is_wanted = |name: &&Rc<[u8]>| wants_all || needs.texts.names(name);
        let is_others = |name: &&Rc<[u8]>| self.held.statement(name).is_none();
        names.filter(is_wanted).filter(is_others).cloned().collect()
    }

    /// The names of all statements on the connection that are not the session's: each may be dropped there as well.
    pub fn texts_of_others(&self, connection: &ConnectionState) -> Vec<Rc<[u8]>> {
        let names = connection.texts.keys();
        let others = names.filter(|name| self.held.statement(name).is_none());
        others.cloned().collect()
    }

    fn wants_all_texts(&self, needs: &Needs) -> bool {
        let Texts::Named(names) = &needs.texts else {
            return needs.texts == Texts::All;
        };
        let runs_others = |name: &Rc<[u8]>| {
            let statement = self.held.statement(name);
            let made = statement.and_then(|statement| statement.made.as_ref());
            statement.is_some() && made.is_none_or(|made| made.runs_others)
        };
        names.iter().any(runs_others)
    }

    /// Returns the number of the session's text statements that the connection does not have.
    pub(super) fn texts_missing(&self, connection: &ConnectionState) -> u32 {
        let own = self.held.prepared.iter();
        let made = own.filter_map(|prepared| prepared.made.as_ref());
        made.filter(|made| !connection.has_text(made)).count() as u32
    }

    /// Enters the schema in which the statement of this EXECUTE was prepared, see [`Self::visit`].
    pub fn visit_text(
        &mut self,
        table: &ValuesTable,
        facts: &Facts,
        text: &[u8],
    ) -> Option<Rc<[u8]>> {
        if facts.kind != StatementKind::Execute || self.held.prepared.is_empty() {
            return None;
        }
        let mention = facts.mentions_of(Role::Prepared).next()?;
        let statement = self.held.statement(&mention.name.name(text))?;
        let values = Rc::clone(&statement.made.as_ref()?.values);
        self.visit(table, values.schema())
    }

    /// The text of a user variable, if it is known and ASCII.
    pub fn text_of_variable(&self, raw: &[u8]) -> Option<Vec<u8>> {
        let name = self.user_variable_name(raw)?;
        self.user_variables.value(&name)??.ascii_text()
    }
}

impl ConnectionState {
    fn has_text(&self, text: &Rc<TextStatement>) -> bool {
        let here = self.texts.get(&text.name);
        matches!(here, Some(Some(here)) if Rc::ptr_eq(here, text))
    }

    /// Whether this connection has statements that were prepared from text.
    pub fn has_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Records that a session's statement was prepared on this connection.
    pub fn text_is_made(&mut self, text: &Rc<TextStatement>) {
        self.texts
            .insert(Rc::clone(&text.name), Some(Rc::clone(text)));
    }

    /// Records that no statement has this name on this connection: it was dropped, or replaced by a
    /// text that cannot be prepared.
    pub fn text_is_gone(&mut self, name: &[u8]) {
        self.texts.remove(name);
    }
}

/// Returns the statement that drops the one with this name, which is ASCII.
pub fn drop_text(name: &[u8]) -> Vec<u8> {
    let mut text = b"DEALLOCATE PREPARE ".to_vec();
    variables::quote_name(&mut text, name);
    text
}
