//! Counts the bytes that the lexer reads, in unit tests only. The tests show that a long text is not read
//! again and again.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// Counts bytes that the lexer has read.
#[inline(always)]
pub(crate) fn count(bytes: usize) {
    #[cfg(test)]
    BYTES.set(BYTES.get() + bytes);
    #[cfg(not(test))]
    let _ = bytes;
}

/// Returns how many bytes the lexer reads while `run` runs.
#[cfg(test)]
pub(crate) fn bytes_read(run: impl FnOnce()) -> usize {
    let before = BYTES.get();
    run();
    BYTES.get() - before
}
