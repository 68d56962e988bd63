//! The character sets of clients: which bytes are letters, spaces and parts of two-byte characters.

pub(crate) mod row;
mod rows;

#[cfg(test)]
mod tests;

use row::{CharsetFamily, Row};
use rows::{COLLATIONS, COUNT, ROWS};

use crate::bytes::Letters;
use crate::server::Server;

/// A client's character set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset(u8);

impl Default for Charset {
    fn default() -> Self {
        Self::UTF8MB4
    }
}

impl Charset {
    /// UTF-8, of up to four bytes a character.
    pub const UTF8MB4: Self = Self::named("utf8mb4");
    /// The servers' latin1, which is Windows' cp1252.
    pub const LATIN1: Self = Self::named("latin1");
    /// gbk, whose second bytes may be a backslash.
    pub const GBK: Self = Self::named("gbk");
    /// Unknown: a text that is not all ASCII cannot be read with certainty.
    pub const UNKNOWN: Self = Self(u8::MAX);

    const fn named(name: &str) -> Self {
        let mut index = 0;
        while index < COUNT {
            if is_same(ROWS[index].name.as_bytes(), name.as_bytes()) {
                return Self(index as u8);
            }
            index += 1;
        }
        Self::UNKNOWN
    }

    /// Returns the character set of this name; case is ignored.
    pub fn of_name(name: &[u8]) -> Self {
        let name = match name.eq_ignore_ascii_case(b"utf8") {
            true => b"utf8mb3",
            false => name,
        };
        let is_meant = |row: &Row| row.name.as_bytes().eq_ignore_ascii_case(name);
        let found = ROWS.iter().position(is_meant);
        found.map_or(Self::UNKNOWN, |index| Self(index as u8))
    }

    /// Returns the character set of a collation, by the id in handshakes (`information_schema.COLLATIONS`
    /// of both families; ids above 1024 are MariaDB's).
    pub fn of_collation(id: u16) -> Self {
        Self::of_name(Self::name_of_collation(id).as_bytes())
    }

    /// Returns the name of a collation's character set, also of one that no client may have; empty if it is unknown.
    pub fn name_of_collation(id: u16) -> &'static str {
        let behind = COLLATIONS.partition_point(|(first, _, _)| *first <= id);
        let found = COLLATIONS[..behind]
            .last()
            .filter(|(_, last, _)| id <= *last);
        found.map_or("", |(_, _, name)| name)
    }

    /// Iterates over all known character sets.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..COUNT as u8).map(Self)
    }

    /// Returns its name; empty if it is unknown.
    pub fn name(self) -> &'static str {
        ROWS.get(usize::from(self.0)).map_or("", |row| row.name)
    }

    /// Whether it is UTF-8.
    pub(crate) fn is_utf8(self) -> bool {
        self.name().starts_with("utf8")
    }

    /// Whether bytes below 0x80 that begin a character are ASCII.
    pub(crate) fn has_ascii(self) -> bool {
        self != const { Self::named("swe7") } && self != Self::UNKNOWN
    }

    /// Whether these two bytes are one character, and the second may be a backslash.
    pub(crate) fn is_pair(self, lead: u8, trail: u8) -> bool {
        self.letters(Server::Unknown).is_pair(lead, trail)
    }

    /// Returns the byte table for this server.
    pub(crate) fn letters(self, server: Server) -> &'static Letters {
        let of_family = match server {
            Server::Unknown => &OF_BOTH,
            Server::MySql(_) => &OF_MYSQL,
            Server::MariaDb(_) => &OF_MARIADB,
        };
        let found = of_family.get(usize::from(self.0));
        found.unwrap_or(&of_family[Self::UTF8MB4.0 as usize])
    }
}

static OF_BOTH: [Letters; COUNT] = all(CharsetFamily::Both);
static OF_MYSQL: [Letters; COUNT] = all(CharsetFamily::MySql);
static OF_MARIADB: [Letters; COUNT] = all(CharsetFamily::MariaDb);

const fn all(family: CharsetFamily) -> [Letters; COUNT] {
    let mut letters = [const { Letters::of(&ROWS[0], CharsetFamily::Both) }; COUNT];
    let mut index = 0;
    while index < COUNT {
        letters[index] = Letters::of(&ROWS[index], family);
        index += 1;
    }
    letters
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() {
        if one[index] != other[index] {
            return false;
        }
        index += 1;
    }
    one.len() == other.len()
}

/// Whether a character set of this name may introduce a string.
pub(crate) fn is_charset(name: &[u8]) -> bool {
    let is_meant = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
    let is_wide = WIDE.iter().any(is_meant);
    is_wide || Charset::of_name(name) != Charset::UNKNOWN
}

/// Character sets that no client can have.
const WIDE: &[&str] = &["filename", "ucs2", "utf16", "utf16le", "utf32"];
