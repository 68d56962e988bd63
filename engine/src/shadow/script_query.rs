//! A statement that a script sends elsewhere: the shadow session runs it, and the script gets the reply.

use script::Parameters;
use wire::Command;

use crate::session::PooledSession;
use command::command_policy::CommandPolicy;
use link::reply_observer::{ObservedReply, ReplyObserver, Reports, Towards};
use relay::outcome::{After, SessionError};
use script_hooks::packets::incoming_of;
use script_hooks::waiting::{command, execution, miscounted, query};
use script_host::shadow_queue::{QueuedScriptQuery, Replied};

impl PooledSession {
    /// Runs the statement, and sends the result to the script.
    pub(super) async fn reply_to(
        &mut self,
        asked: QueuedScriptQuery,
    ) -> Result<After, SessionError> {
        let (replied, after) = match &asked.query.parameters {
            None => {
                let payload = query(&asked.query.text, self.client.capabilities());
                let (heard, after) = self
                    .run_for_script(&asked, Command::QUERY, &payload)
                    .await?;
                (Ok((Command::QUERY, heard)), after)
            }
            Some(parameters) => self.run_prepared_for_script(&asked, parameters).await?,
        };
        // The script may have ended.
        let _ = asked.reply.send(replied);
        Ok(after)
    }

    /// Prepares the statement, executes it with these parameters, and closes it.
    async fn run_prepared_for_script(
        &mut self,
        asked: &QueuedScriptQuery,
        parameters: &Parameters,
    ) -> Result<(Replied, After), SessionError> {
        let payload = command(Command::STMT_PREPARE, &asked.query.text);
        let (heard, after) = self
            .run_for_script(asked, Command::STMT_PREPARE, &payload)
            .await?;
        let (Some((id, count)), After::Next) = (heard.prepared, &after) else {
            return Ok((Ok((Command::STMT_PREPARE, heard)), after));
        };
        let (replied, after) = match miscounted(parameters, count) {
            Some(refusal) => (Err(refusal), after),
            None => {
                let payload = execution(parameters, id, self.client.capabilities());
                let (heard, after) = self
                    .run_for_script(asked, Command::STMT_EXECUTE, &payload)
                    .await?;
                (Ok((Command::STMT_EXECUTE, heard)), after)
            }
        };
        let payload = command(Command::STMT_CLOSE, &id.to_le_bytes());
        let closing = incoming_of(Command::STMT_CLOSE, &payload);
        self.close_statement(&closing).await;
        Ok((replied, after))
    }

    /// Runs a command of the script where the script wants it, and reads the reply.
    async fn run_for_script(
        &mut self,
        asked: &QueuedScriptQuery,
        command: Command,
        payload: &[u8],
    ) -> Result<(ObservedReply, After), SessionError> {
        let script = &self.settings.config.script;
        let limit = Some(script.timeout_query).filter(|it| !it.is_zero());
        let towards = Towards::Script {
            sequence: 1,
            bytes_max: usize::try_from(script.result_bytes_max).unwrap_or(usize::MAX),
            reports: Reports::Stay,
        };
        self.command.policy = CommandPolicy::of_script(asked.query.hint.clone(), limit);
        let observer =
            ReplyObserver::to(command, self.client.capabilities(), towards, &asked.scripts);
        let observer = observer.map(|observer| observer.counted_in(&self.control.memory));
        self.client.leg_mut().observer = observer.map(Box::new);
        let arrived = self.arrived(incoming_of(command, payload));
        let ran = Box::pin(self.perform(arrived)).await;
        self.end_policy();
        self.command.end();
        let observer = self.client.leg_mut().observer.take();
        Ok((
            observer.map_or_else(ObservedReply::nothing, |it| it.ended()),
            ran?,
        ))
    }
}
