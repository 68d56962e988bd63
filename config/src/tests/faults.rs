//! The text, line and column of each fault.

use super::{File, load_options, option};
use crate::*;

/// A backend, appended as the last lines of a file.
const BACKEND: &str = "\n[[backend]]\naddress = \"db1\"\n";

/// Files with faults (each gets a backend appended), and the printed faults.
const CASES: &[(&str, &[&str])] = &[
    // Names.
    (
        "workerz = 1",
        &["1:1: workerz: is no setting; hint: did you mean \"workers\"?"],
    ),
    ("colour = 1", &["1:1: colour: is no setting"]),
    (
        "\n  sessions_max = 1",
        &["2:3: sessions_max: is no setting; hint: it belongs in [limits]"],
    ),
    (
        "[limits]\nmax_sessions = 1",
        &["2:1: limits.max_sessions: is no setting; hint: did you mean \"sessions_max\"?"],
    ),
    (
        "[log]\nworkers = 1",
        &["2:1: log.workers: is no setting; hint: it belongs above the first table"],
    ),
    (
        "[log]\nzstd_level = 1",
        &["2:1: log.zstd_level: is no setting; hint: it belongs in [compression]"],
    ),
    (
        "[limit]\n",
        &["1:2: [limit]: is no table of settings; hint: did you mean [limits]?"],
    ),
    (
        "[backends]\n",
        &["1:2: [backends]: is no table of settings; hint: did you mean [[backend]]?"],
    ),
    (
        "[whatever]\n",
        &["1:2: [whatever]: is no table of settings"],
    ),
    (
        "log = 1",
        &["1:1: log: must be a table; hint: write [log], and its settings on the lines below"],
    ),
    // Types.
    (
        "workers = \"many\"",
        &["1:11: workers: must be a whole number, not \"many\""],
    ),
    (
        "workers = 1.5",
        &["1:11: workers: must be a whole number, not 1.5"],
    ),
    (
        "workers = true",
        &["1:11: workers: must be a whole number, not a boolean"],
    ),
    (
        "workers = [1]",
        &["1:11: workers: must be a whole number, not a list"],
    ),
    (
        "workers = 1979-05-27",
        &["1:11: workers: must be a whole number, not a date"],
    ),
    (
        "pid_file = 7",
        &["1:12: pid_file: must be a file's path, not 7"],
    ),
    (
        "user = \"a\\nb\"",
        &["1:8: user: must not contain control characters"],
    ),
    (
        "timeout_drain = \"soon\"",
        &[
            "1:17: timeout_drain: must be a duration such as \"2s\", \"500ms\" or \"10m\", not \"soon\"",
        ],
    ),
    (
        "[limits]\npacket_bytes_max = \"16MB\"",
        &[
            "2:20: limits.packet_bytes_max: must be a size such as \"16MiB\", \"1GiB\" or a number of bytes, not \"16MB\"",
        ],
    ),
    (
        "[log]\nlevel = \"inof\"",
        &[
            "2:9: log.level: must be one of \"error\", \"warning\", \"info\", \"debug\", \"trace\", not \"inof\"",
        ],
    ),
    (
        "[log]\nformat = \"jsom\"",
        &[
            "2:10: log.format: must be one of \"text\", \"json\", not \"jsom\"; hint: did you mean \"json\"?",
        ],
    ),
    (
        "[health]\nmonitor_user = \"m\"\nmonitor_password = 1234",
        &["3:20: health.monitor_password: must be a text, \"file:PATH\" or \"env:NAME\""],
    ),
    (
        "[health]\nmonitor_user = \"m\"\nmonitor_password = \"env:PILOTFISH_UNSET\"",
        &["3:20: health.monitor_password: the environment has no PILOTFISH_UNSET"],
    ),
    (
        "[health]\nmonitor_user = \"m\"\nmonitor_password = \"file:none\"",
        &[
            "3:20: health.monitor_password: cannot read none: No such file or directory (os error 2)",
        ],
    ),
    // Ranges.
    (
        "workers = -1",
        &["1:11: workers: must be from 1 to 1024, or 0 (one for each core), not -1"],
    ),
    (
        "workers = 99_999_999_999_999_999_999",
        &["1:11: workers: must be from 1 to 1024, or 0 (one for each core), not more"],
    ),
    (
        "[compression]\nzstd_level = 23",
        &["2:14: compression.zstd_level: must be from 1 to 22, not 23"],
    ),
    (
        "[health]\ntimeout_connect = \"1ms\"",
        &["2:19: health.timeout_connect: must be from 10ms to 5m, not 1ms"],
    ),
    // Addresses. Each item of a list has its own location, and columns count characters.
    (
        "listen = [ # é\n  \":1\", \"é:1\", \":99999\"]",
        &[
            "2:9: listen: must be an address such as \"0.0.0.0:4040\": \"é\" is not an IP address of this machine's",
            "2:16: listen: must be an address such as \"0.0.0.0:4040\": \"99999\" is not a port (1 to 65535)",
        ],
    ),
    (
        "listen = []",
        &["1:10: listen: must name at least one address; hint: listen = [\":4040\"]"],
    ),
    (
        "listen = [\":1\", \"1\"]",
        &["1:10: listen: 0.0.0.0:1 is given twice"],
    ),
    (
        "listen = \"/none/p.sock\"",
        &["1:10: listen: there is no folder /none"],
    ),
    (
        "listen = [\":3306\"]\n[[backend]]\naddress = \"127.0.0.1\"",
        &[
            "1:10: listen: 0.0.0.0:3306 is also the backend \"127.0.0.1:3306\"; hint: the proxy would connect to itself",
        ],
    ),
    (
        "[proxy_protocol]\ntrusted_networks = [\"10.0.0.0/33\"]",
        &[
            "2:21: proxy_protocol.trusted_networks: must be a network such as \"10.0.0.0/8\", not \"10.0.0.0/33\"",
        ],
    ),
    // Backends.
    (
        "[[backend]]\nname = \"db0\"",
        &["1:1: backend.address: is missing from this backend"],
    ),
    (
        "[[backend]]\naddres = \"db0\"\naddress = \"db0\"",
        &["2:1: backend.addres: is no setting; hint: did you mean \"address\"?"],
    ),
    (
        "[[backend]]\naddress = \"db 0\"",
        &[
            "2:11: backend.address: must be an address such as \"db1:3306\": \"db 0\" is neither a host name nor an IP address",
        ],
    ),
    (
        "[[backend]]\naddress = \"db0\"\nweight = 0",
        &["3:10: backend.weight: must be from 1 to 1000000, not 0"],
    ),
    (
        "[[backend]]\naddress = \"db0\"\nrole = \"reader\"",
        &["3:8: backend.role: must be one of \"primary\", \"replica\", \"auto\", not \"reader\""],
    ),
    (
        "[[backend]]\naddress = \"db1:3306\"",
        &["4:11: backend.address: db1:3306 is given twice"],
    ),
    (
        "[[backend]]\nname = \"main\"\naddress = \"db1:3306\"",
        &["5:11: backend.address: db1:3306 is given twice, the first is named \"main\""],
    ),
    (
        "[[backend]]\nname = \"a\"\naddress = \"x\"\n[[backend]]\naddress = \"y\"\nname = \"a\"",
        &["6:8: backend.name: \"a\" is given twice"],
    ),
    (
        "[routing]\nreplicas = \"replica\"",
        &[
            "2:12: routing.replicas: is \"replica\", but no backend is a replica; hint: give a replica \
         (--read-only-backend), or set routing.replicas = \"any\"",
        ],
    ),
    // Settings that depend on one another.
    (
        "pid_file = \"/none/p.pid\"",
        &["1:12: pid_file: there is no folder /none"],
    ),
    (
        "[log]\nfile = \"none/p.log\"",
        &["2:8: log.file: there is no folder none"],
    ),
    (
        "[client_tls]\ncertificate = \"cert.pem\"",
        &[
            "2:15: client_tls.certificate: needs client_tls.key; hint: a file that holds both may be given for both",
        ],
    ),
    (
        "[client_tls]\nkey = \"key.pem\"",
        &[
            "2:7: client_tls.key: needs client_tls.certificate; hint: a file that holds both may be given for both",
        ],
    ),
    (
        "[client_tls]\ncertificate = \"none.pem\"\nkey = \"cert.pem\"",
        &[
            "2:15: client_tls.certificate: cannot read none.pem: No such file or directory (os error 2)",
            "3:7: client_tls.key: cert.pem holds no private key in PEM form",
        ],
    ),
    (
        "[client_tls]\nca = \"key.pem\"",
        &["2:6: client_tls.ca: key.pem holds no certificate in PEM form"],
    ),
    (
        "[client_tls]\nmode = \"required\"",
        &[
            "2:8: client_tls.mode: \"required\" needs client_tls.certificate; hint: a certificate is \
         made at start only for \"optional\"",
        ],
    ),
    (
        "[client_tls]\nclient_certificate = \"optional\"",
        &["2:22: client_tls.client_certificate: \"optional\" needs client_tls.ca"],
    ),
    (
        "[client_tls]\nclient_certificate = \"required\"\nca = \"cert.pem\"",
        &[
            "2:22: client_tls.client_certificate: \"required\" needs client_tls.mode = \"required\"; \
         hint: without it a client that uses no TLS shows no certificate",
        ],
    ),
    (
        "[backend_tls]\nmode = \"VERIFY_CA\"",
        &["2:8: backend_tls.mode: \"verify_ca\" needs backend_tls.ca"],
    ),
    (
        "[backend_tls]\nkey = \"key.pem\"",
        &[
            "2:7: backend_tls.key: needs backend_tls.certificate; hint: a file that holds both may be given for both",
        ],
    ),
    (
        "[health]\nprobe_interval_max = \"200ms\"",
        &["2:22: health.probe_interval_max: must not be less than health.probe_interval"],
    ),
    (
        "[health]\nmonitor_password = \"file:cert.pem\"",
        &["2:20: health.monitor_password: is of no use without health.monitor_user"],
    ),
    // Syntax errors: all lines except the broken ones are checked as well.
    (
        "workers = 1\nworkers = 2",
        &["2:1: is no TOML: duplicate key"],
    ),
    (
        "workers = \n[log]\nlevel = loud\nformat = \"loud\"",
        &[
            "1:11: is no TOML: string values must be quoted, expected literal string",
            "3:9: is no TOML: string values must be quoted, expected literal string",
            "4:10: log.format: must be one of \"text\", \"json\", not \"loud\"",
        ],
    ),
    // All kinds of faults in one file.
    (
        "workers = 0x1_00\nlisten = 70000\n[limits]\nsessions_max = 0\nx = 1\n[log]\nlevel = 3",
        &[
            "2:10: listen: must be an address such as \"0.0.0.0:4040\", not 70000",
            "4:16: limits.sessions_max: must be from 1 to 10000000, not 0",
            "5:1: limits.x: is no setting",
            "7:9: log.level: must be one of \"error\", \"warning\", \"info\", \"debug\", \"trace\", not 3",
        ],
    ),
];

#[test]
fn every_fault_has_its_line_and_its_hint() {
    for (text, expected) in CASES {
        let file = File::new(&format!("{text}{BACKEND}"))
            .with("cert.pem", "-----BEGIN CERTIFICATE-----\n")
            .with("key.pem", "-----BEGIN PRIVATE KEY-----\n");
        let expected: Vec<_> = expected
            .iter()
            .map(|it| format!("pilotfish.toml:{it}"))
            .collect();
        assert_eq!(file.faults(), expected, "\n{text}");
    }
}

#[test]
fn a_single_table_is_distinguished_from_a_list_of_backends() {
    assert_eq!(
        File::new("[backend]\naddress = \"db1\"").faults(),
        [
            "pilotfish.toml:1:2: backend: must be a list of tables; hint: write [[backend]], once for each backend"
        ]
    );
    assert_eq!(
        File::new("backend = [1]").faults(),
        [
            "pilotfish.toml:1:12: backend: must be a table; hint: write [[backend]], and address = \"HOST:PORT\" below it"
        ]
    );
}

#[test]
fn there_must_be_a_backend_that_can_be_used() {
    assert_eq!(
        File::new("").faults(),
        [
            "pilotfish.toml: there is no backend; hint: give --backend HOST:PORT, or [[backend]] in the file",
        ]
    );
    assert_eq!(
        File::new("[[backend]]\naddress = \"db1\"\nrole = \"replica\"").faults(),
        [
            "pilotfish.toml: routing.replicas: is \"split\", but no backend is a primary; hint: give a \
         primary (--backend), or set routing.replicas = \"any\"",
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_fault() {
    let file = File::new("");
    let missing = file.folder.path().join("none.toml");
    let faults = Config::load(Some(&missing), &[]).unwrap_err();
    let expected = format!(
        "{}: cannot be read: No such file or directory (os error 2)",
        missing.display()
    );
    assert_eq!(
        faults.iter().map(Fault::to_string).collect::<Vec<_>>(),
        [expected]
    );
    std::fs::write(file.path(), b"workers = 1\nuser = \"\xff\"").unwrap();
    assert_eq!(
        file.faults(),
        ["pilotfish.toml:2:9: is not UTF-8 from here on"]
    );
}

#[test]
fn faults_of_options_name_the_option() {
    for (given, expected) in [
        (
            option("workers", &["x"]),
            "--workers: must be a whole number, not \"x\"",
        ),
        (
            option("log.level", &["loud"]),
            "--log-level: must be one of \"error\", \"warning\", \"info\", \"debug\", \"trace\", not \"loud\"",
        ),
        (
            option("client_tls.certificate", &["/none.pem"]),
            "--client-tls-certificate: needs client_tls.key; hint: a file that holds both may be given for both",
        ),
        (
            option("backend", &["db1,db1"]),
            "--backend: db1:3306 is given twice",
        ),
        (
            option("read_only_backend", &["db1"]),
            "--read-only-backend: db1:3306 is given twice",
        ),
        (
            option("backend", &["db1:x"]),
            "--backend: must be an address such as \"db1:3306\": \"x\" is not a port (1 to 65535)",
        ),
        (option("nothing", &["1"]), "--nothing: is no setting"),
    ] {
        assert_eq!(load_options(&[given]).unwrap_err()[0], expected);
    }
}

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    let secret = |word: &str| {
        let options = [
            option("backend", &["db1"]),
            option("health.monitor_user", &["m"]),
            option("health.monitor_password", &[word]),
        ];
        Config::load(None, &options).unwrap().warnings
    };
    let warnings = secret("hunter2");
    assert_eq!(warnings.len(), 1);
    assert!(!warnings[0].to_string().contains("hunter2"));
    assert_eq!(secret("env:PATH"), []);
}
