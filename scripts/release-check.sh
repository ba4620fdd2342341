#!/usr/bin/env bash
# What is too long for every .ci/run and has to hold before a release: no known weakness in the bundle, npm test on each Node that is
# supported, and the program on arm64.
set -euo pipefail
cd "$(dirname "$0")/.."
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
scripts/arm64.sh >/dev/null 2>&1 ||
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross libgcc-s1-arm64-cross

printf '\n== node scripts/audit.mjs\n'
npm run --silent build
node scripts/audit.mjs

for version in 20 22 24 latest; do
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-node/$version
  # `latest` is another one each month.
  npm install --prefix "$folder" --no-audit --no-fund --silent "node@$version"
  export PATH="$folder/node_modules/.bin:$PATH"
  printf '\n== npm test on Node %s\n' "$(node --version)"
  npm test
done

printf '\n== npm run e2e:arm64\n'
npm run e2e:arm64
