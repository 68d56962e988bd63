//! Replication: a replica takes its source's groups over and applies each some time after its commit.

use std::rc::{Rc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::history::{Change, Committed};
use super::model::Server;
use super::table::Table;

/// How a replica stands, as SHOW REPLICA STATUS tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Is anything coming?
    pub receiver: &'static str,
    /// Is it applied?
    pub applier: &'static str,
    /// Seconds behind the source; none while one of the two does not run.
    pub behind: Option<u64>,
}

impl Server {
    /// Becomes a replica that applies the source's groups `delay` after their commit; without a source, a primary.
    /// What has come from another source and was not applied is dropped.
    pub fn follow(self: &Rc<Self>, source: Option<&Rc<Self>>, delay: Duration) {
        let replication = &self.replication;
        let generation = replication.generation.get() + 1;
        replication.generation.set(generation);
        replication.relay.borrow_mut().clear();
        replication.received.set(None);
        replication.delay.set(delay);
        *replication.source.borrow_mut() = source.cloned();
        replication.is_running.set(source.is_some());
        replication.changed.notify_waiters();
        if let Some(source) = source {
            let (replica, source) = (Rc::downgrade(self), Rc::downgrade(source));
            tokio::task::spawn_local(replicate(replica, source, generation));
        }
    }

    /// Stops both threads of a replica.
    pub fn stop_replica(&self) {
        self.replication.is_running.set(false);
        self.replication.changed.notify_waiters();
    }

    /// Starts them again.
    pub fn start_replica(&self) {
        self.replication
            .is_running
            .set(self.replication.source.borrow().is_some());
        self.replication.changed.notify_waiters();
    }

    /// How it stands; none of a primary.
    pub fn standing(&self) -> Option<Standing> {
        let replication = &self.replication;
        let source = replication.source.borrow();
        let source = source.as_ref()?;
        let is_running = replication.is_running.get();
        let is_reached = source.is_up();
        let oldest = replication.relay.borrow().front().map(|it| it.at);
        let behind = oldest.map_or(0, |at| Instant::now().duration_since(at).as_secs());
        Some(Standing {
            receiver: match (is_running, is_reached) {
                (false, _) => "No",
                (true, true) => "Yes",
                (true, false) => "Connecting",
            },
            applier: if is_running { "Yes" } else { "No" },
            behind: (is_running && is_reached).then_some(behind),
        })
    }

    /// Takes over what the source has committed and this server has not.
    fn receive(&self, source: &Self) {
        if !source.is_up() || source.state.is_frozen.get() {
            return;
        }
        let log = source.history.log();
        let place = &self.replication.received;
        let executed = self.history.executed();
        // What is missing at first are the last groups of the log.
        let missing = || {
            log.iter()
                .rposition(|it| executed.has(&it.gtid))
                .map_or(0, |at| at + 1)
        };
        let from = place.get().unwrap_or_else(missing).min(log.len());
        place.set(Some(log.len()));
        let mut relay = self.replication.relay.borrow_mut();
        relay.extend(log[from..].iter().cloned());
    }

    /// Applies what is due. When the next one is, if there is one.
    fn apply_due(&self) -> Option<Instant> {
        let now = Instant::now();
        loop {
            let due = self.replication.relay.borrow().front().map(|it| it.at)?;
            let due = due + self.replication.delay.get();
            if due > now {
                return Some(due);
            }
            let group = self.replication.relay.borrow_mut().pop_front()?;
            self.apply(group);
        }
    }

    fn apply(&self, group: Committed) {
        let at = self.history.next_commit();
        let oldest = self.history.oldest_view().unwrap_or(at);
        for change in group.changes.iter() {
            self.apply_change(change, at, oldest);
        }
        if self.options.observer.is_some() {
            let gtid = &group.gtid.to_string();
            self.tell(&super::options::Event::Committed {
                connection: 0,
                gtid,
            });
        }
        self.history.push_applied(Committed {
            connection: 0,
            ..group
        });
    }

    fn apply_change(&self, change: &Change, at: u64, oldest: u64) {
        match change {
            Change::Row(schema, name, key, row) => {
                let table: Option<Rc<Table>> = self.catalogue.table(schema, name);
                if let Some(table) = table {
                    table.apply(key, at, oldest, row.clone());
                }
            }
            Change::CreateTable(shape) => {
                self.catalogue.put_table(shape.clone());
            }
            Change::DropTable(schema, name) => {
                self.catalogue.drop_table(schema, name);
            }
            Change::CreateSchema(name) => {
                self.catalogue.create_schema(name);
            }
            Change::DropSchema(name) => {
                self.catalogue.drop_schema(name);
            }
        }
    }
}

/// The life of a replica's threads, until the replica follows another source.
async fn replicate(replica: Weak<Server>, source: Weak<Server>, generation: u64) {
    loop {
        let (Some(replica), Some(source)) = (replica.upgrade(), source.upgrade()) else {
            return;
        };
        let replication = &replica.replication;
        if replication.generation.get() != generation {
            return;
        }
        // Whatever happens from here on wakes the task.
        let changed = replication.changed.notified();
        let committed = source.history.committed.notified();
        let back = source.replication.changed.notified();
        let is_working =
            replica.is_up() && !replica.state.is_frozen.get() && replication.is_running.get();
        let due = match is_working {
            true => {
                replica.receive(&source);
                replica.apply_due()
            }
            false => None,
        };
        let due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = changed => {}
            () = committed => {}
            () = back => {}
            () = due => {}
        }
    }
}
