//! Why there is no backend, in words for the client.

use std::fmt;

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
        match self {
            NoBackend::NoneConfigured => f.write_str("No backend is configured for this session"),
            NoBackend::AllTried => f.write_str("Can't connect to MySQL server"),
            NoBackend::AllFull => f.write_str("Too many connections: all backends are full"),
            NoBackend::AllDown(fallen) => {
                f.write_str("Can't connect to MySQL server: all backends are down")?;
                for (index, Fallen { backend, cause }) in fallen.iter().enumerate() {
                    let separator = if index == 0 { ", tried " } else { "; " };
                    write!(f, "{separator}{backend}: {cause}")?;
                }
                Ok(())
            }
            NoBackend::NoneUsable(fallen) => {
                f.write_str("No MySQL server can take this now")?;
                for (index, Fallen { backend, cause }) in fallen.iter().enumerate() {
                    let separator = if index == 0 { ": " } else { "; " };
                    write!(f, "{separator}{backend} {cause}")?;
                }
                Ok(())
            }
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
