//! Where a stream learns what changed objects are now: the server that it follows, over a second connection that is opened
//! when it is first needed.

use std::sync::Arc;

use config::ReplicationConfig;
use route::Backend;

use crate::change::Change;
use crate::definition_reader::DefinitionReader;
use crate::error::StreamError;
use crate::object::{ObjectKind, ObjectName};
use crate::position::Position;
use crate::shared::Shared;
use crate::store::{Definition, Observed};

/// What objects are, and where the server's log ended when the server had said so.
pub(crate) type Observation = (Vec<Observed>, Position);

/// See the module.
pub(crate) struct DefinitionSource {
    shared: Shared,
    settings: ReplicationConfig,
    backend: Arc<Backend>,
    reader: Option<DefinitionReader>,
}

impl DefinitionSource {
    /// Not connected yet.
    pub fn new(shared: Shared, settings: ReplicationConfig, backend: Arc<Backend>) -> Self {
        Self {
            shared,
            settings,
            backend,
            reader: None,
        }
    }

    /// What the objects are now.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub async fn observe(&mut self, objects: &[ObjectName]) -> Result<Observation, StreamError> {
        // The connection may have been idle for longer than the server allows.
        if let Some(mut open) = self.reader.take()
            && let Ok(observation) = self.ask_all(&mut open, objects).await
        {
            self.reader = Some(open);
            return Ok(observation);
        }
        let client = self.shared.log_in(&self.settings, &self.backend).await?;
        let mut fresh = DefinitionReader::begin(client).await?;
        let observation = self.ask_all(&mut fresh, objects).await?;
        self.reader = Some(fresh);
        Ok(observation)
    }

    async fn ask_all(
        &self,
        reader: &mut DefinitionReader,
        objects: &[ObjectName],
    ) -> Result<Observation, StreamError> {
        let mut all = Vec::new();
        for object in objects {
            let observed = reader.ask(object).await?;
            // A table takes its triggers with it.
            if observed.definition == Definition::Gone && object.kind == ObjectKind::Table {
                let only = Some((object.schema.as_str(), ObjectKind::Trigger));
                let name = &self.settings.name;
                let triggers = self.shared.store.borrow().present(name, only)?;
                for trigger in triggers {
                    all.push(reader.ask(&trigger).await?);
                }
            }
            all.push(observed);
        }
        let end = reader.note_end(&mut all).await?;
        Ok((all, end))
    }
}

/// The objects whose definitions changes may have changed.
pub(crate) fn objects_of(changes: &[Change]) -> Vec<ObjectName> {
    let mut objects = Vec::new();
    for change in changes.iter().filter(|it| !it.is_of_rows) {
        objects.extend_from_slice(&change.objects);
    }
    objects.dedup();
    objects
}
