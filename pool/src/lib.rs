//! The backend connections of one worker: which sessions have one or wait for one, when one is opened or closed.
//!
//! Decisions only. No socket: a connection is an opaque `C`, a waiter an opaque `W` that the caller
//! wakes. No clock: `now` is an argument everywhere, the time since the process started. No timer:
//! [`Pool::next_tick`] says when to call [`Pool::tick`], which says what to do.
//!
//! ```text
//!                    check_out: Open                      opened
//!    (a free place) ─────────────────► Opening ──────────────────────► Leased ◄────────┐
//!          ▲         tick: Open           │ open_failed, waive         │ │ │         │ check_out: Take
//!          │◄─────────────────────────────┘                            │ │ │         │ tick: Ping
//!          │◄──────────────────────────────────────────────── forget ──┘ │ └► Idle ──┘
//!          │                                                             │ give_back: Rest, Linger
//!          │   closed              give_back: Close                      │       │
//!          └────────── Closing ◄─────────────────────────────────────────┘       │
//!                         ▲            tick, shut, weed: Close                   │
//!                         └──────────────────────────────────────────────────────┘
//!          Leased ──► Leased   give_back: Wake, straight to the first waiter; hold
//! ```
//!
//! A state is a place (the idea is PgBouncer's `objects.c`): what is idle lies in the idle list,
//! what is lent has an entry among the lent, and [`Figures`] are the lengths of these lists. For
//! every key, idle + lent + opening + closing are its connections, and a new one begins only below
//! every limit: the key's own ([`Limits`]), those that span workers ([`ConnectionLimit`]), and the rate limit at
//! which a backend is given new connections ([`RateLimit`]). An account whose sessions keep many connections is bounded
//! besides ([`FairShares`]). How many statements run at once on a server is another matter ([`AdaptiveLimit`]).
//!
//! A token holds what is out of the pool: [`Lease`], [`OpeningPermit`], [`Closing`], [`Ticket`]. A
//! token is used up by the call that ends its state, so nothing is given back twice. The pool's next
//! call finds a token that was dropped, as with a cancelled task, so nothing is lost.
//!
//! Beside the pool stand the two tables of prepared statements: [`Prepared`], what one backend
//! connection has, and [`ClientStatements`], what one client believes to have.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic))]

mod adaptive_limit;
mod connection_limit;
mod drain;
mod fair_shares;
mod figures;
mod lane;
mod limits;
mod open_policy;
mod opening_time;
mod places;
mod pool;
mod rate_limit;
mod requests;
mod share;
mod statements;
mod tick;
mod tokens;
mod waiters;

pub use adaptive_limit::{AdaptiveLimit, Bounds, LimitFigures, QueuePlace, Span};
pub use connection_limit::{ConnectionLimit, Holding};
pub use fair_shares::{AccountUse, BOUNDED_FOR, FairShares, excess};
pub use figures::{CloseReason, Closed, Counts, Figures};
pub use lane::{Depth, Ended, Lane, LaneRequestId, Left, PATIENCE_MIN, Stranded};
pub use limits::Limits;
pub use pool::Pool;
pub use rate_limit::RateLimit;
pub use requests::{Grant, Next, Refusal, Supply, Verdict, Wake, Wish};
pub use share::{ShareId, kept_max};
pub use statements::{
    BackendStatementId, Binding, ClientStatement, ClientStatementId, ClientStatements, LongData,
    LongDataFault, Lookup, Prepared, Text, Texts, TooManyStatements, TypesSeen,
};
pub use tick::Action;
pub use tokens::{Closing, Lease, OpeningPermit, Ticket};
pub use waiters::Waiting;
