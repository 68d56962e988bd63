#!/bin/sh
# packaging/deb.sh [PROGRAM]: makes target/debian/pilotfish_VERSION-RELEASE_ARCHITECTURE.deb of a program, the release build
# unless named. It needs dpkg-deb, gzip and strip, and no root. RELEASE counts packages of one version, from 1.
set -eu
cd "$(dirname "$0")/.."

program=${1:-target/release/pilotfish}
version=$("$program" --version | sed 's/.* //')-${RELEASE:-1}
architecture=$(dpkg --print-architecture)
root=target/debian/root
deb=target/debian/pilotfish_${version}_${architecture}.deb

packaging/stage.sh "$program" "$root"
umask 022
mkdir -p "$root/DEBIAN" "$root/etc/apparmor.d" "$root/usr/share/zsh/vendor-completions"
"$program" completions zsh > "$root/usr/share/zsh/vendor-completions/_pilotfish"
install -m 644 packaging/pilotfish.apparmor "$root/etc/apparmor.d/usr.bin.pilotfish"

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
Recommends: ca-certificates
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
