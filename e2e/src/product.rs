//! The server products tested against: where their programs are, how a data folder is made, which
//! options they are started with, which accounts they have.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};

/// A server product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// MariaDB as the distribution installs it (10.11 on Debian 12).
    MariaDb,
    /// MariaDB 11.8, unpacked: for what 10.11 lacks (parsec, caching_sha2_password).
    MariaDbNext,
    /// MySQL 9.7, unpacked.
    MySql,
}

/// The password of every account that has one.
pub const PASSWORD: &str = "a s3cret with spaces";

impl Product {
    /// A short name, as in folder names.
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MariaDbNext => "mariadb-11.8",
            Self::MySql => "mysql-9.7",
        }
    }

    /// True for both MariaDBs.
    pub fn is_mariadb(self) -> bool {
        self != Self::MySql
    }

    /// A command that runs one of the product's programs: `mariadbd`, `mysqld`, `mysql`,
    /// `mysqlbinlog`, `mariadb`, `mariadb-binlog`.
    pub fn command(self, program: &str) -> Command {
        let Some(root) = self.root() else {
            let installed = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin"]
                .map(|folder| Path::new(folder).join(program))
                .into_iter()
                .find(|path| path.exists());
            return Command::new(installed.unwrap_or_else(|| missing(program)));
        };
        let path = ["usr/sbin", "usr/bin", "usr/lib/mysql-test/bin"]
            .map(|folder| root.join(folder).join(program))
            .into_iter()
            .find(|path| path.exists())
            .unwrap_or_else(|| missing(program));
        // The program needs a newer libc than the system's, so it is run with the unpacked loader and libraries.
        let mut command = Command::new(root.join("usr/lib64/ld-linux-x86-64.so.2"));
        command
            .arg("--library-path")
            .arg(root.join("usr/lib/x86_64-linux-gnu"))
            .arg(path)
            .env("LD_PRELOAD", preload());
        command
    }

    /// The folder of MariaDB's own test suite, unpacked. It has the version of the installed MariaDB.
    pub fn suite() -> PathBuf {
        cache().join("mariadb-test/usr/share/mysql/mysql-test")
    }

    /// The program that runs the tests in it.
    pub fn suite_program() -> Command {
        let root = cache().join("mariadb-test/usr");
        let program = root.join("bin/mariadb-test");
        if !program.exists() {
            missing("mariadb-test");
        }
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", root.join("lib/x86_64-linux-gnu"));
        command
    }

    /// The command-line client.
    pub fn client(self) -> Command {
        let mut command = match self {
            Self::MySql => self.command("mysql"),
            Self::MariaDb | Self::MariaDbNext => self.command("mariadb"),
        };
        command.arg("--no-defaults").stdin(Stdio::null());
        if let (Self::MariaDbNext, Some(root)) = (self, self.root()) {
            let plugins = root.join("usr/lib/x86_64-linux-gnu/libmariadb3/plugin");
            command.arg(format!("--plugin-dir={}", plugins.display()));
        }
        command
    }

    /// The accounts whose logins the proxy can answer if it knows their passwords.
    pub fn answerable(self) -> &'static [(&'static str, &'static str)] {
        const OTHER: &str = "another password";
        match self {
            Self::MariaDb => &[
                ("app", PASSWORD),
                ("other", OTHER),
                ("nopass", ""),
                ("native", PASSWORD),
                ("ed25519", PASSWORD),
                ("tls_only", PASSWORD),
            ],
            Self::MariaDbNext => &[
                ("app", PASSWORD),
                ("other", OTHER),
                ("nopass", ""),
                ("native", PASSWORD),
                ("ed25519", PASSWORD),
                ("parsec", PASSWORD),
                ("sha2", PASSWORD),
                ("tls_only", PASSWORD),
            ],
            Self::MySql => &[
                ("app", PASSWORD),
                ("other", OTHER),
                ("nopass", ""),
                ("sha2", PASSWORD),
                ("sha256", PASSWORD),
                ("tls_only", PASSWORD),
            ],
        }
    }

    /// The password's hash, with which a proxy can check clients' logins, if the product has one.
    pub(crate) fn hash(self, password: &str) -> Option<String> {
        let sha1 = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
        let twice = sha1(sha1(password.as_bytes()).as_ref());
        let hex = |byte: &u8| format!("{byte:02X}");
        let hex: String = twice.as_ref().iter().map(hex).collect();
        (!password.is_empty()).then(|| format!("*{hex}"))
    }

    /// The id of utf8mb4's default collation.
    pub fn collation(self) -> u16 {
        match self {
            Self::MariaDb | Self::MariaDbNext => 45,
            Self::MySql => 255,
        }
    }

    /// A number for each product, from 0.
    pub(crate) fn row(self) -> usize {
        match self {
            Self::MariaDb => 0,
            Self::MariaDbNext => 1,
            Self::MySql => 2,
        }
    }

    /// The folder that the product was unpacked to; none if it is installed.
    fn root(self) -> Option<PathBuf> {
        match self {
            Self::MariaDb => None,
            Self::MariaDbNext | Self::MySql => Some(cache().join(self.name())),
        }
    }

    /// The server program.
    fn server(self) -> Command {
        match self {
            Self::MySql => self.command("mysqld"),
            Self::MariaDb | Self::MariaDbNext => self.command("mariadbd"),
        }
    }

    /// The server program with the options that it needs to find its own files.
    ///
    /// Its temporary files are in a folder of its own, because a starting MariaDB removes the temporary files of every
    /// other server that shares the folder.
    pub(crate) fn server_at_home(self, data: &Path) -> Command {
        let around = data.parent().expect("it has a name");
        let mut command = self.server();
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--tmpdir={}", around.display()));
        if rustix::process::geteuid().is_root() {
            command.arg("--user=root");
        }
        command.args(self.home());
        command
    }

    /// A program that starts the server with the paths of its own files.
    pub fn server_program(self, folder: &Path) -> PathBuf {
        let command = self.server();
        if self.root().is_none() {
            return command.get_program().into();
        }
        let own = std::iter::once(command.get_program()).chain(command.get_args());
        let quoted = |it: &dyn std::fmt::Display| format!("'{it}'");
        let own: Vec<_> = own.map(|it| quoted(&Path::new(it).display())).collect();
        let home: Vec<_> = self.home().iter().map(|it| quoted(it)).collect();
        let text = format!(
            "#!/bin/sh\nLD_PRELOAD='{}' exec {} \"$@\" {}\n",
            preload(),
            own.join(" "),
            home.join(" ")
        );
        let program = folder.join("server");
        std::fs::write(&program, text).expect("the folder is writable");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&program, executable).expect("it is ours");
        program
    }

    /// The options that an unpacked server needs to find its own files.
    fn home(self) -> Vec<String> {
        let Some(root) = self.root() else {
            return Vec::new();
        };
        let usr = root.join("usr");
        let share = self.share();
        let plugins = usr.join("lib/mysql/plugin");
        vec![
            format!("--basedir={}", usr.display()),
            format!("--plugin-dir={}", plugins.display()),
            format!("--lc-messages-dir={}", share.display()),
            format!("--character-sets-dir={}", share.join("charsets").display()),
        ]
    }

    fn share(self) -> PathBuf {
        match (self, self.root()) {
            (Self::MySql, Some(root)) => root.join("usr/share/mysql"),
            (_, Some(root)) => root.join("usr/share/mariadb"),
            (_, None) => PathBuf::from("/usr/share/mysql"),
        }
    }

    /// The output of `--version`, in a form for a folder's name.
    pub(crate) fn version(self) -> String {
        let output = self.server().arg("--version").output();
        let output = output.expect("the server program runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text
            .split("Ver ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        version.unwrap_or("unknown").replace('/', "-")
    }

    /// Fills an empty data folder with the system tables.
    pub(crate) fn initialise(self, data: &Path) {
        if self == Self::MySql {
            let mut command = self.server_at_home(data);
            command.args(["--initialize-insecure", "--innodb-redo-log-capacity=8M"]);
            return run_to_the_end(command, Stdio::null());
        }
        // These are the steps of mariadb-install-db, without its assumptions about the paths of programs.
        let mut sql = String::from("CREATE DATABASE mysql;\nUSE mysql;\n");
        sql += "SET @auth_root_socket=NULL;\n";
        for part in ["system_tables", "performance_tables", "system_tables_data"] {
            let file = ["mariadb", "mysql"]
                .map(|prefix| self.share().join(format!("{prefix}_{part}.sql")))
                .into_iter()
                .find(|path| path.exists())
                .unwrap_or_else(|| missing(part));
            sql += &std::fs::read_to_string(file).expect("the scripts are text");
        }
        let gis = self.share().join("maria_add_gis_sp_bootstrap.sql");
        sql += &std::fs::read_to_string(gis).expect("the scripts are text");
        let script = data.with_extension("sql");
        std::fs::write(&script, sql).expect("the cache is writable");
        let mut command = self.server_at_home(data);
        command.args([
            "--bootstrap",
            "--innodb-log-file-size=4M",
            "--max-allowed-packet=8M",
        ]);
        let input = std::fs::File::open(&script).expect("it was just written");
        run_to_the_end(command, input.into());
        let _ = std::fs::remove_file(&script);
    }

    /// The options that every server is started with, for small memory and speed. Committed data survives a killed
    /// server, as the tests expect, but perhaps not a loss of power.
    pub(crate) fn options(self) -> Vec<&'static str> {
        let mut options = vec![
            "--skip-name-resolve",
            "--max-allowed-packet=128M",
            "--max-connections=400",
            "--thread-stack=512K",
            "--local-infile=ON",
            "--secure-file-priv=",
            "--character-set-server=utf8mb4",
            "--log-bin-trust-function-creators=ON",
            // Replies have a flag for slow statements, which would depend on the machine's load.
            "--long-query-time=31536000",
            // Replies also have a flag for missing indexes. It would depend on statistics that a thread renews after a
            // while.
            "--innodb-stats-auto-recalc=OFF",
            "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=2",
            "--innodb-flush-method=nosync",
            "--sync-binlog=0",
            "--performance-schema=ON",
            "--performance-schema-instrument=%=OFF",
            "--performance-schema-max-table-instances=200",
            // At its start a server writes all of the memory of these tables, which takes a third of the start's time.
            "--performance-schema-digests-size=200",
            "--performance-schema-max-memory-classes=0",
            "--performance-schema-events-statements-history-long-size=0",
            "--performance-schema-events-stages-history-long-size=0",
            "--performance-schema-events-transactions-history-long-size=0",
            "--performance-schema-events-waits-history-long-size=0",
            "--performance-schema-events-stages-history-size=0",
            "--performance-schema-events-transactions-history-size=0",
            "--performance-schema-events-waits-history-size=0",
            "--performance-schema-accounts-size=20",
            "--performance-schema-hosts-size=20",
            "--performance-schema-users-size=20",
        ];
        options.extend(match self {
            Self::MySql => &[
                // These threads take two thirds of the processor time of an idle server.
                "--innodb-log-writer-threads=OFF",
                "--mysqlx=OFF",
                "--disable-log-bin",
                "--innodb-redo-log-capacity=8M",
                "--innodb-log-buffer-size=1M",
                "--innodb-doublewrite=OFF",
                "--innodb-read-io-threads=1",
                "--innodb-write-io-threads=2",
                "--innodb-purge-threads=1",
                "--performance-schema-error-size=0",
            ][..],
            Self::MariaDb | Self::MariaDbNext => &[
                "--innodb-log-file-size=32M",
                "--innodb-doublewrite=OFF",
                "--plugin-maturity=unknown",
                "--binlog-format=ROW",
            ][..],
        });
        options
    }

    /// The first statements in a new data folder: they make the accounts of the tests.
    pub(crate) fn accounts(self) -> Vec<String> {
        let mut sql = match self {
            Self::MySql => vec!["INSTALL COMPONENT 'file://component_query_attributes'".into()],
            // Without this, anonymous users would match before `app@%` on localhost.
            _ => vec![
                "DELETE FROM mysql.global_priv WHERE user = ''".into(),
                "FLUSH PRIVILEGES".into(),
            ],
        };
        let mut account = |name: &str, how: &str| {
            sql.push(format!("CREATE USER {name}@'%' {how}"));
            sql.push(format!("GRANT ALL ON *.* TO {name}@'%' WITH GRANT OPTION"));
        };
        let by = format!("BY '{PASSWORD}'");
        account("app", &format!("IDENTIFIED {by}"));
        account("other", "IDENTIFIED BY 'another password'");
        account("nopass", "");
        account("tls_only", &format!("IDENTIFIED {by} REQUIRE SSL"));
        account("x509_only", &format!("IDENTIFIED {by} REQUIRE X509"));
        if self == Self::MySql {
            account(
                "sha2",
                &format!("IDENTIFIED WITH caching_sha2_password {by}"),
            );
            account("sha256", &format!("IDENTIFIED WITH sha256_password {by}"));
        } else {
            account("native", &format!("IDENTIFIED {by}"));
            sql.push("INSTALL SONAME 'auth_ed25519'".into());
            let how = format!("IDENTIFIED VIA ed25519 USING PASSWORD('{PASSWORD}')");
            sql.push(format!("CREATE USER ed25519@'%' {how}"));
            sql.push("GRANT ALL ON *.* TO ed25519@'%'".into());
        }
        sql.extend(self.plugin_accounts());
        sql
    }

    /// The accounts whose plugins only the unpacked products have.
    fn plugin_accounts(self) -> Vec<String> {
        let sql: &[String] = &match self {
            Self::MariaDb => vec![],
            Self::MariaDbNext => vec![
                "INSTALL SONAME 'auth_parsec'".into(),
                "INSTALL SONAME 'auth_mysql_sha2'".into(),
                "INSTALL SONAME 'dialog_examples'".into(),
                "INSTALL SONAME 'auth_test_plugin'".into(),
                format!(
                    "CREATE USER parsec@'%' IDENTIFIED VIA parsec USING PASSWORD('{PASSWORD}')"
                ),
                format!(
                    "CREATE USER sha2@'%' IDENTIFIED VIA caching_sha2_password \
                     USING PASSWORD('{PASSWORD}')"
                ),
                format!(
                    "CREATE USER two_questions@'%' IDENTIFIED VIA two_questions USING '{PASSWORD}'"
                ),
                format!(
                    "CREATE USER three_attempts@'%' IDENTIFIED VIA three_attempts USING '{PASSWORD}'"
                ),
                format!(
                    "CREATE USER cleartext@'%' IDENTIFIED VIA cleartext_plugin_server USING '{PASSWORD}'"
                ),
            ],
            Self::MySql => vec![
                "INSTALL PLUGIN cleartext_plugin_server SONAME 'auth_test_plugin.so'".into(),
                "INSTALL PLUGIN test_plugin_server SONAME 'auth_test_plugin.so'".into(),
                format!(
                    "CREATE USER cleartext@'%' IDENTIFIED WITH cleartext_plugin_server AS '{PASSWORD}'"
                ),
                "SET GLOBAL authentication_policy='*,*,*'".into(),
                format!(
                    "CREATE USER two_factors@'%' IDENTIFIED WITH caching_sha2_password \
                     BY '{PASSWORD}' AND IDENTIFIED WITH cleartext_plugin_server AS 'factor two'"
                ),
            ],
        };
        sql.to_vec()
    }
}

/// The folder to which `provision.sh` unpacked servers, and which holds the prepared data folders.
pub fn cache() -> PathBuf {
    match (
        std::env::var_os("PILOTFISH_CACHE"),
        std::env::var_os("HOME"),
    ) {
        (Some(cache), _) => cache.into(),
        (None, Some(home)) => Path::new(&home).join(".cache/pilotfish"),
        (None, None) => panic!("neither PILOTFISH_CACHE nor HOME is set"),
    }
}

/// The value of LD_PRELOAD for the unpacked programs: the library of `nap/`, if the tests run under it. Any other
/// library needs the system's libc, which does not fit the programs' own.
fn preload() -> String {
    let inherited = std::env::var("LD_PRELOAD").unwrap_or_default();
    let mut libraries = inherited.split([':', ' ']);
    let nap = libraries.find(|library| library.ends_with("/libnap.so"));
    nap.unwrap_or_default().to_owned()
}

fn missing(program: &str) -> PathBuf {
    panic!("{program} is not there: run e2e/provision.sh first")
}

fn run_to_the_end(mut command: Command, input: Stdio) {
    let output = command.stdin(input).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{text}");
}
