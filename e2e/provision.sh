#!/bin/sh
# Brings the servers and tools the end-to-end tests need onto a Debian 12 machine.
#
#   e2e/provision.sh            as root, or as a user with passwordless sudo
#
# - From the machine's own suite, installed: MariaDB's server and client, sysbench, HAProxy, the
#   client libraries, curl, Chromium, Percona's toolkit. No server is started and none stays running.
# - From there too, but unpacked and never installed: MariaDB's own test suite, Prometheus' promtool.
# - From Debian's unstable suite, unpacked beside the system and never installed: MySQL 9.7 and
#   MariaDB 11.8 with every library they need, run through their own loader. They go to
#   ${PILOTFISH_CACHE:-~/.cache/pilotfish}. The mirror is the one the machine already uses.
#
# Run again it does nothing but print the versions.
set -eu

. "$(dirname "$0")/debian.sh"
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}

policy=/usr/sbin/policy-rc.d
policy_is_ours=
at_end() { [ -z "$policy_is_ours" ] || $as_root rm -f "$policy"; }

# ---- installed -------------------------------------------------------------------------------

packages='mariadb-server mariadb-client sysbench haproxy openssl libmariadb-dev php-cli php-mysql
    curl chromium chromium-driver fonts-dejavu-core percona-toolkit'

# True when every package named is installed.
installed() {
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            return 1
    done
}

# Packages start their servers on port 3306; invoke-rc.d asks this file first.
forbid_services() {
    [ -e "$policy" ] && return
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
    policy_is_ours=yes
}

# shellcheck disable=SC2086 # the list is meant to be split
if ! installed $packages; then
    forbid_services
    install $packages
fi

# ---- unpacked --------------------------------------------------------------------------------

# unpack FOLDER "PACKAGES WITH LIBRARIES" "PACKAGES ALONE" "PACKAGE:FILE …"
# Fills FOLDER, or leaves no trace of it; a folder with this very recipe in it is complete.
unpack() {
    target=$cache/$1
    recipe="$*"
    [ "$(cat "$target/recipe" 2>/dev/null)" != "$recipe" ] || return 0
    say "unpacking $1"
    debs=$scratch/$1.debs
    root=$cache/.$1.$$
    mkdir -p "$root"
    download "$debs" "$2" "$3"
    for deb in "$debs"/*.deb; do
        case ${deb##*/} in
        perl* | libperl*) ;; # for scripts we do not run
        *) dpkg-deb -x "$deb" "$root" ;;
        esac
    done
    for pick in $4; do
        package=${pick%%:*}
        [ -e "$scratch/$package.deb" ] || {
            download "$scratch/$package" '' "$package"
            mv "$scratch/$package"/*.deb "$scratch/$package.deb"
        }
    done
    # shellcheck disable=SC2086
    [ -z "$4" ] || dpkg-deb --fsys-tarfile "$scratch/${4%%:*}.deb" |
        tar -x -C "$root" $(for pick in $4; do echo "./${pick#*:}"; done)
    printf '%s\n' "$recipe" >"$root/recipe"
    settle "$root" "$target"
    rm -rf "$debs"
}

plugins=usr/lib/mysql/plugin
unpack mysql-9.7 'mysql-server-core mysql-client-core mysql-router' '' \
    "mysql-testsuite:$plugins/auth_test_plugin.so
     mysql-testsuite:usr/lib/mysql-test/bin/mysql_client_test"
unpack mariadb-11.8 'mariadb-server-core mariadb-client-core libpam0g' 'mariadb-server' \
    "mariadb-test:$plugins/dialog_examples.so
     mariadb-test:$plugins/auth_test_plugin.so
     mariadb-test:usr/bin/mariadb-client-test"

# MariaDB's own tests and the program that runs them, of the suite the server is from. The tests of
# the folder `main` alone, and what they read.
unpack_tests() {
    target=$cache/mariadb-test
    recipe='mariadb-test mariadb-test-data libpcre2-posix3'
    [ "$(cat "$target/recipe" 2>/dev/null)" != "$recipe" ] || return 0
    say 'unpacking mariadb-test'
    update_lists
    debs=$scratch/mariadb-test
    root=$cache/.mariadb-test.$$
    mkdir -p "$debs" "$root"
    # shellcheck disable=SC2086 # the list is meant to be split
    (cd "$debs" && apt-get download -q -o Acquire::Retries=3 $recipe) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die "packages could not be downloaded: $recipe"
    }
    tests=./usr/share/mysql/mysql-test
    for deb in "$debs"/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --wildcards --wildcards-match-slash \
            --exclude="$tests/suite" --exclude='*-embedded' --exclude='./usr/lib/mysql'
    done
    printf '%s\n' "$recipe" >"$root/recipe"
    settle "$root" "$target"
}
unpack_tests

# Prometheus' program that checks metrics and rules; the server itself is not wanted.
unpack_promtool() {
    target=$cache/promtool
    [ ! -e "$target/usr/bin/promtool" ] || return 0
    say 'unpacking promtool'
    update_lists
    debs=$scratch/prometheus
    root=$cache/.promtool.$$
    mkdir -p "$debs" "$root"
    (cd "$debs" && apt-get download -q -o Acquire::Retries=3 prometheus) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die 'the package prometheus could not be downloaded'
    }
    dpkg-deb --fsys-tarfile "$debs"/*.deb | tar -x -C "$root" ./usr/bin/promtool
    settle "$root" "$target"
}
unpack_promtool

# ---- what is there now -----------------------------------------------------------------------

# Runs a program of an unpacked folder with the folder's own libraries.
unpacked() {
    root=$cache/$1
    program=$root/$2
    shift 2
    "$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" \
        "$program" "$@"
}

version() {
    name=$1
    shift
    "$@" >"$scratch/version" 2>&1 || { cat "$scratch/version" >&2; die "$name does not run"; }
    printf '%-16s %s\n' "$name" "$(head -n 1 "$scratch/version" | sed "s|$cache/[^ ]*/||")"
}

version mariadb-10.11 mariadbd --version
version mariadb-11.8 unpacked mariadb-11.8 usr/sbin/mariadbd --version
version mariadb-test env "LD_LIBRARY_PATH=$cache/mariadb-test/usr/lib/x86_64-linux-gnu" \
    "$cache/mariadb-test/usr/bin/mariadb-test" --version
version mysql-9.7 unpacked mysql-9.7 usr/sbin/mysqld --version
version mysql-client unpacked mysql-9.7 usr/bin/mysql --version
version mysql-router unpacked mysql-9.7 usr/bin/mysqlrouter --version
version mariadb-client mariadb --version
version sysbench sysbench --version
version haproxy haproxy -v
version chromium chromium --version
version promtool "$cache/promtool/usr/bin/promtool" --version
unpacked mysql-9.7 usr/sbin/mysqld --version | grep -q 'Ver 9\.7\.' ||
    say "note: the unstable suite has moved on from MySQL 9.7"
