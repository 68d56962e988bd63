//! The columns of the table of pools for an account whose idle transactions give up connections for other accounts,
//! with two workers. For the effect on clients, see `simulation/tests/scenes/kept_connections.rs`.

use e2e::raw::{Address, Login, RawConn};
use e2e::{PASSWORD, Product, Proxy, Server, Settings, free_port, wait};

/// Two accounts, `greedy` and `modest`, share a hundred connections.
struct Shared {
    proxy: Proxy,
    admin: Address,
}

impl Shared {
    fn start(server: &Server) -> Self {
        let mut root = server.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.t (n INT PRIMARY KEY) ENGINE=InnoDB");
        let port = free_port();
        let mut settings = Settings::pooled(server, 100)
            .set("workers", 2)
            .set("backend_tls.mode", "preferred")
            .set("pool.timeout_wait", "60s")
            .admin_on(port);
        for user in ["greedy", "modest"] {
            root.run(&format!(
                "CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"
            ));
            root.run(&format!("GRANT ALL ON d.* TO {user}@'%'"));
            settings = settings.account(user, PASSWORD);
        }
        Self {
            proxy: Proxy::start(&settings),
            admin: std::net::SocketAddr::from(([127, 0, 0, 1], port)).into(),
        }
    }

    fn connect(&self, user: &str) -> RawConn {
        self.proxy.connect_as(&Login::user(user))
    }

    fn admin(&self) -> RawConn {
        RawConn::connect(&self.admin, &Login::with("root", "all")).unwrap()
    }

    /// Waits until all sessions of `greedy` have been idle for so long that they may have to give up their connections.
    fn wait_idle(&self) {
        let mut admin = self.admin();
        wait::until("all have been idle for a while", wait::SOON, || {
            let ask =
                "SELECT COALESCE(MIN(state_seconds), 0) >= 3 FROM sessions WHERE user = 'greedy'";
            admin.value(ask) == "1"
        });
    }

    /// A column of an account's row in the table of pools.
    fn pools(&self, user: &str, column: &str) -> String {
        self.admin().value(&format!(
            "SELECT COALESCE(SUM({column}), 0) FROM pools WHERE account LIKE '%{user}%'"
        ))
    }
}

/// The first account was alone, so it has all connections when the first session of another account arrives. Then its
/// idle transactions keep no more than four fifths of the connections.
#[test]
fn a_hundred_idle_transactions_of_one_account_leave_connections_for_others() {
    let server = Server::lease(Product::MariaDb);
    let shared = Shared::start(&server);
    let mut greedy: Vec<RawConn> = (0..100).map(|_| shared.connect("greedy")).collect();
    for (n, conn) in greedy.iter_mut().enumerate() {
        conn.run("BEGIN");
        conn.run(&format!("INSERT INTO d.t VALUES ({n})"));
    }
    assert_eq!(shared.pools("greedy", "idle_transactions"), "100");
    shared.wait_idle();
    let mut modest = shared.connect("modest");
    assert_eq!(modest.value("SELECT 1"), "1");
    wait::until("others have all that is kept for them", wait::SOON, || {
        let found = ["idle_transactions", "bounded"].map(|column| shared.pools("greedy", column));
        found == ["80", "1"]
    });
    let mut more: Vec<RawConn> = (0..19).map(|_| shared.connect("modest")).collect();
    for conn in &mut more {
        conn.run("BEGIN");
        assert_eq!(conn.value("SELECT COUNT(*) FROM d.t"), "0");
    }
    let mut ended = Vec::new();
    for (n, conn) in greedy.iter_mut().enumerate() {
        if let Some(error) = conn.query("COMMIT").error() {
            assert_eq!(error.code, 4031, "{error}");
            assert!(error.text.contains("account_kept_percent_max"), "{error}");
            ended.push(n);
        }
    }
    assert_eq!(ended.len(), 20, "{ended:?}");
    // The sessions whose transactions were ended continue.
    for n in ended {
        assert_eq!(greedy[n].value("SELECT 1"), "1");
    }
    assert_eq!(shared.proxy.count_events("kept_for_others"), 20);
    assert_eq!(modest.value("SELECT COUNT(*) FROM d.t"), "80");
}
