//! The simulation's model of a server gives the same replies as real servers: dialogues are played with both.
//!
//! The recordings in `simulation/dialogues/mariadb` and `mysql` are what the model's own tests compare with.
//! `PILOTFISH_WRITE=1` records them anew.

mod small_disk;

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::{Cluster, Leased, PASSWORD, Product, Server, primary_options};
use simulation::server::Family;
use simulation::server::dialogue::{
    Asks, Awaited, Blow, Host, ModelPlace, Place, Stream, difference, play,
};
use small_disk::SmallDisk;
use tokio::net::{TcpStream, UnixStream};

both! {
    the_model_gives_the_replies_of_the_server
    the_model_fills_its_disk_as_the_server_does
    the_models_replica_gives_the_replies_of_the_servers_replica
}

/// The dialogue with a disk that can be full.
const ON_DISK: &str = "disk.txt";

/// The dialogue with a replica.
const REPLICATION: &str = "replication.txt";

/// The pause between two questions whether a server waits: InnoDB looks again only after a tenth of a second without
/// questions.
const PAUSE: Duration = Duration::from_millis(150);

/// The password of the account `plain`.
const PLAIN_PASSWORD: &str = "secret";

/// A real server, perhaps with a replica.
struct RealPlace<'a> {
    family: Family,
    cluster: RefCell<&'a mut Cluster>,
    disk: Option<&'a SmallDisk>,
}

impl Place for RealPlace<'_> {
    fn family(&self) -> Family {
        self.family
    }

    fn connect(&self, user: &str, host: Host) -> Awaited<'_, io::Result<Box<dyn Stream>>> {
        let is_root = user == "root";
        let cluster = self.cluster.borrow();
        let server = match host {
            Host::Source => &cluster.primary,
            Host::Replica => &cluster.replicas[0],
        };
        let (socket, address) = (server.socket(), server.tcp());
        Box::pin(async move {
            if is_root {
                let stream = UnixStream::connect(socket).await?;
                return Ok(Box::new(stream) as Box<dyn Stream>);
            }
            let stream = TcpStream::connect(address).await?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }

    fn password(&self, user: &str) -> String {
        let password = match user {
            "app" => PASSWORD,
            "plain" => PLAIN_PASSWORD,
            _ => "",
        };
        password.to_owned()
    }

    fn fill_disk(&self, full: bool) {
        let disk = self.disk.expect("only one dialogue has a disk");
        match full {
            true => disk.fill(),
            false => disk.free(),
        }
    }

    fn strike(&self, blow: Blow) {
        let mut cluster = self.cluster.borrow_mut();
        match blow {
            Blow::ShutDown => cluster.primary.shut_down(),
            Blow::Crash => cluster.primary.kill(),
            Blow::Start => cluster.primary.start_again(),
            Blow::StopReplica => cluster.stop_replication(0),
            Blow::StartReplica => cluster.start_replication(0),
        }
    }

    fn disk(&self) -> String {
        self.disk.map_or_else(String::new, SmallDisk::folder)
    }

    fn pause(&self) -> Awaited<'_, ()> {
        Box::pin(tokio::time::sleep(PAUSE))
    }

    fn is_waiting<'a>(&'a self, connection: u32, root: &'a mut dyn Asks) -> Awaited<'a, bool> {
        Box::pin(async move {
            let question = format!(
                "SELECT (SELECT COUNT(*) FROM information_schema.innodb_trx \
                 WHERE trx_mysql_thread_id = {connection} AND trx_state = 'LOCK WAIT') + \
                 (SELECT COUNT(*) FROM information_schema.processlist \
                 WHERE id = {connection} AND (state LIKE 'Waiting %' OR state LIKE 'User %'))"
            );
            root.ask(&question).await != "0"
        })
    }
}

/// A server with the accounts and settings that dialogues expect.
fn server(product: Product) -> Leased {
    let options = [&primary_options(product)[..], &["--server-id=1"]].concat();
    let cluster = Cluster::lease_with(product, 0, &options);
    make_plain(&cluster.primary);
    cluster
}

/// Makes an application's account.
fn make_plain(server: &Server) {
    let mut root = server.root();
    root.run(&format!(
        "CREATE USER plain@'%' IDENTIFIED BY '{PLAIN_PASSWORD}'"
    ));
    root.run(
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, LOCK TABLES, CREATE TEMPORARY TABLES \
         ON *.* TO plain@'%'",
    );
}

fn dialogues() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../simulation/dialogues")
}

/// How often a dialogue about the number of connections is repeated at most.
const PLAYS_MAX: usize = 20;

/// Plays with a real server, in real time.
fn play_with_server(place: &RealPlace<'_>, text: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(play(place, text))
}

/// Plays with the model, whose time passes when there is nothing to do.
fn play_with_model(family: Family, text: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    let runtime = runtime.expect("a runtime can be made");
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        play(&ModelPlace::new(family), text).await
    })
}

fn family(product: Product) -> (Family, &'static str) {
    match product.is_mariadb() {
        true => (Family::MariaDb, "mariadb"),
        false => (Family::MySql, "mysql"),
    }
}

fn the_model_gives_the_replies_of_the_server(product: Product) {
    let mut cluster = server(product);
    let place = RealPlace {
        family: family(product).0,
        cluster: RefCell::new(&mut cluster),
        disk: None,
    };
    let files = std::fs::read_dir(dialogues()).expect("the dialogues are there");
    let mut paths: Vec<PathBuf> = files.filter_map(|it| Some(it.ok()?.path())).collect();
    let is_elsewhere = |it: &PathBuf| it.ends_with(ON_DISK) || it.ends_with(REPLICATION);
    paths.retain(|it| it.extension().is_some_and(|it| it == "txt") && !is_elsewhere(it));
    paths.sort();
    let differences: Vec<String> = paths
        .iter()
        .flat_map(|path| differences(product, &place, path))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The binary log and a table of the server are on a disk that is full.
fn the_model_fills_its_disk_as_the_server_does(product: Product) {
    let Some(disk) = SmallDisk::mount() else {
        println!("only root may mount a disk");
        return;
    };
    let folder = disk.folder();
    let log = format!("--log-bin={folder}/binlog");
    let mut options = vec![&*log, "--server-id=1", "--binlog-format=ROW"];
    let known = format!("--innodb-directories={folder}");
    if !product.is_mariadb() {
        options.push(&known);
    }
    let mut cluster = Cluster {
        primary: Server::start(product, &options),
        replicas: Vec::new(),
    };
    let place = RealPlace {
        family: family(product).0,
        cluster: RefCell::new(&mut cluster),
        disk: Some(&disk),
    };
    let differences = differences(product, &place, &dialogues().join(ON_DISK));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn the_models_replica_gives_the_replies_of_the_servers_replica(product: Product) {
    let mut cluster = Cluster::lease(product, 1);
    make_plain(&cluster.primary);
    let place = RealPlace {
        family: family(product).0,
        cluster: RefCell::new(&mut cluster),
        disk: None,
    };
    let differences = differences(product, &place, &dialogues().join(REPLICATION));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The differences of a server's replies from its recording and from the model.
fn differences(product: Product, place: &RealPlace<'_>, path: &Path) -> Vec<String> {
    let (family, recordings) = family(product);
    let text = std::fs::read_to_string(path).expect("a dialogue is a text");
    let name = path.file_name().expect("a file has a name");
    let recording = dialogues().join(recordings).join(name);
    let mut said = play_with_server(place, &text);
    // A server counts a connection a little longer than the client has it open. If that changes the replies, the
    // dialogue is repeated.
    for _ in 0..PLAYS_MAX {
        let recorded = std::fs::read_to_string(&recording).unwrap_or_default();
        if !text.contains("max_connections") || difference(&said, &recorded).is_none() {
            break;
        }
        said = play_with_server(place, &text);
    }
    if std::env::var_os("PILOTFISH_WRITE").is_some() {
        std::fs::write(&recording, &said).expect("the recording can be written");
    }
    let recorded = std::fs::read_to_string(&recording).unwrap_or_default();
    let name = name.to_string_lossy();
    let of_recording = difference(&said, &recorded)
        .map(|it| format!("{name}, the recording in place of the model:\n{it}"));
    let of_model = difference(&said, &play_with_model(family, &text));
    let of_model = of_model.map(|it| format!("{name}:\n{it}"));
    of_recording.into_iter().chain(of_model).collect()
}
