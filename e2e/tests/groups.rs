//! Members of Galera groups and of Group Replication that are not in step with their group: the proxy does not use
//! them, and the admin table `backends` has the reason.

use e2e::raw::{Login, RawConn};
use e2e::{Folder, PASSWORD, Product, Proxy, Server, Settings, Signal, free_port, wait};

/// A group of two members, in which the first has more weight: the first works without the second, but not the reverse.
struct Group {
    first: Server,
    second: Server,
    /// The folder with the second Galera node's position in the group.
    _home: Option<Folder>,
}

/// A proxy in front of a group that reads on the second member, and its admin port.
struct Site {
    group: Group,
    proxy: Proxy,
    admin: RawConn,
}

/// The name of the answering member, which differs between the members.
const WHO: &str = "SELECT name FROM d.whoami";

impl Group {
    fn galera() -> Self {
        let ports = [free_port(), free_port()];
        let first = galera_node(ports, 0, &["--wsrep-new-cluster"]);
        let mut root = first.root();
        let mut status = |name: &str| {
            let row = root.run(&format!("SHOW STATUS LIKE '{name}'"));
            row.text(0, 1).expect("Galera tells it")
        };
        let group = status("wsrep_cluster_state_uuid");
        let position = status("wsrep_last_committed");
        // Both nodes begin with the same data, so that the second does not need a copy from the first.
        let home = Folder::new("galera");
        home.write(
            "grastate.dat",
            format!(
                "# GALERA saved state\nversion: 2.1\nuuid: {group}\nseqno: {position}\nsafe_to_bootstrap: 0\n"
            ),
        );
        let home_option = format!("--wsrep-data-home-dir={}", home.path().display());
        let start = format!("--wsrep-start-position={group}:{position}");
        let second = galera_node(ports, 1, &[&home_option, &start]);
        Self {
            first,
            second,
            _home: Some(home),
        }
    }

    fn group_replication() -> Self {
        let ports = [free_port(), free_port()];
        let start = |index: usize| {
            let [first, second] = ports;
            let options = [
                format!("--server-id={}", index + 1),
                "--log-bin=binlog".to_owned(),
                "--gtid-mode=ON".to_owned(),
                "--enforce-gtid-consistency=ON".to_owned(),
                "--report-host=127.0.0.1".to_owned(),
                "--plugin-load-add=group_replication.so".to_owned(),
                "--loose-group-replication-start-on-boot=OFF".to_owned(),
                "--loose-group-replication-group-name=5f2c3a9e-8f0e-4d7a-9a43-3f6f2f0f7a10"
                    .to_owned(),
                format!(
                    "--loose-group-replication-local-address=127.0.0.1:{}",
                    ports[index]
                ),
                format!(
                    "--loose-group-replication-group-seeds=127.0.0.1:{first},127.0.0.1:{second}"
                ),
                "--loose-group-replication-recovery-get-public-key=ON".to_owned(),
            ];
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            let server = Server::start(Product::MySql, &options);
            server.root().run(&format!(
                "CHANGE REPLICATION SOURCE TO source_user = 'app', source_password = '{PASSWORD}' \
                 FOR CHANNEL 'group_replication_recovery'"
            ));
            server
        };
        let [first, second] = [start(0), start(1)];
        let mut root = first.root();
        root.run("SET GLOBAL group_replication_bootstrap_group = ON");
        root.run("START GROUP_REPLICATION");
        root.run("SET GLOBAL group_replication_bootstrap_group = OFF");
        second.root().run("START GROUP_REPLICATION");
        Self {
            first,
            second,
            _home: None,
        }
    }

    /// Gives the members different names in `d.whoami`; the statements `unheard` keep the second member's write out of
    /// the group.
    fn tell_apart(&self, unheard: &[&str]) {
        let mut root = self.first.root();
        root.run("CREATE DATABASE d");
        root.run("CREATE TABLE d.whoami (id INT PRIMARY KEY, name VARCHAR(20))");
        root.run("INSERT INTO d.whoami VALUES (1, 'first')");
        let mut root = self.second.root();
        wait::until("the second has the row", wait::SOON, || {
            let reply = root.query(WHO);
            reply.error().is_none() && reply.texts() == [["first"]]
        });
        for statement in unheard {
            root.run(statement);
        }
        root.run("UPDATE d.whoami SET name = 'second'");
    }
}

/// A node of a Galera cluster of two with these ports. The first node has more weight.
fn galera_node(ports: [u16; 2], index: usize, more: &[&str]) -> Server {
    let [first, second] = ports;
    let provider_options = format!(
        "gmcast.listen_addr=tcp://127.0.0.1:{};ist.recv_addr=127.0.0.1:{};pc.weight={};\
         evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S;evs.keepalive_period=PT0.2S;\
         evs.inactive_check_period=PT0.2S;gcache.size=8M",
        ports[index],
        free_port(),
        2 - index
    );
    let options = [
        "--wsrep-on=ON".to_owned(),
        "--wsrep-provider=/usr/lib/galera/libgalera_smm.so".to_owned(),
        format!("--wsrep-cluster-address=gcomm://127.0.0.1:{first},127.0.0.1:{second}"),
        "--wsrep-node-address=127.0.0.1".to_owned(),
        "--wsrep-sst-method=rsync".to_owned(),
        format!("--wsrep-sst-receive-address=127.0.0.1:{}", free_port()),
        format!("--wsrep-provider-options={provider_options}"),
        "--innodb-autoinc-lock-mode=2".to_owned(),
    ];
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    Server::start(Product::MariaDb, &[&options, more].concat())
}

impl Site {
    fn start(group: Group) -> Self {
        let port = free_port();
        let first = [("name", "\"first\""), ("role", "\"primary\"")];
        let second = [("name", "\"second\""), ("role", "\"replica\"")];
        let settings = Settings::default()
            .backend_with(group.first.tcp(), &first)
            .backend_with(group.second.tcp(), &second)
            .account("app", PASSWORD)
            .set("balance.timeout_backend_wait", "60s")
            .set("health.monitor_user", "app")
            .set("health.monitor_password", PASSWORD)
            .set("health.monitor_interval", "100ms")
            .set("health.timeout_connect", "2s")
            .set("health.replication_interval", "50ms")
            .admin_on(port);
        let proxy = Proxy::start(&settings);
        let login = Login {
            passwords: vec!["all".into()],
            ..Login::user("root")
        };
        let address: std::net::SocketAddr = ([127, 0, 0, 1], port).into();
        let admin = RawConn::connect(&address.into(), &login).expect("the admin port is open");
        Self {
            group,
            proxy,
            admin,
        }
    }

    /// Waits until the admin table has this state and this reason for the second member.
    fn wait_told(&mut self, state: &str, reason: &str) {
        let sql = "SELECT CONCAT(state, '; ', COALESCE(cause, ''), '; ', COALESCE(complaint, '')) \
                   FROM backends WHERE name = 'second'";
        let what = format!("the second is told to be {state}, {reason}");
        wait::until(&what, wait::SOON, || {
            let told = self.admin.value(sql);
            told.starts_with(state) && told.contains(reason)
        });
    }

    /// Waits until this member answers reads, and checks that reads stay there.
    fn wait_read_on(&self, name: &str) {
        let mut conn = self.proxy.connect();
        conn.patience(2 * wait::SOON);
        wait::until(&format!("{name} is read"), wait::SOON, || {
            conn.value(WHO) == name
        });
        for _ in 0..20 {
            assert_eq!(conn.value(WHO), name);
        }
    }

    fn wait_in_step(&mut self) {
        self.wait_told("up; ; ", "");
        self.wait_read_on("second");
    }
}

#[test]
fn a_galera_node_that_is_not_in_step_is_left_out() {
    let group = Group::galera();
    group.tell_apart(&["SET SESSION wsrep_on = OFF"]);
    let mut site = Site::start(group);
    site.wait_in_step();
    let second = |sql: &str| {
        let conn = site.group.second.root().query(sql);
        assert!(conn.error().is_none(), "{sql}: {:?}", conn.error());
    };
    second("SET GLOBAL wsrep_desync = ON");
    site.wait_told("up", "no working member of its group: Donor/Desynced");
    site.wait_read_on("first");
    site.group
        .second
        .root()
        .run("SET GLOBAL wsrep_desync = OFF");
    site.wait_in_step();

    // The second node is cut off from the group, and the first works without it.
    let isolate =
        |value: u8| format!("SET GLOBAL wsrep_provider_options = 'gmcast.isolate={value}'");
    let mut root = site.group.second.root();
    root.run(&isolate(1));
    site.wait_told("down", "WSREP has not yet prepared node");
    site.wait_read_on("first");
    site.proxy
        .connect()
        .run("INSERT INTO d.whoami VALUES (2, 'first')");
    site.proxy
        .connect()
        .run("DELETE FROM d.whoami WHERE id = 2");
    root.run(&isolate(0));
    site.wait_in_step();

    // The second node hangs.
    site.group.second.process().signal(Signal::STOP);
    site.wait_told("down", "");
    site.wait_read_on("first");
    site.group.second.process().signal(Signal::CONT);
    site.wait_in_step();
}

#[test]
fn a_member_of_group_replication_that_is_not_in_step_is_left_out() {
    let group = Group::group_replication();
    group.tell_apart(&[
        "SET GLOBAL super_read_only = 0, read_only = 0",
        "SET sql_log_bin = 0",
    ]);
    group.second.root().run("SET GLOBAL super_read_only = 1");
    let mut site = Site::start(group);
    site.wait_in_step();
    site.group.second.root().run("STOP GROUP_REPLICATION");
    site.wait_told("up", "no working member of its group: OFFLINE");
    site.wait_read_on("first");
    site.group.second.root().run("START GROUP_REPLICATION");
    site.wait_in_step();

    // The first member hangs, so the second has no majority: it could not replicate a commit.
    site.group.first.process().signal(Signal::STOP);
    site.wait_told("up", "cannot reach a majority of the group");
    site.group.first.process().signal(Signal::CONT);
    site.wait_in_step();
}
