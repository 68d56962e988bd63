//! COM_CHANGE_USER of an admin client: a new login on the same connection.

use auth::Candidate;
use tokio::time::timeout;
use wire::change_user::ChangeUser;

use super::{AdminClient, AdminClientError, AdminState, Claim, Reception};
use crate::relayed_login::malformed;

impl Reception {
    /// Changes the user; `argument` is what follows the command byte. If the change fails, the
    /// admin client gets the error and is disconnected, as MySQL does it.
    ///
    /// # Errors
    /// [`AdminClientError::Login`]
    pub async fn change_user(
        &self,
        admin_client: &mut AdminClient,
        argument: &[u8],
        admin_state: &AdminState<'_>,
    ) -> Result<(), AdminClientError> {
        let limit = admin_state.settings.config.limits.timeout_login;
        let changed = timeout(limit, self.change(admin_client, argument, admin_state)).await;
        let failure = match changed.unwrap_or_else(|_| Err(link::session_end::late(limit))) {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        link::session_end::send_error(&mut admin_client.stream, &failure, true).await;
        Err(AdminClientError::Login(failure.cause))
    }

    async fn change(
        &self,
        admin_client: &mut AdminClient,
        argument: &[u8],
        admin_state: &AdminState<'_>,
    ) -> Result<(), link::failure::Failure> {
        let wish = ChangeUser::decode(argument, admin_client.capabilities).map_err(malformed)?;
        let schema = String::from_utf8_lossy(wish.schema.unwrap_or_default()).into_owned();
        let claim = Claim {
            user: wish.user,
            schema: &schema,
            candidate: Candidate {
                // MySQL always asks again, so the answer in the command is not used.
                plugin: wish.plugin.map(|_| &b""[..]),
                answer: wish.auth_response,
                privacy: admin_client.stream.privacy(),
            },
        };
        let (remote, scramble) = (&admin_client.remote, &admin_client.scramble);
        let admitted = self.admit(
            &mut admin_client.stream,
            remote,
            admin_state,
            scramble,
            claim,
        );
        admitted.await?;
        admin_client.user = String::from_utf8_lossy(wish.user).into_owned();
        admin_client.schema = Some(schema).filter(|schema| !schema.is_empty());
        Ok(())
    }
}
