//! Which session state changes a client is told: what a server would tell the client, not what the
//! proxy had the server report.

use crate::state::{Baseline, Changes};
use sql::{Facts, Server, StatementKind, Target, Value};
use wire::reply::{OK, OkHeader, OkPacket};
use wire::session_track::{Change, OkTail, put_ok};
use wire::{Capabilities, HEADER_BYTES};

/// The settings by which a server chooses what it tells (`session_track_*`), as the client left them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionTrackSettings {
    /// `session_track_system_variables` as it was written.
    list: Vec<u8>,
    /// Names in lower case; `*` for all.
    variables: Vec<Box<[u8]>>,
    has_schema: bool,
    has_state_change: bool,
    has_characteristics: bool,
    has_transaction_state: bool,
    /// `session_track_gtids` in capitals; MariaDB has none.
    gtids: Option<Vec<u8>>,
}

/// Whether a connection tracks GTIDs as its client has asked, or as the proxy has asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GtidTracking {
    /// It reports what the client wants.
    AsWanted,
    /// It reports what the proxy wants.
    More,
}

/// The statement that asks for what [`SessionTrackSettings::read`] reads.
pub fn question(server: Server) -> String {
    let gtids = match server {
        Server::MySql(_) => ",@@session.session_track_gtids",
        Server::MariaDb(_) | Server::Unknown => "",
    };
    format!(
        "SELECT @@session.session_track_system_variables,\
         @@session.session_track_schema,@@session.session_track_state_change,\
         @@session.session_track_transaction_info{gtids}"
    )
}

impl SessionTrackSettings {
    /// Reads the settings that a login left.
    pub fn read(row: &[Option<&[u8]>]) -> Option<Self> {
        let [variables, schema, state_change, transaction, gtids @ ..] = row else {
            return None;
        };
        let mut sight = Self {
            list: Vec::new(),
            variables: Vec::new(),
            has_schema: is_on(*schema),
            has_state_change: is_on(*state_change),
            has_characteristics: false,
            has_transaction_state: false,
            gtids: gtids.first().copied().flatten().map(<[u8]>::to_vec),
        };
        sight.set_variables(variables.unwrap_or_default());
        sight.set_transaction(transaction.unwrap_or_default());
        Some(sight)
    }

    fn set_variables(&mut self, list: &[u8]) {
        self.list = list.to_vec();
        self.variables = list
            .split(|byte| *byte == b',')
            .map(|name| name.trim_ascii().to_ascii_lowercase().into_boxed_slice())
            .filter(|name| !name.is_empty())
            .collect();
    }

    fn set_transaction(&mut self, value: &[u8]) {
        let value = value.to_ascii_uppercase();
        self.has_characteristics = value == b"CHARACTERISTICS";
        self.has_transaction_state = self.has_characteristics || value == b"STATE";
    }

    /// Whether BEGIN and COMMIT tell of transactions.
    pub fn tells_of_transactions(&self) -> bool {
        self.has_characteristics || self.has_transaction_state
    }

    /// Takes over the settings of a statement as if it succeeded, because they already hold for its
    /// reply. Values that are no literals are asked for later.
    pub fn apply_set(&mut self, facts: &Facts, text: &[u8]) {
        for assignment in &facts.assignments {
            let (Target::Variable { name, .. }, Value::Literal(value)) =
                (assignment.target, assignment.value)
            else {
                continue;
            };
            let value = value.name(text).to_ascii_uppercase();
            match &*name.name(text).to_ascii_lowercase() {
                b"session_track_system_variables" => self.set_variables(&value),
                b"session_track_schema" => self.has_schema = is_on(Some(&value)),
                b"session_track_state_change" => self.has_state_change = is_on(Some(&value)),
                b"session_track_transaction_info" => self.set_transaction(&value),
                b"session_track_gtids" => self.gtids = Some(value),
                _ => {}
            }
        }
    }

    /// Takes over from `row` the settings that the client has set: those in `names`.
    pub fn set(&mut self, server: Server, names: &[Box<[u8]>], row: &[Option<&[u8]>]) {
        let Some(told) = Self::read(row) else {
            return;
        };
        let mut names = names.to_vec();
        if let Some(any) = names.iter().position(|name| **name == *ANY) {
            names.swap_remove(any);
            names.extend(told.unlike_the_proxys(server));
        }
        for name in &names {
            match &**name {
                b"session_track_system_variables" => self.set_variables(&told.list),
                b"session_track_schema" => self.has_schema = told.has_schema,
                b"session_track_state_change" => self.has_state_change = told.has_state_change,
                b"session_track_gtids" => self.gtids.clone_from(&told.gtids),
                _ => {
                    self.has_characteristics = told.has_characteristics;
                    self.has_transaction_state = told.has_transaction_state;
                }
            }
        }
    }

    /// The settings that differ from those that the proxy sets on its connections.
    fn unlike_the_proxys(&self, server: Server) -> Vec<Box<[u8]>> {
        let mut own = Self {
            has_schema: true,
            has_state_change: true,
            ..Self::default()
        };
        own.set_variables(Baseline::tracked(server).as_bytes());
        own.set_transaction(b"CHARACTERISTICS");
        let names: [(&[u8], bool); 4] = [
            (
                b"session_track_system_variables",
                self.variables != own.variables,
            ),
            (b"session_track_schema", self.has_schema != own.has_schema),
            (
                b"session_track_state_change",
                self.has_state_change != own.has_state_change,
            ),
            (
                b"session_track_transaction_info",
                self.has_characteristics != own.has_characteristics
                    || self.has_transaction_state != own.has_transaction_state,
            ),
        ];
        let unlike = names.into_iter().filter(|(_, is_unlike)| *is_unlike);
        unlike.map(|(name, _)| Box::from(name)).collect()
    }

    /// The statement that gives a connection these settings.
    ///
    /// `gtids`: whether the connection reports more GTIDs than the client has asked for, and that
    /// can be stopped now (not within a transaction).
    pub fn as_set(&self, gtids: GtidTracking) -> String {
        let switch = |is_on| if is_on { "ON" } else { "OFF" };
        let transaction = match (self.has_characteristics, self.has_transaction_state) {
            (true, _) => "CHARACTERISTICS",
            (false, true) => "STATE",
            (false, false) => "OFF",
        };
        // A string in quotes would be in the connection's character set, which may be UCS-2.
        let list = match self.list.is_empty() {
            true => "''".to_owned(),
            false => hex(&self.list),
        };
        let gtids = match gtids {
            GtidTracking::More => self.gtids_as_set(),
            GtidTracking::AsWanted => String::new(),
        };
        format!(
            "SET session_track_schema={},session_track_state_change={},\
             session_track_transaction_info={transaction},session_track_system_variables={list}{gtids}",
            switch(self.has_schema),
            switch(self.has_state_change),
        )
    }

    fn gtids_as_set(&self) -> String {
        let value = self.gtids.as_deref().unwrap_or(b"OFF");
        format!(",session_track_gtids={}", hex(value))
    }

    fn sees(&self, change: &Change<'_>) -> bool {
        match change {
            Change::Variable { name, .. } => self
                .variables
                .iter()
                .any(|known| **known == *b"*" || known.eq_ignore_ascii_case(name)),
            Change::Schema(_) => self.has_schema,
            Change::StateChanged(_) => self.has_state_change,
            Change::TransactionCharacteristics(_) => self.has_characteristics,
            Change::TransactionState(_) => self.has_transaction_state,
            Change::Gtids(_) => self.gtids.as_ref().is_some_and(|gtids| gtids != b"OFF"),
            Change::Unknown { .. } => true,
        }
    }

    /// Returns the payload of an OK packet with those of the changes that the client wants to learn of.
    pub fn ok(&self, ok: &OkPacket, client: Capabilities, changes: &[Change<'_>]) -> Vec<u8> {
        let mut payload = Vec::new();
        let seen = changes.iter().copied().filter(|change| self.sees(change));
        put_ok(&mut payload, OkHeader::Ok, client, ok, b"", seen);
        payload
    }

    /// Returns an OK packet as the client should see it. A packet that cannot be decoded passes as it is.
    pub fn rewrite(&self, packet: &[u8], backend: Capabilities, client: Capabilities) -> Vec<u8> {
        self.try_rewrite(packet, backend, client)
            .unwrap_or_else(|| packet.to_vec())
    }

    fn try_rewrite(
        &self,
        packet: &[u8],
        backend: Capabilities,
        client: Capabilities,
    ) -> Option<Vec<u8>> {
        let (header, payload) = packet.split_first_chunk::<HEADER_BYTES>()?;
        let ok = OkPacket::decode(payload).ok()?;
        let tail = OkTail::decode(payload, backend).ok()?;
        let changes: Option<Vec<_>> = tail.changes().map(Result::ok).collect();
        let seen = changes?.into_iter().filter(|change| self.sees(change));
        let kind = match *payload.first()? {
            OK => OkHeader::Ok,
            _ => OkHeader::Eof,
        };
        let mut payload_seen = Vec::with_capacity(payload.len());
        put_ok(&mut payload_seen, kind, client, &ok, tail.info, seen);
        let mut out = Vec::with_capacity(packet.len());
        wire::write::put_packets(&mut out, header[HEADER_BYTES - 1], &payload_seen);
        Some(out)
    }
}

/// Returns a literal that means the same in every character set.
fn hex(value: &[u8]) -> String {
    let digits: Vec<String> = value.iter().map(|byte| format!("{byte:02X}")).collect();
    format!("0x{}", digits.concat())
}

fn is_on(value: Option<&[u8]>) -> bool {
    matches!(value, Some(b"1" | b"ON" | b"on"))
}

/// Stands in place of a name: any of the settings may have been set.
pub const ANY: &[u8] = b"*";

/// Whether a statement prepares another one that sets some of the settings.
pub fn prepares_settings(facts: &Facts, text: &[u8]) -> bool {
    let name = b"session_track_";
    matches!(
        facts.kind,
        StatementKind::Prepare | StatementKind::ExecuteImmediate | StatementKind::Multi
    ) && text
        .windows(name.len())
        .any(|part| part.eq_ignore_ascii_case(name))
}

/// Whether a statement may run a prepared statement.
pub fn runs_prepared(facts: &Facts) -> bool {
    matches!(
        facts.kind,
        StatementKind::Execute | StatementKind::ExecuteImmediate | StatementKind::Multi
    )
}

/// Returns the settings that a statement sets, by its text or by the server's report.
pub fn settings_of(facts: &Facts, text: &[u8], changes: &Changes) -> Vec<Box<[u8]>> {
    const NAMES: [&[u8]; 5] = [
        b"session_track_gtids",
        b"session_track_system_variables",
        b"session_track_schema",
        b"session_track_state_change",
        b"session_track_transaction_info",
    ];
    let assigned = facts
        .assignments
        .iter()
        .filter_map(|assignment| match assignment.target {
            Target::Variable { name, .. } => Some(name.name(text).to_ascii_lowercase()),
            _ => None,
        });
    let assigned: Vec<Vec<u8>> = assigned.collect();
    NAMES
        .into_iter()
        .filter(|name| assigned.iter().any(|it| it == name) || changes.value_of(name).is_some())
        .map(Box::from)
        .collect()
}
