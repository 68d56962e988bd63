#!/bin/sh
# fuzz/run.sh SECONDS: every target for so long, as many at once as there are cores. Exit code 1
# when there is a find; it is then in fuzz/artifacts/TARGET, and `cargo +nightly fuzz run
# --sanitizer none TARGET FILE` shows it again. A find becomes a test of the crate it is in.
#
# Fuzzing needs a nightly compiler (`rustup toolchain install nightly`) and cargo-fuzz, which is
# installed below fuzz/target when it is missing. Without either, the seeds and all that fuzzing
# has kept so far are replayed, and the output says so.
set -eu
cd "$(dirname "$0")"
tools=$PWD/target/tools
export RUST_BACKTRACE=0
PATH=$tools/bin:${CARGO_HOME:-$HOME/.cargo}/bin:$PATH

# one TARGET SECONDS PROGRAM: fuzzes, and tells in one line how it went.
if [ "${1-}" = one ]; then
    target=$2 seconds=$3 program=$4
    mkdir -p "corpus/$target" "artifacts/$target"
    log=target/$target.log
    if "$program" "corpus/$target" -artifact_prefix="artifacts/$target/" -max_len=4096 \
        -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1024 >"$log" 2>&1 &&
        runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log") && [ "${runs:-0}" -gt 0 ]; then
        echo "$target: $runs runs, nothing found"
    else
        tail -n 40 "$log"
        echo "$target: FAILED; the whole of it: fuzz/$log"
        exit 1
    fi
    exit 0
fi

seconds=${1:?usage: fuzz/run.sh SECONDS}

# replay WHY: what can be done without fuzzing.
replay() {
    echo "NOT FUZZING: $1. Seeds and what was found before are replayed instead."
    exec cargo test --quiet --locked -p pilotfish-fuzz -- --nocapture
}

cargo +nightly --version >/dev/null 2>&1 || replay 'there is no nightly toolchain'
cargo fuzz --version >/dev/null 2>&1 ||
    cargo install --quiet --locked --root "$tools" --version '^0.13' cargo-fuzz ||
    replay 'cargo-fuzz cannot be installed'

# Optimised, with all checks.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=2 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_LTO=off \
    CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
cargo +nightly fuzz build --sanitizer none --features libfuzzer --target-dir "$PWD/target"
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
cargo +nightly fuzz list |
    xargs -P "$(nproc)" -I TARGET ./run.sh one TARGET "$seconds" "target/$host/release/TARGET"
