#!/bin/sh
# packaging/stage.sh PROGRAM FOLDER: puts what every package installs in its place below a new folder. deb.sh, rpm.sh and
# image.sh call it. XTASK is the program that writes the licences, if it is built already.
set -eu
cd "$(dirname "$0")/.."
program=$1 root=$2

rm -rf "$root"
umask 022
mkdir -p "$root/usr/bin" "$root/usr/share/man/man1" "$root/etc/pilotfish" "$root/etc/logrotate.d" \
    "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/share/pilotfish/grafana" \
    "$root/usr/share/doc/pilotfish" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/fish/vendor_completions.d"

strip -o "$root/usr/bin/pilotfish" "$program"
chmod 755 "$root/usr/bin/pilotfish"
"$program" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
"$program" completions bash > "$root/usr/share/bash-completion/completions/pilotfish"
"$program" completions fish > "$root/usr/share/fish/vendor_completions.d/pilotfish.fish"

install -m 644 packaging/pilotfish.toml "$root/etc/pilotfish/pilotfish.toml"
install -m 644 packaging/pilotfish.logrotate "$root/etc/logrotate.d/pilotfish"
install -m 644 packaging/pilotfish.service packaging/pilotfish.socket "$root/usr/lib/systemd/system/"
install -m 644 packaging/pilotfish.sysusers "$root/usr/lib/sysusers.d/pilotfish.conf"
install -m 644 packaging/prometheus-rules.yml "$root/usr/share/pilotfish/"
install -m 644 packaging/grafana/*.json "$root/usr/share/pilotfish/grafana/"
install -m 644 LICENSE "$root/usr/share/doc/pilotfish/copyright"
gzip -9nc CHANGELOG.md > "$root/usr/share/doc/pilotfish/changelog.gz"

# shellcheck disable=SC2086 # a command
${XTASK:-${CARGO:-cargo} run --quiet --locked -p xtask --} licences --write "$root/usr/share/doc/pilotfish" >&2
gzip -9n "$root/usr/share/doc/pilotfish/licences.txt"
