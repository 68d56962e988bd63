#!/bin/sh
# nap/build.sh: builds target/nap/libnap.so.
set -eu
cd "$(dirname "$0")/.."
mkdir -p target/nap
# To a name of its own first: a running process may have the old library mapped.
${CC:-cc} -O2 -Wall -Wextra -shared -fPIC -o target/nap/libnap.so.new nap/nap.c -ldl -lpthread
mv target/nap/libnap.so.new target/nap/libnap.so
