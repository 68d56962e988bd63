//! What a worker's pooled sessions share besides connections: texts, states, definitions, and what
//! has been found to work.

use std::cell::RefCell;
use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::rc::{Rc, Weak};

use auth::AccountId;
use link::memory::{MemoryShare, Purpose};
use lru::LruCache;
use pool::Texts;
use route::ClusterId;
use session::state::{Baseline, Values, ValuesTable};
use sql::{Analysis, Facts, TrustedFunctions};
use system::HashKeys;

use crate::prepared_statement::Definitions;
use crate::prepared_statement::StatementKey;
use crate::sub_pool::{BackendLogin, PoolKey};

/// Statements whose definitions a worker remembers.
const DEFINITIONS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
/// Schemas of accounts that have been found to be there.
const SCHEMAS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
/// Kinds of sessions of which there is one copy.
const IDENTITIES_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("it is not zero");
/// Sets of assignments that have been found to work. Beyond, all are tried anew.
const PROOFS_MAX: usize = 65_536;

/// One worker's.
pub struct Store {
    /// Schemas and variables of sessions, each set once.
    pub values: ValuesTable,
    /// Texts of prepared statements, each once.
    pub texts: RefCell<Texts>,
    #[allow(clippy::vec_box)] // large, and handed about
    facts: RefCell<Vec<Box<Facts>>>,
    bytes: RefCell<Vec<Vec<u8>>>,
    proofs: RefCell<HashSet<u64>>,
    baselines: RefCell<Vec<Rc<Baseline>>>,
    definitions: RefCell<LruCache<StatementKey, Rc<Definitions>>>,
    schemas: RefCell<LruCache<(AccountId, Vec<u8>), ()>>,
    identities: RefCell<LruCache<Rc<PoolKey>, Weak<BackendLogin>>>,
    /// What the texts take.
    pub memory: MemoryShare,
    /// For fingerprints of replies.
    pub print_keys: HashKeys,
}

impl Store {
    /// Nothing yet. The keys are for hashes of what clients and servers say.
    pub fn new(keys: HashKeys) -> Self {
        Self {
            values: ValuesTable::new(keys),
            texts: RefCell::new(Texts::new(keys)),
            facts: RefCell::default(),
            bytes: RefCell::default(),
            proofs: RefCell::default(),
            baselines: RefCell::default(),
            definitions: RefCell::new(LruCache::new(DEFINITIONS_MAX)),
            schemas: RefCell::new(LruCache::new(SCHEMAS_MAX)),
            identities: RefCell::new(LruCache::new(IDENTITIES_MAX)),
            memory: MemoryShare::default(),
            print_keys: keys,
        }
    }

    /// Memory for the facts of a statement; to be given back.
    pub fn take_facts(&self) -> Box<Facts> {
        self.facts.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes such memory back.
    pub fn return_facts(&self, facts: Box<Facts>) {
        const SPARE_MAX: usize = 64;
        let mut spare = self.facts.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(facts);
        }
    }

    /// Memory for a statement's bytes; to be given back.
    pub fn take_bytes(&self) -> Vec<u8> {
        self.bytes.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes such memory back.
    pub fn return_bytes(&self, mut bytes: Vec<u8>) {
        const SPARE_MAX: usize = 64;
        const BYTES_MAX: usize = 16 << 10;
        let mut spare = self.bytes.borrow_mut();
        if (1..=BYTES_MAX).contains(&bytes.capacity()) && spare.len() < SPARE_MAX {
            bytes.clear();
            spare.push(bytes);
        }
    }

    /// One copy of what sessions have in common, however many there are.
    pub fn identity(&self, kind: PoolKey, login: BackendLogin) -> (Rc<PoolKey>, Rc<BackendLogin>) {
        let mut known = self.identities.borrow_mut();
        let found = known.get_key_value(&kind);
        let found = found.map(|(kind, login)| (Rc::clone(kind), login.upgrade()));
        let (kind, before) = found.unwrap_or_else(|| (Rc::new(kind), None));
        let login = match before.filter(|before| **before == login) {
            Some(same) => same,
            None => Rc::new(login),
        };
        known.put(Rc::clone(&kind), Rc::downgrade(&login));
        (kind, login)
    }

    /// One copy of what logins leave, however many connections say the same.
    pub fn baseline(&self, baseline: Baseline) -> Rc<Baseline> {
        const BASELINES_MAX: usize = 256;
        let mut known = self.baselines.borrow_mut();
        if let Some(same) = known.iter().find(|known| known.is_same(&baseline)) {
            return Rc::clone(same);
        }
        known.retain(|known| Rc::strong_count(known) > 1);
        known.truncate(BASELINES_MAX);
        let baseline = Rc::new(baseline);
        known.push(Rc::clone(&baseline));
        baseline
    }

    /// Whether a set of assignments has worked before.
    pub fn is_proven(&self, key: u64) -> bool {
        self.proofs.borrow().contains(&key)
    }

    /// A set of assignments has worked.
    pub fn prove(&self, key: u64) {
        let mut proofs = self.proofs.borrow_mut();
        if proofs.len() >= PROOFS_MAX {
            proofs.clear();
        }
        proofs.insert(key);
    }

    /// It has not worked this time.
    pub fn disprove(&self, key: u64) {
        self.proofs.borrow_mut().remove(&key);
    }

    /// A statement as sessions share it; its facts are read once, by `read`.
    pub fn statement(
        &self,
        text: &[u8],
        values: &Rc<Values>,
        kind: &Rc<PoolKey>,
        cluster: ClusterId,
        read: impl FnOnce(&[u8]) -> Analysis,
        functions: &TrustedFunctions,
    ) -> StatementKey {
        let text = self.texts.borrow_mut().intern(text);
        let mut key = StatementKey {
            text,
            values: Rc::clone(values),
            kind: Rc::clone(kind),
            cursor: None,
            cluster,
            facts: Rc::default(),
            digest: 0,
            original: None,
        };
        let mut definitions = self.definitions.borrow_mut();
        match definitions.get_key_value_mut(&key) {
            Some((known, _)) => {
                key.facts = Rc::clone(&known.facts);
                key.digest = known.digest;
            }
            None => {
                let analysis = read(key.text.bytes());
                key.digest = analysis.digest.hash();
                let mut facts = analysis.facts;
                facts.trust(key.text.bytes(), functions);
                key.facts = Rc::new(facts);
            }
        }
        key
    }

    /// Counts the texts. False: the process keeps more than it may, although all were forgotten that no session has.
    pub fn has_memory_for_texts(&self) -> bool {
        let bytes = self.texts.borrow().bytes();
        if self.memory.keep(Purpose::Prepared, bytes) {
            return true;
        }
        self.forget_definitions();
        let mut texts = self.texts.borrow_mut();
        texts.sweep();
        self.memory.keep(Purpose::Prepared, texts.bytes());
        !self.memory.is_over()
    }

    /// What clients are told of a statement, if nothing has changed since `epoch`.
    pub fn definitions(&self, key: &StatementKey, epoch: u64) -> Option<Rc<Definitions>> {
        let mut all = self.definitions.borrow_mut();
        let known = all.get(key)?;
        (known.epoch == epoch).then(|| Rc::clone(known))
    }

    /// What statements are taken for may be another matter from now on.
    pub fn forget_definitions(&self) {
        self.definitions.borrow_mut().clear();
    }

    /// Keeps in mind what clients are told of a statement.
    pub fn define(&self, key: &StatementKey, definitions: &Rc<Definitions>) {
        let mut all = self.definitions.borrow_mut();
        all.put(key.clone(), Rc::clone(definitions));
    }

    /// Whether an account has been in a schema of late.
    pub fn knows_schema(&self, key: &(AccountId, Vec<u8>)) -> bool {
        self.schemas.borrow_mut().get(key).is_some()
    }

    /// An account has been in a schema.
    pub fn learn_schema(&self, key: (AccountId, Vec<u8>)) {
        self.schemas.borrow_mut().put(key, ());
    }

    /// An account could not enter a schema.
    pub fn forget_schema(&self, key: &(AccountId, Vec<u8>)) {
        self.schemas.borrow_mut().pop(key);
    }
}
