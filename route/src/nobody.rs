//! Why there is no backend for a session or a statement, and the client's error for it.

use std::fmt;

use wire::errors::{self, ProxyError};

use crate::candidate::Terms;
use crate::{Backend, Health, Rejection, Topology};

/// Why no backend can take a session, or a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBackend {
    /// The cluster has no backend of an allowed role.
    NoneConfigured,
    /// All backends are down; the reason of each.
    AllDown(Vec<Fallen>),
    /// No backend is suitable, and not all of them are down; the reason of each.
    NoneUsable(Vec<Fallen>),
    /// The session has tried all usable backends; it knows their errors.
    AllTried,
    /// A backend that is usable and not tried is full; a slot may become free.
    AllFull,
}

/// A backend that is not suitable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fallen {
    /// Its name.
    pub backend: String,
    /// Why it is down, or what else is wrong with it.
    pub cause: String,
}

impl fmt::Display for NoBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error().text)
    }
}

impl NoBackend {
    /// Returns the client's error.
    pub fn error(&self) -> ProxyError {
        let listed = |fallen: &[Fallen], separator: &str| {
            let each = fallen.iter();
            let each = each.map(|it| format!("{}{separator}{}", it.backend, it.cause));
            each.collect::<Vec<_>>().join("; ")
        };
        match self {
            NoBackend::NoneConfigured => errors::none_configured(),
            NoBackend::AllTried => errors::all_backends_tried(),
            NoBackend::AllFull => errors::all_backends_full(),
            NoBackend::AllDown(fallen) => errors::all_backends_down(listed(fallen, ": ")),
            NoBackend::NoneUsable(fallen) => errors::no_usable_backend(listed(fallen, " ")),
        }
    }
}

impl std::error::Error for NoBackend {}

/// Returns why no candidate is left. A slot that may become free takes precedence over a backend that
/// failed, and this session's own attempts take precedence over earlier probes.
pub(crate) fn why_none(topology: &Topology, terms: &Terms<'_>) -> NoBackend {
    why(topology, terms, |backend| terms.accept(backend).err())
}

/// Returns why no candidate is left among the backends that `terms` concern; `judge` rejects each of them.
pub(crate) fn why(
    topology: &Topology,
    terms: &Terms<'_>,
    judge: impl Fn(&Backend) -> Option<Rejection>,
) -> NoBackend {
    let concerned = topology.backends.iter();
    let concerned = concerned.filter(|backend| terms.concern(backend).is_ok());
    let mut judged: Vec<(&Backend, Rejection)> = concerned
        .filter_map(|backend| Some((&**backend, judge(backend)?)))
        .collect();
    if judged.is_empty() {
        judged = nameless(topology, terms);
    }
    let any = |wanted: Rejection| judged.iter().any(|(_, rejection)| *rejection == wanted);
    if judged.is_empty() {
        NoBackend::NoneConfigured
    } else if any(Rejection::Full) {
        NoBackend::AllFull
    } else if any(Rejection::Tried) {
        NoBackend::AllTried
    } else if judged.iter().all(|(_, it)| *it == Rejection::Down) {
        NoBackend::AllDown(judged.into_iter().map(fallen).collect())
    } else {
        NoBackend::NoneUsable(judged.into_iter().map(unfit).collect())
    }
}

/// Returns backends of unknown role, which might be suitable if their role were known. The role of a backend that is
/// down is often unknown.
fn nameless<'a>(topology: &'a Topology, terms: &Terms<'_>) -> Vec<(&'a Backend, Rejection)> {
    let rejection = |backend: &'a Backend| match terms.concern(backend) {
        Err(Rejection::OtherRole(None)) if !backend.health.is_usable() => {
            Some((backend, Rejection::Down))
        }
        Err(unknown @ Rejection::OtherRole(None)) => Some((backend, unknown)),
        _ => None,
    };
    let backends = topology.backends.iter().map(|it| &**it);
    backends.filter_map(rejection).collect()
}

fn fallen((backend, rejection): (&Backend, Rejection)) -> Fallen {
    Fallen {
        backend: backend.name.clone(),
        cause: match &backend.health {
            Health::Down { cause, .. } => cause.clone(),
            Health::Up { .. } | Health::Unknown => rejection.to_string(),
        },
    }
}

fn unfit((backend, rejection): (&Backend, Rejection)) -> Fallen {
    Fallen {
        backend: backend.name.clone(),
        cause: rejection.explain(backend),
    }
}
