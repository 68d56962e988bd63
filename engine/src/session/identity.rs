//! Who a session is: its account, its login, its places in the registers of the process.

use std::rc::Rc;
use std::sync::Arc;

use auth::{KnownAccount, Scramble};
use config::ListenerConfig;
use wire::Greeting;

use backend::sub_pool::{BackendLogin, PoolKey};
use login::login_env::SessionPermit;
use registry::session_registry::Registration;
use stats::attribution::SessionAttribution;

/// Who one session is. The last fields are dropped last: the session is counted until all else has gone.
pub struct Identity {
    /// The account that has logged in.
    pub account: Arc<KnownAccount>,
    pub(crate) login: Rc<BackendLogin>,
    /// What makes backend connections interchangeable for this session.
    pub(crate) key: Rc<PoolKey>,
    /// To which account, schema and client its statements are attributed in the statistics.
    pub(crate) attribution: SessionAttribution,
    /// The scramble of the last greeting or switch request that the client has had.
    pub scramble: Scramble,
    /// The greeting that the client has had, without its id and its scramble.
    pub greeting: Rc<Greeting>,
    /// The listener that its client has come by.
    pub listener: Arc<ListenerConfig>,
    /// How many COM_CHANGE_USER were refused.
    pub(crate) refused_changes: u8,
    /// The id that the client sees.
    pub registered: Registration,
    pub(crate) permit: SessionPermit,
}
