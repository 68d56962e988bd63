//! What waits until it is loaded, as in ProxySQL's memory, and what it would make of what holds. That is drafted
//! once, and not by each who looks.

use std::sync::Arc;

use admin::Module;
use config::{Config, Draft, Edit, Fault};
use route::Topology;

/// See the module.
#[derive(Default)]
pub struct Waiting {
    edits: Vec<Edit>,
    /// None: something has changed since.
    drafted: Option<Drafted>,
}

/// A draft, and what it says, whether it fits together or not.
#[derive(Clone)]
pub struct Drafted {
    draft: Draft,
    /// The settings.
    pub config: Arc<Config>,
    /// The backends, which nobody has looked at.
    pub topology: Arc<Topology>,
}

impl Drafted {
    /// What a draft says.
    ///
    /// # Errors
    /// Every value that is none.
    pub fn of(draft: Draft) -> Result<Self, Vec<Fault>> {
        let config = draft.sketch()?;
        Ok(Self {
            topology: Arc::new(control::as_configured(&config)),
            config: Arc::new(config),
            draft,
        })
    }

    /// What holds, with nothing that waits.
    pub fn as_it_holds(draft: &Draft, config: &Arc<Config>) -> Self {
        Self {
            draft: draft.clone(),
            topology: Arc::new(control::as_configured(config)),
            config: Arc::clone(config),
        }
    }
}

impl Waiting {
    /// How many changes wait.
    pub fn count(&self) -> usize {
        self.edits.len()
    }

    /// What there is with them, over what holds.
    ///
    /// # Errors
    /// They do not fit to it.
    pub fn drafted(&mut self, current: &Draft) -> Result<&Drafted, Vec<Fault>> {
        let drafted = match self.drafted.take() {
            Some(drafted) => drafted,
            None => Drafted::of(current.with(&self.edits)?)?,
        };
        Ok(self.drafted.insert(drafted))
    }

    /// These wait as well.
    ///
    /// # Errors
    /// They do not fit; then they do not wait.
    pub fn add(&mut self, current: &Draft, edits: &[Edit]) -> Result<(), Vec<Fault>> {
        let with_them = self.drafted(current)?.draft.with(edits)?;
        self.drafted = Some(Drafted::of(with_them)?);
        self.edits.extend_from_slice(edits);
        Ok(())
    }

    /// What waits for one load.
    pub fn of(&self, module: Module) -> Vec<Edit> {
        let edits = self.edits.iter().filter(|it| module.has(it));
        edits.cloned().collect()
    }

    /// What waits for one load waits no more.
    pub fn forget(&mut self, module: Module) {
        self.edits.retain(|it| !module.has(it));
        self.drafted = None;
    }

    /// Nothing waits any more; how many changes that were.
    pub fn forget_all(&mut self) -> usize {
        self.drafted = None;
        std::mem::take(&mut self.edits).len()
    }

    /// What holds has changed.
    pub fn draft_anew(&mut self) {
        self.drafted = None;
    }
}
