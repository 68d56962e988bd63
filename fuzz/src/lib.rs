//! What is fuzzed: a function for each target, which panics on a find, and where its seeds come
//! from. libFuzzer calls them from `fuzz_targets/`; `tests/replay.rs` does with any compiler.
//!
//! | target | what is fed |
//! |---|---|
//! | [`framing`] | bytes of both sides to the tracker, whole and in pieces |
//! | [`tracking`] | packets of both sides, plausible ones too, to the tracker |
//! | [`greeting`], [`login`] | payloads to the codec |
//! | [`replies`] | payloads of a backend: OK packets with what they tell, definitions, rows |
//! | [`executions`] | payloads of a client: query attributes, prepared statements' commands |
//! | [`compression`] | frames to the codec of compression |
//! | [`proxy_header`] | bytes to the parser of PROXY headers |
//! | [`statement`] | bytes to the reader of SQL, its digest and its rewriting |
//! | [`routing`] | statements to the readers of hints and tags, to rules and to the splitter |
//! | [`boundaries`] | statements that touch a table, in wrappings, to a rule that refuses the table |
//! | [`tokens`], [`packets`] | bytes to the modules `mysql.tokenizer` and `mysql.proto` of scripts |
//! | [`binlog_events`], [`gtid_sets`] | events of binary logs, whole and in payloads; texts and bytes of GTID sets |
//! | [`row_images`], [`json_documents`] | rows of real tables; documents of MySQL's type JSON with changes |
//! | [`filtered_events`], [`changes`] | events of a stream to filters, and to the change feed |
//! | [`kafka_answers`] | answers of a broker of Kafka to their readers |
//! | [`config`] | text to the loader of configuration files |

mod binlog;
mod boundaries;
mod codec;
mod exchange;
mod files;
mod headers;
mod input;
mod replication;
mod routing;
mod rows;
mod script;
mod seeds;
mod statement;
#[rustfmt::skip]
#[path = "../../net/src/proxy_protocol.rs"]
#[allow(dead_code)]
mod proxy_protocol;
mod tracker;

/// The one file of `net` that is fuzzed stands alone but for this; all of `net` would bring TLS,
/// which takes longer to build than everything else here.
mod socket {
    #[allow(dead_code)]
    pub enum Endpoint {
        Tcp(std::net::SocketAddr),
        Unix(std::path::PathBuf),
    }
}

pub use crate::replication::{changes, filtered_events, kafka_answers};
pub use binlog::{binlog_events, gtid_sets};
pub use boundaries::boundaries;
pub use codec::{compression, greeting, login};
pub use exchange::{executions, replies};
pub use files::config;
pub use headers::proxy_header;
pub use routing::routing;
pub use rows::{json_documents, row_images};
pub use script::{packets, tokens};
pub use seeds::{TARGETS, Target, plant};
pub use statement::statement;
pub use tracker::{framing, tracking};
