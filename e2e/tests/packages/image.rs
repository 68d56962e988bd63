//! The container image: its settings, and that a container of it works. buildah runs the container by chroot,
//! because test machines may have no right to start other containers. The limits of an engine (`--cap-drop`,
//! `--read-only`) are not tested.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use e2e::raw::{Login, RawConn};
use e2e::{Folder, Process, Product, Server, free_port, is_nightly, wait};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{made, printed, static_program};

/// The maximum size of an image.
const BYTES_MAX: u64 = 40 << 20;

/// The file for the proxy's process id, in a folder that belongs to the proxy.
const PID_FILE: &str = "run/pilotfish/pid";

/// A container of the image, in a storage of its own.
struct Container {
    folder: Folder,
    /// buildah's name of the container.
    name: String,
    /// The root folder of the container's files.
    root: PathBuf,
}

impl Container {
    fn of_image(archive: &Path) -> Self {
        let mut container = Self {
            folder: Folder::new("image"),
            name: String::new(),
            root: PathBuf::new(),
        };
        let archive = format!("docker-archive:{}", archive.display());
        let name = container.buildah(&["from", "--quiet", "--pull-never", &archive]);
        container.name = printed(&name).trim().to_owned();
        let root = container.buildah(&["mount", &container.name]);
        container.root = PathBuf::from(printed(&root).trim());
        container
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("buildah");
        command
            .arg("--root")
            .arg(self.folder.join("storage"))
            .arg("--runroot")
            .arg(self.folder.join("run"))
            .arg("--storage-driver=vfs")
            .args(words);
        command
    }

    fn buildah(&self, words: &[&str]) -> Output {
        let output = self.command(words).output();
        output.expect("buildah can be started")
    }

    /// A command in the container, as the account that the image names.
    fn inside(&self, config: &Path, words: &[String]) -> Command {
        let mounted = format!("{}:/etc/pilotfish/pilotfish.toml:ro", config.display());
        let run = [
            "run",
            "--isolation=chroot",
            "--network=host",
            "--volume",
            &mounted,
        ];
        let mut command = self.command(&run);
        command.arg(&self.name).arg("--").args(words);
        command
    }

    /// The image's settings: its account, its command, its health check.
    fn settings(&self) -> Value {
        let told = printed(&self.buildah(&["inspect", &self.name]));
        let told: Value = serde_json::from_str(&told).expect("buildah prints JSON");
        told["Docker"]["config"].clone()
    }
}

fn words_of(value: &Value) -> Vec<String> {
    let words = value.as_array().expect("a list of words");
    let words = words.iter().map(|word| word.as_str().expect("a word"));
    words.map(str::to_owned).collect()
}

#[test]
fn a_container_runs_as_its_own_account_answers_queries_and_tells_its_health() {
    let Some(program) = is_nightly().then(static_program).flatten() else {
        return;
    };
    let archive = made("image.sh", &program, 1);
    let bytes = fs::metadata(&archive).map_or(0, |it| it.len());
    assert!(bytes < BYTES_MAX, "the image has {bytes} bytes");

    let container = Container::of_image(&archive);
    let settings = container.settings();
    assert_eq!(settings["User"], "65532:65532");
    for file in [
        "etc/ssl/certs/ca-certificates.crt",
        "etc/pilotfish/pilotfish.toml",
        "usr/share/doc/pilotfish/licences.txt.gz",
        "usr/share/doc/pilotfish/pilotfish.cdx.json",
    ] {
        assert!(container.root.join(file).exists(), "no {file}");
    }
    container_works(&container, &settings);
}

fn container_works(container: &Container, settings: &Value) {
    let server = Server::shared(Product::MariaDb);
    let (port, http) = (free_port(), free_port());
    // The name is resolved by /etc/hosts of the container.
    let config = container.folder.write(
        "pilotfish.toml",
        format!(
            "listen = [\"127.0.0.1:{port}\"]\npid_file = \"/{PID_FILE}\"\n[[backend]]\nname = \"db\"\n\
             address = \"localhost:{}\"\n[http]\naddress = [\"127.0.0.1:{http}\"]\nmetrics = \"local\"\n",
            server.port()
        ),
    );
    let health = words_of(&settings["Healthcheck"]["Test"])[1..].to_vec();
    let is_healthy = || {
        let output = container.inside(&config, &health).output();
        output.expect("buildah can be started").status.success()
    };
    assert!(!is_healthy(), "no proxy runs yet");

    let command = container.inside(&config, &words_of(&settings["Entrypoint"]));
    let log = container.folder.join("log");
    let mut process = Process::start("the container", command, &log);
    wait::until("the container is healthy", wait::SOON, || {
        assert_eq!(process.ended(), None, "{}", process.log_tail());
        is_healthy()
    });
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    match RawConn::connect(&address.into(), &Login::app()) {
        Ok(mut conn) => assert_eq!(conn.value("SELECT 6 * 7"), "42"),
        Err(error) => panic!("no login: {error}\n{}", process.log_tail()),
    }

    let pid = fs::read_to_string(container.root.join(PID_FILE)).expect("it has written its id");
    let status = fs::read_to_string(format!("/proc/{}/status", pid.trim()));
    let status = status.expect("it runs");
    assert!(status.contains("\nUid:\t65532\t65532\t"), "{status}");
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a process id"), Signal::TERM).expect("it runs");
    let status = process.wait_ended(wait::SOON);
    assert!(status.success(), "{status} {}", process.log_tail());
}
