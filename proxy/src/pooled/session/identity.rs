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
pub(crate) struct Identity {
    pub account: Arc<KnownAccount>,
    pub login: Rc<BackendLogin>,
    /// What makes backend connections interchangeable for this session.
    pub key: Rc<PoolKey>,
    /// To which account, schema and client its statements are attributed in the statistics.
    pub attribution: SessionAttribution,
    /// The scramble of the last greeting or switch request that the client has had.
    pub scramble: Scramble,
    pub greeting: Rc<Greeting>,
    pub listener: Arc<ListenerConfig>,
    /// How many COM_CHANGE_USER were refused.
    pub refused_changes: u8,
    pub registered: Registration,
    pub place: SessionPermit,
}
