//! Locks of rows, tables and names, with queues and the discovery of circles.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::control::Control;
use super::table::Key;

/// What can be locked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// A row of a table.
    Row(u64, Key),
    /// The places of a table where a new row may come.
    Gaps(u64),
    /// A table's definition.
    Table(u64),
    /// All tables (FLUSH TABLES WITH READ LOCK).
    Everything,
    /// A name (GET_LOCK).
    Name(Rc<str>),
}

/// How something is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Others may share it.
    Shared,
    /// No other owner has it.
    Exclusive,
    /// A row is to be put into a gap: that goes together with others that do so.
    Insert,
    /// A table is read.
    Read,
    /// A table is written.
    Write,
    /// A table is kept as it is (LOCK TABLES … READ).
    Keep,
}

/// How long something stays locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    /// Until the transaction ends.
    Transaction,
    /// Until UNLOCK TABLES.
    Tables,
    /// Until RELEASE_LOCK.
    Name,
}

/// Why a lock is not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockFailure {
    /// It took too long.
    Timeout,
    /// Several connections wait for each other, and this one gives way.
    Deadlock,
    /// The statement was killed.
    Killed,
}

impl Mode {
    fn conflicts(self, other: Self) -> bool {
        use Mode::{Exclusive, Insert, Keep, Read, Shared, Write};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) => true,
            (Shared, Insert) | (Insert, Shared) => true,
            (Write, Keep) | (Keep, Write) => true,
            (Shared | Insert | Read | Write | Keep, _) => false,
        }
    }

    /// Whether the holder of the one need not ask for the other.
    fn covers(self, other: Self) -> bool {
        use Mode::{Exclusive, Read, Write};
        self == other || self == Exclusive || self == Write && other == Read
    }
}

/// A connection that waits.
#[derive(Debug)]
pub struct LockRequest {
    control: Rc<Control>,
    mode: Mode,
    span: Span,
    resource: Resource,
    is_granted: Cell<bool>,
    gives_way: Cell<bool>,
}

impl LockRequest {
    /// Whether it has the lock now.
    pub fn is_granted(&self) -> bool {
        self.is_granted.get()
    }

    /// Whether it must give way.
    pub fn gives_way(&self) -> bool {
        self.gives_way.get()
    }
}

#[derive(Debug, Default)]
struct Entry {
    holders: Vec<(u32, Mode, Span)>,
    queue: Vec<Rc<LockRequest>>,
}

/// All locks of a server.
#[derive(Debug, Default)]
pub struct Locks {
    entries: RefCell<BTreeMap<Resource, Entry>>,
    held: RefCell<BTreeMap<(u32, Span), Vec<Resource>>>,
    waiting: RefCell<BTreeMap<u32, Rc<LockRequest>>>,
}

impl Locks {
    /// Takes a lock if that needs no wait.
    pub fn take(&self, owner: u32, resource: &Resource, mode: Mode, span: Span) -> bool {
        let mut entries = self.entries.borrow_mut();
        let Some(entry) = entries.get_mut(resource) else {
            let holders = vec![(owner, mode, span)];
            let queue = Vec::new();
            entries.insert(resource.clone(), Entry { holders, queue });
            self.note_held(owner, resource, span);
            return true;
        };
        let is_covered =
            |it: &(u32, Mode, Span)| it.0 == owner && it.1.covers(mode) && it.2 <= span;
        if span != Span::Name && entry.holders.iter().any(is_covered) {
            return true;
        }
        let is_inside = entry.holders.iter().any(|it| it.0 == owner);
        let is_first = entry.queue.iter().all(|it| !it.mode.conflicts(mode));
        // A lock of gaps does not wait. It only keeps other owners from inserting rows there.
        let is_gap = mode == Mode::Shared && matches!(resource, Resource::Gaps(_));
        let is_free = is_gap || entry.is_free(owner, mode) && (is_inside || is_first);
        if is_free {
            entry.holders.push((owner, mode, span));
            self.note_held(owner, resource, span);
        }
        is_free
    }

    /// Whether no other owner has a conflicting lock.
    pub fn is_free(&self, owner: u32, resource: &Resource, mode: Mode) -> bool {
        let entries = self.entries.borrow();
        entries
            .get(resource)
            .is_none_or(|it| it.is_free(owner, mode))
    }

    /// Whether the owner has a lock of any mode.
    pub fn has(&self, owner: u32, resource: &Resource) -> bool {
        let entries = self.entries.borrow();
        entries
            .get(resource)
            .is_some_and(|it| it.holders.iter().any(|it| it.0 == owner))
    }

    /// The holder of a lock that is exclusive.
    pub fn owner(&self, resource: &Resource) -> Option<u32> {
        let entries = self.entries.borrow();
        entries.get(resource)?.holders.first().map(|it| it.0)
    }

    /// Waits in the queue. If that closes a circle, the lightest connection of it gives way.
    pub fn request(
        &self,
        control: &Rc<Control>,
        resource: &Resource,
        mode: Mode,
        span: Span,
        weight: impl Fn(u32) -> u64,
    ) -> Rc<LockRequest> {
        let request = Rc::new(LockRequest {
            control: Rc::clone(control),
            mode,
            span,
            resource: resource.clone(),
            is_granted: Cell::new(false),
            gives_way: Cell::new(false),
        });
        let mut entries = self.entries.borrow_mut();
        let entry = entries.entry(resource.clone()).or_default();
        entry.queue.push(Rc::clone(&request));
        drop(entries);
        self.waiting
            .borrow_mut()
            .insert(control.id, Rc::clone(&request));
        let circle = self.circle(control.id);
        // The one that closes the circle gives way to those that are as light.
        let victim = circle
            .iter()
            .rev()
            .min_by_key(|owner| (weight(**owner), **owner != control.id));
        if let Some(victim) = victim
            && let Some(victim) = self.waiting.borrow().get(victim)
        {
            victim.gives_way.set(true);
            victim.control.wake();
        }
        request
    }

    /// Leaves the queue, with or without the lock.
    pub fn leave(&self, request: &Rc<LockRequest>) {
        self.waiting.borrow_mut().remove(&request.control.id);
        if request.is_granted() {
            return;
        }
        let mut entries = self.entries.borrow_mut();
        if let Some(entry) = entries.get_mut(&request.resource) {
            entry.queue.retain(|it| !Rc::ptr_eq(it, request));
            self.grant(&request.resource, entry);
            if entry.holders.is_empty() && entry.queue.is_empty() {
                entries.remove(&request.resource);
            }
        }
    }

    /// Gives back one lock; whether there was one.
    pub fn release(&self, owner: u32, resource: &Resource, span: Span) -> bool {
        let mut held = self.held.borrow_mut();
        let Some(all) = held.get_mut(&(owner, span)) else {
            return false;
        };
        let Some(at) = all.iter().rposition(|it| it == resource) else {
            return false;
        };
        all.remove(at);
        drop(held);
        self.give_back(owner, resource, span);
        true
    }

    /// Gives back all locks of a span; how many there were.
    pub fn release_all(&self, owner: u32, span: Span) -> usize {
        let all = self.held.borrow_mut().remove(&(owner, span));
        let all = all.unwrap_or_default();
        for resource in &all {
            self.give_back(owner, resource, span);
        }
        all.len()
    }

    /// Whether a connection has a lock of this span.
    pub fn holds(&self, owner: u32, span: Span) -> bool {
        let held = self.held.borrow();
        held.get(&(owner, span)).is_some_and(|it| !it.is_empty())
    }

    /// Whether a connection waits.
    pub fn is_waiting(&self, owner: u32) -> bool {
        self.waiting.borrow().contains_key(&owner)
    }

    fn note_held(&self, owner: u32, resource: &Resource, span: Span) {
        let mut held = self.held.borrow_mut();
        held.entry((owner, span))
            .or_default()
            .push(resource.clone());
    }

    fn give_back(&self, owner: u32, resource: &Resource, span: Span) {
        let mut entries = self.entries.borrow_mut();
        let Some(entry) = entries.get_mut(resource) else {
            return;
        };
        let is_it = |it: &(u32, Mode, Span)| it.0 == owner && it.2 == span;
        if let Some(at) = entry.holders.iter().position(is_it) {
            entry.holders.remove(at);
        }
        self.grant(resource, entry);
        if entry.holders.is_empty() && entry.queue.is_empty() {
            entries.remove(resource);
        }
    }

    /// Grants the lock to the waiting requests, in their order.
    fn grant(&self, resource: &Resource, entry: &mut Entry) {
        let mut at = 0;
        while let Some(next) = entry.queue.get(at) {
            let ahead = &entry.queue[..at];
            let is_behind = ahead.iter().any(|it| it.mode.conflicts(next.mode));
            if is_behind || !entry.is_free(next.control.id, next.mode) {
                at += 1;
                continue;
            }
            let next = entry.queue.remove(at);
            entry.holders.push((next.control.id, next.mode, next.span));
            self.note_held(next.control.id, resource, next.span);
            next.is_granted.set(true);
            next.control.wake();
        }
    }

    /// Returns the connections of the wait circle that goes through a connection.
    fn circle(&self, start: u32) -> Vec<u32> {
        let mut path = vec![start];
        let mut seen = BTreeSet::new();
        match self.leads_to(start, start, &mut path, &mut seen) {
            true => path,
            false => Vec::new(),
        }
    }

    fn leads_to(
        &self,
        from: u32,
        goal: u32,
        path: &mut Vec<u32>,
        seen: &mut BTreeSet<u32>,
    ) -> bool {
        for blocker in self.blockers(from) {
            if blocker == goal {
                return true;
            }
            if !seen.insert(blocker) {
                continue;
            }
            path.push(blocker);
            if self.leads_to(blocker, goal, path, seen) {
                return true;
            }
            path.pop();
        }
        false
    }

    /// Returns the connections for which a connection waits.
    fn blockers(&self, owner: u32) -> Vec<u32> {
        let waiting = self.waiting.borrow();
        let Some(request) = waiting.get(&owner).filter(|it| !it.gives_way()) else {
            return Vec::new();
        };
        let entries = self.entries.borrow();
        let Some(entry) = entries.get(&request.resource) else {
            return Vec::new();
        };
        let holders = entry.holders.iter();
        let holders = holders.filter(|it| it.0 != owner && it.1.conflicts(request.mode));
        let ahead = entry.queue.iter().take_while(|it| !Rc::ptr_eq(it, request));
        let ahead = ahead.filter(|it| it.mode.conflicts(request.mode));
        holders
            .map(|it| it.0)
            .chain(ahead.map(|it| it.control.id))
            .collect()
    }
}

impl Entry {
    fn is_free(&self, owner: u32, mode: Mode) -> bool {
        let conflicts = |it: &(u32, Mode, Span)| it.0 != owner && it.1.conflicts(mode);
        !self.holders.iter().any(conflicts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: i128) -> Resource {
        Resource::Row(1, Key::Number(number))
    }

    fn take(locks: &Locks, owner: u32, number: i128) -> bool {
        locks.take(owner, &row(number), Mode::Exclusive, Span::Transaction)
    }

    fn ask(locks: &Locks, owner: u32, number: i128) -> Rc<LockRequest> {
        let control = Rc::new(Control::new(owner));
        let weight = |owner: u32| u64::from(owner == 2);
        locks.request(
            &control,
            &row(number),
            Mode::Exclusive,
            Span::Transaction,
            weight,
        )
    }

    #[test]
    fn waiters_get_the_lock_in_order() {
        let locks = Locks::default();
        assert!(take(&locks, 1, 7) && take(&locks, 1, 7) && !take(&locks, 2, 7));
        let (second, third) = (ask(&locks, 2, 7), ask(&locks, 3, 7));
        assert_eq!(locks.release_all(1, Span::Transaction), 1);
        assert!(second.is_granted() && !third.is_granted());
        locks.release_all(2, Span::Transaction);
        assert!(third.is_granted());
    }

    #[test]
    fn deadlock_victim_is_the_transaction_with_the_lowest_weight() {
        let locks = Locks::default();
        assert!(take(&locks, 1, 1) && take(&locks, 2, 2));
        let first = ask(&locks, 1, 2);
        let second = ask(&locks, 2, 1);
        assert!(first.gives_way() && !second.gives_way());
        locks.leave(&first);
        locks.release_all(1, Span::Transaction);
        assert!(second.is_granted());
    }

    #[test]
    fn shared_locks_go_together_and_with_no_exclusive_one() {
        let locks = Locks::default();
        let shared = |owner| locks.take(owner, &row(1), Mode::Shared, Span::Transaction);
        assert!(shared(1) && shared(2) && !take(&locks, 1, 1));
        assert!(!locks.is_free(3, &row(1), Mode::Exclusive));
        assert!(locks.is_free(3, &row(1), Mode::Shared));
    }
}
