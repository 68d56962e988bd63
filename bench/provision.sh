#!/bin/sh
# Brings what the benchmarks can use beside what e2e/provision.sh brings: HAProxy of Debian's unstable
# suite with every library it needs, unpacked and never installed, run through its own loader. It goes to
# ${PILOTFISH_CACHE:-~/.cache/pilotfish}/haproxy. Run again it does nothing but print the version.
#
#   bench/provision.sh          as root, or as a user with passwordless sudo
set -eu

. "$(dirname "$0")/../e2e/debian.sh"
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}
target=$cache/haproxy

if [ ! -x "$target/usr/sbin/haproxy" ]; then
    say 'unpacking haproxy'
    root=$cache/.haproxy.$$
    mkdir -p "$root"
    download "$scratch/debs" haproxy ''
    for deb in "$scratch/debs"/*.deb; do
        case ${deb##*/} in
        perl* | libperl*) ;; # for scripts we do not run
        *) dpkg-deb -x "$deb" "$root" ;;
        esac
    done
    settle "$root" "$target"
fi
"$target/usr/lib64/ld-linux-x86-64.so.2" --library-path "$target/usr/lib/x86_64-linux-gnu" \
    "$target/usr/sbin/haproxy" -v | head -n 1
