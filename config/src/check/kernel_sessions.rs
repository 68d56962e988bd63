//! Checks of listeners whose sessions are joined in the kernel. The proxy sees no statement of these sessions after the
//! login. So settings that need statements are refused, and settings that keep every session out of the kernel.

use crate::load::written::Written;
use crate::setting::{ACCOUNT, LISTENER, RULE};
use crate::{
    BackendAddress, BackendCompression, BackendTlsMode, ClientTlsMode, Config, Consistency, Fault,
    LaneUse, ListenAddress, ListenerConfig, ReplicaUse, SessionMode,
};

/// Adds every fault of these listeners, and of "kernel" in other tables.
pub(super) fn faults(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    elsewhere(config, written, faults);
    for (index, listener) in config.listeners.iter().enumerate() {
        if listener.joins_in_kernel() {
            let looked_at = KernelListener {
                config,
                written,
                index,
                listener,
            };
            faults.extend(looked_at.faults());
        }
    }
}

/// Refuses the mode outside listeners, because only all sessions of a listener can be joined.
fn elsewhere(config: &Config, written: &Written, faults: &mut Vec<Fault>) {
    const KEY: &str = "routing.session";
    let accounts = config.configured_accounts.iter().enumerate();
    let accounts =
        accounts.map(|(at, it)| (it.routing.session, Written::of(ACCOUNT.name, at, KEY)));
    let rules = config.rules.iter().enumerate();
    let rules = rules.map(|(at, it)| (it.routing.session, Written::of(RULE.name, at, KEY)));
    let all = [(Some(config.routing.session), KEY.to_owned())];
    let said = all.into_iter().chain(accounts).chain(rules);
    for (_, key) in said.filter(|(mode, _)| *mode == Some(SessionMode::Kernel)) {
        let fault = written.fault(&key, "\"kernel\" is for a [[listener]] only");
        faults.push(fault.hint("routing.session = \"kernel\" of a listener"));
    }
}

/// Warns if clients may use TLS, because then the proxy relays their sessions.
pub(super) fn warnings(config: &Config, written: &Written) -> Option<Fault> {
    let mut listeners = config.listeners.iter().enumerate();
    let (index, _) = listeners.find(|(_, it)| it.joins_in_kernel())?;
    (config.client_tls.mode == ClientTlsMode::Optional).then(|| {
        let key = Written::of(LISTENER.name, index, "routing.session");
        let text =
            "\"kernel\" joins no session whose client uses TLS, and most clients do if they can";
        let hint = "client_tls.mode = \"off\", or no TLS in the clients' options";
        written.fault(&key, text).hint(hint)
    })
}

/// The check of one of these listeners.
struct KernelListener<'a> {
    config: &'a Config,
    written: &'a Written,
    index: usize,
    listener: &'a ListenerConfig,
}

impl KernelListener<'_> {
    fn faults(&self) -> Vec<Fault> {
        let mut faults = self.settings_of_statements();
        faults.extend(self.rules());
        let others = [
            self.scripts(),
            self.idle_transactions(),
            self.idle_sessions(),
            self.client_tls(),
            self.backend_tls(),
            self.compression(),
            self.own_socket(),
            self.sockets_of_backends(),
        ];
        faults.extend(others.into_iter().flatten());
        faults
    }

    fn fault(&self, key: &str, text: impl Into<String>) -> Fault {
        let key = Written::of(LISTENER.name, self.index, key);
        self.written.fault(&key, text)
    }

    /// Settings of the listener itself that need statements.
    fn settings_of_statements(&self) -> Vec<Fault> {
        let it = &self.listener.routing;
        let consistency = it.consistency.filter(|it| *it != Consistency::None);
        let given = [
            ("routing.replicas", it.replicas == Some(ReplicaUse::Split)),
            ("routing.lanes", it.lanes == Some(LaneUse::Reads)),
            ("routing.consistency", consistency.is_some()),
            (
                "routing.optimistic_transactions",
                it.optimistic_transactions == Some(true),
            ),
        ];
        let given = given.into_iter().filter(|(_, is_given)| *is_given);
        let faults = given.map(|(key, _)| {
            let text =
                "needs statements, and the proxy sees none with routing.session = \"kernel\"";
            self.fault(key, text)
        });
        faults.collect()
    }

    /// Rules that name the listener. Rules for all listeners are allowed: they apply to pooled sessions of other
    /// listeners.
    fn rules(&self) -> Vec<Fault> {
        let rules = self.config.rules.iter().enumerate();
        let named = rules.filter(|(_, rule)| rule.listener.contains(&self.listener.address));
        let faults = named.map(|(index, _)| {
            let text = format!(
                "{} has routing.session = \"kernel\": the proxy sees no statement of its sessions",
                self.listener.address
            );
            let key = Written::of(RULE.name, index, "listener");
            self.written.fault(&key, text)
        });
        faults.collect()
    }

    fn scripts(&self) -> Option<Fault> {
        let of_listener = !self.config.scripts_of(self.listener).is_empty();
        (of_listener || self.config.accounts_run_scripts()).then(|| {
            let text = "\"kernel\" hides the statements of a session from its script";
            let hint = "routing.script = [] of the listener, and no script of an account";
            self.fault("routing.session", text).hint(hint)
        })
    }

    fn idle_transactions(&self) -> Option<Fault> {
        let own = self.listener.timeout_idle_transaction;
        let limit = own.unwrap_or(self.config.limits.timeout_idle_transaction);
        (!limit.is_zero()).then(|| match own {
            Some(_) => {
                let text = "needs statements, and the proxy sees none with routing.session = \"kernel\"";
                self.fault("timeout_idle_transaction", text)
            }
            None => {
                let text = "\"kernel\" hides transactions, so that limits.timeout_idle_transaction cannot end them";
                let hint = "timeout_idle_transaction = \"0s\" of the listener";
                self.fault("routing.session", text).hint(hint)
            }
        })
    }

    fn idle_sessions(&self) -> Option<Fault> {
        (!self.config.limits.timeout_idle.is_zero()).then(|| {
            let text = "\"kernel\" hides whether a session is idle or waits for a statement, so that \
                        limits.timeout_idle cannot end it";
            let hint = "limits.timeout_idle = \"0s\"; the servers' wait_timeout ends idle sessions";
            self.fault("routing.session", text).hint(hint)
        })
    }

    fn client_tls(&self) -> Option<Fault> {
        let mode = self.config.client_tls.mode;
        let why = match mode {
            ClientTlsMode::Off | ClientTlsMode::Optional => return None,
            ClientTlsMode::Required => {
                "no session is joined, because the proxy must decrypt its bytes"
            }
            ClientTlsMode::AsAccount => "the proxy does not see a change of the user",
        };
        let text = format!("\"kernel\" cannot be had with client_tls.mode = \"{mode}\": {why}");
        Some(self.fault("routing.session", text))
    }

    fn backend_tls(&self) -> Option<Fault> {
        let mode = self.config.backend_tls.mode;
        let is_forced = !matches!(mode, BackendTlsMode::Off | BackendTlsMode::Preferred);
        is_forced.then(|| {
            let text = format!(
                "\"kernel\" cannot be had with backend_tls.mode = \"{mode}\": no session is joined, because the proxy \
                 must encrypt its bytes"
            );
            self.fault("routing.session", text)
        })
    }

    fn compression(&self) -> Option<Fault> {
        let asked = self.config.compression.backend;
        (asked != BackendCompression::Off).then(|| {
            let text = format!(
                "\"kernel\" cannot be had with compression.backend = \"{asked}\": no session is joined, because the \
                 proxy must compress its bytes"
            );
            self.fault("routing.session", text)
        })
    }

    fn own_socket(&self) -> Option<Fault> {
        matches!(self.listener.address, ListenAddress::Unix(_)).then(|| {
            let text = "\"kernel\" joins TCP connections only, and this listener has a Unix socket";
            self.fault("routing.session", text)
        })
    }

    fn sockets_of_backends(&self) -> Option<Fault> {
        let cluster = self.config.destination(None, Some(self.listener)).cluster;
        let mut backends = self.config.backends.iter();
        let backend = backends
            .find(|it| it.cluster == cluster && matches!(it.address, BackendAddress::Unix(_)))?;
        let text = format!(
            "\"kernel\" joins TCP connections only, and the backend \"{}\" has a Unix socket",
            backend.name
        );
        Some(self.fault("routing.session", text))
    }
}
