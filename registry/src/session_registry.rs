//! The sessions by the ids that clients see, over all workers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use auth::AccountId;
use route::{BackendId, KillScope};
use tokio::sync::mpsc::UnboundedSender;
use wire::errors;

use link::failure::{Failure, FailureKind};
use link::memory::MemoryBudget;

/// The first id that clients see. Servers count their own connections from 1, so the two cannot be
/// confused for the first thousand million connections of a server.
pub const FIRST_ID: u32 = 0x4000_0000;
const LAST_ID: u32 = 0x7fff_ffff;

/// Whether an id is in the range of the proxy's ids, whether or not a session has it.
pub fn is_session_id(id: u32) -> bool {
    (FIRST_ID..=LAST_ID).contains(&id)
}

/// All sessions, over all workers. Locked at the start and the end of a session, and for KILL.
#[derive(Default)]
pub struct SessionRegistry {
    last: AtomicU32,
    known: Mutex<Entries>,
    /// The memory that all sessions keep.
    pub memory: Arc<MemoryBudget>,
}

#[derive(Default)]
struct Entries {
    by_id: HashMap<u32, Entry>,
    of_account: HashMap<AccountId, u32>,
    /// The channel to each worker.
    workers: Vec<Option<UnboundedSender<Kill>>>,
}

struct Entry {
    worker: usize,
    account: Option<AccountId>,
    /// The client's user name, by that account.
    user: Box<[u8]>,
    /// The session's own backend connection, if its login passed through; with a script, the current one.
    passed: Option<(BackendId, u32)>,
    /// The user of a session that runs a script over connections of its own.
    scripted: Option<Box<[u8]>>,
}

/// A request to stop a session or its statement.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    /// The id of the session to stop, as its client sees it.
    pub id: u32,
    /// The target of the kill: the session, or its statement.
    pub scope: KillScope,
    /// If set, the id belongs to this backend, which has killed a statement there: a hook that
    /// waits in the session with that connection must end too.
    pub at: Option<BackendId>,
    /// When the kill was requested: a statement that begins later is not killed.
    pub requested_at: Duration,
}

/// The result of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// The session was asked to end, or to end its statement.
    Told,
    /// No such session exists.
    Nobody,
    /// The kill is not possible, for this reason.
    Impossible(&'static str),
}

/// The owner of an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdOwner {
    /// The id belongs to no session of the proxy.
    Nobody,
    /// A session of this user, whose login the proxy has answered.
    Session(Box<[u8]>),
    /// A session with a backend connection of its own, which has this id there.
    Passed(BackendId, u32),
    /// A session of this user that runs a script and has given its connection away.
    Alone(Box<[u8]>),
}

/// A session's entry, for as long as it lives.
pub struct Registration {
    id: u32,
    session_registry: Arc<SessionRegistry>,
}

impl SessionRegistry {
    /// Registers the channel on which a worker receives kills.
    pub fn enlist(&self, worker: usize, inbox: UnboundedSender<Kill>) {
        let mut known = self.known();
        if known.workers.len() <= worker {
            known.workers.resize_with(worker + 1, || None);
        }
        known.workers[worker] = Some(inbox);
    }

    /// Registers a new session of `worker`, with an unused id.
    pub fn register(self: &Arc<Self>, worker: usize) -> Registration {
        let mut known = self.known();
        loop {
            let number = self.last.fetch_add(1, Ordering::Relaxed);
            let id = FIRST_ID + number % (LAST_ID - FIRST_ID);
            if let std::collections::hash_map::Entry::Vacant(vacant) = known.by_id.entry(id) {
                vacant.insert(Entry {
                    worker,
                    account: None,
                    user: Box::default(),
                    passed: None,
                    scripted: None,
                });
                let session_registry = Arc::clone(self);
                return Registration {
                    id,
                    session_registry,
                };
            }
        }
    }

    /// Returns what an id belongs to.
    pub fn find(&self, id: u32) -> IdOwner {
        match self.known().by_id.get(&id) {
            Some(Entry {
                passed: Some((backend, thread_id)),
                ..
            }) => IdOwner::Passed(*backend, *thread_id),
            Some(Entry {
                account: Some(_),
                user,
                ..
            }) => IdOwner::Session(user.clone()),
            Some(Entry {
                scripted: Some(user),
                ..
            }) => IdOwner::Alone(user.clone()),
            _ => IdOwner::Nobody,
        }
    }

    /// Returns the ids of a user's sessions that share connections or run a script.
    pub fn of_user(&self, user: &[u8]) -> Vec<u32> {
        let is_of_user = |entry: &Entry| match (&entry.account, &entry.scripted) {
            (Some(account), _) => account.user().as_bytes() == user,
            (None, Some(scripted)) => **scripted == *user,
            (None, None) => false,
        };
        let known = self.known();
        ids_of(&known.by_id, is_of_user)
    }

    /// Returns the ids of the sessions that share connections as one of these accounts.
    pub fn of_accounts(&self, is_one: impl Fn(&AccountId) -> bool) -> Vec<u32> {
        let known = self.known();
        let is_of_one = |entry: &Entry| entry.account.as_ref().is_some_and(&is_one);
        ids_of(&known.by_id, is_of_one)
    }

    /// Returns the user of a session that has a script and connections of its own.
    pub fn scripted_user(&self, id: u32) -> Option<Box<[u8]>> {
        self.known().by_id.get(&id)?.scripted.clone()
    }

    /// Sends a kill to the worker of the session. If the session has ended, nothing has to be done.
    pub fn kill(&self, kill: Kill) {
        let known = self.known();
        let worker = known.by_id.get(&kill.id).map(|entry| entry.worker);
        let inbox = worker.and_then(|worker| known.workers.get(worker)?.as_ref());
        if let Some(inbox) = inbox {
            let _ = inbox.send(kill);
        }
    }

    /// Tells all workers that a backend has killed a statement.
    pub fn end_hook_at(&self, backend: BackendId, thread_id: u32) {
        for inbox in self.known().workers.iter().flatten() {
            let _ = inbox.send(Kill {
                id: thread_id,
                scope: KillScope::Statement,
                at: Some(backend),
                requested_at: Duration::ZERO,
            });
        }
    }

    fn known(&self) -> MutexGuard<'_, Entries> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Returns the id that the client sees.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Notes the session's account and user, if the account may have one more session.
    ///
    /// # Errors
    /// The account has as many sessions as it may; the error for the client.
    pub fn introduce(
        &mut self,
        account: &AccountId,
        user: &[u8],
        sessions_max: Option<u32>,
    ) -> Result<(), Failure> {
        let mut known = self.session_registry.known();
        known.leave_account(self.id);
        let count = known.of_account.entry(account.clone()).or_default();
        if sessions_max.is_some_and(|max| *count >= max) {
            let user = String::from_utf8_lossy(user);
            let error = errors::account_sessions_max(user);
            return Err(Failure::saying(FailureKind::AccountSessionsMax, error));
        }
        *count += 1;
        if let Some(entry) = known.by_id.get_mut(&self.id) {
            entry.account = Some(account.clone());
            entry.user = user.into();
        }
        Ok(())
    }

    /// Notes that the session belongs to no known account any more.
    pub fn leave_account(&mut self) {
        self.session_registry.known().leave_account(self.id);
    }

    /// Notes that all statements of the session go to one backend connection from now on.
    pub fn bind_to_thread(&mut self, backend: BackendId, thread_id: u32) {
        if let Some(entry) = self.session_registry.known().by_id.get_mut(&self.id) {
            entry.passed = Some((backend, thread_id));
        }
    }

    /// Notes that the session runs a script for this user, with this connection if it has one now.
    pub fn runs_script(&mut self, user: &[u8], at: Option<(BackendId, u32)>) {
        if let Some(entry) = self.session_registry.known().by_id.get_mut(&self.id) {
            entry.scripted = Some(user.into());
            entry.passed = at;
        }
    }
}

impl Entries {
    fn leave_account(&mut self, id: u32) {
        let account = self
            .by_id
            .get_mut(&id)
            .and_then(|entry| entry.account.take());
        if let Some(account) = account
            && let Some(count) = self.of_account.get_mut(&account)
        {
            *count -= 1;
            if *count == 0 {
                self.of_account.remove(&account);
            }
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut known = self.session_registry.known();
        known.leave_account(self.id);
        known.by_id.remove(&self.id);
    }
}

/// Returns the ids of the sessions that fit, in ascending order.
fn ids_of(by_id: &HashMap<u32, Entry>, is_one: impl Fn(&Entry) -> bool) -> Vec<u32> {
    let found = by_id.iter().filter(|(_, entry)| is_one(entry));
    let mut ids: Vec<_> = found.map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_of_an_anonymous_account_is_its_own_users() {
        let accounts = [b"alice".as_slice(), b"bob"].map(|user| {
            let host = auth::HostPattern::any(auth::Dialect::MySql);
            (user, auth::Account::new("", host, Vec::new()))
        });
        let session_registry = Arc::new(SessionRegistry::default());
        let rules = auth::Rules {
            dialect: auth::Dialect::MySql,
            names: auth::Names::Skipped,
        };
        for (user, account) in accounts {
            let directory = auth::Directory::new(rules, [account], [0; 32]);
            let found = directory.find(user, &auth::Origin::unix());
            let account = found.expect("everybody is found");
            let mut registration = session_registry.register(0);
            let is_in = registration.introduce(account.id(), user, Some(1)).is_ok();
            assert!(is_in, "each was the only session");
            assert_eq!(
                session_registry.find(registration.id()),
                IdOwner::Session(user.into())
            );
        }
    }

    #[test]
    fn a_session_id_finds_its_session_until_the_session_ends() {
        let session_registry = Arc::new(SessionRegistry::default());
        let mut registration = session_registry.register(0);
        assert_eq!(session_registry.find(registration.id()), IdOwner::Nobody);
        registration.bind_to_thread(BackendId(3), 77);
        let id = registration.id();
        assert_eq!(session_registry.find(id), IdOwner::Passed(BackendId(3), 77));
        assert_ne!(session_registry.register(0).id(), id);
        registration.runs_script(b"me", None);
        assert_eq!(session_registry.find(id), IdOwner::Alone(b"me"[..].into()));
        registration.runs_script(b"me", Some((BackendId(4), 78)));
        assert_eq!(session_registry.find(id), IdOwner::Passed(BackendId(4), 78));
        assert_eq!(
            session_registry.scripted_user(id).as_deref(),
            Some(&b"me"[..])
        );
        drop(registration);
        assert_eq!(session_registry.find(id), IdOwner::Nobody);
    }
}
