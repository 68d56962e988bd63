//! What a worker's pooled sessions share besides connections: texts, states, definitions, and the
//! record of what has worked.

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

/// How many statements' definitions a worker remembers.
const DEFINITIONS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
/// How many schemas of accounts are remembered as existing.
const SCHEMAS_MAX: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");
/// How many pool keys are kept as one shared copy.
const IDENTITIES_MAX: NonZeroUsize = NonZeroUsize::new(1024).expect("it is not zero");
/// How many sets of assignments are remembered as working. If there are more, all are forgotten and tried anew.
const PROOFS_MAX: usize = 65_536;

/// One worker's store.
pub struct Store {
    /// Schemas and variables of sessions, each value once.
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
    /// The memory that the texts take.
    pub memory: MemoryShare,
    /// The hash keys for fingerprints of replies.
    pub print_keys: HashKeys,
}

impl Store {
    /// Returns an empty store. The keys are for hashes of data from clients and servers.
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

    /// Returns memory for the facts of a statement; the caller gives it back.
    pub fn take_facts(&self) -> Box<Facts> {
        self.facts.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes memory back, for the next statement.
    pub fn return_facts(&self, facts: Box<Facts>) {
        const SPARE_MAX: usize = 64;
        let mut spare = self.facts.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(facts);
        }
    }

    /// Returns memory for a statement's bytes; the caller gives it back.
    pub fn take_bytes(&self) -> Vec<u8> {
        self.bytes.borrow_mut().pop().unwrap_or_default()
    }

    /// Takes memory back, for the next statement.
    pub fn return_bytes(&self, mut bytes: Vec<u8>) {
        const SPARE_MAX: usize = 64;
        const BYTES_MAX: usize = 16 << 10;
        let mut spare = self.bytes.borrow_mut();
        if (1..=BYTES_MAX).contains(&bytes.capacity()) && spare.len() < SPARE_MAX {
            bytes.clear();
            spare.push(bytes);
        }
    }

    /// Returns the shared copy of a pool key and a login, however many sessions have them.
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

    /// Returns the shared copy of the state after a login, however many connections report the same.
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

    /// Remembers that a set of assignments has worked.
    pub fn prove(&self, key: u64) {
        let mut proofs = self.proofs.borrow_mut();
        if proofs.len() >= PROOFS_MAX {
            proofs.clear();
        }
        proofs.insert(key);
    }

    /// Forgets a set of assignments, because it has not worked this time.
    pub fn disprove(&self, key: u64) {
        self.proofs.borrow_mut().remove(&key);
    }

    /// Returns a statement that sessions share. `read` analyses its text, once.
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

    /// Counts the memory of the texts. Returns false if the process keeps more than it may, even after the texts that
    /// no session uses were dropped.
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

    /// Returns the definitions that clients get for a statement, if no definition has changed since `epoch`.
    pub fn definitions(&self, key: &StatementKey, epoch: u64) -> Option<Rc<Definitions>> {
        let mut all = self.definitions.borrow_mut();
        let known = all.get(key)?;
        (known.epoch == epoch).then(|| Rc::clone(known))
    }

    /// Forgets all definitions, because statements may be interpreted in another way from now on.
    pub fn forget_definitions(&self) {
        self.definitions.borrow_mut().clear();
    }

    /// Remembers the definitions that clients get for a statement.
    pub fn define(&self, key: &StatementKey, definitions: &Rc<Definitions>) {
        let mut all = self.definitions.borrow_mut();
        all.put(key.clone(), Rc::clone(definitions));
    }

    /// Whether an account has used a schema recently.
    pub fn knows_schema(&self, key: &(AccountId, Vec<u8>)) -> bool {
        self.schemas.borrow_mut().get(key).is_some()
    }

    /// Remembers that an account has used a schema.
    pub fn learn_schema(&self, key: (AccountId, Vec<u8>)) {
        self.schemas.borrow_mut().put(key, ());
    }

    /// Forgets a schema that an account could not use.
    pub fn forget_schema(&self, key: &(AccountId, Vec<u8>)) {
        self.schemas.borrow_mut().pop(key);
    }
}
