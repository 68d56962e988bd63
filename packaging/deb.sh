#!/bin/sh
# packaging/deb.sh [PROGRAM]: makes target/debian/pilotfish_VERSION_ARCHITECTURE.deb of a program, the release build unless
# named. It needs dpkg-deb, gzip and strip, and no root.
set -eu
cd "$(dirname "$0")/.."

program=${1:-target/release/pilotfish}
version=$("$program" --version | sed 's/.* //')
architecture=$(dpkg --print-architecture)
root=target/debian/root
deb=target/debian/pilotfish_${version}_${architecture}.deb

rm -rf "$root"
umask 022
mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/man/man1" "$root/etc/pilotfish" "$root/etc/logrotate.d" \
    "$root/etc/apparmor.d" "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d" "$root/usr/share/pilotfish" \
    "$root/usr/share/doc/pilotfish" "$root/usr/share/bash-completion/completions" \
    "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"

strip -o "$root/usr/bin/pilotfish" "$program"
chmod 755 "$root/usr/bin/pilotfish"
"$program" man "$root/usr/share/man/man1"
gzip -9n "$root"/usr/share/man/man1/*.1
"$program" completions bash > "$root/usr/share/bash-completion/completions/pilotfish"
"$program" completions zsh > "$root/usr/share/zsh/vendor-completions/_pilotfish"
"$program" completions fish > "$root/usr/share/fish/vendor_completions.d/pilotfish.fish"

install -m 644 packaging/pilotfish.toml "$root/etc/pilotfish/pilotfish.toml"
install -m 644 packaging/pilotfish.logrotate "$root/etc/logrotate.d/pilotfish"
install -m 644 packaging/pilotfish.apparmor "$root/etc/apparmor.d/usr.bin.pilotfish"
install -m 644 packaging/pilotfish.service packaging/pilotfish.socket "$root/usr/lib/systemd/system/"
install -m 644 packaging/pilotfish.sysusers "$root/usr/lib/sysusers.d/pilotfish.conf"
install -m 644 packaging/grafana.json packaging/prometheus-rules.yml "$root/usr/share/pilotfish/"
install -m 644 LICENSE "$root/usr/share/doc/pilotfish/copyright"
gzip -9nc CHANGELOG.md > "$root/usr/share/doc/pilotfish/changelog.gz"

# The C library is the only one that the program loads.
libc=$(objdump -T "$root/usr/bin/pilotfish" | sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -Vu | tail -1)
size=$(du -sk --exclude=DEBIAN "$root" | cut -f1)
cat > "$root/DEBIAN/control" <<CONTROL
Package: pilotfish
Version: $version
Architecture: $architecture
Maintainer: The Pilotfish authors <pilotfish@localhost>
Installed-Size: $size
Depends: libc6 (>= $libc), libgcc-s1
Suggests: logrotate, apparmor
Section: database
Priority: optional
Description: proxy for MySQL and MariaDB
 Applications connect to Pilotfish as they connect to a server, and Pilotfish
 sends each statement to the right server behind it. It balances, fails over,
 splits reads from writes, pools connections, applies rules and Lua scripts,
 and shows what happens.
CONTROL
printf '%s\n' /etc/pilotfish/pilotfish.toml /etc/logrotate.d/pilotfish /etc/apparmor.d/usr.bin.pilotfish \
    > "$root/DEBIAN/conffiles"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN/"

dpkg-deb --root-owner-group --build "$root" "$deb" > target/debian/log
echo "$deb"
