# What the provisioning scripts need of Debian's package tools; read with `.`, not run. Sets
# $as_root and $scratch (removed at the end) and gives an apt of its own for the unstable suite.

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
# A script that leaves more behind says so here.
at_end() { :; }
cleanup() {
    rm -rf "$scratch"
    at_end
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

# apt-get update, once a run.
update_lists() {
    [ -z "${lists_are_new:-}" ] || return 0
    lists_are_new=yes
    $as_root apt-get update -q -o Acquire::Retries=3 >"$scratch/update.log" 2>&1 || {
        cat "$scratch/update.log" >&2
        die "apt-get update failed"
    }
}

# install PACKAGE …: from the machine's own suite.
install() {
    say "installing $*"
    update_lists
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o Acquire::Retries=3 "$@" >"$scratch/install.log" 2>&1 || {
        tail -n 40 "$scratch/install.log" >&2
        die "apt-get install failed"
    }
}

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

# download FOLDER "PACKAGES WITH WHAT THEY DEPEND ON" "PACKAGES ALONE": from unstable, as .deb files.
download() {
    private_apt_ready
    mkdir -p "$1/partial"
    # shellcheck disable=SC2086 # the lists are meant to be split
    (
        cd "$1"
        [ -z "$2" ] || private_apt apt-get install -y --download-only --no-install-recommends \
            -o Dir::Cache::archives="$1" $2
        [ -z "$3" ] || private_apt apt-get download $3
    ) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die "packages could not be downloaded: $2 $3"
    }
}

# download_source FOLDER PACKAGE: the authors' tarball, of the version that the machine's own suite has.
download_source() {
    uri=$(mirror)
    [ -n "$uri" ] || { update_lists; uri=$(mirror); }
    [ -n "$uri" ] || die "no Debian mirror among this machine's apt sources"
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mkdir -p "$1"
    (
        cd "$1"
        scratch=$scratch/sources
        mkdir -p "$scratch/apt/state/lists/partial" "$scratch/apt/cache/archives/partial"
        : >"$scratch/apt/state/status"
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main" \
            >"$scratch/apt/sources.list"
        private_apt apt-get update
        private_apt apt-get source --download-only --tar-only "$2"
    ) >"$scratch/download.log" 2>&1 || {
        tail -n 40 "$scratch/download.log" >&2
        die "the source of $2 could not be downloaded"
    }
}

# Puts a filled folder in its place, without what only people read.
settle() {
    rm -rf "$1/usr/share/doc" "$1/usr/share/man" "$1/usr/share/locale" "$2"
    mv "$1" "$2"
}
