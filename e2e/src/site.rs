//! Scenarios and the places where they are played: directly; through the transparent proxy, with TLS on neither, either
//! and both sides; through a script; and through pooled proxies, one of them with reads on shared lanes. A client must
//! see the same at every place.
//!
//! A change is checked at five places: directly, and at one each of the transparent, scripted and pooled places,
//! always the same one for a scenario, and with companions that read. At night all ten are played.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::companions::Companions;
use crate::intruder::Intruder;
use crate::pooled::{EVERY_OTHER, Turn, expected, pooled};
use crate::product::Product;
use crate::proxy::{Proxy, Settings};
use crate::raw::{Address, Login, RawConn, Transcript};
use crate::scope::chosen;
use crate::server::Server;

/// How clients are connected to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Without a proxy.
    Direct,
    /// One backend connection for each client.
    Transparent,
    /// Fewer backend connections than clients.
    Pooled,
    /// A script sees each packet, and sends half of them itself.
    Scripted,
}

/// The places where a scenario cannot give the same result, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Except {
    /// Why it is not played through a pooled proxy.
    pub pooled: Option<&'static str>,
    /// Why it is not played through a script.
    pub scripted: Option<&'static str>,
    /// Why it is not played through a script in pooled sessions.
    pub pooled_scripted: Option<&'static str>,
    /// Why it is not played beside clients that read on lanes.
    pub companions: Option<&'static str>,
}

impl Except {
    /// Skips pooled proxies.
    pub fn pooled(self, why: &'static str) -> Self {
        let pooled = Some(why);
        Self { pooled, ..self }
    }

    /// Skips scripts.
    pub fn scripted(self, why: &'static str) -> Self {
        let scripted = Some(why);
        Self { scripted, ..self }
    }

    /// Skips the companions, clients that read on lanes.
    pub fn companions(self, why: &'static str) -> Self {
        let companions = Some(why);
        Self { companions, ..self }
    }

    /// Skips scripts in pooled sessions.
    pub fn pooled_scripted(self, why: &'static str) -> Self {
        let pooled_scripted = Some(why);
        Self {
            pooled_scripted,
            ..self
        }
    }
}

/// A place to connect to.
#[derive(Debug)]
pub struct Site {
    /// The server at the end of the line.
    pub server: &'static Server,
    /// The proxy in front of it, if any.
    pub proxy: Option<&'static Proxy>,
    /// How the proxy connects clients; direct if there is none.
    pub way: Way,
    /// The address for clients.
    pub address: Address,
    /// Whether clients use TLS.
    pub tls: bool,
    /// A schema for this scenario alone, empty at its start.
    pub schema: String,
    /// Another client that runs a statement before each command of this scenario.
    intruder: Option<Arc<Mutex<Intruder>>>,
    /// Clients whose reads are in flight beside each command of this scenario.
    companions: Option<Arc<Mutex<Companions>>>,
}

impl Site {
    /// The login of `app` at this site.
    pub fn login(&self) -> Login {
        self.dress(Login::app()).schema(&self.schema)
    }

    /// The login of another account at this site.
    pub fn login_as(&self, user: &str) -> Login {
        self.dress(Login::user(user))
    }

    /// Connects as `app`.
    #[track_caller]
    pub fn connect(&self) -> RawConn {
        self.connect_as(&self.login())
    }

    /// Connects with this login.
    #[track_caller]
    pub fn connect_as(&self, login: &Login) -> RawConn {
        match RawConn::connect(&self.address, login) {
            Ok(conn) => self.intruded(conn),
            Err(error) => panic!("no login as {}: {error}\n{}", login.user, self.proxy_log()),
        }
    }

    /// The product of the server.
    pub fn product(&self) -> Product {
        self.server.product
    }

    /// True for MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.product().is_mariadb()
    }

    /// The proxy's last log lines, for a failure's message.
    pub fn proxy_log(&self) -> String {
        self.proxy.map(Proxy::log_tail).unwrap_or_default()
    }

    /// Checks that no other client gets the backend connection, because a client is pinned.
    #[track_caller]
    pub fn assert_pinned(&self) {
        let kept_out = self.intruder().map(|mut intruder| intruder.is_kept_out());
        if self.way == Way::Pooled {
            assert_ne!(
                kept_out,
                Some(false),
                "nothing is pinned\n{}",
                self.proxy_log()
            );
        }
    }

    /// Checks that another client gets the backend connection, because no client is pinned.
    pub fn assert_unpinned(&self) {
        if let Some(mut intruder) = self.intruder() {
            intruder.wait_let_in();
        }
    }

    fn intruder(&self) -> Option<MutexGuard<'_, Intruder>> {
        self.intruder.as_ref().map(|intruder| lock(intruder))
    }

    fn intruded(&self, mut conn: RawConn) -> RawConn {
        if let Some(intruder) = self.intruder.clone() {
            conn.before_send(move || lock(&intruder).intrude());
        }
        if let Some(companions) = self.companions.clone() {
            conn.before_send(move || lock(&companions).read());
        }
        conn
    }

    fn dress(&self, login: Login) -> Login {
        let login = login.collation(self.product().collation());
        if self.tls { login.over_tls() } else { login }
    }

    fn empty_schema(&self) {
        let mut root = self.server.root();
        root.run(&format!("DROP DATABASE IF EXISTS {}", self.schema));
        root.run(&format!("CREATE DATABASE {}", self.schema));
    }
}

/// If a client has panicked, its test reports that.
fn lock<T>(client: &Mutex<T>) -> MutexGuard<'_, T> {
    client.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A scenario that is played at one place after the other.
struct Tour<'a, F> {
    product: Product,
    name: &'a str,
    schema: String,
    scenario: &'a F,
}

impl<F: Fn(&Site) -> Transcript> Tour<'_, F> {
    /// Plays it in an empty schema.
    fn play(&self, way: Way, proxy: Option<&'static Proxy>, tls: Tls) -> Transcript {
        (self.scenario)(&self.site(way, proxy, tls))
    }

    /// Plays it with an intruder beside it.
    fn play_intruded(&self, way: Way, proxy: Option<&'static Proxy>) -> Transcript {
        let mut site = self.site(way, proxy, Tls::Off);
        let intruder = Intruder::connect(self.product, &site.address, expected(self.product));
        let intruder = Arc::new(Mutex::new(intruder));
        site.intruder = Some(Arc::clone(&intruder));
        let transcript = (self.scenario)(&site);
        let mut intruder = lock(&intruder);
        intruder.wait_let_in();
        assert!(intruder.turns() > 1, "it was never let in");
        transcript
    }

    /// Plays it while other clients read.
    fn play_accompanied(&self, proxy: &'static Proxy) -> Transcript {
        let mut site = self.site(Way::Pooled, Some(proxy), Tls::Off);
        let companions = Companions::connect(self.product, &site.address);
        let companions = Arc::new(Mutex::new(companions));
        site.companions = Some(Arc::clone(&companions));
        let transcript = (self.scenario)(&site);
        lock(&companions).finish();
        transcript
    }

    fn site(&self, way: Way, proxy: Option<&'static Proxy>, tls: Tls) -> Site {
        let server = Server::shared(self.product);
        let site = Site {
            server,
            proxy,
            way,
            address: proxy.map_or_else(|| server.tcp().into(), Proxy::address),
            tls: tls == Tls::On,
            schema: self.schema.clone(),
            intruder: None,
            companions: None,
        };
        site.empty_schema();
        site
    }

    fn clean(&self) {
        let mut root = Server::shared(self.product).root();
        root.run(&format!("DROP DATABASE IF EXISTS {}", self.schema));
    }
}

/// Whether clients use TLS.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tls {
    Off,
    On,
}

/// The name of a scenario's schema. Such a name holds at most 64 characters.
fn schema(name: &str) -> String {
    format!("t_{}", &name[..name.len().min(60)])
}

/// Whether to play without any proxy. This helps when scenarios are written.
fn only_directly() -> bool {
    std::env::var_os("PILOTFISH_E2E_DIRECT").is_some()
}

/// Plays a scenario in front of the shared server of `product`, at every site, and compares what
/// the client saw with what it saw without a proxy. `name` must be unique among the tests.
pub fn everywhere(
    product: Product,
    name: &str,
    except: Except,
    scenario: impl Fn(&Site) -> Transcript,
) {
    let tour = Tour {
        product,
        name,
        schema: schema(name),
        scenario: &scenario,
    };
    let direct = tour.play(Way::Direct, None, Tls::Off);
    if only_directly() {
        let again = tour.play(Way::Direct, None, Tls::On);
        return direct.assert_same(&again, "directly, TLS");
    }
    for &(client_tls, backend_tls) in chosen(name, &SIDES) {
        let proxy = transparent(product, backend_tls);
        let proxied = tour.play(Way::Transparent, Some(proxy), client_tls);
        let how = format!("through the proxy, TLS {}", sides(client_tls, backend_tls));
        direct.assert_same(&proxied, &how);
        proxy.assert_sound();
    }
    through_scripts(&tour, except, &direct);
    match except.pooled {
        None => with_few_connections(&tour, &direct),
        Some(reason) => println!("not pooled: {reason}"),
    }
    match except.pooled.or(except.companions) {
        None => beside_companions(&tour, &direct),
        Some(reason) => println!("not beside clients that read: {reason}"),
    }
    tour.clean();
}

/// TLS on the client's and on the backend's side.
const SIDES: [(Tls, Tls); 4] = [
    (Tls::Off, Tls::Off),
    (Tls::On, Tls::Off),
    (Tls::Off, Tls::On),
    (Tls::On, Tls::On),
];

/// The transcripts through a script: with a connection for each client, and in pooled sessions.
fn through_scripts(
    tour: &Tour<'_, impl Fn(&Site) -> Transcript>,
    except: Except,
    direct: &Transcript,
) {
    if let Some(reason) = except.scripted {
        return println!("not through a script: {reason}");
    }
    let ways = match except.pooled.or(except.pooled_scripted) {
        Some(reason) => {
            println!("not pooled through a script: {reason}");
            &[Way::Scripted][..]
        }
        None => &[Way::Scripted, Way::Pooled],
    };
    for way in chosen(tour.name, ways) {
        match way {
            Way::Pooled => pooled_through_a_script(tour, direct),
            _ => through_a_script(tour, direct),
        }
    }
}

fn through_a_script(tour: &Tour<'_, impl Fn(&Site) -> Transcript>, direct: &Transcript) {
    let proxy = scripted(tour.product);
    let proxied = tour.play(Way::Scripted, Some(proxy), Tls::Off);
    direct.assert_same(&proxied, "through a script");
    proxy.assert_sound();
}

fn pooled_through_a_script(tour: &Tour<'_, impl Fn(&Site) -> Transcript>, direct: &Transcript) {
    let held = pooled(tour.product, Turn::TwoScripted);
    let proxied = tour.play(Way::Pooled, Some(held.proxy), Tls::Off);
    direct
        .of_pool()
        .assert_same(&proxied.of_pool(), "pooled, through a script");
    held.proxy.assert_sound();
}

fn with_few_connections(tour: &Tour<'_, impl Fn(&Site) -> Transcript>, direct: &Transcript) {
    let ways = [(Turn::Two, Tls::Off), (Turn::TwoOverTls, Tls::On)];
    for &(which, tls) in chosen(tour.name, &ways) {
        let held = pooled(tour.product, which);
        let proxy = held.proxy;
        let proxied = tour.play(Way::Pooled, Some(proxy), tls);
        direct
            .of_pool()
            .assert_same(&proxied.of_pool(), &format!("pooled, {which:?}"));
        proxy.assert_sound();
    }
}

fn beside_companions(tour: &Tour<'_, impl Fn(&Site) -> Transcript>, direct: &Transcript) {
    let held = pooled(tour.product, Turn::Two);
    let proxied = tour.play_accompanied(held.proxy);
    direct.of_pool().assert_same(
        &proxied.of_pool(),
        "pooled, beside clients that read on lanes",
    );
    held.proxy.assert_sound();
}

/// Plays a scenario directly, and through a pooled proxy with one backend connection, where an intruder runs a
/// statement before each command of the scenario's clients. Compares what the clients saw.
pub fn shared(product: Product, name: &str, scenario: impl Fn(&Site) -> Transcript) {
    let tour = Tour {
        product,
        name,
        schema: schema(name),
        scenario: &scenario,
    };
    let direct = tour.play(Way::Direct, None, Tls::Off);
    if only_directly() {
        let again = tour.play_intruded(Way::Direct, None);
        return direct.assert_same(&again, "directly, beside an intruder");
    }
    let held = pooled(product, Turn::One);
    let proxied = tour.play_intruded(Way::Pooled, Some(held.proxy));
    // The declaration of a user variable's column depends on whether other sessions have used the name.
    let (direct, proxied) = (direct.of_values(), proxied.of_values());
    direct.assert_same(&proxied, "over one connection, with an intruder");
    held.proxy.assert_sound();
    tour.clean();
}

fn sides(client: Tls, backend: Tls) -> &'static str {
    match (client, backend) {
        (Tls::Off, Tls::Off) => "on neither side",
        (Tls::On, Tls::Off) => "on the client's side",
        (Tls::Off, Tls::On) => "on the backend's side",
        (Tls::On, Tls::On) => "on both sides",
    }
}

/// The transparent proxies that all scenarios of this process share.
fn transparent(product: Product, backend_tls: Tls) -> &'static Proxy {
    static PROXIES: [OnceLock<Proxy>; 6] = [const { OnceLock::new() }; 6];
    PROXIES[product.row() * 2 + usize::from(backend_tls == Tls::On)].get_or_init(|| {
        let mode = match backend_tls {
            Tls::On => "required",
            Tls::Off => "off",
        };
        let settings =
            Settings::in_front_of([Server::shared(product)]).set("backend_tls.mode", mode);
        Proxy::start(&settings)
    })
}

/// The proxies with a script that all scenarios of this process share.
fn scripted(product: Product) -> &'static Proxy {
    static PROXIES: [OnceLock<Proxy>; 3] = [const { OnceLock::new() }; 3];
    PROXIES[product.row()].get_or_init(|| {
        let settings = Settings::in_front_of([Server::shared(product)]);
        Proxy::start(&settings.set("routing.script", EVERY_OTHER))
    })
}
