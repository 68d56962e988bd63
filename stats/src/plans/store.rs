//! The plans and indexes that all workers know together, in bounded memory. The lock is taken when a digest is due,
//! when a plan has come and when an observer asks: never while a statement is on its way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::reading::Line;
use super::schema::Index;
use crate::table::DigestRow;

/// The most bytes of plans; schemas may take as many again.
const BYTES_MAX: usize = 16 << 20;

/// The most schemas that are kept; a schema counts once per account that asked.
const SCHEMAS_MAX: usize = 256;

/// The memory of a plan without its texts, in bytes.
const PLAN_BYTES: usize = 512;

/// The key of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PlanKey {
    /// The hash of the digest.
    pub digest: u64,
    /// The cluster that the statements run on.
    pub cluster: Arc<str>,
    /// The default schema; empty: none.
    pub schema: Arc<str>,
}

/// How servers run the statements of one digest, in one default schema of one cluster.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The hash of the digest.
    pub digest: u64,
    /// The text of the digest.
    pub text: Arc<str>,
    /// The cluster.
    pub cluster: Arc<str>,
    /// The default schema; empty: none.
    pub schema: Arc<str>,
    /// How often the digest was explained.
    pub explained: u64,
    /// How often EXPLAIN failed.
    pub failed: u64,
    /// Why the last EXPLAIN failed, if it did.
    pub error: Option<Arc<str>>,
    /// When the digest was explained last, since the process began.
    pub at: Duration,
    /// The backend that was asked.
    pub backend: Arc<str>,
    /// The last plan, line by line.
    pub lines: Arc<[Line]>,
    /// Executions that were counted before the digests' counts were last reset.
    pub before: u64,
}

/// The indexes of a schema, as an account may see them.
#[derive(Debug, Clone)]
pub struct SchemaIndexes {
    /// The cluster.
    pub cluster: Arc<str>,
    /// The schema.
    pub schema: Arc<str>,
    /// The account.
    pub account: Arc<str>,
    /// When the indexes were read, since the process began.
    pub at: Duration,
    /// All indexes, by table and name; empty until they are read for the first time.
    pub indexes: Arc<[Index]>,
    /// Why the indexes could not be read.
    pub error: Option<Arc<str>>,
    epoch: u64,
}

impl SchemaIndexes {
    /// Indexes of a schema that were read at this moment.
    pub fn new(cluster: &str, schema: &str, account: &str, indexes: Vec<Index>) -> Self {
        Self {
            cluster: cluster.into(),
            schema: schema.into(),
            account: account.into(),
            at: Duration::ZERO,
            indexes: indexes.into(),
            error: None,
            epoch: 0,
        }
    }
}

/// The known plans and schemas, for observers.
#[derive(Debug, Clone, Default)]
pub struct PlansView {
    /// Plans.
    pub plans: Vec<Arc<Plan>>,
    /// Schemas; the one that was read last comes last.
    pub schemas: Vec<Arc<SchemaIndexes>>,
    /// Statements that were explained since the start.
    pub explained: u64,
    /// How many of these failed, or did not come in time.
    pub failed: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Plans {
    known: Mutex<StoredPlans>,
    /// The second up to which all is forgotten, counted from 1.
    since: AtomicU32,
}

#[derive(Debug, Default)]
struct StoredPlans {
    plans: HashMap<PlanKey, Arc<Plan>>,
    schemas: Vec<Arc<SchemaIndexes>>,
    bytes: usize,
    explained: u64,
    failed: u64,
}

impl Plans {
    /// Whether the caller may explain a statement of this digest: only if no caller has done so within the interval.
    pub fn claim(&self, key: &PlanKey, text: &Arc<str>, now: Duration, interval: Duration) -> bool {
        let mut known = self.lock();
        match known.plans.get_mut(key) {
            Some(plan) if now < plan.at + interval => false,
            Some(plan) => {
                Arc::make_mut(plan).at = now;
                true
            }
            None => {
                known.enter(key, text, now);
                true
            }
        }
    }

    /// Stores the outcome of an EXPLAIN.
    pub fn note(&self, key: &PlanKey, backend: &str, came: Result<Vec<Line>, String>) {
        let mut known = self.lock();
        known.explained += 1;
        known.failed += u64::from(came.is_err());
        // The plan may have been evicted, or all plans forgotten, in the meantime.
        let Some(plan) = known.plans.get_mut(key) else {
            return;
        };
        let plan = Arc::make_mut(plan);
        let before = bytes_of(plan);
        plan.explained += 1;
        plan.backend = backend.into();
        match came {
            Ok(lines) => {
                plan.lines = lines.into();
                plan.error = None;
            }
            Err(error) => {
                plan.failed += 1;
                plan.error = Some(error.into());
            }
        }
        let after = bytes_of(plan);
        known.bytes = known.bytes.saturating_sub(before) + after;
        known.make_room();
    }

    /// Whether the caller may read the indexes of a schema: only if they are unknown, or may have changed.
    pub fn claim_schema(
        &self,
        (cluster, schema, account): (&Arc<str>, &str, &str),
        (now, epoch): (Duration, u64),
        interval: Duration,
    ) -> bool {
        let mut known = self.lock();
        let found = known.schemas.iter().position(|it| {
            it.cluster == *cluster && *it.schema == *schema && *it.account == *account
        });
        let indexes = match found {
            Some(at) => {
                let is_fresh = known.schemas.get(at).is_some_and(|it| {
                    // Even after a change of the schema (another epoch), a tenth of the interval must pass, to spare
                    // the servers.
                    now < it.at
                        + if it.epoch == epoch {
                            interval
                        } else {
                            interval / 10
                        }
                });
                if is_fresh {
                    return false;
                }
                known.schemas.remove(at).indexes.clone()
            }
            None => Arc::default(),
        };
        let over = (known.schemas.len() + 1).saturating_sub(SCHEMAS_MAX);
        known.schemas.drain(..over);
        known.schemas.push(Arc::new(SchemaIndexes {
            at: now,
            indexes,
            epoch,
            ..SchemaIndexes::new(cluster, schema, account, Vec::new())
        }));
        true
    }

    /// Stores the indexes of a schema, or why they could not be read.
    pub fn note_schema(
        &self,
        (cluster, schema, account): (&Arc<str>, &str, &str),
        came: Result<Vec<Index>, String>,
    ) {
        let mut known = self.lock();
        let found = known
            .schemas
            .iter_mut()
            .find(|it| it.cluster == *cluster && *it.schema == *schema && *it.account == *account);
        if let Some(it) = found.map(Arc::make_mut) {
            match came {
                Ok(indexes) => it.indexes = indexes.into(),
                Err(error) => it.error = Some(error.into()),
            }
        }
        known.bound_schemas();
    }

    /// Adds the counts of digests that are about to be reset to the plans' `before`.
    pub fn keep_counts<'a>(
        &self,
        rows: impl Iterator<Item = &'a DigestRow>,
        cluster_of: impl Fn(&DigestRow) -> Option<Arc<str>>,
    ) {
        let mut known = self.lock();
        if known.plans.is_empty() {
            return;
        }
        for row in rows {
            let Some(cluster) = cluster_of(row) else {
                continue;
            };
            let key = PlanKey {
                digest: row.digest,
                cluster,
                schema: row.attribution.schema.as_str().into(),
            };
            if let Some(plan) = known.plans.get_mut(&key) {
                Arc::make_mut(plan).before += row.counts.count - row.counts.errors;
            }
        }
    }

    /// All plans and schemas.
    pub fn view(&self) -> PlansView {
        let known = self.lock();
        PlansView {
            plans: known.plans.values().map(Arc::clone).collect(),
            schemas: known.schemas.clone(),
            explained: known.explained,
            failed: known.failed,
        }
    }

    /// The second up to which all is forgotten, counted from 1; 0: nothing is forgotten.
    #[inline]
    pub fn since(&self) -> u32 {
        self.since.load(Ordering::Relaxed)
    }

    /// Forgets all plans and schemas.
    pub fn forget(&self, now: Duration) {
        let second = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
        self.since
            .store(second.saturating_add(1), Ordering::Relaxed);
        let mut known = self.lock();
        known.plans.clear();
        known.schemas.clear();
        known.bytes = 0;
    }

    fn lock(&self) -> MutexGuard<'_, StoredPlans> {
        // A panic under the lock cannot leave a plan half written.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoredPlans {
    fn enter(&mut self, key: &PlanKey, text: &Arc<str>, now: Duration) {
        let plan = Plan {
            digest: key.digest,
            text: Arc::clone(text),
            cluster: Arc::clone(&key.cluster),
            schema: Arc::clone(&key.schema),
            explained: 0,
            failed: 0,
            error: None,
            at: now,
            backend: "".into(),
            lines: Arc::default(),
            before: 0,
        };
        self.bytes += bytes_of(&plan);
        self.plans.insert(key.clone(), Arc::new(plan));
        self.make_room();
    }

    /// Evicts the plans that were explained the longest ago: a tenth at once, because finding them takes a search.
    fn make_room(&mut self) {
        if self.bytes <= BYTES_MAX {
            return;
        }
        let mut ages: Vec<_> = self
            .plans
            .iter()
            .map(|(key, plan)| (plan.at, key.clone()))
            .collect();
        ages.sort_unstable_by_key(|(at, _)| *at);
        let enough = BYTES_MAX - BYTES_MAX / 10;
        for (_, key) in ages {
            if self.bytes <= enough {
                break;
            }
            if let Some(plan) = self.plans.remove(&key) {
                self.bytes = self.bytes.saturating_sub(bytes_of(&plan));
            }
        }
    }

    fn bound_schemas(&mut self) {
        let bytes = |it: &Arc<SchemaIndexes>| -> usize {
            let each = it.indexes.iter().map(|index| {
                let names = index.columns.iter().filter_map(|part| part.column.as_ref());
                let names: usize = names
                    .map(|name| name.len() + size_of::<super::schema::IndexColumn>())
                    .sum();
                size_of::<Index>() + index.table.len() + index.name.len() + names
            });
            each.sum()
        };
        let mut all: usize = self.schemas.iter().map(bytes).sum();
        while all > BYTES_MAX && self.schemas.len() > 1 {
            all -= bytes(&self.schemas.remove(0));
        }
    }
}

fn bytes_of(plan: &Plan) -> usize {
    let lines = plan.lines.iter().map(|line| {
        let texts = [
            &line.select_type,
            &line.alias,
            &line.access,
            &line.reference,
            &line.extra,
        ];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let table = line
            .table
            .as_ref()
            .map_or(0, |(schema, table)| schema.len() + table.len());
        let keys: usize = line.keys.iter().map(|(name, _)| name.len() + 32).sum();
        let columns: usize = line.columns.iter().map(|it| it.len() + 24).sum();
        size_of::<Line>() + texts + table + keys + columns
    });
    let error = plan.error.as_ref().map_or(0, |it| it.len());
    // The key holds the same names, and shares their memory.
    PLAN_BYTES
        + plan.text.len()
        + plan.cluster.len()
        + plan.schema.len()
        + error
        + lines.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(digest: u64) -> PlanKey {
        PlanKey {
            digest,
            cluster: "c".into(),
            schema: "world".into(),
        }
    }

    const INTERVAL: Duration = Duration::from_secs(60);

    #[test]
    fn a_digest_is_explained_once_in_an_interval() {
        let plans = Plans::default();
        let text: Arc<str> = "SELECT ?".into();
        let at = |seconds| plans.claim(&key(1), &text, Duration::from_secs(seconds), INTERVAL);
        assert!(at(5));
        assert!(!at(6));
        assert!(!at(64));
        assert!(at(65));
        assert!(!at(66));
        assert!(plans.claim(&key(2), &text, Duration::from_secs(66), INTERVAL));
    }

    #[test]
    fn an_error_leaves_the_last_plan() {
        let plans = Plans::default();
        let text: Arc<str> = "SELECT ?".into();
        assert!(plans.claim(&key(1), &text, Duration::ZERO, INTERVAL));
        plans.note(&key(1), "b", Ok(vec![Line::default()]));
        plans.note(&key(1), "b", Err("1146".into()));
        plans.note(&key(9), "b", Err("nobody's".into()));
        let view = plans.view();
        assert_eq!(view.plans.len(), 1);
        let plan = &view.plans[0];
        assert_eq!((plan.explained, plan.failed, plan.lines.len()), (2, 1, 1));
        assert_eq!(plan.error.as_deref(), Some("1146"));
        assert_eq!((view.explained, view.failed), (3, 2));
        plans.forget(Duration::from_secs(9));
        assert_eq!(plans.since(), 10);
        assert!(plans.view().plans.is_empty());
    }

    #[test]
    fn memory_is_bounded_and_the_latest_stay() {
        let plans = Plans::default();
        let text: Arc<str> = "x".repeat(2048).into();
        let count = 3 * BYTES_MAX as u64 / 2048;
        for digest in 0..count {
            assert!(plans.claim(&key(digest), &text, Duration::from_secs(digest), INTERVAL));
        }
        let known = plans.lock();
        assert!(known.bytes <= BYTES_MAX);
        let counted: usize = known.plans.values().map(|it| bytes_of(it)).sum();
        assert_eq!(known.bytes, counted);
        assert!(known.plans.contains_key(&key(count - 1)));
        assert!(!known.plans.contains_key(&key(0)));
    }

    #[test]
    fn a_schema_is_read_once_in_an_interval_and_when_definitions_have_changed() {
        let plans = Plans::default();
        let cluster: Arc<str> = "c".into();
        fn attribution<'a>(
            cluster: &'a Arc<str>,
            schema: &'a str,
        ) -> (&'a Arc<str>, &'a str, &'a str) {
            (cluster, schema, "'a'@'%'")
        }
        let at = |seconds, epoch| {
            let now = (Duration::from_secs(seconds), epoch);
            plans.claim_schema(attribution(&cluster, "world"), now, INTERVAL)
        };
        assert!(at(1, 0));
        plans.note_schema(attribution(&cluster, "world"), Ok(vec![Index::default()]));
        assert!(!at(2, 0));
        assert!(!at(3, 1), "it was read a moment ago");
        assert!(at(8, 1));
        assert_eq!(
            plans.view().schemas[0].indexes.len(),
            1,
            "what was known stays meanwhile"
        );
        assert!(!at(9, 1));
        assert!(at(68, 1));
        for number in 0..SCHEMAS_MAX {
            let schema = number.to_string();
            let now = (Duration::ZERO, 0);
            assert!(plans.claim_schema(attribution(&cluster, &schema), now, INTERVAL));
        }
        assert_eq!(plans.view().schemas.len(), SCHEMAS_MAX);
    }
}
