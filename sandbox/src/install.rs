//! Installs a server if this machine has none: from the distribution's packages on Debian and
//! its derivatives. On other systems it gives advice.

use std::path::Path;
use std::process::{Command, Stdio};

use super::fault::{During, Fault};
use super::messages::print;

/// Names of the packages in the releases, newest first. They contain the programs only: unlike
/// `mariadb-server` they install no service, so no server starts on port 3306.
const PACKAGES: [[&str; 2]; 3] = [
    ["mariadb-server-core", "mariadb-client-core"],
    ["mariadb-server-core-10.6", "mariadb-client-core-10.6"],
    ["mariadb-server-core-10.5", "mariadb-client-core-10.5"],
];

/// Installs MariaDB from the distribution's packages.
///
/// # Errors
/// This system has no apt, this account may not install packages, or apt fails. The text says what the
/// user can do by hand.
pub fn install() -> Result<(), Fault> {
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(Fault::new(format!(
            "found no MariaDB or MySQL server; {}, or name one with --server PATH",
            advice(&os_release())
        )));
    }
    let root = rustix::process::geteuid().is_root();
    if !root && !runs("sudo") {
        return Err(Fault::new(
            "found no MariaDB or MySQL server, and only root may install one; \
             as root: apt-get install mariadb-server-core mariadb-client-core",
        ));
    }
    print("no MariaDB or MySQL server here: installing MariaDB from the distribution's packages");
    // Package lists are often missing in a container, and out of date on other systems.
    if let Err(fault) = apt_get(root, &["update"]) {
        print(format_args!(
            "{fault}; going on with the lists that are here"
        ));
    }
    let packages = PACKAGES
        .iter()
        .find(|packages| is_available(packages[0]))
        .ok_or_else(|| Fault::new("this distribution's packages hold no MariaDB server"))?;
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(packages);
    apt_get(root, &arguments)
}

/// Runs apt-get, and shows its output.
fn apt_get(root: bool, arguments: &[&str]) -> Result<(), Fault> {
    let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q"];
    words.extend(arguments);
    if !root {
        words.insert(0, "sudo");
    }
    let line = words.join(" ");
    print(&line);
    let status = Command::new(words[0])
        .args(&words[1..])
        .status()
        .during(format!("run {line}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(Fault::new(format!("{line} failed ({status})"))),
    }
}

/// Whether apt could install `package`.
fn is_available(package: &str) -> bool {
    Command::new("apt-cache")
        .args(["show", package])
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|output| !output.stdout.is_empty())
}

/// Whether there is a program of this name.
fn runs(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

fn os_release() -> String {
    std::fs::read_to_string("/etc/os-release").unwrap_or_default()
}

/// How to install MariaDB on the system that `os_release` describes.
fn advice(os_release: &str) -> String {
    let families = ["ID=", "ID_LIKE="].map(|key| {
        let value = os_release.lines().find_map(|line| line.strip_prefix(key));
        value.unwrap_or_default().trim_matches('"')
    });
    let is = |name: &str| {
        families
            .iter()
            .any(|family| family.split(' ').any(|word| word == name))
    };
    let command = if cfg!(target_os = "macos") {
        "brew install mariadb"
    } else if is("fedora") || is("rhel") {
        "sudo dnf install mariadb-server"
    } else if is("arch") {
        "sudo pacman -S mariadb"
    } else if is("suse") || is("opensuse") {
        "sudo zypper install mariadb"
    } else if is("alpine") {
        "sudo apk add mariadb mariadb-client"
    } else {
        return "install MariaDB 10.5 or newer".to_owned();
    };
    format!("install one: {command}")
}

#[cfg(all(test, not(target_os = "macos")))]
mod tests {
    use super::*;

    #[test]
    fn installation_advice_names_the_systems_package_manager() {
        let rocky = "NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";
        assert_eq!(
            advice(rocky),
            "install one: sudo dnf install mariadb-server"
        );
        let arch = "ID=arch\n";
        assert_eq!(advice(arch), "install one: sudo pacman -S mariadb");
        let tumbleweed = "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\n";
        assert_eq!(
            advice(tumbleweed),
            "install one: sudo zypper install mariadb"
        );
        assert_eq!(advice("ID=plan9\n"), "install MariaDB 10.5 or newer");
    }
}
