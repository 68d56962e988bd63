//! The seeds of the targets: the vectors of the tests, in each target's own format.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::proxy_protocol::{Header, encode_v2};
use binlog::{EventReader, EventType, Limits, MysqlGtidSet};
use wire::compression::{Algorithm, Codec, Remote};

use crate::tracker::{OF_BACKEND, kind};

/// A target: its name, its function, and the function that returns its seeds.
pub type Target = (&'static str, fn(&[u8]), fn() -> Vec<Vec<u8>>);

/// All targets.
pub const TARGETS: [Target; 21] = [
    ("framing", crate::framing, framing),
    ("tracking", crate::tracking, tracking),
    ("greeting", crate::greeting, greeting),
    ("login", crate::login, login),
    ("replies", crate::replies, replies),
    ("executions", crate::executions, executions),
    ("compression", crate::compression, compression),
    ("proxy_header", crate::proxy_header, proxy_header),
    ("config", crate::config, config),
    ("statement", crate::statement, statement),
    ("routing", crate::routing, routing),
    ("boundaries", crate::boundaries, crate::boundaries::seeds),
    ("tokens", crate::tokens, tokens),
    ("packets", crate::packets, packets),
    ("binlog_events", crate::binlog_events, binlog_events),
    ("gtid_sets", crate::gtid_sets, gtid_sets),
    (
        "row_images",
        crate::row_images,
        crate::rows::row_image_seeds,
    ),
    (
        "json_documents",
        crate::json_documents,
        crate::rows::json_seeds,
    ),
    ("filtered_events", crate::filtered_events, filtered_events),
    ("changes", crate::changes, binlog_events),
    ("kafka_answers", crate::kafka_answers, kafka_answers),
];

/// Writes a target's seeds into its corpus, before libFuzzer reads that.
pub fn plant(target: &str) {
    let (_, _, seeds) = TARGETS
        .into_iter()
        .find(|(name, ..)| *name == target)
        .expect("it is one of the targets");
    let corpus = repository().join("fuzz/corpus").join(target);
    std::fs::create_dir_all(&corpus).expect("the corpus is writable");
    for (index, seed) in seeds().into_iter().enumerate() {
        std::fs::write(corpus.join(format!("seed-{index}")), seed).expect("the corpus is writable");
    }
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A file of `session/tests/dialogues` or of a folder in `wire/tests`.
struct Vector {
    capabilities: u64,
    /// The packets: whether the client has sent each, and its bytes with the header.
    packets: Vec<(bool, Vec<u8>)>,
}

fn vectors(folder: &str) -> Vec<Vector> {
    let mut files = Vec::new();
    find_files(&repository().join(folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "{folder} has no vectors");
    files.iter().map(|file| vector(&text(file))).collect()
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the vectors are in the repository") {
        let path = entry.expect("the folder is readable").path();
        match path.is_dir() {
            true => find_files(&path, files),
            false => files.push(path),
        }
    }
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn vector(text: &str) -> Vector {
    let mut vector = Vector {
        capabilities: 0,
        packets: Vec::new(),
    };
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("capabilities", bits)) => {
                let digits = bits.trim_start_matches("0x");
                vector.capabilities = u64::from_str_radix(digits, 16).expect("they are hex");
            }
            Some((side @ (">" | "<"), hex)) => vector.packets.push((side == ">", bytes(hex))),
            _ => {}
        }
    }
    vector
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = (0..hex.len() / 2).map(|at| &hex[2 * at..2 * at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).expect("it is hex"))
        .collect()
}

fn dialogues() -> Vec<Vector> {
    vectors("session/tests/dialogues")
}

fn head(vector: &Vector) -> Vec<u8> {
    let mut seed = vector.capabilities.to_le_bytes().to_vec();
    seed.extend([0, 7]);
    seed
}

fn framing() -> Vec<Vec<u8>> {
    let seed = |vector: &Vector| {
        let mut seed = head(vector);
        for (of_client, packet) in &vector.packets {
            let side = if *of_client { 0 } else { OF_BACKEND };
            seed.extend((packet.len() as u16 | side).to_le_bytes());
            seed.extend(packet);
        }
        seed
    };
    dialogues().iter().map(seed).collect()
}

fn tracking() -> Vec<Vec<u8>> {
    let seed = |vector: &Vector| {
        let mut seed = head(vector);
        for (of_client, packet) in &vector.packets {
            let (header, payload) = packet.split_at(4);
            seed.push(match (of_client, header[3]) {
                (true, 0) => kind::COMMAND,
                (true, _) => kind::CLIENT,
                (false, 1) => kind::REPLY,
                (false, _) => kind::BACKEND,
            });
            seed.extend((payload.len() as u16).to_le_bytes());
            seed.extend(payload);
        }
        seed
    };
    let generated = [kind::OK, kind::TERMINATOR, kind::ERROR, kind::COLUMNS];
    let query = |kind: u8| [&[0; 9][..], &[3, kind::COMMAND, 2, 0, 3, 0, kind, 2, 0]].concat();
    let generated = generated.map(query);
    dialogues().iter().map(seed).chain(generated).collect()
}

fn logins() -> impl Iterator<Item = (bool, Vec<u8>)> {
    let packets = vectors("wire/tests/logins").into_iter();
    packets.flat_map(|vector| vector.packets)
}

fn greeting() -> Vec<Vec<u8>> {
    let payloads = logins().map(|(_, packet)| packet[4..].to_vec());
    payloads.filter(|payload| payload[0] == 10).collect()
}

fn login() -> Vec<Vec<u8>> {
    let changes = dialogues().into_iter().flat_map(|vector| vector.packets);
    let switches = changes.filter(|(_, packet)| packet.len() > 20 && packet[4] == 0xfe);
    let packets = logins().chain(switches);
    packets.map(|(_, packet)| packet[4..].to_vec()).collect()
}

/// Payloads behind the capabilities and two bytes more, each once.
fn exchange(folders: &[&str], of_client: bool) -> Vec<Vec<u8>> {
    let mut seeds = BTreeSet::new();
    for vector in folders.iter().flat_map(|folder| vectors(folder)) {
        let packets = vector.packets.iter();
        for (_, packet) in packets.filter(|packet| packet.0 == of_client) {
            let mut seed = vector.capabilities.to_le_bytes().to_vec();
            seed.extend([1, 0]);
            seed.extend(&packet[4..]);
            seeds.insert(seed);
        }
    }
    seeds.into_iter().collect()
}

fn replies() -> Vec<Vec<u8>> {
    exchange(&["wire/tests/session_track", "wire/tests/results"], false)
}

fn executions() -> Vec<Vec<u8>> {
    exchange(&["session/tests/dialogues"], true)
}

fn compression() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for vector in dialogues() {
        let packets = vector.packets.into_iter();
        let payload: Vec<u8> = packets.flat_map(|(_, packet)| packet).collect();
        for (mode, algorithm) in [(0, Algorithm::Zlib), (1, Algorithm::Zstd)] {
            let mut seed = vec![mode | 6 << 2, 100, 30];
            let mut codec = Codec::new(algorithm, 6, Remote::Backend);
            for part in payload.chunks(700) {
                codec.encode(part, &mut seed);
            }
            seeds.push(seed);
        }
    }
    seeds
}

fn proxy_header() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [
        "PROXY TCP4 192.0.2.1 198.51.100.2 56324 3306\r\n",
        "PROXY TCP6 2001:db8::1 2001:db8::2 56324 3306\r\n",
        "PROXY UNKNOWN\r\n",
        "PROXY UNKNOWN 192.0.2.1 198.51.100.2 1 2\r\n",
    ]
    .map(|line| line.as_bytes().to_vec())
    .into();
    for (source, destination) in [
        ("192.0.2.1:56324", "198.51.100.2:3306"),
        ("[2001:db8::1]:56324", "[2001:db8::2]:3306"),
    ] {
        let [source, destination] =
            [source, destination].map(|text| text.parse().expect("it is an address"));
        let mut seed = Vec::new();
        encode_v2(
            &Header::Proxied {
                source,
                destination,
            },
            &mut seed,
        );
        // A second seed has an extension, and the next bytes of a client.
        let mut extended = seed.clone();
        extended[15] += 7;
        extended.extend(b"\x02\0\x04nameand so on");
        seeds.extend([seed, extended]);
    }
    let mut own = Vec::new();
    encode_v2(&Header::Own, &mut own);
    seeds.push(own);
    seeds
}

fn config() -> Vec<Vec<u8>> {
    let packaged = text(&repository().join("packaging/pilotfish.toml"));
    let all = config::manual::to_toml(&config::Config::default());
    // The same text with each line that is commented out made active.
    let let_in: String = all.lines().fold(String::new(), |text, line| {
        text + line.trim_start_matches("# ") + "\n"
    });
    let small = "[[backend]]\naddress = \"db:3306\"\nrole = \"replica\"\n".to_owned();
    [packaged, all, let_in, small]
        .map(String::into_bytes)
        .into()
}

/// Every statement of the tables, for readers of both families.
fn statement() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for table in ["statements", "set", "digests", "rewrite"] {
        let table = text(&repository().join(format!("sql/tests/{table}.tsv")));
        let lines = table.lines().filter(|line| !line.starts_with('#'));
        for (index, line) in lines.enumerate() {
            let statement = line.rsplit('\t').next().unwrap_or_default();
            let settings = [0, 2 << 4, 3 << 4][index % 3];
            let mut seed = vec![settings];
            seed.extend(statement.replace('⏎', "\n").bytes());
            seeds.push(seed);
        }
    }
    seeds
}

/// Every statement of the table of routes, and statements that say something of themselves.
fn routing() -> Vec<Vec<u8>> {
    let table = text(&repository().join("route/tests/routes.tsv"));
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let statements = lines.map(|line| line.rsplit('\t').next().unwrap_or_default());
    let speaking = [
        "/* pilotfish: replica, cluster=archive, backend=db3, timeout=2s, lag_max=500ms */ SELECT 1",
        "SELECT 1 -- pilotfish: consistency=global, gtid='a:1,b:2', tag=batch",
        "/* ;hostgroup=20;query_timeout=2000;max_lag_ms=500;min_gtid=a:1;cache_ttl=5 */ SELECT 1",
        "SELECT 1 # maxscale route to server db3",
        "SELECT 1 -- maxscale max_slave_replication_lag=5",
        "/* tag: batch, slow */ SELECT * FROM s.t FORCE INDEX (a) LIMIT 5",
        "SELECT * FROM t WHERE id = 1 /*controller='or%20ders',action='list'*/",
    ];
    let mut seeds = Vec::new();
    for (index, statement) in statements.chain(speaking).enumerate() {
        let mut seed = vec![[0, 2 << 4, 3 << 4][index % 3], 7, 8];
        seed.extend(b"tagbatch");
        seed.extend(statement.replace('⏎', "\n").bytes());
        seeds.push(seed);
    }
    seeds
}

/// Every statement of the tables, without the byte of settings.
fn tokens() -> Vec<Vec<u8>> {
    let statements = statement().into_iter();
    statements.map(|seed| seed[1..].to_vec()).collect()
}

/// Payloads of logins and dialogues, each for the decoder that its first byte suggests.
fn packets() -> Vec<Vec<u8>> {
    let dialogues = dialogues().into_iter().flat_map(|vector| vector.packets);
    let payloads = dialogues.chain(logins());
    let mut seeds = BTreeSet::new();
    for (of_client, packet) in payloads.filter(|(_, packet)| packet.len() > 4) {
        let payload = &packet[4..];
        let decoders: &[u8] = match (of_client, payload[0]) {
            (false, 0xff) => &[0],
            (false, 0) => &[1, 6],
            (false, 0xfe) => &[2],
            (false, 10) => &[3],
            (true, 0x16) => &[5],
            (true, 0x19) => &[7],
            (true, 0x17) => &[9, 10],
            (true, _) => &[8],
            _ => &[],
        };
        for decoder in decoders {
            seeds.insert([&[*decoder, 1, 0], payload].concat());
        }
    }
    let file = b"15\nbin.000002\n106\ndb1\nrepl\n123\n3306\n60\n0\n\n\n\n\n\n1\n";
    seeds.insert([&[4, 0, 0], &file[..]].concat());
    seeds.into_iter().collect()
}

/// The event groups of the captured binary logs.
fn binlog_events() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    find_files(&repository().join("binlog/tests/captures"), &mut files);
    let mut seeds = BTreeSet::new();
    for path in files {
        let file = std::fs::read(&path).expect("it is readable");
        let is_mariadb = path.to_string_lossy().contains("mariadb");
        let mut reader = EventReader::new(&file[..], Limits::default());
        let mut seed = vec![u8::from(is_mariadb)];
        // The folder also has a file that is no binary log: it describes the other files.
        while let Ok(Some((_, raw))) = reader.next_event() {
            let (header, body) = (raw.header(), raw.body());
            match header.event_type {
                EventType::FORMAT_DESCRIPTION => continue,
                EventType::GTID | EventType::GTID_TAGGED | EventType::MARIADB_GTID => {
                    seeds.insert(std::mem::replace(&mut seed, vec![u8::from(is_mariadb)]));
                }
                _ => {}
            }
            seed.extend([header.event_type.0, header.flags.0 as u8]);
            seed.extend((body.len() as u16).to_le_bytes());
            seed.extend(body);
        }
        seeds.insert(seed);
    }
    assert!(seeds.len() > 100, "{}", seeds.len());
    seeds.into_iter().collect()
}

/// Returns the same events behind each filter.
fn filtered_events() -> Vec<Vec<u8>> {
    let seeds = binlog_events();
    let filtered = seeds.iter().flat_map(|seed| {
        (0..4).map(|filter| {
            let (family, events) = seed.split_at(1);
            [family, &[filter], events].concat()
        })
    });
    filtered.collect()
}

/// Sets as servers and people write them, and as events have them.
fn gtid_sets() -> Vec<Vec<u8>> {
    let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let texts = [
        format!("{uuid}:1-5:7|{uuid}:6"),
        format!(
            "{uuid}:1:blue:1-3,{}:2|{uuid}:blue:2",
            uuid.replace('3', "4")
        ),
        format!(" {} : 5 , |", uuid.to_uppercase()),
        "0-1-100,1-2-7|0-2-120".to_owned(),
    ];
    let mut seeds: Vec<Vec<u8>> = texts.map(String::into_bytes).into();
    for text in [format!("{uuid}:1-5:7"), format!("{uuid}:red:1-5:7:blue:9")] {
        let set: MysqlGtidSet = text.parse().expect("it is a set");
        let mut bytes = Vec::new();
        set.encode(&mut bytes);
        seeds.push(bytes);
    }
    seeds
}

/// An answer about a topic and one about its records, as brokers lay them out: numbers, and texts with their lengths.
fn kafka_answers() -> Vec<Vec<u8>> {
    let metadata: &[&[u8]] = &[
        &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 4],
        b"host\0\0\x23\x84\xff\xff\xff\xff\0\0\0\x01\0\0\0\x01\0\0\0\x05topic\0",
        &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        &[0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1],
    ];
    let produced: &[&[u8]] = &[
        b"\0\0\0\x01\0\x05topic\0\0\0\x01\0\0\0\0\0\0",
        &[0; 24],
        b"\0\0\0\x01\0\0\0\0\0\x03why\xff\xff\0\0\0\0",
    ];
    vec![metadata.concat(), produced.concat()]
}
