#!/bin/sh
# packaging/optimized.sh [TARGET]: builds the program for TARGET, this machine unless named, and optimises it for what
# sessions do: target/optimized/pilotfish. It builds a program that counts how often each branch is taken, runs statements of
# many kinds through that (`pilotfish-bench train`; e2e/provision.sh brings the servers), and builds again with the counts.
# It needs llvm-profdata of the compiler's version of LLVM: the one that LLVM_PROFDATA names, or one that it finds.
set -eu
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')

# of_compiler PROGRAM: whether it is of the compiler's version of LLVM.
of_compiler() { "$1" --version 2>/dev/null | grep -q "LLVM version $llvm\."; }

profdata=
for program in "${LLVM_PROFDATA:-}" "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" \
    "llvm-profdata-$llvm" "/usr/lib/llvm-$llvm/bin/llvm-profdata" llvm-profdata; do
    if [ -n "$program" ] && of_compiler "$program"; then
        profdata=$program
        break
    fi
done
[ -n "$profdata" ] || {
    echo "optimized.sh: needs llvm-profdata of LLVM $llvm: rustup component add llvm-tools, or on Debian: apt install llvm-$llvm" >&2
    exit 1
}

folder=$PWD/target/profile
rm -rf "$folder/counts"
# build STEP FLAG: the program, alone with a flag that the crates' build scripts do not get.
build() {
    RUSTFLAGS="${RUSTFLAGS:-} $2" CARGO_TARGET_DIR="$folder/$1" \
        "$cargo" build --release --locked -p pilotfish --target "$target"
}

"$cargo" build --release --locked -p pilotfish-bench
build counting "-Cprofile-generate=$folder/counts"
PILOTFISH_BIN=$folder/counting/$target/release/pilotfish target/release/pilotfish-bench train
"$profdata" merge -o "$folder/counts.profdata" "$folder"/counts/*.profraw
build final "-Cprofile-use=$folder/counts.profdata"
mkdir -p target/optimized
cp "$folder/final/$target/release/pilotfish" target/optimized/pilotfish
echo target/optimized/pilotfish
