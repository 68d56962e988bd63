//! `--load`: a few clients of the sandbox itself that use its sample data all the time, at a low rate, so that
//! the tables and the dashboard show some activity.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::SocketAddr;
use std::time::Duration;

use config::{BackendAddress, BackendTlsMode, Secret};
use control::{BackendClient, ClientError, ClientOptions, PreparedStatement, ResultBounds};
use route::Dice;
use system::Entropy;
use tokio::task::JoinSet;
use tokio::time::sleep;
use wire::bound_values::BoundValue;

/// The account of the clients, and its password.
pub const USER: &str = "load";

/// The number of clients.
pub const CLIENTS: u64 = 6;

/// The longest pause between two acts of a client; the average is half of it. So all clients together
/// send about 200 statements a second, which takes a few percent of a laptop's core.
const PAUSE_MAX: Duration = Duration::from_millis(60);

/// How long a client waits after it was disconnected or refused.
const AWAY: Duration = Duration::from_secs(1);

/// How long a login may take.
const TIMEOUT_LOGIN: Duration = Duration::from_secs(30);

/// The limits of an answer: all cities fit.
const BOUNDS: ResultBounds = ResultBounds {
    rows: 1_000,
    bytes: 1 << 20,
};

/// The number of cities in the sample data. Their ids begin at 1.
const CITIES: u64 = 22;

/// The countries from which the clients choose.
const COUNTRIES: [&str; 5] = ["BRA", "DEU", "IND", "JPN", "PRT"];

/// An act of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// A prepared read by the primary key.
    City,
    /// A read by a secondary key.
    Largest,
    /// A join that groups.
    Continents,
    /// A prepared read that finds no index.
    Crowded,
    /// A write.
    Growth,
    /// A transaction with two writes.
    Move,
    /// A lock, which keeps the session on one connection.
    Census,
    /// A statement that is slow.
    Patience,
    /// A table that is not there.
    Misspelling,
    /// A key that is there already.
    Duplicate,
    /// The client disconnects, and connects again as another session.
    Leave,
}

/// How often each act occurs, of a thousand.
const SHARES: [(Act, u64); 11] = [
    (Act::City, 430),
    (Act::Largest, 210),
    (Act::Continents, 110),
    (Act::Crowded, 90),
    (Act::Growth, 80),
    (Act::Move, 40),
    (Act::Census, 16),
    (Act::Patience, 2),
    (Act::Misspelling, 6),
    (Act::Duplicate, 6),
    (Act::Leave, 10),
];

/// The clients.
#[derive(Clone, Debug)]
pub struct Load {
    /// The address to which the clients connect.
    pub address: SocketAddr,
    /// Random bytes for their logins.
    pub entropy: Entropy,
}

impl Load {
    /// Runs all clients until the future is dropped.
    pub async fn run(self) {
        let mut clients = JoinSet::new();
        for seed in 0..CLIENTS {
            clients.spawn(client(self.clone(), Dice::new(seed)));
        }
        while clients.join_next().await.is_some() {}
    }
}

/// One client, session after session.
async fn client(load: Load, mut dice: Dice) {
    loop {
        if let Err(error) = session(&load, &mut dice).await {
            tracing::debug!(%error, "a client of the sandbox's load was cut off");
            sleep(AWAY).await;
        }
    }
}

/// A client's session, with its prepared statements by their texts.
struct LoadSession {
    client: BackendClient,
    prepared: HashMap<&'static str, PreparedStatement>,
}

impl LoadSession {
    async fn open(load: &Load) -> Result<Self, ClientError> {
        let options = ClientOptions {
            address: BackendAddress::Tcp {
                host: load.address.ip().to_string(),
                port: load.address.port(),
            },
            user: USER.to_owned(),
            password: Secret::new(USER),
            schema: Some("demo".to_owned()),
            tls: BackendTlsMode::Off,
            timeout: TIMEOUT_LOGIN,
        };
        Ok(Self {
            client: BackendClient::connect(&options, &load.entropy).await?,
            prepared: HashMap::new(),
        })
    }

    /// Runs a statement, and ignores its result.
    async fn run(&mut self, statement: &str) -> Result<(), ClientError> {
        self.client.ask(statement, BOUNDS).await.map(drop)
    }

    /// Executes a statement, which is prepared at its first use.
    async fn execute(
        &mut self,
        text: &'static str,
        value: BoundValue<'_>,
    ) -> Result<(), ClientError> {
        let statement = match self.prepared.entry(text) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.client.prepare(text).await?),
        };
        let values = [value];
        let executed = self.client.execute(statement, &values, BOUNDS);
        executed.await.map(drop)
    }
}

/// Runs a session until the client leaves, or is disconnected.
async fn session(load: &Load, dice: &mut Dice) -> Result<(), ClientError> {
    let mut session = LoadSession::open(load).await?;
    loop {
        let act = next(dice);
        if act == Act::Leave {
            session.client.quit().await;
            return Ok(());
        }
        match perform(&mut session, act, dice).await {
            // An error of the server does not end the session.
            Err(error) if error.server.is_none() => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let pause = dice.below(PAUSE_MAX.as_micros() as u64);
        sleep(Duration::from_micros(pause)).await;
    }
}

fn next(dice: &mut Dice) -> Act {
    let mut left = dice.below(SHARES.iter().map(|(_, share)| share).sum());
    for (act, share) in SHARES {
        match left.checked_sub(share) {
            Some(rest) => left = rest,
            None => return act,
        }
    }
    Act::City
}

async fn perform(session: &mut LoadSession, act: Act, dice: &mut Dice) -> Result<(), ClientError> {
    let city = 1 + dice.below(CITIES);
    let country = COUNTRIES[dice.below(COUNTRIES.len() as u64) as usize];
    match act {
        Act::City => {
            let text = "SELECT name, country, population FROM city WHERE id = ?";
            session.execute(text, BoundValue::Unsigned(city)).await
        }
        Act::Largest => {
            let text = format!(
                "SELECT name, population FROM city WHERE country = '{country}' \
                 ORDER BY population DESC LIMIT 3"
            );
            session.run(&text).await
        }
        Act::Continents => {
            let text = "SELECT continent, COUNT(*), MAX(city.population) \
                 FROM country JOIN city ON city.country = country.code GROUP BY continent";
            session.run(text).await
        }
        Act::Crowded => {
            let text = "SELECT name FROM city WHERE population > ? ORDER BY population";
            let population = 1_000_000 * dice.below(10);
            session
                .execute(text, BoundValue::Unsigned(population))
                .await
        }
        Act::Growth => {
            let text = format!("UPDATE city SET population = population + 1 WHERE id = {city}");
            session.run(&text).await
        }
        Act::Move => relocate(session, city).await,
        Act::Census => {
            session.run("SELECT GET_LOCK('census', 1)").await?;
            let text = "SELECT SUM(population) FROM city WHERE country = ?";
            let country = BoundValue::Text(country.as_bytes());
            session.execute(text, country).await?;
            session.run("SELECT RELEASE_LOCK('census')").await
        }
        Act::Patience => {
            let text = "SELECT COUNT(*), SLEEP(1.2) FROM country";
            session.run(text).await
        }
        Act::Misspelling => session.run("SELECT name FROM town").await,
        Act::Duplicate => {
            let text = format!("INSERT INTO country VALUES ('{country}', 'Twice', 'Asia', 0)");
            session.run(&text).await
        }
        Act::Leave => Ok(()),
    }
}

/// A family moves to the next city. Rows are always locked in the same order, so there is no deadlock.
async fn relocate(session: &mut LoadSession, city: u64) -> Result<(), ClientError> {
    let from = city.min(CITIES - 1);
    session.run("START TRANSACTION").await?;
    let moved = move_family(session, from).await;
    match &moved {
        Ok(()) => session.run("COMMIT").await?,
        Err(error) if error.server.is_some() => session.run("ROLLBACK").await?,
        Err(_) => {}
    }
    moved
}

async fn move_family(session: &mut LoadSession, from: u64) -> Result<(), ClientError> {
    let text = "UPDATE city SET population = population - 4 WHERE id = ?";
    session.execute(text, BoundValue::Unsigned(from)).await?;
    let text = "UPDATE city SET population = population + 4 WHERE id = ?";
    session.execute(text, BoundValue::Unsigned(from + 1)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_load_chooses_each_action_by_its_share() {
        let mut dice = Dice::new(7);
        let mut counts = SHARES.map(|_| 0_u64);
        for _ in 0..100_000 {
            let act = next(&mut dice);
            let place = SHARES.iter().position(|(it, _)| *it == act);
            counts[place.expect("each is in the list")] += 1;
        }
        for ((act, share), count) in SHARES.iter().zip(counts) {
            let wanted = share * 100;
            assert!(
                count * 2 > wanted && count < wanted * 2,
                "{act:?}: {count}, not {wanted}"
            );
        }
    }
}
