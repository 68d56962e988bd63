#!/bin/sh
# What one point select costs Pilotfish: system calls and processor time, and where the time goes.
#
#   bench/profile.sh [CONNECTIONS]        default 64
#
# Starts the minimal backend and the release build of Pilotfish (or PILOTFISH_BIN), asks three times for a
# few seconds: measured alone, under strace (which slows everything down: only its counts are of use), and
# under perf where it is installed.
set -eu

connections=${1:-64}
here=$(cd "$(dirname "$0")/.." && pwd)
bench=$here/target/release/pilotfish-bench
pilotfish=${PILOTFISH_BIN:-$here/target/release/pilotfish}
scratch=$(mktemp -d)
backend_pid= proxy_pid= tracer_pid=

end() {
    for pid in $tracer_pid $proxy_pid $backend_pid; do kill "$pid" 2>/dev/null || :; done
    rm -rf "$scratch"
}
trap end EXIT
# PIPE too: the output may go to head.
trap 'exit 1' INT TERM HUP PIPE

# Waits for a line in a file and prints its last word.
last_word() {
    tries=0
    until grep -qs "$2" "$1"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { cat "$1" >&2; exit 1; }
        sleep 0.05
    done
    sed -n "s/.*$2.* \([^ ]*\)\$/\1/p" "$1" | head -n 1
}

load() { "$bench" load --target "$proxy" --connections "$connections" "$@"; }

# figure NAME FILE: the first number of that name in a report.
figure() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" "$2" | head -n 1; }

"$bench" backend >"$scratch/backend" 2>&1 &
backend_pid=$!
backend=$(last_word "$scratch/backend" 'listening on')

# A port below those that the kernel hands out, not in use by the look of it.
port=$((18000 + $$ % 14000))
proxy=127.0.0.1:$port
"$pilotfish" --backend "$backend" --listen "$proxy" --workers 1 >"$scratch/proxy" 2>&1 &
proxy_pid=$!
tries=0
until "$bench" load --target "$proxy" --connections 1 --seconds 0.05 --warm-up 0 >"$scratch/try" &&
    grep -q '"failed": 0' "$scratch/try"; do
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || { cat "$scratch/proxy" >&2; exit 1; }
    sleep 0.1
done

echo "== $connections connections, point selects"
load --seconds 3 --watch proxy="$proxy_pid" >"$scratch/alone"
printf '%.0f queries/s, p50 %.0f µs, p99 %.0f µs; CPU of the proxy per query: %.2f µs user + %.2f µs system\n' \
    "$(figure per_second "$scratch/alone")" "$(figure p50 "$scratch/alone")" \
    "$(figure p99 "$scratch/alone")" "$(figure user_us "$scratch/alone")" \
    "$(figure system_us "$scratch/alone")"
printf 'share of the machine that others took: %.2f\n' "$(figure foreign_cpu "$scratch/alone")"

if command -v strace >/dev/null; then
    strace -c -f -o "$scratch/strace" -p "$proxy_pid" 2>"$scratch/tracer" &
    tracer_pid=$!
    last_word "$scratch/tracer" attached >/dev/null
    load --seconds 2 --warm-up 0 >"$scratch/traced"
    kill -INT "$tracer_pid"
    wait "$tracer_pid" || :
    tracer_pid=
    echo "== system calls per query (logins included)"
    queries=$(figure exchanges_in_all "$scratch/traced")
    awk -v queries="$queries" '$4 ~ /^[0-9]+$/ && $4 / queries >= 0.001 {
        name = $NF; errors = NF > 5 ? $5 : 0
        printf "%-16s %7.3f  (%.3f failed)\n", name, $4 / queries, errors / queries }' "$scratch/strace"
fi

if command -v perf >/dev/null; then
    echo "== where processor time goes (samples of cpu-clock)"
    perf record -q -e cpu-clock -F 999 -g -o "$scratch/perf" -p "$proxy_pid" -- sleep 3 \
        >"$scratch/perf.log" 2>&1 &
    tracer_pid=$!
    load --seconds 3 --warm-up 0.2 >/dev/null
    wait "$tracer_pid" || cat "$scratch/perf.log"
    tracer_pid=
    perf report -i "$scratch/perf" --no-children --stdio -g none --percent-limit 1 2>/dev/null |
        grep -v '^#' | grep -v '^$' | head -n 30 || :
fi
