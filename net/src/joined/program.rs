//! The program that decides, for each piece that a joined socket receives, whether the kernel passes it on or the proxy
//! reads it.
//!
//! ```text
//!   a piece without bytes (the end of a side)                 dropped: the socket knows its end
//!   a piece that begins before the next expected byte         its beginning is cut off: it was received before
//!   a piece that begins behind it, or cannot be cut           out of order: it and all later ones are dropped
//!   passed == forwarded, and redirected + length <= credit    redirected += length; to the other socket
//!   passed == forwarded, beyond the credit                    passed += length; a notice; the proxy reads it
//!   passed != forwarded                                       passed += length; the proxy reads it
//! ```
//!
//! The cutting is necessary because the kernel gives the program whole segments. A sender that retransmits may put bytes
//! that were received before and new bytes into one segment; `tcp_recvmsg` skips the old ones by their sequence numbers,
//! `tcp_read_skb`, which calls this program, does not. Without it such bytes would go to the other socket twice.
//!
//! The kernel runs the program with the socket locked, once at a time. So the program counts with plain loads and
//! stores. It counts a piece before it writes the notice: the reader of the notice must see the count.
//!
//! A second program, which the proxy calls, tells the sequence number at which a socket's joining begins.

use std::os::fd::BorrowedFd;

use super::assembly::{
    ALWAYS, Assembly, EXIT, Instruction, add, add_32, add_number, call, copy, if_above, if_at_most,
    if_different, if_greater, if_set, if_zero, load_32, load_64, negate, set, skip_if_zero,
    store_64, store_number_64, subtract, subtract_32,
};

/// The maps that the program uses. Their keys are the cookies of sockets.
pub(super) struct ProgramMaps<'a> {
    /// The socket that the bytes go to.
    pub(super) targets: BorrowedFd<'a>,
    /// Two counts, the sequence number of the next byte, and whether a piece was out of order: `redirected`, `passed`, `next`,
    /// `is_out_of_order`.
    pub(super) seen: BorrowedFd<'a>,
    /// Two bounds: `credit`, `forwarded`.
    pub(super) granted: BorrowedFd<'a>,
    /// A ring: cookies of sockets with bytes that the proxy is to read.
    pub(super) notices: BorrowedFd<'a>,
}

// Helpers of the kernel (enum bpf_func_id).
const MAP_LOOKUP_ELEM: i32 = 1;
const SKB_LOAD_BYTES: i32 = 26;
const GET_SOCKET_COOKIE: i32 = 46;
const SKB_ADJUST_ROOM: i32 = 50;
const SK_REDIRECT_HASH: i32 = 72;
const SK_RELEASE: i32 = 86;
const TCP_SOCK: i32 = 96;
const RINGBUF_OUTPUT: i32 = 130;
/// SK_DROP.
const DROP: i32 = 0;
/// SK_PASS.
const PASS: i32 = 1;
/// The offset of the cookie, from the end of the stack.
const COOKIE: i16 = -8;
const COOKIE_BYTES: i32 = 8;
/// The offset of `len` in `struct __sk_buff`.
const LENGTH: i16 = 0;
/// The offset of `cb` in `struct __sk_buff`. For a piece of a TCP socket it begins with `struct tcp_skb_cb`, thus with the
/// sequence number of the piece's first byte. Old kernels (before Linux 5.16) showed another part of it.
const SEQUENCE: i16 = 48;
/// The offset of `rcv_nxt` in `struct bpf_tcp_sock`.
const RECEIVE_NEXT: i16 = 16;
/// Offsets in a value of `seen`.
const PASSED: i16 = 8;
const NEXT: i16 = 16;
const OUT_OF_ORDER: i16 = 24;
/// The most bytes that one call cuts off a piece (`sk_skb_adjust_room`).
const ONE_CUT_BYTES_MAX: i32 = 4095;
/// The most bytes that are cut off a piece. Pieces that the kernel has put together behind a gap are longer than segments.
const CUT_BYTES_MAX: i32 = 128 * ONE_CUT_BYTES_MAX;

/// A target of jumps in one of the programs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    OutOfOrder,
    CountPassed,
    Drop,
    InOrder,
    LastCut,
    Notice,
    Pass,
}

impl Assembly<Label> {
    /// The address of the cookie.
    fn cookie(&mut self, target: u8) {
        self.put(&[copy(target, 10), add_number(target, COOKIE.into())]);
    }

    /// r0: the address of this socket's value in `map`. Without a value, the program goes on at `absent`.
    fn find(&mut self, map: BorrowedFd<'_>, absent: Label) {
        self.load_map(1, map);
        self.cookie(2);
        self.put(&[call(MAP_LOOKUP_ELEM)]);
        self.jump(if_zero(0), absent);
    }

    /// Cuts -r2 bytes off the beginning of the piece, or goes on at `OutOfOrder`.
    fn cut(&mut self) {
        self.put(&[copy(1, 6), set(3, 0), set(4, 0), call(SKB_ADJUST_ROOM)]);
        self.jump(if_set(0), Label::OutOfOrder);
    }

    /// Cuts off what was received before. r6: the piece. r7: the address of the counts in `seen`. r9: the piece's
    /// length, then the length of what is left. r8 is overwritten.
    fn cut_received(&mut self) {
        // r1: the piece's first sequence number. r8: how many of its bytes were received before.
        self.put(&[load_32(1, 6, SEQUENCE), load_32(8, 7, NEXT)]);
        self.put(&[
            copy(2, 1),
            add_32(2, 9),
            store_64(7, NEXT, 2),
            subtract_32(8, 1),
        ]);
        self.jump(if_zero(8), Label::InOrder);
        // A piece that begins behind the next byte has a large difference.
        self.jump(if_greater(8, 9), Label::OutOfOrder);
        self.jump(if_above(8, CUT_BYTES_MAX), Label::OutOfOrder);
        self.put(&[subtract(9, 8)]);
        let again = self.code.len();
        self.jump(if_at_most(8, ONE_CUT_BYTES_MAX), Label::LastCut);
        self.put(&[
            add_number(8, -ONE_CUT_BYTES_MAX),
            set(2, -ONE_CUT_BYTES_MAX),
        ]);
        self.cut();
        self.jump_back(ALWAYS, again);
        self.place_label(Label::LastCut);
        self.put(&[copy(2, 8), negate(2)]);
        self.cut();
        // Old bytes and the end of a side may be in one segment. Nothing but the end is left then.
        self.jump(if_zero(9), Label::Drop);
        self.jump(ALWAYS, Label::InOrder);
        self.place_label(Label::OutOfOrder);
        self.put(&[store_number_64(7, OUT_OF_ORDER, 1), set(9, DROP)]);
        self.jump(ALWAYS, Label::Notice);
    }
}

/// The program that decides, for these maps.
pub(super) fn verdict(maps: &ProgramMaps<'_>) -> Vec<Instruction> {
    let mut assembly = Assembly::new();
    // r6: the piece. r7: the address of the counts in `seen`. r9: the piece's length.
    assembly.put(&[copy(6, 1), call(GET_SOCKET_COOKIE), store_64(10, COOKIE, 0)]);
    assembly.find(maps.seen, Label::Pass);
    assembly.put(&[copy(7, 0), load_32(9, 6, LENGTH)]);
    // The end of a side has no bytes. If it were redirected, or had to wait behind bytes that go to this socket, the
    // kernel would break that socket (EPIPE).
    assembly.jump(if_zero(9), Label::Drop);
    assembly.put(&[load_64(1, 7, OUT_OF_ORDER)]);
    assembly.jump(if_set(1), Label::Drop);
    assembly.cut_received();
    assembly.place_label(Label::InOrder);
    // r0: the address of the bounds in `granted`.
    assembly.find(maps.granted, Label::Pass);
    // r2: passed. r3: forwarded. r8: whether a notice is due.
    assembly.put(&[load_64(2, 7, PASSED), load_64(3, 0, 8), set(8, 0)]);
    assembly.jump(if_different(2, 3), Label::CountPassed);
    // r4: `redirected` with this piece. r5: credit.
    assembly.put(&[set(8, 1), load_64(4, 7, 0), add(4, 9), load_64(5, 0, 0)]);
    assembly.jump(if_greater(4, 5), Label::CountPassed);
    assembly.put(&[store_64(7, 0, 4), copy(1, 6)]);
    assembly.load_map(2, maps.targets);
    assembly.cookie(3);
    assembly.put(&[set(4, 0), call(SK_REDIRECT_HASH), EXIT]);
    assembly.place_label(Label::CountPassed);
    assembly.put(&[add(2, 9), store_64(7, PASSED, 2), set(9, PASS)]);
    assembly.jump(if_zero(8), Label::Pass);
    // r9: the verdict.
    assembly.place_label(Label::Notice);
    assembly.load_map(1, maps.notices);
    assembly.cookie(2);
    assembly.put(&[
        set(3, COOKIE_BYTES),
        set(4, 0),
        call(RINGBUF_OUTPUT),
        copy(0, 9),
        EXIT,
    ]);
    assembly.place_label(Label::Pass);
    assembly.put(&[set(0, PASS), EXIT]);
    assembly.place_label(Label::Drop);
    assembly.put(&[set(0, DROP), EXIT]);
    assembly.code
}

/// The packet that calls the program [`beginning`]: what stands for a header of Ethernet, then the cookie of a socket,
/// and the key of the same socket in `targets`.
pub(super) fn beginning_packet(cookie: u64, target_key: u64) -> [u8; 30] {
    let mut packet = [0; 30];
    packet[14..22].copy_from_slice(&cookie.to_ne_bytes());
    packet[22..].copy_from_slice(&target_key.to_ne_bytes());
    packet
}

/// The program that the proxy calls before a socket is joined. It writes the sequence number of the next byte that the
/// socket is to receive to `seen`, and returns whether it has.
pub(super) fn beginning(maps: &ProgramMaps<'_>) -> Vec<Instruction> {
    let mut assembly = Assembly::new();
    let arguments = COOKIE - 8;
    assembly.put(&[
        set(2, 14),
        copy(3, 10),
        add_number(3, arguments.into()),
        set(4, 16),
    ]);
    assembly.put(&[call(SKB_LOAD_BYTES)]);
    assembly.jump(if_set(0), Label::Drop);
    // The key of the socket is where `Assembly::cookie` points.
    assembly.find(maps.targets, Label::Drop);
    // r6: the socket. r7: the sequence number.
    assembly.put(&[copy(6, 0), set(7, 0), copy(1, 6), call(TCP_SOCK)]);
    assembly.put(&[skip_if_zero(0, 1), load_32(7, 0, RECEIVE_NEXT)]);
    assembly.put(&[copy(1, 6), call(SK_RELEASE)]);
    assembly.load_map(1, maps.seen);
    assembly.put(&[
        copy(2, 10),
        add_number(2, arguments.into()),
        call(MAP_LOOKUP_ELEM),
    ]);
    assembly.jump(if_zero(0), Label::Drop);
    assembly.put(&[store_64(0, NEXT, 7), set(0, 1), EXIT]);
    assembly.place_label(Label::Drop);
    assembly.put(&[set(0, 0), EXIT]);
    assembly.code
}
