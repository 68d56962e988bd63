//! Rules about statements that are not plain text. Prepared statements are refused or rewritten when they are prepared;
//! everything else is done when they are executed. If a statement is too long to be held, rules see only its beginning.

use std::rc::Rc;

use config::ReplicaUse;
use route::rules::Reply;
use sql::{Doubts, Lexer, TokenKind};
use wire::attribute::QueryAttribute;
use wire::query::Query;
use wire::statement::PrepareOk;
use wire::{Capabilities, StatusFlags, errors};

use super::evaluate_rules::{Form, RuleInput, Ruled};
use crate::session::PooledSession;
use backend::prepared_statement::Definitions;
use backend::prepared_statement::{Original, StatementKey};
use command::text_table::text_column;
use link::client_command::Incoming;
use link::failure::{Failure, FailureKind};
use link::query_command::Carries;
use relay::outcome::{After, SessionError};

/// The treatment of a statement that the client prepares.
pub(crate) enum Preparing {
    /// The client has its reply.
    Answered(After),
    /// A backend prepares the statement.
    Goes(StatementKey),
    /// A rule answers the statement when it is executed; no backend has to know it.
    Promised(StatementKey, Rc<Definitions>),
}

impl PooledSession {
    /// Evaluates the rules for a COM_STMT_PREPARE.
    pub(crate) async fn rule_prepare(
        &mut self,
        key: StatementKey,
        sequence: u8,
    ) -> Result<Preparing, SessionError> {
        let original = Original {
            text: key.text.clone(),
            facts: Rc::clone(&key.facts),
        };
        let input = RuleInput {
            form: Form::Prepare,
            ..RuleInput::of_text(original.text.bytes(), &original.facts, sequence)
        };
        let mut key = match self.rule(&input).await? {
            Ruled::Answered(after) => return Ok(Preparing::Answered(after)),
            Ruled::Promised(columns) => {
                let definitions = self.promise(&key, &columns);
                return Ok(Preparing::Promised(key, definitions));
            }
            Ruled::Goes(None) => key,
            Ruled::Goes(Some(text)) => match Box::pin(self.key_of_rewritten(text)).await {
                Ok(key) => StatementKey {
                    original: Some(Rc::new(original)),
                    ..key
                },
                Err(failure) => {
                    return self.refuse(&failure, sequence).map(Preparing::Answered);
                }
            },
        };
        let cluster = self.command.policy.as_ref().and_then(|it| it.cluster);
        key.cluster = cluster.unwrap_or(self.routing.settings().cluster);
        if let Some(order) = self.command.policy.as_deref_mut() {
            // The definitions must include earlier writes, so a primary is asked for them.
            order.role = order.cluster.map(|_| ReplicaUse::Primary);
        }
        Ok(Preparing::Goes(key))
    }

    async fn key_of_rewritten(&mut self, mut text: Vec<u8>) -> Result<StatementKey, Failure> {
        let ahead = self.read_if_long(&mut text).await?;
        self.statement_key(&text, ahead).await
    }

    /// Evaluates the rules for a COM_STMT_EXECUTE with these attributes. `Some`: the client has its reply.
    pub(super) async fn rule_execute(
        &mut self,
        key: &StatementKey,
        attributes: &[QueryAttribute<'_>],
        sequence: u8,
    ) -> Result<Option<After>, SessionError> {
        let (text, facts) = key.original();
        let carries = match attributes {
            [] => Carries::Nothing,
            _ => Carries::Attributes,
        };
        if !self.is_ruled(&facts, carries) {
            return Ok(None);
        }
        let input = RuleInput {
            attributes,
            form: Form::Binary,
            ..RuleInput::of_text(text.bytes(), &facts, sequence)
        };
        Ok(match Box::pin(self.rule(&input)).await? {
            Ruled::Answered(after) => Some(after),
            Ruled::Goes(_) | Ruled::Promised(_) => None,
        })
    }

    /// Evaluates the rules for a statement of which only the beginning is held. The statement is passed on unchanged,
    /// or the session ends, because the rest of the statement is not read.
    pub(crate) fn rule_large(&mut self, incoming: &Incoming) -> Result<(), SessionError> {
        let argument = incoming.argument();
        let Ok(query) = Query::decode(&argument, self.client.capabilities()) else {
            return Ok(());
        };
        let mut facts = sql::facts(query.text, self.sql_state.session().flags());
        // A string may be open where the text is cut.
        facts.doubts.remove(Doubts::LOST);
        facts.doubts.add(
            match self
                .client
                .capabilities()
                .contains(Capabilities::MULTI_STATEMENTS)
            {
                true => Doubts::CUT,
                false => Doubts::TAIL,
            },
        );
        if !self.is_ruled(&facts, Carries::Nothing) {
            return Ok(());
        }
        let rule_set = self.env.rule_set();
        let input = RuleInput::of_text(query.text, &facts, incoming.sequence);
        let judgement = self.judge(&rule_set, &input, &rule_set.counters, &mut ());
        self.log_not_understood(&rule_set, &judgement);
        let text = match &judgement.reply.as_ref().map(|by| &by.value) {
            Some(Reply::Error { message, .. }) => message.to_string(),
            None if judgement.rewritten.is_none() => return Ok(()),
            _ => errors::too_large_for_rules().into(),
        };
        let failure = Failure::new(FailureKind::PayloadTooLarge, text);
        Err(SessionError::new(
            failure,
            Some(incoming.sequence.wrapping_add(1)),
        ))
    }

    /// The reply of a server that has prepared a statement with these columns.
    fn promise(&self, key: &StatementKey, columns: &[String]) -> Rc<Definitions> {
        let tokens = Lexer::new(key.text.bytes(), self.sql_state.session().flags());
        let placeholders = tokens.filter(|token| token.kind == TokenKind::Placeholder);
        let count = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
        let (parameters, count_columns) = (count(placeholders.count()), count(columns.len()));
        let ok = PrepareOk {
            statement_id: 0,
            columns: count_columns,
            parameters,
            warnings: 0,
            metadata: self
                .client
                .capabilities()
                .contains(Capabilities::OPTIONAL_RESULTSET_METADATA)
                .then_some(1),
        };
        let mut payloads = vec![Vec::new()];
        if let Some(first) = payloads.first_mut() {
            ok.encode(first);
        }
        let anonymous = vec![String::from("?"); usize::from(parameters)];
        for names in [&anonymous[..], columns] {
            self.define(names, &mut payloads);
        }
        let mut packets = Vec::new();
        let mut sequence = 1;
        for payload in payloads {
            sequence = wire::write::put_packets(&mut packets, sequence, &payload);
        }
        Rc::new(Definitions {
            parameter_count: parameters,
            column_count: count_columns,
            packets: packets.into(),
            epoch: self.env.pool_env.shared.definitions_epoch(),
        })
    }

    /// Appends the definitions of text columns, and the EOF packet after them.
    fn define(&self, names: &[String], payloads: &mut Vec<Vec<u8>>) {
        for name in names {
            let mut payload = Vec::new();
            text_column(name, 1 << 16).encode(self.client.capabilities(), &mut payload);
            payloads.push(payload);
        }
        let has_eof = !self
            .client
            .capabilities()
            .contains(Capabilities::DEPRECATE_EOF);
        if has_eof && !names.is_empty() {
            let StatusFlags(status) = self.client.status();
            let [low, high] = status.to_le_bytes();
            payloads.push(vec![wire::reply::EOF, 0, 0, low, high]);
        }
    }
}
