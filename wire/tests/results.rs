//! Whole text results of real servers, decoded and encoded again.
//!
//! The files in `results/` hold the packets of each reply after its statement (`=`), once for each
//! layout that the capabilities select.

use std::path::Path;

use pilotfish_wire::column::{ColumnDefinition, ColumnType};
use pilotfish_wire::reply::{OkPacket, eof_status};
use pilotfish_wire::result::{ResultHead, TextRow, put_text_result};
use pilotfish_wire::{Capabilities, Header, StatusFlags};

const PRODUCTS: [&str; 3] = ["mariadb", "mariadb-11.8", "mysql-9.7"];

struct Reply {
    capabilities: Capabilities,
    statement: String,
    /// The packets of the reply, with their headers.
    packets: Vec<Vec<u8>>,
}

fn replies(product: &str) -> Vec<Reply> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results");
    let text = std::fs::read_to_string(folder.join(format!("{product}.txt"))).unwrap();
    let mut capabilities = Capabilities(0);
    let mut replies: Vec<Reply> = Vec::new();
    for line in text.lines() {
        match line.split_once(' ').unwrap() {
            ("capabilities", bits) => {
                let bits = bits.trim_start_matches("0x");
                capabilities = Capabilities(u64::from_str_radix(bits, 16).unwrap());
            }
            ("=", statement) => replies.push(Reply {
                capabilities,
                statement: statement.to_owned(),
                packets: Vec::new(),
            }),
            ("<", hex) => replies.last_mut().unwrap().packets.push(bytes(hex)),
            _ => {}
        }
    }
    replies
}

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2);
    let pairs = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

/// The decoded parts of a reply.
struct Parts<'a> {
    columns: Vec<ColumnDefinition<'a>>,
    rows: Vec<Vec<Option<&'a [u8]>>>,
    status: StatusFlags,
    warnings: u16,
}

impl Reply {
    fn parts(&self) -> Parts<'_> {
        let payloads: Vec<&[u8]> = self.packets.iter().map(|packet| &packet[4..]).collect();
        let (head, behind) = payloads.split_first().unwrap();
        let head = ResultHead::decode(head, self.capabilities).unwrap();
        assert!(head.has_definitions);
        let (definitions, behind) = behind.split_at(head.columns as usize);
        let is_eof_kept = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        let (last, rows) = behind[usize::from(is_eof_kept)..].split_last().unwrap();
        let (status, warnings) = match is_eof_kept {
            true => (
                eof_status(last).unwrap(),
                u16::from_le_bytes([last[1], last[2]]),
            ),
            false => {
                let ok = OkPacket::decode(last).unwrap();
                (ok.status, ok.warnings)
            }
        };
        let columns = definitions
            .iter()
            .map(|payload| ColumnDefinition::decode(payload, self.capabilities).unwrap());
        let rows = rows
            .iter()
            .map(|payload| TextRow::new(payload).map(Result::unwrap).collect());
        Parts {
            columns: columns.collect(),
            rows: rows.collect(),
            status,
            warnings,
        }
    }
}

#[test]
fn results_are_written_as_they_were_read() {
    for product in PRODUCTS {
        let replies = replies(product);
        assert_eq!(replies.len(), 4 * 4);
        for reply in replies {
            let parts = reply.parts();
            let rows = parts.rows.iter().map(|row| row.iter().copied());
            let mut again = Vec::new();
            let next = put_text_result(
                &mut again,
                1,
                reply.capabilities,
                &parts.columns,
                rows,
                parts.status,
                parts.warnings,
            );
            assert_eq!(
                again,
                reply.packets.concat(),
                "{product}: {}",
                reply.statement
            );
            let (last, _) = reply.packets.last().unwrap().split_first_chunk().unwrap();
            assert_eq!(next, Header::decode(*last).sequence + 1);
        }
    }
}

#[test]
fn columns_and_values_equal_the_selected_ones() {
    for product in PRODUCTS {
        for reply in replies(product) {
            let parts = reply.parts();
            if reply.statement != "SELECT * FROM demo.r" {
                continue;
            }
            let names: Vec<&[u8]> = parts.columns.iter().map(|column| column.name).collect();
            assert_eq!(names, [b"i", b"s", b"d", b"x", b"j", b"g"]);
            let first = parts.columns[0];
            assert_eq!(
                (first.schema, first.table_original),
                (&b"demo"[..], &b"r"[..])
            );
            assert_eq!(
                (first.kind, first.collation, first.length),
                (ColumnType::LONG, 63, 11)
            );
            let json = parts.columns[4];
            match (product, json.kind) {
                ("mysql-9.7", kind) => assert_eq!(kind, ColumnType::JSON),
                (_, kind) => assert_eq!(kind, ColumnType::BLOB),
            }
            let tells_more = reply
                .capabilities
                .contains(Capabilities::MARIADB_EXTENDED_METADATA);
            let extended = if tells_more {
                &b"\x01\x04json"[..]
            } else {
                b""
            };
            assert_eq!(json.extended, extended);
            let second: [Option<&[u8]>; 6] = [Some(b"2"), Some(b""), None, None, None, None];
            assert_eq!(parts.rows[1], second);
        }
    }
}
