#!/bin/sh
# Brings what the client programs need onto a Debian 12 machine, then builds them all.
#
#   e2e/clients/provision.sh      as root, or as a user with passwordless sudo
#
# What is there and new enough is used as it is; the rest is installed from the machine's own
# suite. From Debian's unstable suite come, unpacked beside the system and never installed, MySQL's
# libmysqlclient and, where the machine has none or an old one, Go; they go to
# ${PILOTFISH_CACHE:-~/.cache/pilotfish}/clients. Cargo is taken for granted.
# Kafka's broker comes from Maven Central, with Maven.
# Run again it does nothing but print the versions.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../debian.sh"
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}/clients

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
have perl && perl -MDBI -e 1 2>/dev/null || need libdbi-perl
have php && php -m | grep -q '^mysqli$' && php -m | grep -q '^pdo_mysql$' || need php-cli php-mysql
have javac && at_least 17 "$(javac -version 2>/dev/null | sed 's/javac //')" || need default-jdk-headless
have mvn || need maven
have node && at_least 18 "$(node --version | tr -d v)" || need nodejs
have npm || need npm
# Where python3 is not Debian's, it brings its own venv and headers.
have python3 && python3 -c 'import ensurepip, sysconfig, os
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null || need python3-venv python3-dev

# shellcheck disable=SC2086 # the list is meant to be split
[ -z "$packages" ] || install $packages

# ---- unpacked --------------------------------------------------------------------------------

# unpack FOLDER FILE "PACKAGES WITH WHAT THEY DEPEND ON" "PACKAGES ALONE"
# Fills FOLDER, or leaves no trace of it; a folder with FILE in it is complete.
unpack() {
    target=$cache/$1
    [ ! -e "$target/$2" ] || return 0
    say "unpacking $1"
    debs=$scratch/$1.debs
    root=$cache/.$1.$$
    mkdir -p "$root"
    download "$debs" "$3" "$4"
    for deb in "$debs"/*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
    settle "$root" "$target"
    rm -rf "$debs"
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

# Perl's DBD::MariaDB of the machine's own suite, and its tests, whose packages have none of them.
dbd_mariadb() {
    target=$cache/dbd-mariadb
    [ ! -e "$target" ] || return 0
    say "unpacking dbd-mariadb"
    root=$cache/.dbd-mariadb.$$
    debs=$scratch/dbd-mariadb.debs
    mkdir -p "$root" "$debs"
    update_lists
    (cd "$debs" && apt-get download -q -o APT::Sandbox::User= libdbd-mariadb-perl libtest-deep-perl) \
        >"$scratch/download.log" 2>&1 || die "libdbd-mariadb-perl could not be downloaded"
    for deb in "$debs"/*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
    download_source "$debs/source" libdbd-mariadb-perl
    tar -x -f "$debs"/source/*.orig.tar.gz -C "$root" --strip-components=1 --wildcards '*/t/*'
    settle "$root" "$target"
    rm -rf "$debs"
}
dbd_mariadb

# MariaDB's driver for ODBC, its manager, and how Perl speaks to both; of the machine's own suite as well.
odbc() {
    target=$cache/odbc
    [ ! -e "$target" ] || return 0
    say "unpacking odbc"
    root=$cache/.odbc.$$
    debs=$scratch/odbc.debs
    mkdir -p "$root" "$debs"
    update_lists
    (cd "$debs" && apt-get download -q -o APT::Sandbox::User= odbc-mariadb libodbc2 libodbcinst2 libltdl7 libdbd-odbc-perl) \
        >"$scratch/download.log" 2>&1 || die "odbc-mariadb could not be downloaded"
    for deb in "$debs"/*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
    settle "$root" "$target"
    rm -rf "$debs"
}
odbc

# A broker of Kafka for the change feed, with an empty log that is formatted.
kafka() {
    target=$cache/kafka
    recipe=$(cat "$here/../kafka/pom.xml" "$here/../kafka/server.properties")
    [ "$(cat "$target/recipe" 2>/dev/null)" != "$recipe" ] || return 0
    say 'fetching kafka'
    root=$cache/.kafka.$$
    mkdir -p "$root"
    mvn --quiet --batch-mode --file "$here/../kafka/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
        -DoutputDirectory="$root/jars" >"$scratch/kafka.log" 2>&1 &&
        printf '%s\n' "$(cat "$here/../kafka/server.properties")" 'controller.quorum.voters=1@127.0.0.1:1' \
            'listeners=CONTROLLER://127.0.0.1:1,PLAINTEXT://127.0.0.1:2' "log.dirs=$root/log" >"$scratch/kafka.properties" &&
        java -XX:TieredStopAtLevel=1 -cp "$root/jars/*" kafka.tools.StorageTool format \
            -t AAAAAAAAAAAAAAAAAAAAAA -c "$scratch/kafka.properties" >>"$scratch/kafka.log" 2>&1 || {
        tail -n 40 "$scratch/kafka.log" >&2
        say 'LEFT OUT: no broker of kafka can be had, so the change feed is tested with a double of it only'
        return 0
    }
    printf '%s\n' "$recipe" >"$root/recipe"
    settle "$root" "$target"
}
kafka

# ---- built -----------------------------------------------------------------------------------

say "building the clients"
# But the one in Rust, which is built with the tests, perhaps at this moment.
for client in $("$here/run.sh" --list); do
    [ "$client" != rust-mysql-async ] || continue
    # 77: this machine lacks something for it; the comparison leaves it out.
    "$here/run.sh" --build --only "$client" || [ $? -eq 77 ]
done

# ---- what is there now -----------------------------------------------------------------------

version() { printf '%-16s %s\n' "$1" "$2"; }

version libmariadb "$(mariadb_config --version)"
version libmysqlclient "$(sed -n 's/^#define MYSQL_SERVER_VERSION *"\(.*\)"/\1/p' \
    "$cache/libmysqlclient/usr/include/mysql/mysql_version.h")"
version dbd-mariadb "$(sed -n "s/^our \$VERSION = '\(.*\)';/\1/p" "$cache"/dbd-mariadb/usr/lib/*/perl5/*/DBD/MariaDB.pm)"
version php "$(php -r 'echo PHP_VERSION;')"
version java "$(java -version 2>&1 | head -n 1)"
version node "$(node --version)"
version python "$("$cache/python/bin/python" --version)"
"$cache/python/bin/pip" --disable-pip-version-check freeze | sed 's/^/                 /'
version kafka "$(ls "$cache/kafka/jars" 2>/dev/null | sed -n 's/^kafka-clients-\(.*\)\.jar$/\1/p')"
version go "$(go version 2>/dev/null || GOROOT=$(readlink -f "$cache/go/usr/lib/go") "$cache/go/usr/lib/go/bin/go" version)"
