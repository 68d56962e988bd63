//! The decisions of scripts about backends: where this session reads and writes, and which backends any
//! script has marked as down.

use route::{BackendId, ClusterId};

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct ScriptRoute {
    /// The script's choice for this session.
    pub target: ScriptTarget,
    /// The backends that any script has marked as down.
    out: Option<Box<Out>>,
}

/// Where a session reads and writes, by its script's choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScriptTarget {
    /// The proxy decides.
    #[default]
    Any,
    /// This backend.
    At(BackendId, ClusterId),
    /// At a backend that does not exist.
    Nowhere,
}

/// Backends that scripts have marked as down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Out {
    /// Their ids.
    pub ids: Vec<BackendId>,
    /// No other backend is left.
    pub are_all: bool,
}

impl ScriptRoute {
    /// Sets the script's choice.
    pub fn choose(&mut self, place: ScriptTarget) {
        self.target = place;
    }

    /// Sets the backends that scripts have marked as down.
    pub fn put_out(&mut self, out: Out) {
        // Nearly all sessions have none, and must not pay memory for them while they are idle.
        self.out = (out != Out::default()).then(|| Box::new(out));
    }

    /// The backend of the script's choice; none while it is marked as down.
    pub fn backend(&self) -> Option<(BackendId, ClusterId)> {
        match self.target {
            ScriptTarget::At(backend, cluster) if !self.is_out(backend) => Some((backend, cluster)),
            ScriptTarget::At(..) | ScriptTarget::Any | ScriptTarget::Nowhere => None,
        }
    }

    /// Returns that backend, and gives up the choice.
    pub fn take(&mut self) -> Option<(BackendId, ClusterId)> {
        let backend = self.backend();
        if backend.is_some() {
            self.target = ScriptTarget::Any;
        }
        backend
    }

    /// Whether scripts have marked this backend as down.
    pub fn is_out(&self, backend: BackendId) -> bool {
        self.out_ids().contains(&backend)
    }

    /// The backends that scripts have marked as down.
    pub fn out_ids(&self) -> &[BackendId] {
        self.out.as_deref().map_or(&[], |out| &out.ids)
    }

    /// Whether scripts have marked all backends as down.
    pub fn are_all_out(&self) -> bool {
        self.out.as_deref().is_some_and(|out| out.are_all)
    }
}
