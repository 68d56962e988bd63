//! The servers and the proxies of a world, with the servers' first rows.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::task::spawn_local;
use tokio::time::Instant;

use super::administration::{Administered, Door, GUEST, GUEST_PASSWORD};
use super::watch::Watch;
use super::{Plan, server_address};
use crate::actor::{ACCOUNTS, BALANCE, NUMBERS, SCHEMAS};
use crate::books::Books;
use crate::client::{Client, Login, Reply};
use crate::network::{End, Hosts};
use crate::proxy::SimulatedProxy;
use crate::seed::Dice;
use crate::server::{Options, Rights, Server};
use crate::trace::Trace;

/// The account of all clients.
const APPLICATION: &str = "app";

/// The world before the actors start.
pub struct Setting {
    /// The network.
    pub hosts: Rc<Hosts>,
    /// The servers; the first is the primary at the begin.
    pub servers: Vec<Rc<Server>>,
    /// The watches of the pools' connections, one for each server.
    pub watches: Vec<Rc<Watch>>,
    /// The number of the server that is the primary.
    pub primary: Rc<Cell<usize>>,
    /// The proxies.
    pub proxies: Vec<Rc<SimulatedProxy>>,
    /// How they are administered.
    pub administered: Vec<Rc<Administered>>,
    /// Where clients may connect.
    pub doors: Vec<Door>,
    /// What all know.
    pub books: Books,
    /// What happens.
    pub trace: Trace,
    /// What `lock_wait_timeout` is where no session has set it.
    pub lock_wait_default: u64,
}

/// The parts of a world in which chaos causes faults.
#[derive(Clone)]
pub struct Reach {
    /// The network.
    pub hosts: Rc<Hosts>,
    /// The servers.
    pub servers: Vec<Rc<Server>>,
    /// The watches of the pools' connections, one for each server.
    pub watches: Vec<Rc<Watch>>,
    /// The number of the server that is the primary.
    pub primary: Rc<Cell<usize>>,
    /// The time at which that server became the primary, if nothing has broken since.
    pub switched: Rc<Cell<Option<Instant>>>,
    /// The proxies.
    pub proxies: Vec<Rc<SimulatedProxy>>,
    /// How they are administered.
    pub administered: Vec<Rc<Administered>>,
    /// What happens.
    pub trace: Trace,
    /// The books, which note a broken invariant.
    pub books: Books,
}

impl Setting {
    /// Builds the servers and the proxies of a plan.
    ///
    /// # Errors
    /// The part that cannot be built, in words.
    pub async fn build(
        plan: &Plan,
        hosts: &Rc<Hosts>,
        books: &Books,
        trace: &Trace,
        dice: &mut Dice,
    ) -> Result<Setting, String> {
        let watches: Vec<_> = (0..=plan.replicas)
            .map(|number| Watch::new(plan, number, books))
            .collect();
        let servers: Vec<_> = (0..=plan.replicas)
            .map(|number| server(plan, number, &watches[number], dice))
            .collect();
        for (number, server) in servers.iter().enumerate() {
            listen(hosts, server, server_address(number));
        }
        for replica in &servers[1..] {
            replica.follow(Some(&servers[0]), plan.lag);
            replica.set_read_only(true);
        }
        let lock_wait_default = furnish(hosts).await?;
        // The pause is long enough for all replicas to get the first rows.
        tokio::time::sleep(plan.lag + Duration::from_secs(1)).await;
        for server in &servers {
            server.set_slow(plan.server_pace);
        }
        hosts.set_fair_weather(plan.weather.clone());
        let mut proxies = Vec::new();
        let (mut administered, mut doors) = (Vec::new(), Vec::new());
        for number in 0..plan.proxies {
            let seed = dice.number();
            let changes = plan.unchanged();
            let text = plan.configuration(number, &changes);
            let proxy = Rc::new(SimulatedProxy::start(&text, seed).await?);
            let known = Administered::new(changes, plan.sessions.map(|it| it.most));
            for (listener, door) in Door::of(&known, number, plan.listeners())
                .into_iter()
                .enumerate()
            {
                let proxy = Rc::clone(&proxy);
                let accept = move |end: End, client| proxy.accept(end, client, listener);
                hosts.listen(door.address, Rc::new(accept));
                doors.push(door);
            }
            proxies.push(proxy);
            administered.push(known);
        }
        Ok(Setting {
            hosts: Rc::clone(hosts),
            servers,
            watches,
            primary: Rc::default(),
            proxies,
            administered,
            doors,
            books: books.clone(),
            trace: trace.clone(),
            lock_wait_default,
        })
    }

    /// What chaos reaches.
    pub fn in_reach(&self) -> Reach {
        Reach {
            hosts: Rc::clone(&self.hosts),
            servers: self.servers.clone(),
            watches: self.watches.clone(),
            primary: Rc::clone(&self.primary),
            switched: Rc::default(),
            proxies: self.proxies.clone(),
            administered: self.administered.clone(),
            trace: self.trace.clone(),
            books: self.books.clone(),
        }
    }
}

fn server(plan: &Plan, number: usize, watch: &Rc<Watch>, dice: &mut Dice) -> Rc<Server> {
    let account =
        |user: &str, password: &str, rights| (user.to_owned(), password.to_owned(), rights);
    let watch = Rc::clone(watch);
    Server::new(Options {
        max_connections: plan.server_connections,
        accounts: vec![
            account("root", "root-password", Rights::Administrator),
            account(APPLICATION, "app-password", Rights::Application),
            account(GUEST, GUEST_PASSWORD, Rights::Application),
            account("monitor", "monitor-password", Rights::Administrator),
        ],
        schemas: SCHEMAS.iter().map(|&schema| schema.to_owned()).collect(),
        seed: dice.number(),
        observer: Some(Rc::new(move |event| {
            watch.see(event, |user| user == APPLICATION || user == GUEST);
        })),
        ..Options::new(plan.family, 1 + number as u32)
    })
}

/// Has a server take connections.
fn listen(hosts: &Rc<Hosts>, server: &Rc<Server>, address: SocketAddr) {
    let server = Rc::clone(server);
    let accept = move |end: End, _| drop(spawn_local(Rc::clone(&server).serve(end)));
    hosts.listen(address, Rc::new(accept));
}

/// Inserts the first rows at the primary, and returns its `lock_wait_timeout`.
async fn furnish(hosts: &Rc<Hosts>) -> Result<u64, String> {
    let login = Login {
        host: super::proxies_host(),
        address: server_address(0),
        user: "root".to_owned(),
        password: "root-password".to_owned(),
        schema: None,
        deprecates_eof: true,
        tally: None,
    };
    let client = Client::log_in(hosts, &login).await;
    let mut client = client.map_err(|error| format!("the first login: {error:?}"))?;
    let mut texts = vec![
        "CREATE TABLE shop.ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, token BIGINT, amount INT)"
            .to_owned(),
        "CREATE TABLE shop.accounts (id BIGINT PRIMARY KEY, balance BIGINT)".to_owned(),
        "CREATE TABLE shop.numbers (number BIGINT PRIMARY KEY)".to_owned(),
    ];
    texts.extend(
        (1..=ACCOUNTS)
            .map(|id| format!("INSERT INTO shop.accounts (id, balance) VALUES ({id}, {BALANCE})")),
    );
    texts.extend(
        (1..=NUMBERS).map(|number| format!("INSERT INTO shop.numbers (number) VALUES ({number})")),
    );
    for text in texts {
        run(&mut client, &text).await?;
    }
    let reply = run(&mut client, "SELECT @@session.lock_wait_timeout").await?;
    client.quit().await;
    let value = reply.value().cloned().flatten();
    value
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| format!("lock_wait_timeout is {reply:?}"))
}

async fn run(client: &mut Client, text: &str) -> Result<Reply, String> {
    match client.query(text).await {
        Ok(Reply::Error(error)) => Err(format!("`{text}`: {error:?}")),
        Ok(reply) => Ok(reply),
        Err(error) => Err(format!("`{text}`: {error:?}")),
    }
}
