//! A configuration prepared for questions about what the proxy would do.

use std::path::Path;

use config::{
    AccountConfig, Config, Fault, ListenerConfig, OtherAccounts, ReplicaUse, Role, SessionMode,
};
use route::rules::{Compiled, Counters, Occasion, Record};
use route::{Explanation, Topology, Transaction, Wanted, Why};

use super::effective_route::EffectiveRoute;
use super::explained_statement::ExplainedStatement;
use super::verdict::Verdict;
use crate::rules;

/// The configuration, its rules, and its backends as configured.
pub struct Outlook {
    /// The settings.
    pub config: Config,
    /// The warnings about them.
    pub warnings: Vec<Fault>,
    /// The backends as configured; their health is unknown.
    topology: Topology,
    compiled: Compiled,
}

impl Outlook {
    /// The outlook for a file; without a file there are no rules and no backends.
    ///
    /// # Errors
    /// Every fault of the file.
    pub fn load(path: Option<&Path>) -> Result<Self, Vec<Fault>> {
        let Some(path) = path else {
            let mut config = Config::default();
            // Without a configuration, assume a proxy that answers logins itself, so that it routes statements.
            config.accounts.learn = true;
            return Ok(Self::new(config, Vec::new(), Compiled::default()));
        };
        let loaded = Config::load(Some(path), &[])?;
        let (loaded, compiled) = rules::compiled(loaded)?;
        Ok(Self::new(loaded.config, loaded.warnings, compiled))
    }

    /// The outlook after a proxy with this configuration was reloaded with the new one.
    pub fn reloaded(&self, new: Self) -> Self {
        let config = self.config.reloaded(&new.config);
        Self::new(config, new.warnings, new.compiled)
    }

    fn new(config: Config, warnings: Vec<Fault>, compiled: Compiled) -> Self {
        Self {
            topology: control::as_configured(&with_assumed_roles(&config)),
            config,
            warnings,
            compiled,
        }
    }

    /// Decides where a statement goes, and explains why.
    pub fn judge(&self, asked: &ExplainedStatement, explanation: &mut Explanation) -> Verdict {
        asked.as_occasion(&self.compiled.functions, |occasion, analysis| {
            explanation.statement(occasion.facts, occasion.text);
            explanation.digest(&analysis.digest);
            let account = asked.account(&self.config);
            self.explain_account(asked, account, explanation);
            match self.mode(asked, account) {
                SessionMode::Transparent => relayed(explanation),
                _ => self.judge_pooled(asked, account, occasion, explanation),
            }
        })
    }

    /// How long the session keeps its backend connection.
    fn mode(&self, asked: &ExplainedStatement, account: Option<&AccountConfig>) -> SessionMode {
        if !self.answers_logins() {
            return SessionMode::Transparent;
        }
        let listener = asked.listener(&self.config).and_then(ListenerConfig::mode);
        let account = account.and_then(|it| it.routing.session);
        self.config.routing.mode(listener, account)
    }

    /// Whether there are accounts whose logins the proxy answers itself.
    fn answers_logins(&self) -> bool {
        self.config.accounts.learn || !self.config.configured_accounts.is_empty()
    }

    fn explain_account(
        &self,
        asked: &ExplainedStatement,
        account: Option<&AccountConfig>,
        explanation: &mut Explanation,
    ) {
        let text = match (account, &asked.asker.user) {
            _ if !self.answers_logins() => {
                "there is none, and none is learned: logins pass through"
            }
            (Some(_), _) => "is configured",
            (None, None) => return,
            (None, Some(_)) if self.config.accounts.learn => {
                "is not configured, and may be learned"
            }
            (None, Some(_)) if self.config.accounts.others == OtherAccounts::Refuse => {
                "is not configured: logins fail"
            }
            (None, Some(_)) => "is not configured: its sessions are relayed, and no rule is asked",
        };
        let user = asked.asker.user.as_deref().unwrap_or("(any)");
        explanation.find("account", user, text);
    }

    /// Names the backends with the role `auto`, and the roles assumed for them.
    fn explain_assumed_roles(&self, explanation: &mut Explanation) {
        let assumed = with_assumed_roles(&self.config).backends;
        for (backend, it) in self.config.backends.iter().zip(&assumed) {
            let role = match it.role {
                Role::Primary => "the primary",
                Role::Replica | Role::Auto => "a replica",
            };
            if backend.role == Role::Auto {
                let text = format!("is taken for {role}: its role is auto, and no server is asked");
                explanation.find("assumed", &backend.name, text);
            }
        }
    }

    /// Applies hints, rules, the statement's own needs, and the choice of a backend, in this order.
    fn judge_pooled(
        &self,
        asked: &ExplainedStatement,
        account: Option<&AccountConfig>,
        occasion: &Occasion<'_>,
        explanation: &mut Explanation,
    ) -> Verdict {
        let accepted = account.and_then(|it| it.hints.as_ref());
        let accepted = accepted.unwrap_or(&self.config.hints.accepted);
        let hints = &self.compiled.hints;
        let hints = hints.read(occasion.text, occasion.facts, accepted);
        explanation.hints(&hints);
        let (rules, mut record) = (&self.compiled.rules, Record::default());
        let judgement = rules.judge(occasion, &Counters::default(), &mut record);
        explanation.rules(rules, &record, &judgement);
        let mut verdict = Verdict::default();
        verdict.add_rule_actions(&judgement);
        if judgement.reply.is_some() {
            explanation.find("decision", "(none)", "the proxy answers it itself");
            return verdict;
        }
        // A statement that a rule substitutes is routed by its own facts.
        let rewritten = judgement.rewritten.as_ref();
        let rewritten = rewritten.map(|by| {
            let text = &by.value.text;
            let mut facts = sql::facts(text, occasion.flags);
            facts.trust(text, &self.compiled.functions);
            facts
        });
        let facts = rewritten.as_ref().unwrap_or(occasion.facts);
        self.explain_assumed_roles(explanation);
        let listener = asked.listener(&self.config);
        let destination = self.config.destination(account, listener);
        let place = EffectiveRoute::of(&hints, &judgement, destination);
        let is_split = place.replicas == ReplicaUse::Split;
        let wanted = is_split.then(|| match route::wanted(facts, Transaction::None) {
            Wanted::Primary(Why::BeginsWriting)
                if place.is_optimistic && route::begins_on_replica(facts) =>
            {
                Wanted::Replica(Why::BeginsOptimistic)
            }
            wanted => wanted,
        });
        let known = (&self.topology, self.config.balance.fallback);
        place.choose(known, wanted, explanation, &mut verdict);
        place.check_lane_use(facts, explanation, &mut verdict);
        verdict
    }
}

fn relayed(explanation: &mut Explanation) -> Verdict {
    let why = "its session is relayed as a whole: no rule is asked, no statement goes elsewhere";
    explanation.find("decision", "the session's backend", why);
    let mut verdict = Verdict::default();
    verdict.add("session", SessionMode::Transparent.name());
    verdict
}

/// The configuration with assumed roles, because no server is asked here. Of each cluster's backends with the role
/// `auto`, the first one is taken for the primary if the cluster has no other, and the rest for replicas.
fn with_assumed_roles(config: &Config) -> Config {
    let mut assumed = config.clone();
    for index in 0..assumed.backends.len() {
        let cluster = &assumed.backends[index].cluster;
        let mut others = assumed.backends.iter();
        let has_primary = others.any(|it| it.cluster == *cluster && it.role == Role::Primary);
        let backend = &mut assumed.backends[index];
        if backend.role == Role::Auto {
            backend.role = match has_primary {
                true => Role::Replica,
                false => Role::Primary,
            };
        }
    }
    assumed
}
