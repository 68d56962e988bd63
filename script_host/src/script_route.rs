//! What scripts have said of backends: where this session's has it read and write, and which ones are down
//! by any script's word.

use route::{BackendId, ClusterId};

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct ScriptRoute {
    /// The script's choice for this session.
    pub target: ScriptTarget,
    /// The backends that any script has put down.
    out: Option<Box<Out>>,
}

/// Where a script has its session read and write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScriptTarget {
    /// The proxy decides.
    #[default]
    Any,
    /// This backend.
    At(BackendId, ClusterId),
    /// At a backend that there is not.
    Nowhere,
}

/// Backends that scripts have put down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Out {
    /// Their ids.
    pub ids: Vec<BackendId>,
    /// No other is left.
    pub are_all: bool,
}

impl ScriptRoute {
    /// The script has chosen.
    pub fn choose(&mut self, place: ScriptTarget) {
        self.target = place;
    }

    /// Scripts have put these backends down.
    pub fn put_out(&mut self, out: Out) {
        // There are none in nearly all sessions, which must not pay for them while they are idle.
        self.out = (out != Out::default()).then(|| Box::new(out));
    }

    /// The backend of the script's choice. One that is down is none, as long as it is.
    pub fn backend(&self) -> Option<(BackendId, ClusterId)> {
        match self.target {
            ScriptTarget::At(backend, cluster) if !self.is_out(backend) => Some((backend, cluster)),
            ScriptTarget::At(..) | ScriptTarget::Any | ScriptTarget::Nowhere => None,
        }
    }

    /// The same, which is given up.
    pub fn take(&mut self) -> Option<(BackendId, ClusterId)> {
        let backend = self.backend();
        if backend.is_some() {
            self.target = ScriptTarget::Any;
        }
        backend
    }

    /// Whether scripts have put this backend down.
    pub fn is_out(&self, backend: BackendId) -> bool {
        self.out_ids().contains(&backend)
    }

    /// The backends that scripts have put down.
    pub fn out_ids(&self) -> &[BackendId] {
        self.out.as_deref().map_or(&[], |out| &out.ids)
    }

    /// Whether they have left none.
    pub fn are_all_out(&self) -> bool {
        self.out.as_deref().is_some_and(|out| out.are_all)
    }
}
