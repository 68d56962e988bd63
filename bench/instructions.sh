#!/bin/sh
# What one statement costs Pilotfish in instructions of user space, and in allocations. Counted by valgrind,
# so that nothing else that runs on the machine matters.
#
#   bench/instructions.sh [transparent|pool|lanes] [point|held|prepared] [CONNECTIONS]
#
# Starts the minimal backend and the release build of Pilotfish (or PILOTFISH_BIN), counts while statements
# pass, and prints the figures and the functions that cost most. With FILE in PILOTFISH_COUNTED the counts
# stay there, for callgrind_annotate. With FILE in PILOTFISH_SCRIPT sessions run that script; what FILE in
# PILOTFISH_SETTINGS has is put behind the configuration.
set -eu

way=${1:-pool}
work=${2:-point}
# More would make statements take so long, under valgrind, that lanes take them for slow.
connections=${3:-8}
here=$(cd "$(dirname "$0")/.." && pwd)
bench=${PILOTFISH_BENCH:-$here/target/release/pilotfish-bench}
pilotfish=${PILOTFISH_BIN:-$here/target/release/pilotfish}
scratch=$(mktemp -d)
counted=${PILOTFISH_COUNTED:-$scratch/counted}
backend_pid= proxy_pid=

end() {
    for pid in $proxy_pid $backend_pid; do kill "$pid" 2>/dev/null || :; done
    rm -rf "$scratch"
}
trap end EXIT
trap 'exit 1' INT TERM HUP PIPE

"$bench" backend >"$scratch/backend" 2>&1 &
backend_pid=$!
tries=0
until grep -qs 'listening on' "$scratch/backend"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || { cat "$scratch/backend" >&2; exit 1; }
    sleep 0.05
done
backend=$(sed -n 's/.*listening on.* \([^ ]*\)$/\1/p' "$scratch/backend" | head -n 1)

port=$((18000 + $$ % 14000))
proxy=127.0.0.1:$port
{
    printf 'listen = ["%s"]\nworkers = 1\n[[backend]]\naddress = "%s"\n[routing]\n' "$proxy" "$backend"
    [ "$way" != pool ] || echo 'lanes = "off"'
    [ -z "${PILOTFISH_SCRIPT:-}" ] || printf 'script = "%s"\n' "$PILOTFISH_SCRIPT"
    case $way in
    transparent) ;;
    pool)
        # Fewer than clients, as under load: most statements wait for one.
        most=2
        # Each has a transaction open.
        [ "$work" != held ] || most=$((connections * 2))
        printf '[pool]\nopens_per_second = 1000\nbackend_connections_max = %s\n' "$most"
        printf '[[account]]\nuser = "bench"\n'
        ;;
    lanes)
        printf '[pool]\nopens_per_second = 1000\n'
        printf '[[account]]\nuser = "bench"\n'
        ;;
    *) echo "what is $way?" >&2; exit 1 ;;
    esac
    [ -z "${PILOTFISH_SETTINGS:-}" ] || cat "$PILOTFISH_SETTINGS"
} >"$scratch/pilotfish.toml"

valgrind --tool=callgrind --instr-atstart=no --callgrind-out-file="$counted" \
    "$pilotfish" --config "$scratch/pilotfish.toml" >"$scratch/proxy" 2>&1 &
proxy_pid=$!

load() {
    "$bench" load --target "$proxy" --workload "$work" --connections "$connections" --warm-up 0 "$@" \
        >"$scratch/load"
}
# figure NAME: the first number of that name in the last report.
figure() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$scratch/load" | head -n 1; }

tries=0
until load --seconds 2 2>/dev/null && [ "$(figure failed)" = 0 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 40 ] || { cat "$scratch/proxy" >&2; exit 1; }
    sleep 0.5
done

callgrind_control -i on "$proxy_pid" >/dev/null
load --seconds 6
callgrind_control -i off "$proxy_pid" >/dev/null
kill "$proxy_pid"
wait "$proxy_pid" || :
proxy_pid=
statements=$(figure exchanges_in_all)

callgrind_annotate --threshold=100 --show-percs=no "$counted" >"$scratch/all"
instructions=$(sed -n 's/^ *\([0-9,]*\) *PROGRAM TOTALS.*/\1/p' "$scratch/all" | tr -d ,)
allocations=$(awk '/^fn=/ { name = $0 } /^cfn=/ { called = $0; id = $0; sub(/^cfn=\([0-9]*\) ?/, "", called)
        match(id, /\([0-9]+\)/); id = substr(id, RSTART, RLENGTH)
        if (called != "") names[id] = called }
    /^fn=/ { id = $0; match(id, /\([0-9]+\)/); one = substr(id, RSTART, RLENGTH); sub(/^fn=\([0-9]*\) ?/, "")
        if ($0 != "") names[one] = $0 }
    /^calls=/ { split($1, call, "="); calls[id] += call[2] }
    END { for (id in calls) if (names[id] ~ /^mi_(malloc|zalloc|calloc|realloc)(_aligned)?$/) sum += calls[id]
        print sum + 0 }' "$counted")
awk -v way="$way" -v work="$work" -v n="$statements" -v i="$instructions" -v a="$allocations" 'BEGIN {
    printf "%s, %s: %d statements, %.0f instructions and %.2f allocations each\n", way, work, n, i / n, a / n }'
echo "== instructions per statement, by function"
awk -v n="$statements" '/^ *[0-9,]+ +[^ ]*:/ { count = $1; gsub(",", "", count)
    if (count / n >= 20) { $1 = ""; printf "%8.0f %s\n", count / n, $0 } }' "$scratch/all" |
    sed 's/ \[[^]]*\]$//' | cut -c1-160 | head -n 60
