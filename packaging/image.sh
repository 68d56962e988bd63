#!/bin/sh
# packaging/image.sh [PROGRAM]: makes a container image of a program, the static one unless named:
# target/image/pilotfish-VERSION.tar, for `podman load` and `docker load`. It needs buildah, gzip and strip. No image is
# fetched. It runs nothing inside the image, so it needs no right to start containers.
set -eu
cd "$(dirname "$0")/.."
command -v buildah >/dev/null || { echo 'image.sh: needs buildah; on Debian: apt install buildah' >&2; exit 1; }

program=${1:-target/$(uname -m)-unknown-linux-musl/release/pilotfish}
version=$("$program" --version | sed 's/.* //')
folder=$PWD/target/image
root=$folder/root own=$folder/own
certificates=/etc/ssl/certs/ca-certificates.crt
[ -e "$certificates" ] || { echo "image.sh: needs $certificates" >&2; exit 1; }

packaging/stage.sh "$program" "$folder/staged"
umask 022
rm -rf "$root" "$own"
mkdir -p "$root/usr/bin" "$root/usr/share/doc" "$root/etc/ssl/certs" "$root/run" "$root/var/log" "$root/var/lib" \
    "$own/etc" "$own/empty"
cp "$folder/staged/usr/bin/pilotfish" "$root/usr/bin/"
cp -r "$folder/staged/usr/share/doc/pilotfish" "$root/usr/share/doc/"
cp -L "$certificates" "$root/etc/ssl/certs/"
echo 'pilotfish:x:65532:65532:Pilotfish proxy:/:/sbin/nologin' > "$root/etc/passwd"
echo 'pilotfish:x:65532:' > "$root/etc/group"
cp packaging/image/pilotfish.toml "$own/etc/"

# A storage of its own, so that this neither needs nor changes the images of this machine's user.
store="--root $folder/storage --runroot $folder/run --storage-driver vfs"
archive=$folder/pilotfish-$version.tar
rm -f "$archive"
# shellcheck disable=SC2086 # a list of options
{
    buildah $store build --format docker --timestamp 0 --label "org.opencontainers.image.title=Pilotfish" \
        --label "org.opencontainers.image.version=$version" --label "org.opencontainers.image.licenses=Apache-2.0" \
        --tag "localhost/pilotfish:$version" --file packaging/image/Containerfile "$folder" &&
        buildah $store push "localhost/pilotfish:$version" "docker-archive:$archive:localhost/pilotfish:$version"
} > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
echo "target/image/pilotfish-$version.tar"
