//! Memory for the futures of commands: a worker's commands use the same blocks one after the other, and a
//! session between two commands holds none.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll};

use recycle_box::RecycleBox;

/// Free blocks beyond that are given back to the system.
const FREE_MAX: usize = 128;

/// One worker's.
#[derive(Default)]
pub struct FutureArena {
    free: RefCell<Vec<RecycleBox<()>>>,
}

/// A future in a block.
pub struct Held<'a, F: Future> {
    future: Option<Pin<RecycleBox<F>>>,
    blocks: &'a FutureArena,
}

impl FutureArena {
    /// Makes a future in a block, for as long as it runs. A block that is too small makes way for one that is not.
    #[inline]
    pub fn hold<F: Future>(&self, make: impl FnOnce() -> F) -> Held<'_, F> {
        let free = self.free.borrow_mut().pop();
        let block = free.unwrap_or_else(|| RecycleBox::new(()));
        Held {
            future: Some(RecycleBox::into_pin(RecycleBox::recycle(block, make()))),
            blocks: self,
        }
    }
}

impl<F: Future> Future for Held<'_, F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match &mut self.future {
            Some(future) => future.as_mut().poll(context),
            // Only its end takes it.
            None => Poll::Pending,
        }
    }
}

impl<F: Future> Drop for Held<'_, F> {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            let block = RecycleBox::vacate_pinned(future);
            let mut free = self.blocks.free.borrow_mut();
            if free.len() < FREE_MAX {
                free.push(block);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::{pending, ready};

    use super::*;

    fn count(blocks: &FutureArena) -> usize {
        blocks.free.borrow().len()
    }

    /// Says when it goes.
    struct Goes<'a>(&'a Cell<usize>);

    impl Drop for Goes<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[tokio::test]
    async fn a_block_comes_back_and_is_used_again() {
        let blocks = FutureArena::default();
        assert_eq!(blocks.hold(|| ready(1)).await, 1);
        assert_eq!(count(&blocks), 1);
        let large = async |bytes: [u8; 4096]| {
            tokio::task::yield_now().await;
            bytes.len()
        };
        for _ in 0..3 {
            assert_eq!(blocks.hold(|| large([0; 4096])).await, 4096);
            assert_eq!(count(&blocks), 1);
        }
        let (one, two) = tokio::join!(blocks.hold(|| large([1; 4096])), blocks.hold(|| ready(2)));
        assert_eq!((one, two), (4096, 2));
        assert_eq!(count(&blocks), 2);
    }

    #[tokio::test]
    async fn what_is_given_up_is_dropped_once() {
        let blocks = FutureArena::default();
        let gone = Cell::new(0);
        let goes = Goes(&gone);
        let held = blocks.hold(|| async move {
            let _goes = goes;
            pending::<()>().await;
        });
        let given_up = tokio::time::timeout(std::time::Duration::ZERO, held).await;
        assert!(given_up.is_err());
        assert_eq!((gone.get(), count(&blocks)), (1, 1));
    }
}
