//! The tokens that a caller holds for places in the pool. A token that is dropped leaves a note.

use std::cell::RefCell;
use std::rc::Rc;

/// A connection that is out of the pool, with its holder. Ends with
/// [`give_back`](crate::Pool::give_back) or [`forget`](crate::Pool::forget).
#[derive(Debug)]
#[must_use = "a lease that is dropped is a connection that is lost"]
pub struct Lease(Token);

/// The right to open one connection; its place is reserved. Ends with
/// [`opened`](crate::Pool::opened), [`open_failed`](crate::Pool::open_failed) or
/// [`waive`](crate::Pool::waive).
#[derive(Debug)]
#[must_use = "the place stays reserved as long as the permit lives"]
pub struct OpeningPermit(Token);

/// A connection is being closed; it counts until [`closed`](crate::Pool::closed).
#[derive(Debug)]
#[must_use = "the connection counts until it is said to be closed"]
pub struct Closing(Token);

/// A place in the queue. Dropping it, or [`cancel`](crate::Pool::cancel), leaves the queue. After
/// its waiter was woken or refused, the ticket means nothing any more.
#[derive(Debug)]
#[must_use = "dropping the ticket leaves the queue"]
pub struct Ticket(Token);

/// Which place of which sub-pool a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    /// The sub-pool's index in its pool.
    pub sub_pool: usize,
    /// The entry's index among the lent, opening or closing; a ticket's sequence number.
    pub entry: u64,
}

impl Address {
    pub(crate) fn index(self) -> usize {
        self.entry as usize
    }
}

/// The object that a dropped token stood for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Lease,
    Opening,
    Closing,
    Ticket,
}

/// Where dropped tokens leave their address. A token may be dropped anywhere, also while the pool
/// is borrowed, so it cannot call the pool.
#[derive(Debug, Default)]
pub(crate) struct Lost(RefCell<Vec<(TokenKind, Address)>>);

impl Lost {
    /// Returns the tokens that were dropped since the last call.
    pub(crate) fn collect(&self) -> Vec<(TokenKind, Address)> {
        self.0.take()
    }
}

#[derive(Debug)]
struct Token {
    kind: TokenKind,
    address: Address,
    /// None once the token was redeemed.
    lost: Option<Rc<Lost>>,
}

impl Token {
    fn redeem(mut self, issuer: &Rc<Lost>) -> Address {
        let lost = self.lost.take();
        assert!(
            lost.is_some_and(|lost| Rc::ptr_eq(&lost, issuer)),
            "a token goes back to the pool that issued it"
        );
        self.address
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if let Some(lost) = self.lost.take() {
            lost.0.borrow_mut().push((self.kind, self.address));
        }
    }
}

/// Issues the tokens of one sub-pool.
#[derive(Debug)]
pub(crate) struct TokenIssuer {
    /// The sub-pool's index in its pool.
    pub sub_pool: usize,
    /// The pool's list of dropped tokens.
    pub lost: Rc<Lost>,
}

impl TokenIssuer {
    pub(crate) fn lease(&self, index: usize) -> Lease {
        Lease(self.token(TokenKind::Lease, index as u64))
    }

    pub(crate) fn permit(&self, index: usize) -> OpeningPermit {
        OpeningPermit(self.token(TokenKind::Opening, index as u64))
    }

    pub(crate) fn closing(&self, index: usize) -> Closing {
        Closing(self.token(TokenKind::Closing, index as u64))
    }

    pub(crate) fn ticket(&self, sequence: u64) -> Ticket {
        Ticket(self.token(TokenKind::Ticket, sequence))
    }

    fn token(&self, kind: TokenKind, entry: u64) -> Token {
        let sub_pool = self.sub_pool;
        Token {
            kind,
            address: Address { sub_pool, entry },
            lost: Some(Rc::clone(&self.lost)),
        }
    }
}

macro_rules! redeem {
    ($($token:ident),*) => {$(
        impl $token {
            /// Uses the token up, in the pool that issued it.
            pub(crate) fn redeem(self, issuer: &Rc<Lost>) -> Address {
                self.0.redeem(issuer)
            }
        }
    )*};
}
redeem!(Lease, OpeningPermit, Closing, Ticket);

impl Ticket {
    /// The waiter was woken or refused: there is no queue to leave. Dropping the ticket does no
    /// harm, but costs more.
    pub fn spend(mut self) {
        self.0.lost = None;
    }
}

macro_rules! address {
    ($($token:ident),*) => {$(
        impl $token {
            pub(crate) fn address(&self) -> Address {
                self.0.address
            }
        }
    )*};
}
address!(Lease, Ticket);
