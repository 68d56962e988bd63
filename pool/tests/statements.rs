//! Random use of one connection's prepared statements, compared with a naive list.

use pilotfish_pool::{BackendStatementId, Lookup, Prepared};
use proptest::prelude::*;

const MAX: usize = 4;

#[derive(Debug, Clone, Copy)]
enum Operation {
    Use,
    Finish,
    Remove,
    Reset,
}

fn step() -> impl Strategy<Value = (Operation, u8)> {
    let operation = prop_oneof![
        20 => Just(Operation::Use),
        18 => Just(Operation::Finish),
        2 => Just(Operation::Remove),
        1 => Just(Operation::Reset),
    ];
    (operation, 0..10u8)
}

/// Statements with their ids and number of users; the ones unused for the shortest time are last.
#[derive(Default)]
struct Model {
    known: Vec<(u8, u32, u32)>,
    prepared: u32,
}

impl Model {
    fn place(&self, statement: u8) -> Option<usize> {
        self.known.iter().position(|(own, ..)| *own == statement)
    }

    /// Removes the statement that is unused for the longest time.
    fn evict(&mut self) -> Option<BackendStatementId> {
        let place = self.known.iter().position(|(.., users)| *users == 0)?;
        Some(BackendStatementId(self.known.remove(place).1))
    }

    fn begin(&mut self, prepared: &mut Prepared<u8>, statement: u8) {
        let lookup = prepared.begin(&statement);
        if let Some(place) = self.place(statement) {
            self.known[place].2 += 1;
            let id = BackendStatementId(self.known[place].1);
            assert_eq!(lookup, Lookup::Prepared(id));
            return;
        }
        let is_full = self.known.len() >= MAX;
        let close = is_full.then(|| self.evict()).flatten();
        assert_eq!(lookup, Lookup::Missing { close });
        self.prepared += 1;
        self.known.push((statement, self.prepared, 1));
        let id = BackendStatementId(self.prepared);
        assert_eq!(prepared.learn(statement, id), None);
    }

    fn finish(&mut self, prepared: &mut Prepared<u8>, statement: u8) {
        let closed = prepared.finish(&statement);
        let Some(place) = self.place(statement) else {
            assert_eq!(closed, None);
            return;
        };
        let (_, id, users) = self.known[place];
        if users == 1 {
            self.known.remove(place);
            self.known.push((statement, id, 0));
        } else {
            self.known[place].2 = users.saturating_sub(1);
        }
        let is_over = self.known.len() > MAX;
        assert_eq!(closed, is_over.then(|| self.evict()).flatten());
    }
}

proptest! {
    #[test]
    fn the_connection_and_the_list_have_the_same_statements(steps in prop::collection::vec(step(), 0..300)) {
        let mut model = Model::default();
        let mut prepared = Prepared::new(MAX);
        for (operation, statement) in steps {
            match operation {
                Operation::Use => model.begin(&mut prepared, statement),
                Operation::Finish => model.finish(&mut prepared, statement),
                Operation::Remove => {
                    let known = model.place(statement).map(|place| model.known.remove(place).1);
                    assert_eq!(prepared.remove(&statement), known.map(BackendStatementId));
                }
                Operation::Reset => {
                    model.known.clear();
                    prepared.clear();
                }
            }
            let in_use = model.known.iter().filter(|(.., users)| *users > 0).count();
            assert_eq!(prepared.len(), model.known.len());
            assert!(prepared.len() <= MAX.max(in_use));
        }
    }
}
