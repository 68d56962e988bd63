//! A Kafka broker for tests, with the requests of a producer: ApiVersions, Metadata, InitProducerId, Produce. It checks
//! each batch, stores a repeated batch only once, and makes the faults that a test requests.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The broker's fault for a Produce request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The broker refuses the request with this code.
    Refused(i16),
    /// The broker closes the connection before it stores the records.
    Unsent,
    /// The broker stores the records and closes the connection without an answer.
    Unacknowledged,
    /// The broker sends no answer.
    Silence,
    /// The broker stores the records and asks the producer to wait for this time.
    Throttled(Duration),
    /// The broker sends these bytes instead of an answer.
    Nonsense(&'static [u8]),
    /// The broker forgets all producers, and refuses the request.
    Forgets,
}

/// A record: its key and its value.
pub type Taken = (Option<String>, String);

/// The broker. Its threads end with their connections.
pub struct Broker {
    pub address: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    port: u16,
    topics: HashMap<String, Vec<Taken>>,
    /// Faults of the next requests, one for each request.
    faults: VecDeque<Fault>,
    /// All requests, each with its topic and its number of records.
    requests: Vec<(String, usize)>,
    acks: Vec<i16>,
    /// Whether the broker is too old for InitProducerId.
    knows_no_producers: bool,
    /// The next sequence number of each topic, by the producer's number.
    sequences: HashMap<(i64, String), i32>,
    producers: i64,
    /// The time before which a request is too early.
    free_at: Option<Instant>,
    /// The number of requests that came too early.
    too_early: usize,
}

impl Broker {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            port,
            ..State::default()
        }));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        Self {
            address: format!("127.0.0.1:{port}"),
            state,
        }
    }

    /// Starts a broker without InitProducerId.
    pub fn start_old() -> Self {
        let broker = Self::start();
        broker.locked().knows_no_producers = true;
        broker
    }

    /// The number of requests that came although the broker had asked for a wait.
    pub fn too_early(&self) -> usize {
        self.locked().too_early
    }

    /// The number of producer ids that clients have requested.
    pub fn producers(&self) -> i64 {
        self.locked().producers
    }

    pub fn fail(&self, faults: &[Fault]) {
        self.locked().faults.extend(faults);
    }

    /// The number of faults that have not occurred yet.
    pub fn faults_left(&self) -> usize {
        self.locked().faults.len()
    }

    pub fn taken(&self, topic: &str) -> Vec<Taken> {
        let state = self.locked();
        state.topics.get(topic).cloned().unwrap_or_default()
    }

    pub fn topics(&self) -> Vec<String> {
        let mut topics: Vec<_> = self.locked().topics.keys().cloned().collect();
        topics.sort();
        topics
    }

    pub fn requests(&self) -> Vec<(String, usize)> {
        self.locked().requests.clone()
    }

    pub fn acks(&self) -> Vec<i16> {
        self.locked().acks.clone()
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// Serves one connection.
fn serve(mut stream: TcpStream, state: &Mutex<State>) {
    let mut length = [0; 4];
    while stream.read_exact(&mut length).is_ok() {
        let mut request = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
        if stream.read_exact(&mut request).is_err() {
            return;
        }
        let mut input = Input(&request);
        let (key, version) = (input.i16(), input.i16());
        let correlation = input.i32();
        input.text();
        let mut out = correlation.to_be_bytes().to_vec();
        let mut state = state.lock().unwrap();
        if state.free_at.is_some_and(|it| Instant::now() < it) {
            state.too_early += 1;
        }
        let goes_on = match (key, version) {
            (18, 0) => put_versions(&mut out, &state),
            (3, 4) => put_metadata(&mut out, &mut input, &mut state),
            (22, 0) => put_producer(&mut out, &mut state),
            (0, 8) => produce(&mut out, &mut input, &mut state),
            other => panic!("a producer has no request {other:?}"),
        };
        drop(state);
        match goes_on {
            After::Answer => {}
            After::Wait => continue,
            After::Break => return,
            After::Nonsense(bytes) => {
                // The client may have closed the connection.
                let _ = stream.write_all(bytes);
                return;
            }
        }
        let length = u32::try_from(out.len()).unwrap().to_be_bytes();
        if stream
            .write_all(&[&length, out.as_slice()].concat())
            .is_err()
        {
            return;
        }
    }
}

/// The broker's action after an answer.
enum After {
    Answer,
    Wait,
    Break,
    Nonsense(&'static [u8]),
}

/// Writes the answer to ApiVersions, version 0.
fn put_versions(out: &mut Vec<u8>, state: &State) -> After {
    out.extend(0_i16.to_be_bytes());
    let mut all = vec![[18_i16, 0, 4], [3, 0, 12], [0, 3, 9]];
    if !state.knows_no_producers {
        all.push([22, 0, 4]);
    }
    out.extend(i32::try_from(all.len()).unwrap().to_be_bytes());
    out.extend(all.iter().flatten().flat_map(|it| it.to_be_bytes()));
    After::Answer
}

/// Writes the answer to InitProducerId, version 0, without a transaction.
fn put_producer(out: &mut Vec<u8>, state: &mut State) -> After {
    state.producers += 1;
    out.extend([0; 6]);
    out.extend(state.producers.to_be_bytes());
    out.extend(0_i16.to_be_bytes());
    After::Answer
}

/// Writes the answer to Metadata, version 4. Each requested topic exists.
fn put_metadata(out: &mut Vec<u8>, input: &mut Input<'_>, state: &mut State) -> After {
    let topics: Vec<_> = (0..input.i32()).map(|_| input.text()).collect();
    assert_eq!(input.bytes(1), [1], "topics may be created");
    out.extend([0_i32, 1, 7].map(i32::to_be_bytes).concat());
    put_text(out, "127.0.0.1");
    out.extend(i32::from(state.port).to_be_bytes());
    out.extend([-1_i16, -1].map(i16::to_be_bytes).concat());
    out.extend(7_i32.to_be_bytes());
    out.extend(i32::try_from(topics.len()).unwrap().to_be_bytes());
    for topic in topics {
        out.extend(0_i16.to_be_bytes());
        put_text(out, &topic);
        out.push(0);
        out.extend(1_i32.to_be_bytes());
        out.extend(0_i16.to_be_bytes());
        for number in [0, 7, 1, 7, 1, 7_i32] {
            out.extend(number.to_be_bytes());
        }
        state.topics.entry(topic).or_default();
    }
    After::Answer
}

/// Answers Produce, version 8, with one partition of one topic.
fn produce(out: &mut Vec<u8>, input: &mut Input<'_>, state: &mut State) -> After {
    assert_eq!(input.i16(), -1, "no transaction");
    state.acks.push(input.i16());
    input.i32();
    assert_eq!(input.i32(), 1);
    let topic = input.text();
    assert_eq!((input.i32(), input.i32()), (1, 0));
    let length = input.i32();
    let batch = batch(input.bytes(length));
    state.requests.push((topic.clone(), batch.records.len()));
    let mut throttle = Duration::ZERO;
    let code = match state.faults.pop_front() {
        Some(Fault::Unsent) => return After::Break,
        Some(Fault::Silence) => return After::Wait,
        Some(Fault::Nonsense(bytes)) => return After::Nonsense(bytes),
        Some(Fault::Refused(code)) => code,
        Some(Fault::Forgets) => {
            state.sequences.clear();
            UNKNOWN_PRODUCER_ID
        }
        Some(Fault::Unacknowledged) => {
            state.take(&topic, batch);
            return After::Break;
        }
        Some(Fault::Throttled(wait)) => {
            throttle = wait;
            state.take(&topic, batch)
        }
        None => state.take(&topic, batch),
    };
    put_produced(out, &topic, code, throttle);
    state.free_at = Some(Instant::now() + throttle);
    After::Answer
}

fn put_produced(out: &mut Vec<u8>, topic: &str, code: i16, throttle: Duration) {
    out.extend(1_i32.to_be_bytes());
    put_text(out, topic);
    out.extend([1_i32, 0].map(i32::to_be_bytes).concat());
    out.extend(code.to_be_bytes());
    out.extend([0_i64, -1, 0].map(i64::to_be_bytes).concat());
    // No record errors, and no error text.
    out.extend(0_i32.to_be_bytes());
    out.extend((-1_i16).to_be_bytes());
    let throttle = i32::try_from(throttle.as_millis()).unwrap();
    out.extend(throttle.to_be_bytes());
}

const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const UNKNOWN_PRODUCER_ID: i16 = 59;

impl State {
    /// Stores the records, unless it has them already. Returns the error code.
    fn take(&mut self, topic: &str, batch: Batch) -> i16 {
        let count = i32::try_from(batch.records.len()).unwrap();
        if batch.producer >= 0 {
            let next = self.sequences.entry((batch.producer, topic.to_owned()));
            let next = next.or_default();
            if batch.sequence + count == *next {
                return 0;
            }
            if batch.sequence != *next {
                return OUT_OF_ORDER_SEQUENCE_NUMBER;
            }
            *next += count;
        } else {
            assert!(
                self.knows_no_producers,
                "the broker would know the producer"
            );
        }
        let taken = self.topics.entry(topic.to_owned()).or_default();
        taken.extend(batch.records);
        0
    }
}

/// A batch of records, and its producer.
struct Batch {
    producer: i64,
    sequence: i32,
    records: Vec<Taken>,
}

/// Decodes an uncompressed batch, and asserts that its checksum is right.
fn batch(bytes: &[u8]) -> Batch {
    let mut input = Input(bytes);
    input.bytes(8);
    let length = input.i32();
    assert_eq!(usize::try_from(length).unwrap(), bytes.len() - 12);
    input.i32();
    assert_eq!(input.bytes(1), [2], "the magic number of batches");
    let checksum = u32::from_be_bytes(input.bytes(4).try_into().unwrap());
    assert_eq!(checksum, crc32c(input.0));
    assert_eq!(input.i16(), 0, "no compression");
    input.bytes(4 + 8 + 8);
    let producer = i64::from_be_bytes(input.bytes(8).try_into().unwrap());
    input.i16();
    let sequence = input.i32();
    let count = input.i32();
    let record = |number: i32| {
        input.varint();
        input.bytes(1);
        input.varint();
        assert_eq!(input.varint(), i64::from(number));
        let key = input.varint();
        let key = (key >= 0).then(|| text(input.bytes(i32::try_from(key).unwrap())));
        let length = i32::try_from(input.varint()).unwrap();
        let value = text(input.bytes(length));
        assert_eq!(input.varint(), 0, "no headers");
        (key, value)
    };
    Batch {
        producer,
        sequence,
        records: (0..count).map(record).collect(),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend(i16::try_from(text.len()).unwrap().to_be_bytes());
    out.extend(text.as_bytes());
}

/// CRC-32C, with Castagnoli's polynomial.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82F6_3B78 } else { 0 };
        }
    }
    !crc
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn bytes(&mut self, length: i32) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(usize::try_from(length).unwrap());
        self.0 = rest;
        bytes
    }

    fn i16(&mut self) -> i16 {
        i16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let length = self.i16();
        text(self.bytes(i32::from(length)))
    }

    /// Reads a zigzag number of seven bits a byte.
    fn varint(&mut self) -> i64 {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = self.bytes(1)[0];
            value |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < 0x80 {
                let half = i64::try_from(value >> 1).unwrap();
                return if value & 1 == 1 { !half } else { half };
            }
        }
    }
}
