#!/bin/sh
# nap/test.sh: builds the library, then runs a small program under it and checks the naps. Takes
# about half a minute.
set -eu
cd "$(dirname "$0")/.."
nap/build.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
program=$folder/sample
log=$folder/log
${CC:-cc} -O2 -Wall -Wextra -o "$program" nap/test.c -lpthread

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# under "NAME=VALUE …" MODE: runs the program under the library, its naps in $log.
under() {
    : >"$log"
    # shellcheck disable=SC2086
    env LD_PRELOAD="$PWD/target/nap/libnap.so" NAP_LOG="$log" $1 "$program" "$2" ||
        fail "mode $2 with $1"
}

# Of each nap: the number of the call, the function, the microseconds.
naps() {
    sed 's/.* call \([0-9]*\) \([a-z0-9_]*\) fd [0-9]* us \([0-9]*\)$/\1 \2 \3/' "$log"
}

often='NAP_SHORT=5 NAP_LONG=0'

under "NAP_SEED=1 $often" calls >"$folder/times"
naps >"$folder/one"
count=$(wc -l <"$folder/one")
[ "$count" -ge 15 ] && [ "$count" -le 80 ] || fail "$count naps in 200 calls, of which one in 5 naps"
awk 'NR == FNR { nap[$1] = $3; next }
     $1 in nap { seen++; if ($2 < nap[$1]) { print "call", $1, "took", $2, "us, its nap", nap[$1]; bad = 1 } }
     END { exit bad || seen == 0 }' "$folder/one" "$folder/times" ||
    fail 'a call was shorter than its nap'
awk '$3 < 1000 || $3 > 60000 { bad = 1 } END { exit bad }' "$folder/one" || fail 'not 1 to 60 ms'
echo "ok: $count of 200 calls are delayed as the log says"

under "NAP_SEED=1 $often" calls >/dev/null
naps | cmp -s - "$folder/one" || fail 'the same seed, other naps'
under "NAP_SEED=2 $often" calls >/dev/null
naps | cmp -s - "$folder/one" && fail 'another seed, the same naps'
echo 'ok: a seed repeats its naps'

for order in first again; do
    rm -f "$folder/counts"
    for process in 1 2; do
        under "NAP_SEED=1 $often NAP_COUNTS=$folder/counts" calls >/dev/null
        naps >"$folder/$order-$process"
    done
done
cmp -s "$folder/first-1" "$folder/first-2" && fail 'two processes with the same naps'
cmp -s "$folder/first-1" "$folder/again-1" || fail 'a first process with other naps'
cmp -s "$folder/first-2" "$folder/again-2" || fail 'a second process with other naps'
echo 'ok: processes of a program have different naps, which the seed repeats'

under "NAP_SEED=1 $often" forks
naps >"$folder/forks"
under "NAP_SEED=1 $often" forks
naps | cmp -s - "$folder/forks" || fail 'forked children with other naps than before'
pids=$(sed 's/.* pid \([0-9]*\) .*/\1/' "$log" | sort -u | wc -l)
[ "$pids" -eq 2 ] || fail "naps in $pids of 2 forked children"
first=$(sed -n '1s/.* pid \([0-9]*\) .*/\1/p' "$log")
grep " pid $first " "$log" | sed 's/.* call //' >"$folder/child-1"
grep -v " pid $first " "$log" | sed 's/.* call //' >"$folder/child-2"
cmp -s "$folder/child-1" "$folder/child-2" && fail 'two forked children with the same naps'
echo 'ok: forked children have their own naps'

under "NAP_SEED=1 $often" threads
naps | cut -d' ' -f1 | sort | uniq -d | grep -q . && fail 'two calls with one number'
[ "$(wc -l <"$log")" -ge 60 ] || fail 'too few naps in four threads'
echo 'ok: threads share the sequence'

under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=0' functions
for function in read readv write writev send sendto sendmsg recv recvfrom recvmsg connect accept \
    accept4 shutdown close; do
    naps | grep -q "^[0-9]* $function " || fail "$function does not nap"
done
echo 'ok: every function naps'

under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=0' errno
under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=0' interrupted
under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=1' once
naps | awk '$3 < 1000000 || $3 > 4000000 { bad = 1 } END { exit bad || NR == 0 }' ||
    fail 'not 1 to 4 s'
under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=1' replaced
naps | grep -q . || fail 'no nap while a descriptor was replaced'
echo 'ok: errno and the file are kept, signals do not cut naps short, long naps are long'

under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=0' file
naps | grep . && fail 'a call on a regular file naps'
for settings in NAP_OFF=1 NAP_ONLY=another; do
    under "NAP_SEED=1 NAP_SHORT=1 NAP_LONG=1 $settings" calls >/dev/null
    naps | grep . && fail "naps with $settings"
done
under 'NAP_SEED=1 NAP_SHORT=1 NAP_LONG=0 NAP_ONLY=other,sample' once
naps | grep -q . || fail 'no nap with NAP_ONLY'
echo 'ok: no nap in regular files, with NAP_OFF, and in programs that NAP_ONLY does not name'
