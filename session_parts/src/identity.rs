//! The identity of a session: its account, its login, its places in the registers of the process.

use std::rc::Rc;
use std::sync::Arc;

use auth::{KnownAccount, Scramble};
use config::ListenerConfig;
use wire::{Capabilities, Greeting};

use backend::sub_pool::{BackendLogin, PoolKey};
use link::failure::Failure;
use login::login_env::SessionPermit;
use registry::session_registry::Registration;
use route::BackendId;
use session::state::Values;
use stats::attribution::{Attribution, SessionAttribution};
use system::HashKeys;

/// An account that has logged in, and the connections that it gets.
pub struct AccountLogin {
    /// The account.
    pub account: Arc<KnownAccount>,
    /// The login of the session's backend connections.
    pub login: Rc<BackendLogin>,
    /// The key of interchangeable backend connections for the session.
    pub key: Rc<PoolKey>,
}

/// The identity of one session. The last fields are dropped last: the session is counted until everything else is gone.
pub struct Identity {
    account_login: AccountLogin,
    /// The account, schema and client that its statements are attributed to in the statistics.
    attribution: SessionAttribution,
    /// The scramble of the last greeting or switch request that the client has had.
    scramble: Scramble,
    /// The greeting that the client has had, without its id and its scramble.
    greeting: Rc<Greeting>,
    /// The listener that the client has connected to.
    listener: Arc<ListenerConfig>,
    /// The number of COM_CHANGE_USER that were refused.
    refused_changes: u8,
    /// The session's id, which the client sees, and its place among the sessions that the proxy serves.
    places: (Registration, SessionPermit),
}

impl Identity {
    /// The identity of a session whose client has logged in.
    pub fn new(
        account_login: AccountLogin,
        scramble: Scramble,
        greeting: Rc<Greeting>,
        listener: Arc<ListenerConfig>,
        places: (Registration, SessionPermit),
    ) -> Self {
        Self {
            account_login,
            attribution: SessionAttribution::default(),
            scramble,
            greeting,
            listener,
            refused_changes: 0,
            places,
        }
    }

    /// The identity of a shadow session of the same account.
    pub fn double(&self, places: (Registration, SessionPermit)) -> Self {
        let account_login = AccountLogin {
            account: Arc::clone(self.account()),
            login: Rc::clone(self.login()),
            key: Rc::clone(self.key()),
        };
        let (greeting, listener) = (Rc::clone(&self.greeting), Arc::clone(&self.listener));
        Self::new(account_login, self.scramble, greeting, listener, places)
    }

    /// The account that has logged in.
    #[inline]
    pub fn account(&self) -> &Arc<KnownAccount> {
        &self.account_login.account
    }

    /// The login of the session's backend connections.
    #[inline]
    pub fn login(&self) -> &Rc<BackendLogin> {
        &self.account_login.login
    }

    /// Returns the key of interchangeable backend connections for this session.
    #[inline]
    pub fn key(&self) -> &Rc<PoolKey> {
        &self.account_login.key
    }

    /// The scramble of the last greeting or switch request that the client has had.
    pub fn scramble(&self) -> &Scramble {
        &self.scramble
    }

    /// The greeting that the client has had, without its id and its scramble.
    pub fn greeting(&self) -> &Rc<Greeting> {
        &self.greeting
    }

    /// The listener that the client has connected to.
    #[inline]
    pub fn listener(&self) -> &Arc<ListenerConfig> {
        &self.listener
    }

    /// The id that the client sees.
    #[inline]
    pub fn id(&self) -> u32 {
        self.places.0.id()
    }

    /// The account, schema and client that the session's statements are attributed to in the statistics.
    #[inline]
    pub fn attribution(&mut self, keys: &HashKeys, values: &Rc<Values>) -> &Arc<Attribution> {
        (self.attribution).of(keys, &self.account_login.account, values)
    }

    /// Makes the session this account's. Returns the former account.
    pub fn replace_account(&mut self, account_login: AccountLogin) -> AccountLogin {
        std::mem::replace(&mut self.account_login, account_login)
    }

    /// Counts the session as its account's.
    ///
    /// # Errors
    /// The account already has as many sessions as it may have.
    pub fn introduce(&mut self, sessions_max: Option<u32>) -> Result<(), Failure> {
        let AccountLogin { account, key, .. } = &self.account_login;
        (self.places.0).introduce(account.id(), &key.user, sessions_max)
    }

    /// Notes that the session has a connection of its own from now on, and that the server counts it.
    pub fn bind_to_thread(&mut self, backend: BackendId, thread_id: u32) {
        self.places.0.bind_to_thread(backend, thread_id);
    }

    /// Notes that the session counts for no account any more.
    pub fn leave_account(&mut self) {
        self.places.0.leave_account();
    }

    /// The session's place among the sessions of its account and among all, for a relayed session.
    pub fn into_places(self) -> (Registration, SessionPermit) {
        self.places
    }

    /// The number of COM_CHANGE_USER that were refused.
    pub fn refused_changes(&self) -> u8 {
        self.refused_changes
    }

    /// Notes that a COM_CHANGE_USER was refused.
    pub fn note_refused_change(&mut self) {
        self.refused_changes = self.refused_changes.saturating_add(1);
    }

    /// Gives the session's connections another collation from now on.
    pub fn set_collation(&mut self, collation: u16) {
        Rc::make_mut(&mut self.account_login.key).collation = collation;
    }

    /// Switches a capability of the session's connections on or off from now on.
    pub fn set_capability(&mut self, capability: Capabilities, is_on: bool) {
        let key = Rc::make_mut(&mut self.account_login.key);
        key.capabilities = key.capabilities.with(capability, is_on);
    }
}
