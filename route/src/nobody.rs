//! Why there is no backend, in words for the client.

use std::fmt;

use wire::errors::{self, ProxyError};

use crate::candidate::Terms;
use crate::{Backend, Health, Rejection, Topology};

/// Why no backend can take a session, or a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBackend {
    /// There is none of an allowed role in the cluster.
    NoneConfigured,
    /// All are down; here is what was seen of each.
    AllDown(Vec<Fallen>),
    /// None will do, and not only because some are down; here is what is wrong with each.
    NoneUsable(Vec<Fallen>),
    /// The session has tried all that are usable; it knows what happened there.
    AllTried,
    /// Those usable and not tried have no place left; one may become free.
    AllFull,
}

/// A backend that will not do.
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
    /// What the client is told.
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

/// Told when no candidate is left. A place that may become free counts more than a backend that
/// failed, and what this session saw itself more than what was seen before.
pub(crate) fn why_none(topology: &Topology, terms: &Terms<'_>) -> NoBackend {
    why(topology, terms, |backend| terms.accept(backend).err())
}

/// The same of those that `terms` concern, each with what `judge` says of it.
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

/// Those that might be asked for, if only their role were known; that of one that is down is not.
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
