//! The account and the default schema by which statements are counted together.

use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use auth::KnownAccount;
use session::state::Values;
use system::HashKeys;

/// An account, and a default schema.
#[derive(Debug, Default)]
pub struct Attribution {
    /// The account as servers write it; of a session whose login has passed through, what it called itself.
    pub account: String,
    /// Its user.
    pub user: String,
    /// The default schema; empty: none.
    pub schema: String,
    /// Of all of these, keyed by the worker.
    hash: u64,
}

impl Attribution {
    /// Hashed by `keys`, which all of a worker share.
    pub fn new(keys: &HashKeys, account: String, user: &str, schema: &[u8]) -> Self {
        let schema = String::from_utf8_lossy(schema).into_owned();
        Self {
            hash: keys.hash_one((&account, user, &schema)),
            user: user.to_owned(),
            account,
            schema,
        }
    }

    /// The hash of both.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.account.len() + self.user.len() + self.schema.len()
    }
}

/// A session's own: made anew when account or schema are others.
#[derive(Default)]
pub struct SessionAttribution(Option<CachedAttribution>);

struct CachedAttribution {
    account: Arc<KnownAccount>,
    values: Rc<Values>,
    attribution: Arc<Attribution>,
}

impl SessionAttribution {
    /// That of an account and of values of now.
    #[inline]
    pub fn of(
        &mut self,
        keys: &HashKeys,
        account: &Arc<KnownAccount>,
        values: &Rc<Values>,
    ) -> &Arc<Attribution> {
        match &mut self.0 {
            Some(known) if known.is_of(account, values) => {}
            known => {
                *known = Some(CachedAttribution::made_of(
                    known.take(),
                    keys,
                    account,
                    values,
                ))
            }
        }
        let made = || CachedAttribution::made_of(None, keys, account, values);
        &self.0.get_or_insert_with(made).attribution
    }
}

impl CachedAttribution {
    fn is_of(&self, account: &Arc<KnownAccount>, values: &Rc<Values>) -> bool {
        Rc::ptr_eq(&self.values, values) && Arc::ptr_eq(&self.account, account)
    }

    /// Other values are mostly of the same schema.
    #[cold]
    fn made_of(
        before: Option<Self>,
        keys: &HashKeys,
        account: &Arc<KnownAccount>,
        values: &Rc<Values>,
    ) -> Self {
        let id = account.id();
        let schema = values.schema().unwrap_or_default();
        let is_same = |known: &Self| {
            known.values.schema() == values.schema() && Arc::ptr_eq(&known.account, account)
        };
        let attribution = before.filter(is_same).map(|known| known.attribution);
        Self {
            account: Arc::clone(account),
            values: Rc::clone(values),
            attribution: attribution.unwrap_or_else(|| {
                Arc::new(Attribution::new(keys, id.to_string(), id.user(), schema))
            }),
        }
    }
}
