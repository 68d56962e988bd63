#!/bin/sh
# Brings the servers and tools the end-to-end tests need onto a Debian 12 machine.
#
#   e2e/provision.sh            as root, or as a user with passwordless sudo
#
# - From the machine's own suite, installed: MariaDB's server and client, sysbench, HAProxy, the
#   client libraries. No server is started and none stays running.
# - From Debian's unstable suite, unpacked beside the system and never installed: MySQL 9.7 and
#   MariaDB 11.8 with every library they need, run through their own loader. They go to
#   ${PILOTFISH_CACHE:-~/.cache/pilotfish}. The mirror is the one the machine already uses.
#
# Run again it does nothing but print the versions.
set -eu

cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { printf 'provision: %s\n' "$*"; }
die() { printf 'provision: %s\n' "$*" >&2; exit 1; }

command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    die "this script needs Debian's apt; elsewhere install MariaDB and MySQL 9.7 yourself"
[ "$(dpkg --print-architecture)" = amd64 ] || die "only amd64 is prepared here"

if [ "$(id -u)" = 0 ]; then as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root='sudo -n'
else die "run it as root, or as a user who may use sudo without a password"
fi

scratch=$(mktemp -d)
policy=/usr/sbin/policy-rc.d
policy_is_ours=
cleanup() {
    rm -rf "$scratch"
    [ -z "$policy_is_ours" ] || $as_root rm -f "$policy"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# ---- installed -------------------------------------------------------------------------------

packages='mariadb-server mariadb-client sysbench haproxy openssl libmariadb-dev php-cli php-mysql'

# True when every package named is installed.
installed() {
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            return 1
    done
}

# apt-get update, once a run.
update_lists() {
    [ -z "${lists_are_new:-}" ] || return 0
    lists_are_new=yes
    $as_root apt-get update -q -o Acquire::Retries=3 >"$scratch/update.log" 2>&1 || {
        cat "$scratch/update.log" >&2
        die "apt-get update failed"
    }
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
    say "installing $packages"
    update_lists
    forbid_services
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o Acquire::Retries=3 $packages >"$scratch/install.log" 2>&1 || {
        tail -n 40 "$scratch/install.log" >&2
        die "apt-get install failed"
    }
fi

# ---- unpacked --------------------------------------------------------------------------------

# The mirror of the machine's own main suite, as apt has resolved it, whatever the format of its
# source lists.
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
    [ -n "$uri" ] || { update_lists; uri=$(mirror); }
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

# unpack FOLDER "PACKAGES WITH LIBRARIES" "PACKAGES ALONE" "PACKAGE:FILE …"
# Fills FOLDER, or leaves no trace of it; a folder with this very recipe in it is complete.
unpack() {
    target=$cache/$1
    recipe="$*"
    [ "$(cat "$target/recipe" 2>/dev/null)" != "$recipe" ] || return 0
    say "unpacking $1"
    private_apt_ready
    debs=$scratch/$1.debs
    root=$cache/.$1.$$
    mkdir -p "$debs/partial" "$root"
    # shellcheck disable=SC2086
    (
        cd "$debs"
        private_apt apt-get install -y --download-only --no-install-recommends \
            -o Dir::Cache::archives="$debs" $2
        [ -z "$3" ] || private_apt apt-get download $3
    ) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die "the packages of $1 could not be downloaded"
    }
    for deb in "$debs"/*.deb; do
        case ${deb##*/} in
        perl* | libperl*) ;; # for scripts we do not run
        *) dpkg-deb -x "$deb" "$root" ;;
        esac
    done
    for pick in $4; do
        package=${pick%%:*}
        [ -e "$scratch/$package.deb" ] || {
            mkdir "$scratch/$package"
            (cd "$scratch/$package" && private_apt apt-get download "$package") \
                >"$scratch/download.log" 2>&1 || die "$package could not be downloaded"
            mv "$scratch/$package"/*.deb "$scratch/$package.deb"
        }
    done
    # shellcheck disable=SC2086
    [ -z "$4" ] || dpkg-deb --fsys-tarfile "$scratch/${4%%:*}.deb" |
        tar -x -C "$root" $(for pick in $4; do echo "./${pick#*:}"; done)
    rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale" "$debs"
    printf '%s\n' "$recipe" >"$root/recipe"
    rm -rf "$target"
    mv "$root" "$target"
}

plugins=usr/lib/mysql/plugin
unpack mysql-9.7 'mysql-server-core mysql-client-core mysql-router' '' \
    "mysql-testsuite:$plugins/auth_test_plugin.so
     mysql-testsuite:usr/lib/mysql-test/bin/mysql_client_test"
unpack mariadb-11.8 'mariadb-server-core mariadb-client-core libpam0g' 'mariadb-server' \
    "mariadb-test:$plugins/dialog_examples.so
     mariadb-test:$plugins/auth_test_plugin.so
     mariadb-test:usr/bin/mariadb-client-test"

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
version mysql-9.7 unpacked mysql-9.7 usr/sbin/mysqld --version
version mysql-client unpacked mysql-9.7 usr/bin/mysql --version
version mysql-router unpacked mysql-9.7 usr/bin/mysqlrouter --version
version mariadb-client mariadb --version
version sysbench sysbench --version
version haproxy haproxy -v
unpacked mysql-9.7 usr/sbin/mysqld --version | grep -q 'Ver 9\.7\.' ||
    say "note: the unstable suite has moved on from MySQL 9.7"
