#!/bin/sh
# packaging/rpm.sh [PROGRAM]: makes target/rpm/pilotfish-VERSION-RELEASE.ARCHITECTURE.rpm of a program, the static one
# unless named. The static program needs no C library, so one package suits all distributions. It needs rpmbuild (on
# Debian in the package rpm), gzip and strip, and no root. RELEASE counts packages of one version, from 1.
set -eu
cd "$(dirname "$0")/.."
command -v rpmbuild >/dev/null || { echo 'rpm.sh: needs rpmbuild; on Debian: apt install rpm' >&2; exit 1; }

architecture=$(uname -m)
program=${1:-target/$architecture-unknown-linux-musl/release/pilotfish}
version=$("$program" --version | sed 's/.* //')
folder=$PWD/target/rpm
root=$folder/root

packaging/stage.sh "$program" "$root"
umask 022
mkdir -p "$root/usr/share/zsh/site-functions"
"$program" completions zsh > "$root/usr/share/zsh/site-functions/_pilotfish"

rpmbuild -bb --target "$architecture" --define "_topdir $folder/build" --define "_rpmdir $folder" \
    --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" --define "staged $root" \
    --define "program_version $version" --define "program_release ${RELEASE:-1}" \
    packaging/pilotfish.spec > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
echo "target/rpm/pilotfish-$version-${RELEASE:-1}.$architecture.rpm"
