//! The contents of the Debian package.

use e2e::{Folder, is_nightly};

use super::{deb, printed, run};

const FILES: &[&str] = &[
    "usr/bin/pilotfish",
    "etc/pilotfish/pilotfish.toml",
    "etc/logrotate.d/pilotfish",
    "etc/apparmor.d/usr.bin.pilotfish",
    "usr/lib/systemd/system/pilotfish.service",
    "usr/lib/systemd/system/pilotfish.socket",
    "usr/lib/sysusers.d/pilotfish.conf",
    "usr/share/man/man1/pilotfish.1.gz",
    "usr/share/man/man1/pilotfish-drain.1.gz",
    "usr/share/bash-completion/completions/pilotfish",
    "usr/share/zsh/vendor-completions/_pilotfish",
    "usr/share/fish/vendor_completions.d/pilotfish.fish",
    "usr/share/pilotfish/grafana/overview.json",
    "usr/share/pilotfish/grafana/cluster.json",
    "usr/share/pilotfish/grafana/lanes-and-pools.json",
    "usr/share/pilotfish/prometheus-rules.yml",
    "usr/share/doc/pilotfish/copyright",
    "usr/share/doc/pilotfish/changelog.gz",
    "usr/share/doc/pilotfish/licences.txt.gz",
    "usr/share/doc/pilotfish/pilotfish.cdx.json",
];

/// Unpacks the package of this build's program: all files are there, the program starts, the shipped configuration
/// passes a check, and the configuration files that dpkg must keep at an upgrade are named.
#[test]
fn the_debian_package_has_all_that_a_service_needs() {
    if !is_nightly() {
        return;
    }
    let deb = deb(1);
    let deb = deb.to_str().expect("a path of letters");
    let folder = Folder::new("deb");
    let root = folder.path().to_str().expect("a path of letters");
    assert!(run("dpkg-deb", &["-x", deb, root]).status.success());
    for file in FILES {
        assert!(folder.join(file).exists(), "no {file}");
    }
    let installed = folder.join("usr/bin/pilotfish");
    let version = run(&installed, &["--version"]);
    assert_eq!(
        String::from_utf8_lossy(&version.stdout),
        format!("pilotfish {}\n", env!("CARGO_PKG_VERSION"))
    );
    let shipped = folder.join("etc/pilotfish/pilotfish.toml");
    let checked = run(
        &installed,
        &[
            "--config",
            shipped.to_str().expect("a path of letters"),
            "--check",
        ],
    );
    printed(&checked);
    let kept = run("dpkg-deb", &["-I", deb, "conffiles"]);
    let kept = String::from_utf8_lossy(&kept.stdout).into_owned();
    for file in FILES.iter().filter(|it| it.starts_with("etc/")) {
        assert!(
            kept.contains(&format!("/{file}\n")),
            "{file} would be overwritten: {kept}"
        );
    }
    for script in ["postinst", "prerm", "postrm"] {
        let text = run("dpkg-deb", &["-I", deb, script]).stdout;
        let file = folder.path().join(script);
        std::fs::write(&file, text).expect("the folder can be written");
        assert!(
            run("sh", &["-n", file.to_str().expect("a path of letters")])
                .status
                .success(),
            "{script}"
        );
    }
}
