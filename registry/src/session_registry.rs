//! Who is here: the ids that clients see, and where to find whom they belong to.

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

/// The first id that clients see. Servers count their own connections from 1, so that the two are not
/// mistaken for one another for the first thousand million connections of a server.
pub const FIRST_ID: u32 = 0x4000_0000;
const LAST_ID: u32 = 0x7fff_ffff;

/// Whether an id is one of those that the proxy gives out, with or without a session that has it.
pub fn is_session_id(id: u32) -> bool {
    (FIRST_ID..=LAST_ID).contains(&id)
}

/// Everybody, over all workers. Locked at a session's start and end, and for KILL.
#[derive(Default)]
pub struct SessionRegistry {
    last: AtomicU32,
    known: Mutex<Entries>,
    /// What all of them keep.
    pub memory: Arc<MemoryBudget>,
}

#[derive(Default)]
struct Entries {
    by_id: HashMap<u32, Entry>,
    of_account: HashMap<AccountId, u32>,
    /// How each worker is told.
    workers: Vec<Option<UnboundedSender<Kill>>>,
}

struct Entry {
    worker: usize,
    account: Option<AccountId>,
    /// The user that its client is by that account.
    user: Box<[u8]>,
    /// Where it is for good, when its login passed through; with a script, where it is now.
    passed: Option<(BackendId, u32)>,
    /// Whose it is, where it runs a script over connections of its own.
    scripted: Option<Box<[u8]>>,
}

/// A session's wish that another one be stopped.
#[derive(Debug, Clone, Copy)]
pub struct Kill {
    /// The id of the session to stop, as its client sees it.
    pub id: u32,
    /// The session, or its statement.
    pub scope: KillScope,
    /// The id is one of this backend's, which has killed a statement there: hooks that wait in a session
    /// with that connection are to end as well.
    pub at: Option<BackendId>,
    /// When it was said: what a session begins later is not meant.
    pub requested_at: Duration,
}

/// What has come of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// The session has been told to end, or to have its statement ended.
    Told,
    /// There is no such session.
    Nobody,
    /// It cannot be done, for this reason.
    Impossible(&'static str),
}

/// Where an id leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdOwner {
    /// No session of the proxy's.
    Nobody,
    /// A session of this user's, whose login was answered here.
    Session(Box<[u8]>),
    /// A session that has a backend connection of its own, with this id there.
    Passed(BackendId, u32),
    /// A session of this user's that runs a script, which has given its connection away.
    Alone(Box<[u8]>),
}

/// A session's entry, for as long as it lives.
pub struct Registration {
    id: u32,
    session_registry: Arc<SessionRegistry>,
}

impl SessionRegistry {
    /// Says how a worker is told of kills.
    pub fn enlist(&self, worker: usize, inbox: UnboundedSender<Kill>) {
        let mut known = self.known();
        if known.workers.len() <= worker {
            known.workers.resize_with(worker + 1, || None);
        }
        known.workers[worker] = Some(inbox);
    }

    /// A new session of `worker`, whose id nobody else has.
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

    /// Where an id leads.
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

    /// The sessions of a user's that share connections, or run a script.
    pub fn of_user(&self, user: &[u8]) -> Vec<u32> {
        let is_of_user = |entry: &Entry| match (&entry.account, &entry.scripted) {
            (Some(account), _) => account.user().as_bytes() == user,
            (None, Some(scripted)) => **scripted == *user,
            (None, None) => false,
        };
        let known = self.known();
        ids_of(&known.by_id, is_of_user)
    }

    /// The sessions that share connections as one of these accounts.
    pub fn of_accounts(&self, is_one: impl Fn(&AccountId) -> bool) -> Vec<u32> {
        let known = self.known();
        let is_of_one = |entry: &Entry| entry.account.as_ref().is_some_and(&is_one);
        ids_of(&known.by_id, is_of_one)
    }

    /// Whose session with a script and a connection of its own it is.
    pub fn scripted_user(&self, id: u32) -> Option<Box<[u8]>> {
        self.known().by_id.get(&id)?.scripted.clone()
    }

    /// Tells the worker of a session. What is not there any more needs no kill.
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
    /// The id that its client sees.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Says who it is, if its account may have one session more.
    ///
    /// # Errors
    /// It may not: what the client is told.
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

    /// It is of no account that is known here any more.
    pub fn leave_account(&mut self) {
        self.session_registry.known().leave_account(self.id);
    }

    /// All its statements go to one backend connection from now on.
    pub fn bind_to_thread(&mut self, backend: BackendId, thread_id: u32) {
        if let Some(entry) = self.session_registry.known().by_id.get_mut(&self.id) {
            entry.passed = Some((backend, thread_id));
        }
    }

    /// It runs a script for this user, with this connection if it has one now.
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

/// The ids of these sessions, from the oldest on.
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
    fn an_id_leads_to_its_session_until_that_ends() {
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
