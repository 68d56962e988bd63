//! Publishes snapshots of the accounts: the configured half comes from the handle, so that it changes with the
//! configuration; the learned half comes from the control loop.

use std::io;
use std::sync::Arc;

use auth::{Account, Accounts, Directory, FaultyAccount, Learned};
use config::{Config, OtherAccounts};
use net::watch;
use route::{Definitions, Moment};
use system::Entropy;

use crate::definitions::FetchedDefinitions;

/// Publishes the current accounts. All copies publish to the same receivers.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotPublisher {
    accounts: Arc<watch::Sender<Arc<Accounts>>>,
    definitions: Arc<watch::Sender<Arc<Definitions>>>,
    /// The secret by which each directory hides which users it does not know.
    secret: [u8; 32],
}

impl SnapshotPublisher {
    /// Publishes the accounts of `config`.
    ///
    /// # Errors
    /// Accounts that cannot be used, or a system without randomness.
    pub(crate) fn new(config: &Config, entropy: &Entropy) -> io::Result<SnapshotPublisher> {
        let secret = entropy.bytes().map_err(io::Error::other)?;
        let configured =
            configured(config, secret).map_err(|faulty| io::Error::other(list(&faulty)))?;
        let learned = match config.accounts.learn {
            true => Learned::Awaited,
            false => Learned::Off,
        };
        let accounts = Arc::new(Accounts::new(configured, learned));
        Ok(SnapshotPublisher {
            accounts: Arc::new(watch::Sender::new(accounts)),
            definitions: Arc::new(watch::Sender::new(Arc::default())),
            secret,
        })
    }

    /// Publishes the accounts of another configuration. The learned accounts stay, if the configuration wants them.
    ///
    /// # Errors
    /// Accounts that cannot be used; nothing is changed then.
    pub(crate) fn configure(&self, config: &Config) -> Result<(), Vec<FaultyAccount>> {
        let configured = configured(config, self.secret)?;
        let learns = config.accounts.learn;
        self.accounts.send_modify(|accounts| {
            *accounts = Arc::new(accounts.reconfigured(configured, learns));
        });
        Ok(())
    }

    /// Whether [`Self::configure`] would accept the accounts.
    pub(crate) fn check(&self, config: &Config) -> Result<(), Vec<FaultyAccount>> {
        configured(config, self.secret).map(drop)
    }

    /// Publishes the outcome of an attempt to learn: all accounts, or `None` if they are unchanged.
    pub(crate) fn teach(&self, news: Option<Arc<Directory>>, begun: Moment) {
        self.accounts
            .send_modify(|accounts| *accounts = Arc::new(accounts.taught(news, begun.0)));
    }

    /// Publishes the answer to a question for the accounts of a few users: their accounts, or `None` without an answer.
    pub(crate) fn teach_of(&self, users: &[String], found: Option<Vec<Account>>, begun: Moment) {
        self.accounts
            .send_modify(|accounts| *accounts = Arc::new(accounts.checked(users, found, begun.0)));
    }

    /// Publishes the definitions. If a cluster could not be asked, its known definitions stay.
    pub(crate) fn define(&self, told: Vec<FetchedDefinitions>) {
        let before = Arc::clone(&self.definitions.borrow());
        let mut definitions = Definitions::clone(&before);
        let mut is_new = false;
        for told in told {
            let Ok(known) = told.outcome else {
                continue;
            };
            if before.of(told.cluster) != Some(&known) {
                is_new = true;
                definitions = definitions.with(told.cluster, known);
            }
        }
        if is_new {
            self.definitions.send_replace(Arc::new(definitions));
        }
    }

    /// Publishes empty definitions, because they are not learned any more.
    pub(crate) fn forget_definitions(&self) {
        let is_known = self.definitions.borrow().clusters().next().is_some();
        if is_known {
            self.definitions.send_replace(Arc::default());
        }
    }

    /// A receiver of the definitions, for the data plane.
    pub(crate) fn definitions(&self) -> watch::Receiver<Arc<Definitions>> {
        self.definitions.subscribe()
    }

    /// The directory that was learned last.
    pub(crate) fn learned(&self) -> Option<Arc<Directory>> {
        self.accounts.borrow().learned().cloned()
    }

    /// The secret for [`Directory::new`].
    pub(crate) fn secret(&self) -> [u8; 32] {
        self.secret
    }

    /// A receiver of the accounts, for the data plane.
    pub(crate) fn receiver(&self) -> watch::Receiver<Arc<Accounts>> {
        self.accounts.subscribe()
    }
}

/// The directory of the configured accounts.
fn configured(config: &Config, secret: [u8; 32]) -> Result<Directory, Vec<FaultyAccount>> {
    let refuses_unknown_users = config.accounts.others == OtherAccounts::Refuse;
    let configured = auth::configured(&config.configured_accounts, secret)?;
    Ok(configured.refusing_unknown_users(refuses_unknown_users))
}

fn list(faulty: &[FaultyAccount]) -> String {
    let texts: Vec<_> = faulty.iter().map(ToString::to_string).collect();
    texts.join("; ")
}
