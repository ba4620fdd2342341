#!/usr/bin/env bash
# Builds the image of ../../Dockerfile into the folder given, without an engine and without a registry of images: a Debian made by
# debootstrap, with the Node and the npm of the npm registry, stands in for the official base image, under its name. It has a systemd,
# so that it can be booted as well (machine.ts).
set -euo pipefail
work=$1
cd "$(dirname "$0")/../.."
for tool in buildah debootstrap runc systemd-nspawn; do
  command -v "$tool" >/dev/null || { echo "no $tool: apt-get install buildah debootstrap runc systemd-container" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo 'only root can make a root file system' >&2; exit 1; }

base=$(grep -oP '^FROM .*\Knode:\S+' Dockerfile | sort -u)
node_version=$(grep -oP '^node:\K[0-9.]+' <<<"$base")
suite=$(grep -oP -- '-\K[a-z]+(?=-slim$)' <<<"$base")
case $(uname -m) in
  x86_64) arch=x64 ;;
  aarch64) arch=arm64 ;;
  *) echo "no stand-in for $(uname -m)" >&2; exit 1 ;;
esac
export BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }

echo "== $base, as a stand-in"
# The mirror of this machine, if it is one of Debian.
mirror=
! grep -qx ID=debian /etc/os-release ||
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | head -1 || true)
debootstrap --variant=minbase --include=systemd,systemd-sysv "$suite" "$work/base" ${mirror:+"$mirror"} >"$work/debootstrap.log" || { tail "$work/debootstrap.log" >&2; exit 1; }
npm install --prefix "$work/node" --no-save --ignore-scripts "node-linux-$arch@$node_version" npm@11 >/dev/null
local=$work/base/usr/local
cp "$work/node/node_modules/node-linux-$arch/bin/node" "$local/bin/"
cp "$work/node/node_modules/node-linux-$arch/LICENSE" "$local/"
mkdir -p "$local/lib/node_modules" "$local/etc"
cp -a "$work/node/node_modules/npm" "$local/lib/node_modules/"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$local/bin/npm"
# The build asks the registry as this machine does.
certificates=/etc/ssl/certs/ca-certificates.crt
printf 'registry=%s\ncafile=%s\n' "$(npm config get registry)" "$certificates" >"$local/etc/npmrc"
container=$(buildah from scratch)
buildah add -q "$container" "$work/base" / >/dev/null
buildah config --env PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
buildah commit -q --rm "$container" "docker.io/library/$base" >/dev/null
rm -rf "$work/node"

echo '== the image, and the Home Assistant app made of it'
published=$(grep -oP '^FROM \Kghcr\S+' app/Dockerfile)
bud() { buildah bud -q --format docker --pull=never "$@" >>"$work/bud.log" 2>&1 || { cat "$work/bud.log" >&2; exit 1; }; }
bud --volume "$(dirname "$certificates"):$(dirname "$certificates"):ro" --tag "$published" .
bud --build-arg BUILD_VERSION="${published##*:}" --build-arg TARGETARCH="${arch/x64/amd64}" --tag localhost/app app
buildah inspect --type image "$published" >"$work/image.json"
buildah inspect --type image localhost/app >"$work/app.json"
root=$(buildah mount "$(buildah from --pull-never "$published")")
echo "$root" >"$work/root"
echo "image: $(($(du -sb "$root" | cut -f1) / 1000000)) MB in $(find "$root" ! -type d | wc -l) files"
