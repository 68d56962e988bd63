//! How many bytes the lexer looks at. Unit tests count them, to show that a long text is not read
//! again and again. Other builds count nothing.

#[cfg(test)]
use std::cell::Cell;

#[cfg(test)]
thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

/// The lexer looked at so many bytes.
#[inline(always)]
pub(crate) fn count(bytes: usize) {
    #[cfg(test)]
    BYTES.set(BYTES.get() + bytes);
    #[cfg(not(test))]
    let _ = bytes;
}

/// How many bytes the lexer looks at while `run` runs.
#[cfg(test)]
pub(crate) fn bytes_read(run: impl FnOnce()) -> usize {
    let before = BYTES.get();
    run();
    BYTES.get() - before
}
