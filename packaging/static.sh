#!/bin/sh
# packaging/static.sh: builds the program without shared libraries, for any Linux of this architecture:
# target/ARCHITECTURE-unknown-linux-musl/release/pilotfish. Its C library is musl: a static glibc would load the
# machine's name service modules, and a module of another version ends the process.
set -eu
cd "$(dirname "$0")/.."

target=$(uname -m)-unknown-linux-musl
command -v musl-gcc >/dev/null || { echo 'static.sh: needs musl-gcc; on Debian: apt install musl-tools' >&2; exit 1; }
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || rustup target add "$target"
"${CARGO:-cargo}" build --release --locked -p pilotfish --target "$target"
echo "target/$target/release/pilotfish"
