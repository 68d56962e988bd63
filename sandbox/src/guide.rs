//! The sandbox's guide: how to connect, and commands to try.

use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::history::settings_file;
use super::load;
use super::replication::Cluster;
use super::server::Server;
use super::watch::AWAY;

/// The addresses on which the proxy listens.
#[derive(Debug, Clone, Copy)]
pub struct Doors {
    /// Sessions that share backend connections.
    pub pooled: SocketAddr,
    /// Sessions with a backend connection of their own.
    pub transparent: SocketAddr,
    /// The admin port.
    pub admin: SocketAddr,
    /// The HTTP port.
    pub http: SocketAddr,
}

/// The page that is shown when everything runs: addresses and files, commands to paste, and at the end the dashboard.
pub fn guide(cluster: &Cluster, doors: Doors, folder: &Path, shown: GuideOptions) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write_guide(&mut page, cluster, doors, folder)
        .and_then(|()| match shown.history {
            true => write_history(&mut page, doors, folder),
            false => Ok(()),
        })
        .and_then(|()| write_dashboard(&mut page, doors, shown.load));
    page
}

/// Optional parts of the guide.
#[derive(Debug, Clone, Copy)]
pub struct GuideOptions {
    /// Says that the sandbox's own clients use the servers.
    pub load: bool,
    /// The history of the schemas.
    pub history: bool,
}

/// Shows a change of a table, and how to see it afterwards.
fn write_history(page: &mut String, doors: Doors, folder: &Path) -> fmt::Result {
    let client = client();
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("pilotfish"));
    writeln!(
        page,
        "\nThe proxy follows the primary, and keeps what the schemas were. A change, and what it has changed:"
    )?;
    let alter = login(client, doors.pooled, ALTER);
    // MariaDB reports the time of a statement in whole seconds.
    writeln!(page, "  before=$(date -u '+%F %T'); sleep 1; {alter}")?;
    writeln!(
        page,
        "  {} schema diff main --schema demo --from \"$before\" -c {}",
        program.display(),
        settings_file(folder).display()
    )?;
    let (host, port) = (doors.admin.ip(), doors.admin.port());
    writeln!(page, "all changes, and how the stream fares:")?;
    writeln!(
        page,
        "  {client} -h{host} -P{port} -uadmin -padmin {CHANGES}"
    )
}

fn write_guide(page: &mut String, cluster: &Cluster, doors: Doors, folder: &Path) -> fmt::Result {
    let client = client();
    let primary = cluster.primary();
    let through = |tail: &str| login(client, doors.pooled, tail);
    writeln!(
        page,
        "\nThe sandbox is ready. Ctrl-C ends and removes all of it.\n"
    )?;
    writeln!(page, "  {:<12} {}", "proxy", doors.pooled)?;
    writeln!(page, "  {:<12} {}", "transparent", doors.transparent)?;
    writeln!(page, "  {:<12} {}", "admin", doors.admin)?;
    writeln!(page, "  {:<12} http://{}/", "http", doors.http)?;
    for server in &cluster.servers {
        let pid = server.pid().unwrap_or_default();
        let address = server.address();
        writeln!(page, "  {:<12} {address}  pid {pid}", server.name)?;
    }
    writeln!(page, "\nConnect through the proxy:")?;
    writeln!(page, "  {}", through(""))?;
    writeln!(page, "\nA question to ask:")?;
    writeln!(page, "  {}", through(QUESTION))?;
    writeln!(
        page,
        "\nReads go to replicas, writes to the primary; what goes where, and why:"
    )?;
    writeln!(page, "  {}", through(ROUTES))?;
    write_pooling(page, client, primary, doors)?;
    writeln!(page, "\nWhat the proxy knows, as tables:")?;
    let (host, port) = (doors.admin.ip(), doors.admin.port());
    writeln!(page, "  {client} -h{host} -P{port} -uadmin -padmin {LOOK}")?;
    writeln!(
        page,
        "  curl -u admin:admin 'http://{}/api/tables/sessions'",
        doors.http
    )?;
    if let Some(replica) = cluster.replicas().first() {
        writeln!(page, "\nA write through the proxy, seen on a replica:")?;
        writeln!(page, "  {}", through(WRITE))?;
        writeln!(page, "  {}", login(client, replica.address(), READ))?;
        writeln!(
            page,
            "\nA replica that dies (the proxy's log below tells what it notices):"
        )?;
        writeln!(page, "  {}", kill(replica))?;
    }
    writeln!(
        page,
        "\nThe primary dies: what a client hears who writes, and that service returns:"
    )?;
    writeln!(page, "  {}; {}", kill(primary), through(UPDATE))?;
    writeln!(
        page,
        "  A server that was killed starts again after {} s.",
        AWAY.as_secs()
    )?;
    writeln!(page, "\nAs root on one server, past the proxy:")?;
    writeln!(page, "  {client} -uroot -S {}", primary.socket().display())?;
    writeln!(page, "\nLogs: the proxy's follow here, the servers' are")?;
    writeln!(page, "  {}/*/server.log", folder.display())
}

/// Shows where to look first.
fn write_dashboard(page: &mut String, doors: Doors, load: bool) -> fmt::Result {
    if load {
        writeln!(
            page,
            "\n{} clients of the account {} use the small world meanwhile, some 200 statements a second.",
            load::CLIENTS,
            load::USER
        )?;
    }
    writeln!(page, "\nThe dashboard; user and password are admin:")?;
    writeln!(page, "  http://{}/\n", doors.http)
}

/// Shows connections that many clients share.
fn write_pooling(page: &mut String, client: &str, primary: &Server, doors: Doors) -> fmt::Result {
    writeln!(
        page,
        "\n{CROWD} clients that stay for {STAY_SECONDS} s, each with a connection id of its own:"
    )?;
    writeln!(page, "  {}", crowd(client, doors.pooled))?;
    writeln!(
        page,
        "meanwhile, the few connections that the primary has of them:"
    )?;
    let list = "-e 'SHOW PROCESSLIST'";
    let socket = primary.socket().display().to_string();
    writeln!(page, "  {client} -uroot -S {socket} {list}")?;
    writeln!(
        page,
        "the same clients at the transparent listener have one connection each:"
    )?;
    writeln!(page, "  {}", crowd(client, doors.transparent))
}

const CROWD: usize = 50;
const STAY_SECONDS: u32 = 30;

/// A shell command that starts many clients, ten a second, each of which sends one query and then is idle.
fn crowd(client: &str, address: SocketAddr) -> String {
    let one = login(client, address, " -nN");
    format!(
        "(for n in $(seq {CROWD}); do \
         (echo 'SELECT CONNECTION_ID();'; sleep {STAY_SECONDS}) | {one} & sleep 0.1; done)"
    )
}

const QUESTION: &str = " -e 'SELECT country.name, count(*) cities, max(city.population) largest \
    FROM city JOIN country ON country = code GROUP BY code ORDER BY largest DESC'";
const ROUTES: &str = " -t -e 'EXPLAIN ROUTE SELECT name FROM city; \
    EXPLAIN ROUTE UPDATE city SET population = 1; EXPLAIN SESSION'";
const ALTER: &str = " -e 'ALTER TABLE city ADD COLUMN mayor VARCHAR(40)'; sleep 1";
const CHANGES: &str =
    "-t -e 'SELECT time, kind, object, statement FROM schema_changes; SHOW REPLICATION'";
const LOOK: &str = "-t -e 'SHOW TABLES; SELECT name, state, role, lag_seconds FROM backends; \
    SELECT * FROM pools'";
const UPDATE: &str = " -e 'UPDATE city SET population = population + 1'";
const WRITE: &str =
    " -e \"INSERT INTO city (name, country, population) VALUES ('Pilotfish', 'PRT', 1)\"";
const READ: &str = " -e \"SELECT @@hostname, @@port, city.* FROM city WHERE name = 'Pilotfish'\"";

/// A client's command line for the account `app`.
fn login(client: &str, address: SocketAddr, tail: &str) -> String {
    format!(
        "{client} -h{} -P{} -uapp -papp demo{tail}",
        address.ip(),
        address.port()
    )
}

/// A command that kills a server. The pid file is right also after the server was started again.
fn kill(server: &Server) -> String {
    format!("kill -9 $(cat {})", server.pid_file().display())
}

/// The installed client program; `mariadb` if none is installed.
fn client() -> &'static str {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |name: &&str| {
        std::env::split_paths(&path).any(|folder| PathBuf::from(&folder).join(name).is_file())
    };
    ["mariadb", "mysql"]
        .into_iter()
        .find(is_here)
        .unwrap_or("mariadb")
}
