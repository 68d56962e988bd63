#!/bin/sh
# e2e/package-tools.sh: brings onto a Debian machine what the tests of the packages need, for the night: mmdebstrap, rpm,
# buildah, musl's compiler, and a fresh Debian root in ${PILOTFISH_CACHE:-~/.cache/pilotfish}/debian-root. Run
# again it does nothing. The machine's own apt sources name the mirror.
set -eu

. "$(dirname "$0")/debian.sh"
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}

missing=
for pair in mmdebstrap:mmdebstrap rpmbuild:rpm buildah:buildah musl-gcc:musl-tools; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
done
# shellcheck disable=SC2086 # a list of packages
[ -z "$missing" ] || install $missing

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
recipe="minbase systemd $suite"
root=$cache/debian-root
if [ "$(cat "$root/recipe" 2>/dev/null)" != "$recipe" ]; then
    say "making a fresh root of $suite"
    uri=$(mirror)
    [ -n "$uri" ] || { update_lists; uri=$(mirror); }
    [ -n "$uri" ] || die "no Debian mirror among this machine's apt sources"
    rm -rf "$root"
    mkdir -p "$root"
    $as_root mmdebstrap --quiet --variant=minbase --include=systemd "$suite" "$scratch/root.tar" "$uri" \
        >"$scratch/root.log" 2>&1 || { tail -n 40 "$scratch/root.log" >&2; die 'mmdebstrap has failed'; }
    mv "$scratch/root.tar" "$root/root.tar"
    echo "$recipe" >"$root/recipe"
fi
say "a root of $suite, $(du -h "$root/root.tar" | cut -f1)"

target=$(uname -m)-unknown-linux-musl
if [ ! -d "$(rustc --print sysroot)/lib/rustlib/$target" ]; then
    rustup target add "$target" ||
        say "LEFT OUT: the standard library for $target cannot be had, so no static program, RPM package and image"
fi
