//! From an examined login to a session: tries the schema, and sends the client OK.

use std::rc::Rc;
use std::sync::Arc;

use auth::KnownAccount;
use config::{PinRule, SessionMode, UnpinRule};
use pool::ClientStatements;
use session::state::{Hold, Pin, Pins, Rules, SessionState};
use wire::Capabilities;
use wire::compression::{Algorithm, Remote};

use crate::engine_env::EngineEnv;
use crate::routing::routing_state::RoutingState;
use crate::routing::session_routing::Routing;
use crate::session::{Explainer, PooledSession};
use backend::greeting::server_of;
use backend::prepared_statement::StatementKey;
use backend::secure::compress;
use backend::settings::Settings;
use backend::sub_pool::{BackendLogin, PoolKey};
use command::current_command::CurrentCommand;
use command::target::CommandTarget;
use link::failure::Failure;
use link::packets::PacketStream;
use link::session_end::lost_at_login;
use login::login_env::SessionPermit;
use login::redirect::first_ok;
use login::server_login::{AdmittedLogin, STATUS_FIRST};
use registry::session_control::SessionControl;
use relay::outcome::SessionError;
use script_host::shadow_queue::Reflection;
use session_parts::client_side::ClientSide;
use session_parts::held::Held;
use session_parts::identity::{AccountLogin, Identity};
use session_parts::sql_state::SqlState;
use session_parts::tracking::Tracking;

/// The most statements one client may have prepared at once: the servers' bound for all clients.
pub(crate) const STATEMENTS_MAX: usize = 16_382;

/// The statements that one client of this proxy may have prepared.
pub(crate) fn client_statements(settings: &Settings) -> ClientStatements<StatementKey> {
    let long_data_max = settings.config.pool.long_data_bytes_max;
    ClientStatements::new(
        STATEMENTS_MAX,
        usize::try_from(long_data_max).unwrap_or(usize::MAX),
    )
}

/// Makes a session of a login that was examined. The client gets no reply yet.
///
/// # Errors
/// No backend takes the account, or its schema.
pub async fn begin(
    env: &Rc<EngineEnv>,
    explainer: &'static dyn Explainer,
    control: &Rc<SessionControl>,
    settings: &Arc<Settings>,
    client: &PacketStream,
    admission: AdmittedLogin,
    place: SessionPermit,
) -> Result<StartedSession, Failure> {
    let capabilities = admission.capabilities();
    let (account, mode) = (admission.account, admission.mode);
    let login = BackendLogin::of(&account, &admission.user, admission.credential);
    let key = PoolKey {
        account: account.id().clone(),
        user: admission.user,
        capabilities: capabilities.with(Capabilities::SESSION_TRACK, true),
        collation: u16::from(admission.collation),
    };
    let (key, login) = env.pool_env.store.identity(key, login);
    let values = match &admission.schema {
        Some(schema) => env.pool_env.store.values.in_schema(schema),
        None => env.pool_env.store.values.fresh(),
    };
    // Later changes of global variables do not apply to this session.
    let inherits_at = env.pool_env.shared.globals.now();
    let server = server_of(&admission.greeting);
    let flags = env.pool.fresh_flags(key.collation, server);
    let config = &settings.config;
    let state = RoutingState::of(&env.relay, config, &admission.listener, Some(&account));
    let mut session = PooledSession {
        client: ClientSide::new(
            (client.privacy(), client.tls().map(Box::new)),
            (capabilities, admission.login_capabilities),
            STATUS_FIRST,
            (admission.origin, admission.header),
        ),
        held: Held::default(),
        env: Rc::clone(env),
        control: Rc::clone(control),
        settings: Arc::clone(settings),
        mode,
        sql_state: SqlState::new(
            SessionState::new(rules(&account, mode), values, flags),
            client_statements(settings),
            inherits_at,
        ),
        tracking: Tracking::default(),
        routing: Routing::new(state, Reflection::None),
        command: CurrentCommand::default(),
        identity: Identity::new(
            AccountLogin {
                account,
                login,
                key,
            },
            admission.scramble,
            env.pool_env.greeting.kept_of(admission.greeting),
            admission.listener,
            (admission.registration, place),
        ),
        explainer,
    };
    session.try_schema().await?;
    Ok(StartedSession {
        session,
        compression: admission.compression,
        payload: admission.payload,
    })
}

/// A session whose login has succeeded and that does not have its client's stream yet.
pub struct StartedSession {
    session: PooledSession,
    compression: Option<(Algorithm, u8)>,
    payload: Option<Vec<u8>>,
}

impl StartedSession {
    /// The last packet of the authentication, if the client has not had it yet.
    pub fn take_payload(&mut self) -> Option<Vec<u8>> {
        self.payload.take()
    }

    /// The payload of the OK that ends the login. It may redirect the client for its next connection.
    pub fn first_ok(&self) -> Vec<u8> {
        let (client, identity) = (&self.session.client, &self.session.identity);
        let redirect = identity.listener().redirect.as_ref();
        first_ok(redirect, client.capabilities(), client.status())
    }

    /// Takes over the stream of a client that has got OK.
    ///
    /// # Errors
    /// The connection to the client is lost.
    pub fn join(mut self, client: PacketStream) -> Result<PooledSession, Failure> {
        let (transport, ahead) = client.into_parts().ok_or_else(lost_at_login)?;
        let (transport, ahead) = compress(transport, ahead, self.compression, Remote::Client);
        self.session.client.join(transport, ahead);
        Ok(self.session)
    }
}

impl PooledSession {
    /// Checks that the schema that the client named exists for it. A connection that is in the schema, or was lately,
    /// has shown that already.
    pub(crate) async fn try_schema(&mut self) -> Result<(), Failure> {
        let Some(schema) = self
            .sql_state
            .session()
            .values()
            .schema()
            .map(<[u8]>::to_vec)
        else {
            return Ok(());
        };
        let key = (self.identity.key().account.clone(), schema);
        match self.env.pool_env.store.knows_schema(&key) {
            true => Ok(()),
            false => self.try_schema_anew().await,
        }
    }

    /// Checks the schema on a connection, whatever is known. This also shows whether a backend accepts the account.
    pub(crate) async fn try_schema_anew(&mut self) -> Result<(), Failure> {
        self.hold(CommandTarget::Any).await?;
        if let Some(schema) = self
            .sql_state
            .session()
            .values()
            .schema()
            .map(<[u8]>::to_vec)
        {
            self.try_schema_on_connection(schema).await?;
        }
        self.rest()
            .await
            .map_err(|SessionError { failure, .. }| failure)
    }

    async fn try_schema_on_connection(&mut self, schema: Vec<u8>) -> Result<(), Failure> {
        let Some(mut lease) = self.held.take() else {
            return Ok(());
        };
        let needs = session::state::Needs::NONE;
        let equal = self.restore_state_first(&mut lease.conn, &needs).await;
        self.held.put(lease);
        match equal {
            Ok(()) => {
                let key = (self.identity.key().account.clone(), schema);
                self.env.pool_env.store.learn_schema(key);
                Ok(())
            }
            Err(cut) => {
                let refused = crate::failure::retry::at_login(&cut.cut);
                self.drop_lease(pool::CloseReason::Broken);
                Err(refused)
            }
        }
    }
}

/// The configuration's rules for an account's sessions.
pub(crate) fn rules(account: &KnownAccount, mode: SessionMode) -> Rules {
    let lasting = account.pooling.pin_rules.pins.iter().copied().map(pin_of);
    let waived = account
        .pooling
        .pin_rules
        .unpins
        .iter()
        .map(|rule| match rule {
            UnpinRule::Routines => Pin::Routine,
            UnpinRule::State => Pin::State,
        });
    Rules {
        hold: hold_of(mode),
        lasting: lasting.collect::<Pins>(),
        waived: waived.collect::<Pins>(),
    }
}

/// Translates a session mode of the configuration.
pub(crate) fn hold_of(mode: SessionMode) -> Hold {
    match mode {
        SessionMode::Transparent | SessionMode::Kernel => Hold::Session,
        SessionMode::Transaction => Hold::Transaction,
        SessionMode::Statement => Hold::Statement,
    }
}

/// Translates a pin rule of the configuration.
pub(crate) fn pin_of(rule: PinRule) -> Pin {
    match rule {
        PinRule::UserVariables => Pin::UserVariable,
        PinRule::Variables => Pin::Variable,
        PinRule::PreparedStatements => Pin::PreparedStatement,
        PinRule::Warnings => Pin::Warnings,
    }
}
