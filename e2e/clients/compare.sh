#!/usr/bin/env bash
# Runs each client program twice, directly and through the proxy, and compares what they saw.
#
#   compare.sh DIRECT_HOST:PORT PROXY_HOST:PORT --user U --password W --database D
#              [--tls] [--compress] [--pooled] [--clients "NAME NAME …"] [--keep FOLDER] [--direct FOLDER]
#
# --tls and --compress hold on both ways. --pooled leaves out what a shared connection has of its own. --clients,
# or else PILOTFISH_CLIENTS in the environment, chooses; all is the default. --keep keeps transcripts and error
# output in that folder. --direct keeps what the direct runs saw in that folder, and takes it from there if a
# comparison with the same server product and options has left it: it is the same for each proxy.
# Prints a table, the differences below it, and as its last line `N passed, N failed`. A client that
# cannot do what is asked of it, already without the proxy, is left out and counts as neither.
# The exit code is 0 when none failed and at least one passed.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
unable=77
lines_shown_max=40 # of a difference, of an error
export LC_ALL=C.UTF-8

die() { printf 'compare.sh: %s\n' "$*" >&2; exit 2; }

targets=()
options=()
clients=${PILOTFISH_CLIENTS:-$("$here/run.sh" --list)}
folder=
direct_folder=
is_pooled=
while (($# > 0)); do
    case $1 in
    --user | --password | --database) options+=("$1" "${2?}"); shift ;;
    --tls | --compress) options+=("$1") ;;
    --pooled) is_pooled=yes ;;
    --clients) clients=${2:?}; shift ;;
    --keep) folder=${2:?}; shift ;;
    --direct) direct_folder=${2:?}; shift ;;
    --*) die "unknown option $1" ;;
    *) targets+=("$1") ;;
    esac
    shift
done
((${#targets[@]} == 2)) || die "two targets are needed: DIRECT_HOST:PORT PROXY_HOST:PORT"

if [[ -n $folder ]]; then
    mkdir -p "$folder"
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi

# run CLIENT WAY TARGET: leaves CLIENT.WAY.out and .err, says how it went in `outcome`.
run() {
    local way=$2 target=$3 output=$folder/$1.$2 start=$EPOCHREALTIME code=0
    "$here/run.sh" --host "${target%:*}" --port "${target##*:}" "${options[@]}" --only "$1" \
        >"$output.out" 2>"$output.err" || code=$?
    case $code in
    0) outcome=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }') ;;
    "$unable") outcome='left out' ;;
    124 | 137) outcome='too slow' ;;
    *) outcome="exit $code" ;;
    esac
    return "$code"
}

# run_direct CLIENT: the same without the proxy, unless an earlier comparison has left its transcript. A lock for
# each client: two comparisons at once want it once.
run_direct() {
    local kept=$direct_folder/$1 lock code=0
    if [[ -z $direct_folder ]]; then
        run "$1" direct "${targets[0]}"
        return
    fi
    mkdir -p "$direct_folder"
    exec {lock}>"$kept.lock"
    flock "$lock"
    if [[ -e $kept.out ]]; then
        cp "$kept.out" "$folder/$1.direct.out"
        outcome='as before'
    else
        run "$1" direct "${targets[0]}" || code=$?
        ((code != 0)) || { cp "$folder/$1.direct.out" "$kept.new" && mv "$kept.new" "$kept.out"; }
    fi
    exec {lock}>&-
    return "$code"
}

# MySQL remembers READ ONLY of a former transaction where nobody has it tracked: it announces a change,
# tells of none (SESSION_STATE_CHANGED, 0x4000), and puts the words to the next transaction that is told of.
# Behind a pool transactions are always tracked.
without_echo() {
    sed -E 's/^tracked: 4 START TRANSACTION READ ONLY;$/tracked: 4 START TRANSACTION;/' |
        awk '/^server status: [0-9]+$/ { if (int($3 / 16384) % 2) $3 -= 16384 } { print }'
}

# Both transcripts without what differs by nature, as CLIENT.WAY.same.
prepare() {
    local way attributes='_[a-z_]+|program_name|pilotfish_account'
    for way in direct proxied; do
        if [[ -n $is_pooled ]]; then
            grep --text --invert-match --extended-regexp "^(row|attribute): \"?($attributes)\"?( \||=)" \
                "$folder/$1.$way.out" | without_echo >"$folder/$1.$way.same" || true
        else
            ln -sf "$1.$way.out" "$folder/$1.$way.same"
        fi
    done
}

row() { printf '%-20s | %-9s | %-9s | %s\n' "$@"; }

# The end of what a failed run wrote.
report_failure() {
    printf -- '--- %s, %s, last line: %s\n' "$1" "$2" "$(tail -n 1 "$folder/$1.$2.out" | cut -c 1-300)"
    tail -n "$lines_shown_max" "$folder/$1.$2.err" | cut -c 1-300
}

# A line as long as a 16 MiB value is cut; the comparison itself is of everything.
report_difference() {
    printf -- '--- %s: < direct, > proxied\n' "$1"
    prepare "$1"
    diff --text "$folder/$1.direct.same" "$folder/$1.proxied.same" | cut -c 1-300 | head -n "$lines_shown_max" || true
}

passed=0
failed=0
reports=$folder/reports
: >"$reports"
row client direct proxied same
row -------------------- --------- --------- ----
for client in $clients; do
    "$here/run.sh" --build --only "$client" >"$folder/$client.build" 2>&1 || {
        code=$?
        if ((code == unable)); then
            row "$client" 'left out' - -
        else
            row "$client" 'no build' - NO
            failed=$((failed + 1))
            { printf -- '--- %s, build\n' "$client"; tail -n "$lines_shown_max" "$folder/$client.build"; } >>"$reports"
        fi
        continue
    }
    code=0
    run_direct "$client" || code=$?
    direct=$outcome
    if ((code == unable)); then
        row "$client" "$direct" - -
    elif ((code != 0)); then
        row "$client" "$direct" - NO
        failed=$((failed + 1))
        report_failure "$client" direct >>"$reports"
    elif ! run "$client" proxied "${targets[1]}"; then
        row "$client" "$direct" "$outcome" NO
        failed=$((failed + 1))
        { report_failure "$client" proxied; report_difference "$client"; } >>"$reports"
    elif ! prepare "$client" || ! cmp --silent "$folder/$client.direct.same" "$folder/$client.proxied.same"; then
        row "$client" "$direct" "$outcome" NO
        failed=$((failed + 1))
        report_difference "$client" >>"$reports"
    else
        row "$client" "$direct" "$outcome" yes
        passed=$((passed + 1))
    fi
done
cat "$reports"
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0 && passed > 0))
