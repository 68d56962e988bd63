//! COM_CHANGE_USER of a guest: a new login on the same connection.

use auth::Candidate;
use tokio::time::timeout;
use wire::change_user::ChangeUser;

use super::{AdminClient, AdminClientError, AdminState, Claim, Reception};
use crate::login::malformed;

impl Reception {
    /// Sees it through; `argument` is what follows the command's byte. Who fails is told so and has to go, as from a
    /// server of MySQL's.
    ///
    /// # Errors
    /// [`AdminClientError::Login`]
    pub async fn change_user(
        &self,
        guest: &mut AdminClient,
        argument: &[u8],
        house: &AdminState<'_>,
    ) -> Result<(), AdminClientError> {
        let limit = house.settings.config.limits.timeout_login;
        let changed = timeout(limit, self.change(guest, argument, house)).await;
        let failure = match changed.unwrap_or_else(|_| Err(crate::session_end::late(limit))) {
            Ok(()) => return Ok(()),
            Err(failure) => failure,
        };
        crate::session_end::tell(&mut guest.stream, &failure, true).await;
        Err(AdminClientError::Login(failure.cause))
    }

    async fn change(
        &self,
        guest: &mut AdminClient,
        argument: &[u8],
        house: &AdminState<'_>,
    ) -> Result<(), link::failure::Failure> {
        let wish = ChangeUser::decode(argument, guest.capabilities).map_err(malformed)?;
        let schema = String::from_utf8_lossy(wish.schema.unwrap_or_default()).into_owned();
        let claim = Claim {
            user: wish.user,
            schema: &schema,
            candidate: Candidate {
                // MySQL asks again, whatever it was answered.
                plugin: wish.plugin.map(|_| &b""[..]),
                answer: wish.auth_response,
                privacy: guest.stream.privacy(),
            },
        };
        let (remote, scramble) = (&guest.remote, &guest.scramble);
        let admitted = self.admit(&mut guest.stream, remote, house, scramble, claim);
        admitted.await?;
        guest.user = String::from_utf8_lossy(wish.user).into_owned();
        guest.schema = Some(schema).filter(|schema| !schema.is_empty());
        Ok(())
    }
}
