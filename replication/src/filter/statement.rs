//! Decides about a statement: it passes, it is dropped, or it passes with other names.

use std::borrow::Cow;

use binlog::{EventHeader, Query, query_flags, query_text, rewrite_query};
use config::FilteredChange;
use sql::{Charset, Facts, Flags, Mention, Object, Role, StatementKind};

use super::error::FilterError;
use super::policy::{ChangeOrigin, Policy};
use super::script::{ScriptEvent, ScriptStatement, StatementVerdict};
use crate::change::Change;
use crate::names::named_objects;
use crate::object::ObjectKind;
use crate::position::Gtid;

/// The schema with the tables of accounts.
const ACCOUNTS: (&str, &str) = ("mysql", "user");

/// How much of a statement an error message shows, in characters.
const SHOWN_MAX: usize = 100;

/// The decision about a statement.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// Replicas get the statement unchanged.
    Pass,
    /// Replicas do not get the statement.
    Drop,
    /// Replicas get this event body instead.
    Replace(Vec<u8>),
}

/// A statement of the server's log.
pub struct FilteredStatement<'a> {
    /// The event's header.
    pub header: &'a EventHeader,
    /// The event's body, and the length of its fixed part.
    pub body: (&'a [u8], usize),
    /// The statement.
    pub query: &'a Query<'a>,
    /// The server and domain that the transaction comes from.
    pub origin: ChangeOrigin,
    /// The GTID of its transaction.
    pub gtid: &'a Gtid,
}

impl FilteredStatement<'_> {
    /// Decides about the statement.
    ///
    /// # Errors
    /// The filter cannot decide, or cannot rewrite the statement.
    pub fn fate(&self, policy: &Policy) -> Result<Fate, FilterError> {
        let facts = sql::facts(&self.query.text, query_flags(self.query));
        let scripted = match class(facts.kind) {
            Some(change) => self.scripted(policy, change, &facts)?,
            None => None,
        };
        scripted.map_or_else(|| self.unscripted(policy, &facts), Ok)
    }

    /// Decides about the statement by the policy alone, without scripts.
    fn unscripted(&self, policy: &Policy, facts: &Facts) -> Result<Fate, FilterError> {
        match facts.kind {
            StatementKind::Begin(_)
            | StatementKind::Commit(_)
            | StatementKind::Rollback(_)
            | StatementKind::Savepoint
            | StatementKind::RollbackTo
            | StatementKind::ReleaseSavepoint
            | StatementKind::Xa(_)
            | StatementKind::Empty => Ok(Fate::Pass),
            kind => match class(kind) {
                Some(change) => self.object_change(policy, change, facts),
                None => self.row_change(policy, facts),
            },
        }
    }

    /// Returns the decision of the script for the statement; none if no script drops or changes it.
    fn scripted(
        &self,
        policy: &Policy,
        change: FilteredChange,
        facts: &Facts,
    ) -> Result<Option<Fate>, FilterError> {
        let mut objects = self.objects(change, facts);
        objects.retain(|(schema, name)| policy.passes(change, (schema, name), self.origin));
        let mut scripts = objects.iter();
        let script = scripts.find_map(|(schema, name)| policy.script(schema, name));
        let Some(script) = script else {
            return Ok(None);
        };
        let raw = str::from_utf8(&self.query.text).ok();
        // Statements for accounts contain passwords and hashes, so the script gets a text without them.
        let raw = raw.filter(|_| change != FilteredChange::Account);
        let text = raw.map_or_else(|| query_text(self.query).into(), Cow::Borrowed);
        let event = ScriptEvent {
            header: self.header,
            gtid: self.gtid,
        };
        let statement = ScriptStatement {
            change,
            objects: &objects,
            text: &text,
        };
        let new = match script.statement(event, statement)? {
            StatementVerdict::Pass => return Ok(None),
            StatementVerdict::Drop => return Ok(Some(Fate::Drop)),
            StatementVerdict::Text(_) if raw.is_none() => {
                return Err(FilterError::StatementText(self.shown()));
            }
            StatementVerdict::Text(text) => text,
        };
        let (body, post_header) = self.body;
        let body = rewrite_query(body, post_header, self.query.schema, new.as_bytes());
        let body = body.map_err(binlog::EventError::from)?;
        let query = Query::decode(&body, post_header).map_err(binlog::EventError::from)?;
        let changed = FilteredStatement {
            body: (&body, post_header),
            query: &query,
            ..*self
        };
        let facts = sql::facts(&query.text, query_flags(&query));
        Ok(Some(match changed.unscripted(policy, &facts)? {
            Fate::Pass => Fate::Replace(body),
            other => other,
        }))
    }

    /// Decides about a statement that changes objects.
    fn object_change(
        &self,
        policy: &Policy,
        change: FilteredChange,
        facts: &Facts,
    ) -> Result<Fate, FilterError> {
        let objects = self.objects(change, facts);
        let passes =
            |(schema, name): &(String, String)| policy.passes(change, (schema, name), self.origin);
        let (kept, dropped): (Vec<_>, Vec<_>) = objects.iter().partition(|it| passes(it));
        if kept.is_empty() {
            return Ok(Fate::Drop);
        }
        let schema = self.query.schema;
        if !dropped.is_empty() {
            let StatementKind::Drop(object @ (Object::Table | Object::TemporaryTable)) = facts.kind
            else {
                return Err(FilterError::Mixed(self.shown()));
            };
            let text = drop_tables(policy, object, &kept);
            return self.replaced(schema, text.as_bytes());
        }
        match change {
            FilteredChange::Code => self
                .check_code(policy, &objects, facts)
                .map(|()| Fate::Pass),
            _ if is_of_schema(facts.kind) => self.renamed_schema(policy, &objects),
            _ => self.renamed_tables(policy, facts),
        }
    }

    /// Returns schema and name of each object that the statement changes.
    fn objects(&self, change: FilteredChange, facts: &Facts) -> Vec<(String, String)> {
        if change == FilteredChange::Account {
            return vec![(ACCOUNTS.0.to_owned(), ACCOUNTS.1.to_owned())];
        }
        let mut objects: Vec<_> = match is_named_by_words(facts.kind) {
            true => {
                let text = query_text(self.query);
                let named = named_objects(&text, self.utf8_flags(), &self.default_schema());
                let name = |kind, name| match kind {
                    ObjectKind::Schema => String::new(),
                    _ => name,
                };
                let named = named.into_iter();
                named
                    .map(|it| (it.schema, name(it.kind, it.name)))
                    .collect()
            }
            false => facts
                .mentions
                .iter()
                .filter(|it| is_written(it.role))
                .map(|it| self.table(it))
                .collect(),
        };
        if objects.is_empty() {
            // FLUSH and CREATE SERVER name no table; only filters for all tables apply to them.
            objects.push((String::new(), String::new()));
        }
        objects.dedup();
        objects
    }

    /// Decides about a statement that changes rows, and that replicas would execute themselves.
    fn row_change(&self, policy: &Policy, facts: &Facts) -> Result<Fate, FilterError> {
        let change = match facts.kind {
            StatementKind::Insert | StatementKind::Replace | StatementKind::Load => {
                Some(FilteredChange::Insert)
            }
            StatementKind::Update => Some(FilteredChange::Update),
            StatementKind::Delete => Some(FilteredChange::Delete),
            _ => None,
        };
        let (mut kept, mut dropped) = (0, 0);
        for mention in facts.tables() {
            let (schema, name) = self.table(mention);
            let refused = || FilterError::StatementFormat(format!("{schema}.{name}"));
            let is_concerned = policy.is_concerned(&schema, &name, self.origin);
            if policy.changes_rows(&schema, &name) {
                return Err(refused());
            }
            match (change, is_written(mention.role)) {
                (Some(change), true) => {
                    match policy.passes(change, (&schema, &name), self.origin) {
                        true => kept += 1,
                        false => dropped += 1,
                    }
                }
                // The statement reads a filtered table, and a replica may not have the same rows of it.
                _ if is_concerned => return Err(refused()),
                _ => {}
            }
        }
        match (kept, dropped) {
            (_, 0) => Ok(Fate::Pass),
            (0, _) => Ok(Fate::Drop),
            _ => Err(FilterError::Mixed(self.shown())),
        }
    }

    /// Fails if a view or routine mentions a renamed table, because the proxy does not rewrite the code of views
    /// and routines.
    fn check_code(
        &self,
        policy: &Policy,
        objects: &[(String, String)],
        facts: &Facts,
    ) -> Result<(), FilterError> {
        let mut named = objects
            .iter()
            .cloned()
            .chain(facts.tables().map(|it| self.table(it)));
        match named.any(|(schema, name)| policy.renamed(&schema, &name).is_some()) {
            true => Err(FilterError::Code(self.shown())),
            false => Ok(()),
        }
    }

    /// Rewrites CREATE, ALTER or DROP DATABASE of a schema if all its tables go to another schema on replicas.
    fn renamed_schema(
        &self,
        policy: &Policy,
        objects: &[(String, String)],
    ) -> Result<Fate, FilterError> {
        let renamed = objects.first().and_then(|(schema, _)| {
            let (new, _) = policy.renamed(schema, "")?;
            Some((schema, new))
        });
        let Some((old, new)) = renamed else {
            return Ok(Fate::Pass);
        };
        let text = query_text(self.query);
        let text = replace_schema(&text, self.utf8_flags(), old, &new);
        self.check_charset(&new)?;
        self.replaced(new.as_bytes(), text.as_bytes())
    }

    /// Rewrites all tables that the statement mentions, each with its schema, if one of them is renamed.
    fn renamed_tables(&self, policy: &Policy, facts: &Facts) -> Result<Fate, FilterError> {
        let is_renamed = |mention: &&Mention| {
            let (schema, name) = self.table(mention);
            policy.renamed(&schema, &name).is_some()
        };
        if !facts.tables().any(|it| is_renamed(&it)) {
            return Ok(Fate::Pass);
        }
        let text = &*self.query.text;
        let mut mentions: Vec<_> = facts.tables().collect();
        mentions.sort_by_key(|it| it.name.start);
        let (mut out, mut copied) = (Vec::with_capacity(text.len() + 64), 0);
        let mut default = None;
        for mention in mentions {
            let (schema, name) = self.table(mention);
            let new = policy.renamed(&schema, &name);
            let (new_schema, new_name) = new.unwrap_or((schema, name));
            let begin = match mention.schema.is_empty() {
                true => mention.name.start,
                false => mention.schema.start,
            } as usize;
            let Some(between) = text.get(copied..begin) else {
                continue;
            };
            if mention.schema.is_empty() {
                default.get_or_insert_with(|| new_schema.clone());
            }
            self.check_charset(&new_schema)?;
            self.check_charset(&new_name)?;
            out.extend_from_slice(between);
            out.extend_from_slice(qualified(&new_schema, &new_name).as_bytes());
            copied = mention.name.end as usize;
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        let default = default.map_or_else(|| self.query.schema.to_vec(), String::into_bytes);
        self.replaced(&default, &out)
    }

    fn replaced(&self, schema: &[u8], text: &[u8]) -> Result<Fate, FilterError> {
        let (body, post_header) = self.body;
        let body = rewrite_query(body, post_header, schema, text);
        Ok(Fate::Replace(body.map_err(binlog::EventError::from)?))
    }

    fn table(&self, mention: &Mention) -> (String, String) {
        let text = &self.query.text;
        let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let schema = name(&mention.schema.name(text));
        let schema = match schema.is_empty() {
            true => self.default_schema(),
            false => schema,
        };
        (schema, name(&mention.name.name(text)))
    }

    fn default_schema(&self) -> String {
        String::from_utf8_lossy(self.query.schema).into_owned()
    }

    fn utf8_flags(&self) -> Flags {
        Flags {
            charset: Charset::default(),
            ..query_flags(self.query)
        }
    }

    /// Fails if a name outside ASCII would have to go into a statement that is not UTF-8.
    fn check_charset(&self, name: &str) -> Result<(), FilterError> {
        match name.is_ascii() || str::from_utf8(&self.query.text).is_ok() {
            true => Ok(()),
            false => Err(FilterError::Charset(name.to_owned())),
        }
    }

    /// Returns the statement without passwords, shortened, for error messages.
    fn shown(&self) -> String {
        let change = Change::of(self.header, self.query);
        let text = change.map_or_else(|| query_text(self.query), |it| it.statement);
        text.chars().take(SHOWN_MAX).collect()
    }
}

/// Returns the kind of object change; none if the statement changes rows only.
fn class(kind: StatementKind) -> Option<FilteredChange> {
    if let Some(object) = kind.changed_object() {
        return Some(match object {
            Object::View | Object::Routine | Object::Trigger | Object::Event => {
                FilteredChange::Code
            }
            Object::Account => FilteredChange::Account,
            _ => FilteredChange::Ddl,
        });
    }
    Some(match kind {
        StatementKind::Truncate => FilteredChange::Truncate,
        // The binary log contains no SET but SET PASSWORD and SET DEFAULT ROLE.
        StatementKind::Grant | StatementKind::Revoke | StatementKind::Set => {
            FilteredChange::Account
        }
        StatementKind::Maintain
        | StatementKind::Flush(_)
        | StatementKind::Import
        | StatementKind::Install => FilteredChange::Ddl,
        _ => return None,
    })
}

fn is_of_schema(kind: StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Create(Object::Schema)
            | StatementKind::Alter(Object::Schema)
            | StatementKind::Drop(Object::Schema)
    )
}

/// Whether the objects' names follow words such as PROCEDURE, so the lexer does not report them as tables.
fn is_named_by_words(kind: StatementKind) -> bool {
    matches!(
        kind.changed_object(),
        Some(Object::Schema | Object::Routine | Object::Trigger | Object::Event)
    )
}

fn is_written(role: Role) -> bool {
    matches!(
        role,
        Role::TableWritten | Role::TableDropped | Role::TemporaryCreated
    )
}

/// Returns a DROP TABLE for these tables, with the names that they have on replicas.
fn drop_tables(policy: &Policy, object: Object, tables: &[&(String, String)]) -> String {
    let names = tables.iter().map(|(schema, name)| {
        let renamed = policy.renamed(schema, name);
        let (schema, name) = renamed.unwrap_or_else(|| (schema.clone(), name.clone()));
        qualified(&schema, &name)
    });
    let temporary = match object {
        Object::TemporaryTable => "TEMPORARY ",
        _ => "",
    };
    let names: Vec<_> = names.collect();
    format!("DROP {temporary}TABLE IF EXISTS {}", names.join(", "))
}

fn qualified(schema: &str, name: &str) -> String {
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    format!("{}.{}", quoted(schema), quoted(name))
}

/// Replaces the first name that equals `old`.
fn replace_schema(text: &str, flags: Flags, old: &str, new: &str) -> String {
    let mut lexer = sql::Lexer::new(text.as_bytes(), flags);
    loop {
        let token = lexer.token();
        let is_name = matches!(token.kind, sql::TokenKind::Word | sql::TokenKind::Quoted);
        if is_name && *token.span.name(text.as_bytes()) == *old.as_bytes() {
            let (begin, end) = (token.span.start as usize, token.span.end as usize);
            let quoted = new.replace('`', "``");
            return [&text[..begin], "`", &quoted, "`", &text[end..]].concat();
        }
        if token.kind == sql::TokenKind::End {
            return text.to_owned();
        }
    }
}
