//! KILL USER (MariaDB): kills the sessions of a user at this proxy. The server would end connections, which sessions of
//! other users may share.

use route::KillScope;
use sql::{Kill as How, KillText};
use wire::errors;

use super::Killing;
use crate::session::PooledSession;
use command::kill::killed_user::KilledUser;
use link::query_command::CommandPart;
use registry::session_registry::Kill;
use relay::outcome::SessionError;

impl PooledSession {
    /// KILL USER, KILL QUERY USER.
    pub(super) async fn kill_user(
        &mut self,
        sequence: u8,
        kill: &KillText,
        part: CommandPart,
    ) -> Result<Killing, SessionError> {
        let own = self.identity.account().id().user().as_bytes().to_vec();
        let user = match KilledUser::read(&kill.target, self.sql_state.session().flags()) {
            Some(KilledUser::Named(user)) => user,
            Some(KilledUser::Own) => own.clone(),
            Some(KilledUser::WithHost) => {
                let error = errors::kill_user_with_host();
                let told = self.refuse_kill(sequence, error).await;
                return Ok(Killing::Told(told));
            }
            // The server reports what is wrong.
            None => return Ok(Killing::Left),
        };
        let ids = self.env.relay.login.session_registry.of_user(&user);
        if let Some(first) = ids.first()
            && user != own
            && !self.may_kill_others().await
        {
            let error = errors::not_owner(first);
            let told = self.refuse_kill(sequence, error).await;
            return Ok(Killing::Told(told));
        }
        let scope = match kill.kill {
            How::QueryOfUser => KillScope::Statement,
            _ => KillScope::Connection,
        };
        let said = self.env.now().0;
        for id in &ids {
            self.env.relay.login.session_registry.kill(Kill {
                id: *id,
                scope,
                at: None,
                requested_at: said,
            });
        }
        let told = self.reply_killed(sequence, part, ids.len() as u64);
        Ok(Killing::Told(told))
    }
}
