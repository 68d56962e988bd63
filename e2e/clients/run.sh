#!/usr/bin/env bash
# Builds the client programs and runs one of them, or all, against one server.
#
#   run.sh --host H --port P --user U --password W --database D [--tls] [--compress] [--only NAME]
#   run.sh … --administration          what the admin port answers, instead of the scenario
#   run.sh … --crowd --only java-…      many idle sessions of Java, instead of the scenario; with --tls they go
#                                      where redirect_url says
#   run.sh --build [--only NAME]       builds, runs nothing
#   run.sh --list                      prints the clients' names; with --administration those of the admin port
#
# The transcript goes to stdout. Exit codes: 0 it ran through; 77 this client cannot do what is
# asked (say, it has no compression); anything else is a failure. What is built or downloaded goes
# to ${PILOTFISH_CACHE:-~/.cache/pilotfish}/clients; what is up to date is not built again.
#
# A program is told by its environment: CLIENT_HOST, _PORT, _USER, _PASSWORD, _DATABASE, _TLS and
# _COMPRESS (0 or 1), _SCHEMA (created and dropped by the program), _SCENARIO (the folder of
# schema.sql), _LOAD_FILE (for LOAD DATA LOCAL). To run two at a time takes two servers.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PILOTFISH_CACHE:-${HOME:?}/.cache/pilotfish}/clients
clients='c-libmariadb c-libmysqlclient go-sql-driver java-connectorj java-mariadb node-mysql2
    php-mysqli php-pdo python-mysqlclient python-pymysql rust-mysql-async'
# These have no scenario.
administrators='perl-dbd-mariadb perl-odbc'
unable=77
timeout_seconds=600 # one client that hangs; a run takes some seconds, minutes on a busy machine
export LC_ALL=C.UTF-8 TZ=UTC

die() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }
leave_out() { printf 'left out: %s\n' "$*" >&2; exit $unable; }

# True when the product is missing or older than one of its sources.
is_stale() {
    local product=$1
    shift
    [[ ! -e $product || -n $(find "$@" -newer "$product" -print -quit) ]]
}

# --- C: one source, two libraries ---------------------------------------------------------------

# MySQL's library is unpacked beside the system by provision.sh, with a C library of its own.
mysql_root=$cache/libmysqlclient
c_flags=(-std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra)

build_c_libmariadb() {
    local flags
    is_stale "$cache/c-libmariadb" "$here/c" || return 0
    read -ra flags <<<"$(mariadb_config --cflags --libs | tr '\n' ' ')"
    gcc "${c_flags[@]}" -o "$cache/c-libmariadb-administration" "$here/c/administration.c" "${flags[@]}"
    gcc "${c_flags[@]}" -o "$cache/c-libmariadb" "$here/c/client.c" "${flags[@]}" -lcrypto
}

build_c_libmysqlclient() {
    [[ -d $mysql_root ]] || leave_out "no libmysqlclient was unpacked"
    local program
    is_stale "$cache/c-libmysqlclient" "$here/c" || return 0
    for program in administration client; do
        gcc "${c_flags[@]}" -I"$mysql_root/usr/include" -I"$mysql_root/usr/include/mysql" \
            -o "$cache/c-libmysqlclient-$program" "$here/c/$program.c" \
            "$mysql_root"/usr/lib/x86_64-linux-gnu/libmysqlclient.so -lcrypto -Wl,--allow-shlib-undefined
    done
    mv "$cache/c-libmysqlclient-client" "$cache/c-libmysqlclient"
}

# --- Go -----------------------------------------------------------------------------------------

# The machine's Go if it is new enough for go.mod, else the one that provision.sh unpacked.
go_command() {
    local unpacked=$cache/go/usr/lib/go version
    version=$(go env GOVERSION 2>/dev/null || true)
    if [[ $version == go1.* && $(printf '%s\n' go1.24 "$version" | sort -V | head -n 1) == go1.24 ]]; then
        go "$@"
    elif [[ -x $unpacked/bin/go ]]; then
        GOROOT=$(readlink -f "$unpacked") "$unpacked/bin/go" "$@"
    else
        die "no Go 1.24 or newer: run provision.sh"
    fi
}

build_go_sql_driver() {
    is_stale "$cache/go-sql-driver" "$here/go-sql-driver" || return 0
    (cd "$here/go-sql-driver" && CGO_ENABLED=0 go_command build -mod=readonly -o "$cache/go-sql-driver" .)
}

# --- Java: one jar, two drivers -----------------------------------------------------------------

build_java() {
    is_stale "$cache/java/jdbc-client.jar" "$here/java" || return 0
    mvn --quiet --batch-mode --file "$here/java/pom.xml" -Dbuild.folder="$cache/java" package 2>&1 |
        sed 's/\x1b\[[0-9;]*m//g'
}

build_java_connectorj() { build_java; }
build_java_mariadb() { build_java; }

# --- JavaScript ---------------------------------------------------------------------------------

build_node_mysql2() {
    local folder=$cache/node-mysql2
    is_stale "$folder/node_modules/mysql2" "$here/node-mysql2" || return 0
    mkdir -p "$folder"
    cp "$here"/node-mysql2/{package.json,package-lock.json,.npmrc,client.js,administration.js} "$folder"
    (cd "$folder" && npm ci --silent --no-audit --no-fund)
    touch "$folder/node_modules/mysql2"
}

# --- PHP: its drivers are the distribution's ----------------------------------------------------

build_php_mysqli() { :; }
build_php_pdo() { :; }

# --- Perl: its drivers are unpacked beside the system by provision.sh ------------------------------

perl_folder() {
    case $1 in
    perl-dbd-mariadb) printf '%s' "$cache/dbd-mariadb" ;;
    perl-odbc) printf '%s' "$cache/odbc" ;;
    esac
}

build_perl() { [[ -d $(perl_folder "$1") ]] || die "no $(perl_folder "$1"): run provision.sh"; }

build_perl_dbd_mariadb() { build_perl perl-dbd-mariadb; }
build_perl_odbc() { build_perl perl-odbc; }

run_perl() {
    local usr
    usr=$(perl_folder "$1")/usr
    # This driver speaks TLS only with a server whose certificate it can verify.
    [[ $1 != perl-dbd-mariadb || $CLIENT_TLS == 0 ]] || leave_out "$1 cannot trust the admin port's certificate"
    export PERL5LIB=$(printf '%s:' "$usr"/lib/x86_64-linux-gnu/perl5/*)$usr/share/perl5
    export LD_LIBRARY_PATH=$usr/lib/x86_64-linux-gnu
    export CLIENT_ODBC_DRIVER=$usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so
}

# --- Python: one environment, two drivers -------------------------------------------------------

build_python() {
    local folder=$cache/python
    is_stale "$folder/complete" "$here/python/requirements.txt" || return 0
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/pip" --quiet --disable-pip-version-check install -r "$here/python/requirements.txt"
    touch "$folder/complete"
}

build_python_pymysql() { build_python; }
build_python_mysqlclient() { build_python; }

# --- Rust ---------------------------------------------------------------------------------------

# A crate of the workspace: what builds the tests builds it.
rust_program=$here/../../target/debug/pilotfish-client-rust-mysql-async

build_rust_mysql_async() {
    ! is_stale "$rust_program" "$here/rust-mysql-async" || "$here/../../.ci/build"
}

# --- all of them --------------------------------------------------------------------------------

# Builds under a lock: two tests may want the same program at once.
build() {
    mkdir -p "$cache"
    exec {lock}>"$cache/lock"
    flock "$lock"
    "build_${1//-/_}" >&2
}

# 50,000 rows for LOAD DATA LOCAL, the same every time.
load_file() {
    local file=$cache/rows.tsv
    if [[ ! -e $file ]]; then
        seq 0 49999 | awk '{ printf "%d\trow %d \\\\ Zürich 🐟 %d\n", $1, $1, $1 * $1 }' >"$file.$$"
        mv "$file.$$" "$file"
    fi
    printf '%s' "$file"
}

run() {
    local command program=client
    local binary=$1 script=${1#php-}
    [[ $story != crowd ]] || program=crowd
    if [[ $story == administration ]]; then
        program=administration binary=$1-administration script=administration_$script
    fi
    case $1 in
    c-libmysqlclient)
        command=("$mysql_root/usr/lib64/ld-linux-x86-64.so.2"
            --library-path "$mysql_root/usr/lib/x86_64-linux-gnu" "$cache/$binary")
        ;;
    c-libmariadb) command=("$cache/$binary") ;;
    go-sql-driver) command=("$cache/$1") ;;
    # Short programs: the second compiler and parallel collection would cost more than they bring.
    perl-*)
        run_perl "$1"
        command=(perl "$here/perl/administration.pl" "$1")
        ;;
    java-*) command=(java -Xmx1g -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$cache/java/jdbc-client.jar" "${program^}" "${1#java-}") ;;
    node-mysql2) command=(node "$cache/node-mysql2/$program.js") ;;
    php-*) command=(php "$here/php/$script.php") ;;
    python-mysqlclient) command=("$cache/python/bin/python" -B "$here/python/$program.py" MySQLdb) ;;
    python-pymysql) command=("$cache/python/bin/python" -B "$here/python/$program.py" pymysql) ;;
    rust-mysql-async) command=("$rust_program") ;;
    esac
    export CLIENT_STORY=$story
    CLIENT_SCHEMA=client_${1//-/_} CLIENT_LOAD_FILE=$(load_file) \
        timeout --kill-after=5 $timeout_seconds "${command[@]}"
}

# Runs a step in a shell of its own that ends at the first error, and sets `is_able`. To be unable
# ends this script only when one client was named; any other failure does.
attempt() {
    local code
    set +e
    (set -e; "$@")
    code=$?
    set -e
    is_able=yes
    ((code != 0)) || return 0
    [[ $code -eq $unable && -z $only ]] || exit "$code"
    is_able=
}

only=
mode=run
story=scenario
export CLIENT_TLS=0 CLIENT_COMPRESS=0 CLIENT_SCENARIO=$here/scenario
while (($# > 0)); do
    case $1 in
    --host) export CLIENT_HOST=${2:?}; shift ;;
    --port) export CLIENT_PORT=${2:?}; shift ;;
    --user) export CLIENT_USER=${2:?}; shift ;;
    --password) export CLIENT_PASSWORD=${2?}; shift ;;
    --database) export CLIENT_DATABASE=${2:?}; shift ;;
    --tls) CLIENT_TLS=1 ;;
    --compress) CLIENT_COMPRESS=1 ;;
    --administration) story=administration ;;
    --crowd) story=crowd ;;
    --only) only=${2:?}; shift ;;
    --build) mode=build ;;
    --list) mode=list ;;
    *) die "unknown option $1" ;;
    esac
    shift
done
[[ $story != administration ]] || clients+=" $administrators"
if [[ $mode == list ]]; then
    printf '%s\n' $clients
    exit
fi
[[ -z $only ]] || declare -F "build_${only//-/_}" >/dev/null || die "unknown client $only"
if [[ $mode == run ]]; then
    for name in HOST PORT USER PASSWORD DATABASE; do
        [[ -v CLIENT_$name ]] || die "--${name,,} is missing"
    done
fi

for client in ${only:-$clients}; do
    attempt build "$client"
    [[ $mode == run && -n $is_able ]] || continue
    [[ -n $only ]] || printf '== %s\n' "$client"
    attempt run "$client"
done
