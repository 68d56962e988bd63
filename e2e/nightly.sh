#!/bin/sh
# e2e/nightly.sh [--fresh]: everything there is, as `make nightly`. Each step that has passed is remembered for the
# day and the commit; begun again, the run goes on with the first step that has not. It ends with a page of results:
# target/nightly/page.md. Exit code 1 when a step failed.
cd "$(dirname "$0")/.." || exit 1

: "${CARGO:=cargo}"
commit=$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD || echo -changed)
seed=${SEED:-$(date -u +%Y%m%d)}
folder=target/nightly/$commit-$seed
[ "${1-}" != --fresh ] || rm -rf "$folder"
mkdir -p "$folder"
folder=$PWD/$folder
page=$PWD/target/nightly/page.md
failed=0

# step ID COMMAND…: unless it has passed before; its output goes to a file.
step() {
    id=$1
    shift
    [ ! -e "$folder/$id.ok" ] || { echo "nightly: $id has passed before"; return 0; }
    printf 'nightly: %s … ' "$id"
    began=$(date +%s)
    if "$@" >"$folder/$id.log" 2>&1; then outcome=ok; else outcome=FAILED; fi
    took=$(($(date +%s) - began))
    echo "$outcome, $took s"
    rm -f "$folder/$id.failed"
    if [ "$outcome" = ok ]; then echo "$took" >"$folder/$id.ok"; else echo "$took" >"$folder/$id.failed"; fi
    [ "$outcome" = ok ]
}

tests() { PILOTFISH_SUMMARY=$folder/summary target/debug/xtask tests nightly; }
end_to_end() { "$(target/debug/xtask binary e2e)" --nocapture "$@"; }
random() { PILOTFISH_STATEMENTS=${STATEMENTS:-100000} PILOTFISH_SEED=$seed end_to_end random::; }
soak() { PILOTFISH_SCRIPT_SECONDS=${SOAK_SECONDS:-60} end_to_end --test-threads=1 script_load::; }
chain() { PILOTFISH_CHAIN_SECONDS=${CHAIN_SECONDS:-600} end_to_end --test-threads=1 feeding::chain::; }
# Without the standard library of its target there is no static program; package-tools says so.
static() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$(uname -m)-unknown-linux-musl" ] || { echo 'LEFT OUT'; return 0; }
    packaging/static.sh
}
# The optimised program serves the training, too: no statement fails.
optimized() {
    packaging/optimized.sh && PILOTFISH_BIN=target/optimized/pilotfish target/release/pilotfish-bench train
}
fuzzing() { fuzz/run.sh "${FUZZ_SECONDS:-60}"; }
simulation() {
    "$CARGO" build --quiet --locked --profile simulation -p pilotfish-simulation &&
        target/simulation/pilotfish-simulation --seconds "${SIMULATION_SECONDS:-1200}"
}
mutations() { "$CARGO" run --quiet --locked -p xtask -- mutations; }

step dashboard web/build.sh --demand
step servers e2e/provision.sh
step libraries e2e/clients/provision.sh
step package-tools e2e/package-tools.sh
step build .ci/build
step static static
step examples "$CARGO" test --quiet --locked --doc -p pilotfish-pool
step tests tests
step random random
step soak soak
step optimized optimized
step chain chain
step fuzzing fuzzing
step simulation simulation
step mutations mutations

# What was counted, of each step's output.
figures() {
    case $1 in
    package-tools | static) grep -a 'LEFT OUT' "$folder/$1.log" ;;
    tests) grep -aE '^(FAILED|FLAKY|[0-9]+ passed)' "$folder/tests.log" | head -n 20 ;;
    random) grep -aoE 'PILOTFISH_SEED=[0-9]+|[0-9]+ statements.*' "$folder/random.log" | sort -u | head -n 10 ;;
    chain) grep -aoE 'chain, .* are the same' "$folder/chain.log" ;;
    soak) grep -aE 'resident KiB' "$folder/soak.log" ;;
    fuzzing) grep -aE ' runs, |FAILED|NOT FUZZING' "$folder/fuzzing.log" ;;
    simulation) grep -aE '^(world|seeds|BROKEN|again)' "$folder/simulation.log" ;;
    mutations) cat "$folder/mutations.log" ;;
    esac
}

{
    printf '# Nightly run of %s\n\nSeed %s, ended %s.\n\n| step | outcome | seconds |\n|---|---|---|\n' \
        "$commit" "$seed" "$(date -u '+%F %H:%M UTC')"
    for id in dashboard servers libraries package-tools build static examples tests random soak chain fuzzing simulation mutations; do
        for outcome in ok failed; do
            [ ! -e "$folder/$id.$outcome" ] ||
                printf '| %s | %s | %s |\n' "$id" "$outcome" "$(cat "$folder/$id.$outcome")"
        done
    done
    for id in package-tools static tests random soak chain fuzzing simulation mutations; do
        [ ! -e "$folder/$id.log" ] || printf '\n## %s\n\n```text\n%s\n```\n' "$id" "$(figures "$id")"
    done
} >"$page"
cat "$page"
for file in "$folder"/*.failed; do [ ! -e "$file" ] || failed=1; done
exit "$failed"
