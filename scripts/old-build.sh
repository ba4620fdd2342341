#!/usr/bin/env bash
# Builds the program of a commit in this clone's history, once, and prints the path of what is run: scripts/old-build.sh COMMIT
# It is kept in ~/.cache/heat2mqtt-old (HEAT2MQTT_OLD_DIR).
#
# Everything that fails ends in one sentence and exit code 69.
set -euo pipefail

give_up() {
  echo "No earlier version to try: $*" >&2
  exit 69
}

cd "$(dirname "$0")/.."
commit=$1
place=${HEAT2MQTT_OLD_DIR:-$HOME/.cache/heat2mqtt-old}/$commit
entry=$place/dist/heat2mqtt.js
if [ ! -e "$entry" ]; then
  git rev-parse --git-dir >/dev/null 2>&1 || give_up 'this folder is no clone of the repository'
  git cat-file -e "$commit^{commit}" 2>/dev/null ||
    give_up "the history of this clone does not have $commit (after a shallow clone: git fetch --unshallow)"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  git archive "$commit" | tar -x -C "$work"
  # Packages are those of the commit; mostly they are here already.
  if [ -d node_modules ] && cmp -s package-lock.json "$work/package-lock.json"; then
    ln -s "$PWD/node_modules" "$work/node_modules"
  else
    (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --silent >&2) || give_up "the packages of $commit cannot be had"
  fi
  (cd "$work" && node scripts/build.mjs >&2) || give_up "$commit cannot be built"
  rm -rf "$place"
  mkdir -p "$place"
  mv "$work/dist" "$place"
fi
echo "$entry"
