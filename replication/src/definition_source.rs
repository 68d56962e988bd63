//! Reads the new definitions of changed objects from the followed server, over a second connection. It is opened
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

/// The definitions, and the end of the server's log right after they were read.
pub(crate) type Observation = (Vec<Observed>, Position);

/// The source of definitions for one stream.
pub(crate) struct DefinitionSource {
    shared: Shared,
    settings: ReplicationConfig,
    backend: Arc<Backend>,
    reader: Option<DefinitionReader>,
}

impl DefinitionSource {
    /// Starts without a connection.
    pub fn new(shared: Shared, settings: ReplicationConfig, backend: Arc<Backend>) -> Self {
        Self {
            shared,
            settings,
            backend,
            reader: None,
        }
    }

    /// Reads the current definitions of objects.
    ///
    /// # Errors
    /// The query fails.
    pub async fn observe(&mut self, objects: &[ObjectName]) -> Result<Observation, StreamError> {
        // The server may have closed the connection because it was idle; then connect again.
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
            // DROP TABLE also drops the table's triggers, so read those of the schema, too.
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

/// Returns the objects whose definitions may have changed.
pub(crate) fn objects_of(changes: &[Change]) -> Vec<ObjectName> {
    let mut objects = Vec::new();
    for change in changes.iter().filter(|it| !it.is_of_rows) {
        objects.extend_from_slice(&change.objects);
    }
    objects.dedup();
    objects
}
