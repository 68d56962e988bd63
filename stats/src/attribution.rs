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
    /// The account, in the servers' form; of a passed-through login, the user name that the client gave.
    pub account: String,
    /// Its user.
    pub user: String,
    /// The default schema; empty: none.
    pub schema: String,
    /// The hash of the fields above, with the worker's keys.
    hash: u64,
}

impl Attribution {
    /// An attribution with a hash by `keys`, which are the same for all of a worker.
    pub fn new(keys: &HashKeys, account: String, user: &str, schema: &[u8]) -> Self {
        let schema = String::from_utf8_lossy(schema).into_owned();
        Self {
            hash: keys.hash_one((&account, user, &schema)),
            user: user.to_owned(),
            account,
            schema,
        }
    }

    /// The hash of account and schema.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Its memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.account.len() + self.user.len() + self.schema.len()
    }
}

/// The attribution of a session; made again when the account or the schema changes.
#[derive(Default)]
pub struct SessionAttribution(Option<CachedAttribution>);

struct CachedAttribution {
    account: Arc<KnownAccount>,
    values: Rc<Values>,
    attribution: Arc<Attribution>,
}

impl SessionAttribution {
    /// The attribution for an account and the session's present values.
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

    /// Reuses the attribution before if the schema is the same, because most changes of values do not concern the
    /// schema.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use auth::{Account, Dialect, Directory, HostPattern, Names, Rules};
    use session::state::ValuesTable;
    use system::Entropy;

    use super::*;

    fn known(user: &str) -> Arc<KnownAccount> {
        let rules = Rules {
            dialect: Dialect::MySql,
            names: Names::Skipped,
        };
        let account = Account::new(user, HostPattern::any(Dialect::MySql), Vec::new());
        let directory = Directory::new(rules, [account], [7; 32]);
        let first = directory.accounts().next();
        Arc::clone(first.unwrap())
    }

    #[test]
    fn no_two_attributions_are_taken_for_one_because_their_texts_join_alike() {
        let keys = Entropy::seeded(7).hash_keys().unwrap();
        let hash = |account: &str, user: &str, schema: &[u8]| {
            Attribution::new(&keys, account.to_owned(), user, schema).hash()
        };
        let all = [
            hash("ab", "c", b"d"),
            hash("a", "bc", b"d"),
            hash("a", "b", b"cd"),
            hash("ab", "cd", b""),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one), "{at}");
        }
        assert_eq!(hash("ab", "c", b"d"), all[0]);
    }

    #[test]
    fn a_session_makes_its_attribution_anew_only_for_another_account_or_schema() {
        let keys = Entropy::seeded(7).hash_keys().unwrap();
        let values = ValuesTable::new(keys);
        let (app, other) = (known("app"), known("other"));
        let mut own = SessionAttribution::default();
        let shop = values.in_schema(b"shop");
        let first = Arc::clone(own.of(&keys, &app, &shop));
        let with_mode = values.with(&shop, b"sql_mode", b"ANSI");
        assert!(Arc::ptr_eq(own.of(&keys, &app, &with_mode), &first));
        let of_other = Arc::clone(own.of(&keys, &other, &with_mode));
        assert_eq!((&*of_other.user, &*of_other.schema), ("other", "shop"));
        let ledger = own.of(&keys, &other, &values.in_schema(b"ledger"));
        assert_eq!(&*ledger.schema, "ledger");
    }

    #[test]
    fn a_schema_that_is_no_text_is_shown_all_the_same() {
        let keys = Entropy::seeded(7).hash_keys().unwrap();
        let attribution = Attribution::new(&keys, String::new(), "", b"sh\xffop");
        assert_eq!(attribution.schema, "sh\u{fffd}op");
    }
}
