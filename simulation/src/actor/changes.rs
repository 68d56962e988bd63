//! An actor's operations while an administrator changes the configuration. The actor must see each change from the
//! moment at which it takes effect.

use std::rc::Rc;

use super::session::Session;
use super::{Actor, COMMAND_LIMIT, Leave};
use crate::client::{Client, Login, NotIn, Reply};
use crate::patience::Patience;
use crate::world::administration::{
    Administered, BY_RULE, BY_SERVER, GUEST, GUEST_PASSWORD, GUESTS_MAX, RULED,
};

/// ER_ACCESS_DENIED_ERROR.
const ACCESS_DENIED: u16 = 1045;
/// ER_TOO_MANY_USER_CONNECTIONS.
const TOO_MANY_OF_USER: u16 = 1203;

/// Bytes of statements that a client sends before it reads. The buffers on the way can hold them.
const FLOOD_BYTES: usize = 200_000;

impl Actor {
    /// Does an operation that depends on the configuration, or one that uses memory.
    pub(super) async fn meet_changes(&mut self) -> Result<(), Leave> {
        match self.part.dice.below(5) {
            0 | 1 => self.ask_ruled().await,
            2 | 3 => self.visit().await,
            _ => self.flood().await,
        }
    }

    /// Checks that a rule applies to each statement after the rule is added, and to no statement before.
    async fn ask_ruled(&mut self) -> Result<(), Leave> {
        let proxy = Rc::clone(&self.session.door.proxy);
        let begin = proxy.rule.look();
        let reply = self.run(RULED).await?;
        let is_ruled = match self.session.door.is_pooled {
            true => proxy.rule.held(begin),
            false => Some(false),
        };
        match is_ruled {
            Some(true) => self.expect(RULED, &reply, Some(BY_RULE)),
            Some(false) => self.expect(RULED, &reply, Some(BY_SERVER)),
            None => match reply.value().and_then(Option::as_deref) {
                Some(BY_RULE | BY_SERVER) => Ok(()),
                _ => self.expect(RULED, &reply, Some(BY_SERVER)),
            },
        }
    }

    /// Logs a guest in on a second connection. The login succeeds only while the proxy knows the account, and below its
    /// limit of sessions.
    async fn visit(&mut self) -> Result<(), Leave> {
        let proxy = Rc::clone(&self.session.door.proxy);
        let is_it = |door: &&super::Door| door.is_pooled && Rc::ptr_eq(&door.proxy, &proxy);
        let Some(door) = self.part.doors.iter().find(is_it) else {
            return Ok(());
        };
        let login = Login {
            address: door.address,
            user: GUEST.to_owned(),
            password: GUEST_PASSWORD.to_owned(),
            tally: door.tally(),
            ..self.part.login.clone()
        };
        let number = self.part.number;
        let begin = proxy.guest.look();
        self.part
            .trace
            .note(format_args!("client {number} logs in as a guest"));
        let entering = Client::log_in(&self.part.hosts, &login);
        let entered = tokio::time::timeout(COMMAND_LIMIT, entering).await;
        let is_known = proxy.guest.held(begin);
        match entered {
            Ok(Ok(_)) if is_known == Some(false) => {
                Err(self.broken(format_args!("a guest is in, whose account is gone")))
            }
            Ok(Ok(client)) => {
                let entered = proxy.enter(self.part.is_rough());
                entered.map_err(|what| self.broken(format_args!("as a guest: {what}")))?;
                proxy.guests.set(proxy.guests.get() + 1);
                let stayed = self.stay(&proxy, client).await;
                proxy.guests.set(proxy.guests.get() - 1);
                proxy.leave();
                let client = stayed?;
                client.quit().await;
                Ok(())
            }
            Ok(Err(NotIn::Refused(error))) => {
                let (code, text) = (error.number, &error.text);
                self.part
                    .trace
                    .note(format_args!("client {number}: no guest: {code} {text}"));
                let is_denied = code == ACCESS_DENIED && is_known != Some(true);
                let is_full = code == TOO_MANY_OF_USER || self.part.allowed.contains(&code);
                match is_denied || is_full || self.part.is_rough() {
                    true => Ok(()),
                    false => Err(self.broken(format_args!("a guest is refused: {code} {text}"))),
                }
            }
            // The reply is the same for known and unknown users, so a client cannot learn which users exist.
            Ok(Err(NotIn::AskedInClear)) if is_known != Some(true) => Ok(()),
            Ok(Err(NotIn::Broken(_))) if self.part.is_rough() => Ok(()),
            Ok(Err(why)) => Err(self.broken(format_args!("the login of a guest: {why:?}"))),
            Err(_) => Err(self.part.waits_for_ever("the login of a guest")),
        }
    }

    /// Runs a guest's statement. The account may be removed while its session is open.
    async fn stay(&mut self, proxy: &Administered, mut client: Client) -> Result<Client, Leave> {
        let guests = proxy.guests.get();
        // A killed session leaves its place before its client reads the error.
        if guests > GUESTS_MAX && !self.part.is_rough() {
            return Err(self.broken(format_args!("{guests} guests are in, of {GUESTS_MAX}")));
        }
        let begin = proxy.guest.look();
        let number = self.part.books.number();
        let text = format!("SELECT {number}");
        let mut patience = Patience::new(COMMAND_LIMIT);
        let ended = patience.bound(COMMAND_LIMIT, client.query(&text)).await;
        if proxy.guest.held(begin) != Some(true) && !matches!(&ended, Ok(Ok(Reply::Rows { .. }))) {
            return Ok(client);
        }
        let reply = self.part.judge(&text, ended)?;
        self.expect(&text, &reply, Some(&number.to_string()))?;
        let pause = self.part.dice.millis(0, 200);
        tokio::time::sleep(pause).await;
        Ok(client)
    }

    /// Sends many statements at once, some long and some with long replies, and reads the replies slowly.
    async fn flood(&mut self) -> Result<(), Leave> {
        let mut replies = Vec::new();
        let mut bytes = 0;
        for _ in 0..20 + self.part.dice.below(100) {
            let number = self.part.books.number();
            let length = self.part.dice.index(3000);
            let (text, wanted) = match self.part.dice.one_in(4) {
                true => {
                    let count = length * 10;
                    let text = format!("SELECT CONCAT('{number}', REPEAT('x', {count}))");
                    (text, format!("{number}{}", "x".repeat(count)))
                }
                false => {
                    let text = format!("SELECT {number} /* {} */", "x".repeat(length));
                    (text, number.to_string())
                }
            };
            bytes += text.len() + 5;
            if bytes > FLOOD_BYTES {
                break;
            }
            self.session.client.queue(&text);
            replies.push(wanted);
        }
        let (number, count) = (self.part.number, replies.len());
        self.part
            .trace
            .note(format_args!("client {number} > {count} statements at once"));
        let flushed = self.session.client.flush().await;
        flushed.map_err(|_| Leave::Broken)?;
        for wanted in replies {
            if self.part.dice.one_in(10) {
                let pause = self.part.dice.millis(1, 300);
                tokio::time::sleep(pause).await;
            }
            let Session {
                client, patience, ..
            } = &mut self.session;
            let reply = match patience.bound(COMMAND_LIMIT, client.reply(false)).await {
                Ok(Ok(reply)) if reply.value() == Some(&Some(wanted.clone())) => {
                    self.part.books.count();
                    continue;
                }
                ended => self.part.judge("one of many SELECTs", ended)?,
            };
            self.expect("one of many SELECTs", &reply, Some(&wanted))?;
        }
        Ok(())
    }
}
