#!/bin/sh
# Brings what the client programs need onto a Debian 12 machine, then builds them all.
#
#   e2e/clients/provision.sh      as root, or as a user with passwordless sudo
#
# What is there and new enough is used as it is; the rest is installed from the machine's own
# suite. From Debian's unstable suite come, unpacked beside the system and never installed, MySQL's
# libmysqlclient and, where the machine has none or an old one, Go; they go to
# ${PILOTFISH_CACHE:-~/.cache/pilotfish}/clients. Cargo is taken for granted.
# Run again it does nothing but print the versions.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}/clients
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { printf 'provision: %s\n' "$*"; }
die() { printf 'provision: %s\n' "$*" >&2; exit 1; }

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    die "this script needs Debian's apt; elsewhere install by hand what it names"
[ "$(dpkg --print-architecture)" = amd64 ] || die "only amd64 is prepared here"

if [ "$(id -u)" = 0 ]; then as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root='sudo -n'
else die "run it as root, or as a user who may use sudo without a password"
fi

scratch=$(mktemp -d)
cleanup() { rm -rf "$scratch"; }
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# ---- installed -------------------------------------------------------------------------------

# at_least VERSION FOUND: is what was found as new?
at_least() {
    [ -n "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

packages=
need() { packages="$packages $*"; }

have() { command -v "$1" >/dev/null 2>&1; }

have gcc || need gcc libc6-dev
have pkg-config || need pkg-config
have mariadb_config || need libmariadb-dev
[ -e /usr/include/openssl/evp.h ] || need libssl-dev
have php && php -m | grep -q '^mysqli$' && php -m | grep -q '^pdo_mysql$' || need php-cli php-mysql
have javac && at_least 17 "$(javac -version 2>/dev/null | sed 's/javac //')" || need default-jdk-headless
have mvn || need maven
have node && at_least 18 "$(node --version | tr -d v)" || need nodejs
have npm || need npm
# Where python3 is not Debian's, it brings its own venv and headers.
have python3 && python3 -c 'import ensurepip, sysconfig, os
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || need python3-venv python3-dev

if [ -n "$packages" ]; then
    say "installing$packages"
    $as_root apt-get update -q -o Acquire::Retries=3 >"$scratch/install.log" 2>&1 &&
        # shellcheck disable=SC2086 # the list is meant to be split
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
            -o Acquire::Retries=3 $packages >>"$scratch/install.log" 2>&1 || {
        tail -n 40 "$scratch/install.log" >&2
        die "apt-get install failed"
    }
fi

# ---- unpacked --------------------------------------------------------------------------------

# The mirror of the machine's own main suite, as apt has resolved it.
mirror() {
    apt-get indextargets --format '$(REPO_URI)|$(LABEL)|$(COMPONENT)' 'Created-By: Packages' |
        sed -n 's/|Debian|main$//p' | head -n 1
}

# An apt of its own: unstable's lists, no installed package, nothing shared with the system but
# its keyrings and its way to the mirror.
private_apt() {
    command=$1
    shift
    "$command" -q -o Dir::State="$scratch/apt/state" \
        -o Dir::State::status="$scratch/apt/state/status" -o Dir::Cache="$scratch/apt/cache" \
        -o Dir::Etc::SourceList="$scratch/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Sandbox::User= -o Acquire::Retries=3 -o Acquire::Languages=none "$@"
}

private_apt_ready() {
    [ ! -e "$scratch/apt/ready" ] || return 0
    uri=$(mirror)
    [ -n "$uri" ] || { $as_root apt-get update -q >/dev/null 2>&1 || true; uri=$(mirror); }
    [ -n "$uri" ] || die "no Debian mirror among this machine's apt sources"
    mkdir -p "$scratch/apt/state/lists/partial" "$scratch/apt/cache/archives/partial"
    : >"$scratch/apt/state/status"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri sid main" \
        >"$scratch/apt/sources.list"
    private_apt apt-get update >"$scratch/update.log" 2>&1 || {
        cat "$scratch/update.log" >&2
        die "the unstable suite of $uri cannot be read"
    }
    : >"$scratch/apt/ready"
}

# unpack FOLDER FILE "PACKAGES WITH WHAT THEY DEPEND ON" "PACKAGES ALONE"
# Fills FOLDER, or leaves no trace of it; a folder with FILE in it is complete.
unpack() {
    target=$cache/$1
    [ ! -e "$target/$2" ] || return 0
    say "unpacking $1"
    private_apt_ready
    debs=$scratch/$1.debs
    root=$cache/.$1.$$
    mkdir -p "$debs/partial" "$root"
    # shellcheck disable=SC2086
    (
        cd "$debs"
        [ -z "$3" ] || private_apt apt-get install -y --download-only --no-install-recommends \
            -o Dir::Cache::archives="$debs" $3
        [ -z "$4" ] || private_apt apt-get download $4
    ) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die "the packages of $1 could not be downloaded"
    }
    for deb in "$debs"/*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
    rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale" "$debs" "$target"
    mv "$root" "$target"
}

# Go's packages are named for its version; golang-go depends on the current one.
current_go() {
    private_apt apt-cache depends golang-go | sed -n 's/.*Depends: \(golang-[0-9.]*\)-go$/\1/p'
}

mkdir -p "$cache"
unpack libmysqlclient usr/lib/x86_64-linux-gnu/libmysqlclient.so libmysqlclient24 libmysqlclient-dev
if ! at_least go1.24 "$(go env GOVERSION 2>/dev/null)" && [ ! -e "$cache/go/usr/lib/go" ]; then
    private_apt_ready
    go=$(current_go)
    unpack go "usr/lib/${go#golang-}" '' "$go-go $go-src"
    ln -sfn "go-${go#golang-}" "$cache/go/usr/lib/go"
fi

# ---- built -----------------------------------------------------------------------------------

say "building the clients"
"$here/run.sh" --build

# ---- what is there now -----------------------------------------------------------------------

version() { printf '%-16s %s\n' "$1" "$2"; }

version libmariadb "$(mariadb_config --version)"
version libmysqlclient "$(sed -n 's/^#define MYSQL_SERVER_VERSION *"\(.*\)"/\1/p' \
    "$cache/libmysqlclient/usr/include/mysql/mysql_version.h")"
version php "$(php -r 'echo PHP_VERSION;')"
version java "$(java -version 2>&1 | head -n 1)"
version node "$(node --version)"
version python "$("$cache/python/bin/python" --version)"
"$cache/python/bin/pip" --disable-pip-version-check freeze | sed 's/^/                 /'
version go "$(go version 2>/dev/null || GOROOT=$(readlink -f "$cache/go/usr/lib/go") "$cache/go/usr/lib/go/bin/go" version)"
