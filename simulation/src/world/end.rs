//! Checks of a world after all clients have disconnected.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use super::administration::Door;
use super::setting::Setting;
use super::{Plan, inspection, proxies_host, server_address};
use crate::actor::{ACCOUNTS, BALANCE};
use crate::client::{Client, Login, Reply};

/// How long sessions and transactions may last after their clients have disconnected.
const SETTLING: Duration = Duration::from_secs(120);

/// Compares the books of the clients with the rows of the servers.
pub async fn compare(setting: Setting, plan: &Plan) {
    let books = setting.books.clone();
    if books.what_is_broken().is_some() {
        return;
    }
    for door in &setting.doors {
        if let Err(what) = writes_come_back(&setting, door).await {
            return books.broken(what);
        }
    }
    if let Err(what) = settle(&setting).await {
        return books.broken(what);
    }
    if let Err(what) = inspection::at_the_end(&setting, plan).await {
        return books.broken(what);
    }
    for number in 0..=plan.replicas {
        match read(&setting, number).await {
            Ok(state) => check(&setting, number, &state),
            Err(what) => books.broken(format!("server {number} at the end: {what}")),
        }
    }
    stop(setting).await;
}

/// Checks that a new session can write soon after all faults are repaired.
async fn writes_come_back(setting: &Setting, door: &Door) -> Result<(), String> {
    let until = net::clock::now() + SETTLING;
    let login = Login {
        address: door.address,
        tally: door.tally(),
        ..super::login(0)
    };
    loop {
        let token = setting.books.number();
        let text = format!("INSERT INTO shop.ledger (token, amount) VALUES ({token}, 1)");
        let written = async {
            let mut client = Client::log_in(&setting.hosts, &login).await.ok()?;
            let reply = client.query(&text).await;
            client.quit().await;
            Some(matches!(reply, Ok(Reply::Done(_))))
        };
        if let Ok(Some(true)) = tokio::time::timeout_at(until, written).await {
            return Ok(());
        }
        if net::clock::now() > until {
            return Err(format!(
                "nobody can write at {} though everything is mended",
                door.address
            ));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits until sessions have ended and replicas have caught up.
async fn settle(setting: &Setting) -> Result<(), String> {
    let until = net::clock::now() + SETTLING;
    loop {
        let sessions: usize = setting.proxies.iter().map(|it| it.sessions()).sum();
        let executed = setting.servers[setting.primary.get()].executed();
        let behind = setting.servers.iter().any(|it| it.executed() != executed);
        if sessions == 0 && !behind {
            return Ok(());
        }
        if net::clock::now() > until {
            return Err(match sessions {
                0 => "a replica does not catch up at the end".to_owned(),
                _ => format!("{sessions} sessions are left whose clients have gone"),
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// The rows of a server.
struct State {
    tokens: BTreeMap<u64, u64>,
    balance: u64,
}

async fn read(setting: &Setting, number: usize) -> Result<State, String> {
    let login = Login {
        host: proxies_host(),
        address: server_address(number),
        user: "root".to_owned(),
        password: "root-password".to_owned(),
        schema: None,
        deprecates_eof: true,
        tally: None,
    };
    let client = Client::log_in(&setting.hosts, &login).await;
    let mut client = client.map_err(|error| format!("{error:?}"))?;
    let mut tokens = BTreeMap::new();
    for token in numbers(&mut client, "SELECT token FROM shop.ledger").await? {
        *tokens.entry(token).or_default() += 1;
    }
    let balances = numbers(&mut client, "SELECT balance FROM shop.accounts").await?;
    client.quit().await;
    Ok(State {
        tokens,
        balance: balances.iter().sum(),
    })
}

async fn numbers(client: &mut Client, text: &str) -> Result<Vec<u64>, String> {
    match client.query(text).await {
        Ok(Reply::Rows { rows, .. }) => rows
            .iter()
            .map(|row| {
                let value = row.first().and_then(Option::as_deref);
                let number = value.and_then(|value| value.parse().ok());
                number.ok_or_else(|| format!("`{text}` has the row {row:?}"))
            })
            .collect(),
        other => Err(format!("`{text}` gives {other:?}")),
    }
}

fn check(setting: &Setting, number: usize, state: &State) {
    let books = &setting.books;
    books.compare(&state.tokens);
    let wanted = ACCOUNTS * BALANCE;
    if state.balance != wanted {
        let is = state.balance;
        books.broken(format!(
            "the balances at server {number} come to {is}, not {wanted}"
        ));
    }
}

/// Stops the proxies, and checks that no connection is left.
async fn stop(setting: Setting) {
    let Setting {
        hosts,
        servers,
        proxies,
        doors,
        books,
        ..
    } = setting;
    for door in doors {
        hosts.close(door.address);
    }
    for proxy in proxies {
        match Rc::try_unwrap(proxy) {
            Ok(proxy) => {
                let cut = proxy.stop(Duration::from_secs(10)).await;
                if cut > 0 {
                    books.broken(format!("{cut} sessions were cut at the proxy's end"));
                }
            }
            Err(_) => books.broken("a proxy is still in use at its end".to_owned()),
        }
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    for (number, server) in servers.iter().enumerate() {
        let left = server.connections();
        if left > 0 {
            books.broken(format!(
                "{left} connections to server {number} are left at the end"
            ));
        }
    }
}
