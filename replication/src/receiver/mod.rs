//! The receivers of schema changes: a program, a webhook, a Lua script. Each receiver gets the changes in order,
//! one at a time, at least once, and again after a failure. No receiver waits for another.

mod program;
mod script;
mod webhook;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use config::Config;
use net::watch;
use system::Clock;
use tokio::time::sleep;

use crate::store::{Store, UndeliveredChange};
use script::Scripts;

/// The first wait after a failure. It doubles up to the longest.
const WAIT_FIRST: Duration = Duration::from_secs(1);
/// The longest wait after a failure.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A receiver of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// `schema_history.hook`
    Program,
    /// `schema_history.webhook`
    Webhook,
    /// `schema_history.script`
    Script,
}

impl Receiver {
    /// All receivers.
    pub const ALL: [Self; 3] = [Self::Program, Self::Webhook, Self::Script];

    /// The name in the database and the log: the receiver's setting.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "hook",
            Self::Webhook => "webhook",
            Self::Script => "script",
        }
    }

    /// Whether the receiver is configured.
    fn is_set(self, config: &Config) -> bool {
        let history = &config.schema_history;
        match self {
            Self::Program => !history.hook.is_empty(),
            Self::Webhook => history.webhook.is_some(),
            Self::Script => history.script.is_some(),
        }
    }

    /// Delivers one change. If this returns Ok, the receiver has taken the change.
    async fn deliver(
        self,
        config: &Arc<Config>,
        scripts: &mut Scripts,
        change: &UndeliveredChange,
    ) -> Result<(), String> {
        let history = &config.schema_history;
        match self {
            Self::Program => program::run(&history.hook, history.timeout_hook, change).await,
            Self::Webhook => webhook::post(history, change).await,
            Self::Script => scripts.call(config, change).await,
        }
    }
}

/// Delivers changes to a receiver until the streams end.
pub async fn deliver_changes(
    receiver: Receiver,
    mut configs: watch::Receiver<Arc<Config>>,
    store: Rc<RefCell<Store>>,
    mut written: watch::Receiver<()>,
    clock: Clock,
) {
    let mut wait = WAIT_FIRST;
    let mut scripts = Scripts::new(clock);
    loop {
        let config = Arc::clone(&configs.borrow_and_update());
        written.borrow_and_update();
        let told = match due(receiver, &store, &config) {
            Ok(Some(change)) => {
                let told = receiver.deliver(&config, &mut scripts, &change).await;
                told.and_then(|()| mark_delivered(receiver, &store, change.id))
            }
            Ok(None) => {
                tokio::select! {
                    changed = written.changed() => if changed.is_err() { return },
                    changed = configs.changed() => if changed.is_err() { return },
                }
                continue;
            }
            Err(error) => Err(error),
        };
        match told {
            Ok(()) => wait = WAIT_FIRST,
            Err(error) => {
                tracing::warn!(
                    kind = "schema_hook_failed",
                    receiver = receiver.name(),
                    error,
                    ?wait,
                    "schema_history.{} has failed for a change; the proxy tells it again after the wait",
                    receiver.name()
                );
                tokio::select! {
                    () = sleep(wait) => wait = (wait * 2).min(WAIT_MAX),
                    changed = configs.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}

/// Returns the next change to deliver.
fn due(
    receiver: Receiver,
    store: &RefCell<Store>,
    config: &Config,
) -> Result<Option<UndeliveredChange>, String> {
    let store = store.borrow();
    let due = match receiver.is_set(config) {
        true => store.next_undelivered(receiver.name()),
        false => store.forget_receiver(receiver.name()).map(|()| None),
    };
    due.map_err(|error| error.to_string())
}

fn mark_delivered(receiver: Receiver, store: &RefCell<Store>, id: i64) -> Result<(), String> {
    let marked = store.borrow().mark_delivered(receiver.name(), id);
    marked.map_err(|error| error.to_string())
}
