#!/bin/sh
# nap/run.sh [TEST…]: the end-to-end tests (of these names or parts of names) under the nap library.
# NAP_SEED is the seed; without it the clock gives one. The script prints it first and last.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/target/nap
nap/build.sh
"${CARGO:=cargo}" build --locked -p pilotfish
seed=${NAP_SEED:-$(date +%s)}
# Each run counts its processes from 0, or a seed would not repeat anything.
rm -f "$folder/counts" "$folder/log"
echo "nap: NAP_SEED=$seed; the naps are in target/nap/log"

# A runner, because the library is for the tests and what they start, not for Cargo and the compiler.
runner="['env', 'LD_PRELOAD=$folder/libnap.so', 'NAP_SEED=$seed', 'NAP_COUNTS=$folder/counts', \
'NAP_LOG=${NAP_LOG:-$folder/log}']"
status=0
"$CARGO" test --locked --config "target.'cfg(unix)'.runner=$runner" \
    -p pilotfish-e2e --test e2e -- "$@" || status=$?
echo "nap: NAP_SEED=$seed"
exit "$status"
