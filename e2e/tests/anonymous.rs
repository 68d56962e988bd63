//! Pooled sessions of an anonymous account: USER() has the name that the client gave, whichever client used the
//! connection before.

use e2e::raw::{Execute, Login, RawConn};
use e2e::{LeasedServer, PASSWORD, Product, Proxy, Server, Settings};

const WHO: &str = "SELECT CONCAT_WS(' ', SUBSTRING_INDEX(USER(), '@', 1), CURRENT_USER(), \
                   SUBSTRING_INDEX(SESSION_USER(), '@', 1))";

struct Site {
    proxy: Proxy,
    // Dropped after the proxy, because the next test gets the server.
    server: LeasedServer,
}

impl Site {
    fn start(product: Product, lanes: bool) -> Self {
        let server = Server::lease(product);
        let mut root = server.root();
        root.run("CREATE USER ''@'%' IDENTIFIED BY 'anybody'");
        root.run("GRANT SELECT ON *.* TO ''@'%'");
        let settings = Settings::in_front_of([&*server])
            .set("workers", 1)
            .set("routing.session", "statement")
            .set("routing.lanes", if lanes { "reads" } else { "off" })
            .set("pool.backend_connections_max", 3)
            .set("pool.opens_per_second", 1000)
            .set("pool.opens_burst", 100)
            .set("accounts.learn", true)
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD);
        let proxy = Proxy::start(&settings);
        proxy.wait_event("accounts_learned", &[]);
        Self { server, proxy }
    }

    fn direct(&self, user: &str) -> RawConn {
        RawConn::connect(&self.server.tcp().into(), &login(user)).unwrap()
    }

    fn pooled(&self, user: &str) -> RawConn {
        self.proxy.connect_as(&login(user))
    }
}

fn login(user: &str) -> Login {
    Login::with(user, "anybody")
}

both! {
    an_anonymous_client_has_the_name_that_it_gave
    an_anonymous_client_on_lanes_has_the_name_that_it_gave
    an_anonymous_client_may_change_its_name
    an_anonymous_client_may_not_kill_another_name
}

const NAMES: [&str; 4] = ["alice", "bob", "", "größe"];

fn each_has_its_name(site: &Site) {
    let mut all = NAMES.map(|user| (site.direct(user), site.pooled(user)));
    for _ in 0..3 {
        for (direct, pooled) in &mut all {
            assert_eq!(pooled.value(WHO), direct.value(WHO));
            let [wanted, found] = [direct, pooled].map(|conn| {
                let prepared = conn.prepare(WHO).statement();
                let reply = conn.execute(&Execute::new(prepared, &[]));
                let rows = reply.results().next().map(|result| result.rows.clone());
                rows.expect("there is a row")
            });
            assert_eq!(found, wanted);
        }
    }
}

fn an_anonymous_client_has_the_name_that_it_gave(product: Product) {
    let site = Site::start(product, false);
    each_has_its_name(&site);
    // The server lists its connections by these names.
    let mut root = site.server.root();
    for user in ["alice", "bob"] {
        let sql = format!(
            "SELECT COUNT(*) > 1 FROM information_schema.processlist WHERE USER = '{user}'"
        );
        let mut pooled = site.pooled(user);
        let _direct = site.direct(user);
        assert_eq!(pooled.value(WHO), site.direct(user).value(WHO));
        assert_eq!(root.value(&sql), "1", "{user}");
    }
}

fn an_anonymous_client_on_lanes_has_the_name_that_it_gave(product: Product) {
    each_has_its_name(&Site::start(product, true));
}

fn an_anonymous_client_may_change_its_name(product: Product) {
    let site = Site::start(product, false);
    let (mut direct, mut pooled) = (site.direct("alice"), site.pooled("alice"));
    for user in ["bob", "alice", "carol"] {
        direct.change_user(&login(user)).unwrap();
        pooled.change_user(&login(user)).unwrap();
        assert_eq!(pooled.value(WHO), direct.value(WHO));
    }
}

fn an_anonymous_client_may_not_kill_another_name(product: Product) {
    let site = Site::start(product, false);
    let (alice, mut bob, other) = (site.pooled("alice"), site.pooled("bob"), site.pooled("bob"));
    let refused = bob.query(&format!("KILL {}", alice.id));
    assert_eq!(refused.error().map(|error| error.code), Some(1095));
    bob.run(&format!("KILL {}", other.id));
}
