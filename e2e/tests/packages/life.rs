//! A package from its installation to its removal, in a fresh Debian: install, start, query, upgrade, query, remove.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use e2e::raw::{Login, RawConn};
use e2e::{Product, Server, free_port, is_nightly, wait};

use super::debian_root::{DebianRoot, Service};
use super::{deb, made, printed, run, static_program};

const CONFIG: &str = "etc/pilotfish/pilotfish.toml";
/// A file that the service keeps in its state directory.
const HISTORY: &str = "var/lib/pilotfish/history.db";

/// A kind of package: how it is built, installed (also over another release) and removed.
struct Kind {
    packages: [PathBuf; 2],
    install: fn(&DebianRoot, &Path) -> Output,
    remove: fn(&DebianRoot) -> Output,
    /// The name of a changed configuration file after a removal.
    left: &'static str,
}

#[test]
fn the_debian_package_is_installed_runs_is_upgraded_and_removed() {
    if !is_nightly() {
        return;
    }
    let Some(root) = DebianRoot::unpack() else {
        return;
    };
    let kind = Kind {
        packages: [deb(1), deb(2)],
        install: |root, package| {
            apt(
                root,
                &["install", "--allow-downgrades", &copied(root, package)],
            )
        },
        remove: |root| apt(root, &["remove", "pilotfish"]),
        left: CONFIG,
    };
    live(&root, &kind);
    printed(&(kind.install)(&root, &kind.packages[1]));
    printed(&(kind.install)(&root, &kind.packages[0]));
    assert!(root.file(HISTORY).exists(), "a removal keeps the history");
    printed(&apt(&root, &["purge", "pilotfish"]));
    for folder in ["etc/pilotfish", "var/lib/pilotfish"] {
        assert!(!root.file(folder).exists(), "purge leaves {folder}");
    }
}

/// The RPM package is installed into a Debian, because no other distribution is available here. Its static program
/// needs no library of the distribution.
#[test]
fn the_rpm_package_is_installed_runs_is_upgraded_and_removed() {
    let Some(program) = is_nightly().then(static_program).flatten() else {
        return;
    };
    let Some(root) = DebianRoot::unpack() else {
        return;
    };
    printed(&run("rpm", &["--root", root.path(), "--initdb"]));
    let kind = Kind {
        packages: [1, 2].map(|release| made("rpm.sh", &program, release)),
        install: |root, package| rpm(root, &["-U", package.to_str().expect("a path of letters")]),
        remove: |root| rpm(root, &["-e", "pilotfish"]),
        left: "etc/pilotfish/pilotfish.toml.rpmsave",
    };
    let needs = run(
        "rpm",
        &[
            "-qpR",
            kind.packages[0].to_str().expect("a path of letters"),
        ],
    );
    let needs = printed(&needs);
    assert!(!needs.contains(".so"), "it needs no library: {needs}");
    live(&root, &kind);
}

fn apt(root: &DebianRoot, words: &[&str]) -> Output {
    root.run(&[&["apt-get", "-q", "-y", "--no-install-recommends"], words].concat())
}

/// rpm runs the package's scripts in the root. A Debian package supplies what the RPM package needs.
fn rpm(root: &DebianRoot, words: &[&str]) -> Output {
    run(
        "rpm",
        &[&["--root", root.path(), "--nodeps"], words].concat(),
    )
}

/// Copies the package into the root, and returns its path as apt expects it.
fn copied(root: &DebianRoot, package: &Path) -> String {
    fs::copy(package, root.file("pilotfish.deb")).expect("the root can be written");
    "/pilotfish.deb".to_owned()
}

fn live(root: &DebianRoot, kind: &Kind) {
    let server = Server::shared(Product::MariaDb);
    let port = free_port();
    printed(&(kind.install)(root, &kind.packages[0]));
    assert!(
        !root.systemctl_calls().contains("start"),
        "a new installation waits for its configuration"
    );
    let (user, group) = root
        .account("pilotfish")
        .expect("an account for the service");
    let shipped = fs::metadata(root.file(CONFIG)).expect("a first configuration");
    assert_eq!(
        (shipped.uid(), shipped.gid(), shipped.mode() & 0o777),
        (user, group, 0o640)
    );
    printed(&root.run(&[
        "/usr/bin/pilotfish",
        "-c",
        "/etc/pilotfish/pilotfish.toml",
        "--check",
    ]));
    printed(&root.run(&[
        "systemd-analyze",
        "verify",
        "pilotfish.service",
        "pilotfish.socket",
    ]));

    // The name is resolved by /etc/hosts of the root.
    let text = format!(
        "listen = [\"127.0.0.1:{port}\"]\n[[backend]]\nname = \"db1\"\naddress = \"db1:{}\"\n\
         [admin]\naddress = [\"127.0.0.1:{}\"]\nusername = \"admin\"\npassword = \"secret\"\n\
         [http]\naddress = [\"127.0.0.1:{}\"]\n",
        server.port(),
        free_port(),
        free_port()
    );
    fs::write(root.file(CONFIG), &text).expect("the root can be written");
    let service = root.start_service();
    assert_eq!(service.user(), user);
    query(port, &service);
    wait::until("the history is kept", wait::SOON, || {
        root.file(HISTORY).exists()
    });
    let history = fs::metadata(root.file(HISTORY)).expect("it is there");
    assert_eq!((history.uid(), history.mode() & 0o077), (user, 0));

    printed(&(kind.install)(root, &kind.packages[1]));
    assert!(
        root.systemctl_calls()
            .contains("try-restart pilotfish.service")
    );
    assert_eq!(
        root.text(CONFIG),
        text,
        "an upgrade keeps the configuration"
    );
    service.stop();
    let service = root.start_service();
    query(port, &service);

    printed(&(kind.remove)(root));
    let calls = root.systemctl_calls();
    assert!(
        calls.contains("disable --now pilotfish.socket pilotfish.service"),
        "{calls}"
    );
    service.stop();
    assert!(!root.file("usr/bin/pilotfish").exists());
    assert_eq!(
        root.text(kind.left),
        text,
        "a removal keeps the configuration"
    );
}

fn query(port: u16, service: &Service) {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    match RawConn::connect(&address.into(), &Login::app()) {
        Ok(mut conn) => assert_eq!(conn.value("SELECT 6 * 7"), "42"),
        Err(error) => panic!("no login: {error}\n{}", service.process.log_tail()),
    }
}
