#!/bin/sh
# nap/run.sh [TEST…]: the end-to-end tests (of these names or parts of names) under the nap library.
# NAP_SEED is the seed; without it the clock gives one. The script prints it first and last.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/target/nap
nap/build.sh
tests=$("${CARGO:=cargo}" run --quiet --locked -p xtask -- binary e2e)
seed=${NAP_SEED:-$(date +%s)}
# Each run counts its processes from 0, or a seed would not repeat anything.
rm -f "$folder/counts" "$folder/log"
echo "nap: NAP_SEED=$seed; the naps are in target/nap/log"

status=0
env "LD_PRELOAD=$folder/libnap.so" "NAP_SEED=$seed" "NAP_COUNTS=$folder/counts" \
    "NAP_LOG=${NAP_LOG:-$folder/log}" "$tests" --test-threads=6 "$@" || status=$?
echo "nap: NAP_SEED=$seed"
exit "$status"
