#!/bin/sh
# Builds the dashboard where Node is there, and says so where it is not; with --demand that is a
# failure. Does nothing where nothing has changed.
set -eu
cd "$(dirname "$0")"

without() {
    echo "dashboard: left out: $1" >&2
    [ "$demand" = no ] || exit 1
    exit 0
}

demand=no
[ "${1:-}" != --demand ] || demand=yes
command -v node >/dev/null && command -v npm >/dev/null || without 'it needs Node 18 or newer, with npm'
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || without "Node $(node --version) is older than 18"

# What was built tells of which sources.
sources=$(cat index.html package-lock.json package.json pack.js tsconfig.json vite.config.js $(find src -type f | sort) | cksum)
[ "$(cat packed/sources 2>/dev/null)" != "$sources" ] || exit 0

installed=$(cksum <package-lock.json)
if [ "$(cat node_modules/installed 2>/dev/null)" != "$installed" ]; then
    npm ci --no-audit --no-fund --loglevel=error || without 'npm ci has failed'
    echo "$installed" >node_modules/installed
fi
npm run --silent build || exit 1
echo "$sources" >packed/sources
