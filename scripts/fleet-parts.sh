#!/usr/bin/env bash
# Looks for what a fleet is tested with: PostgreSQL and Mosquitto of this machine, and a Node that is new enough for it, which
# is fetched from npm into $XDG_CACHE_HOME/heat2mqtt-node (~/.cache) where the one that runs the tests is not.
#
# Everything that fails ends in one sentence and exit code 69.
set -euo pipefail

node=24
room=${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-node/$node

give_up() {
  echo "No fleet to test: $*" >&2
  exit 69
}

export PATH="$PATH:/usr/sbin:/usr/local/sbin"
command -v mosquitto >/dev/null || give_up 'Mosquitto is not installed (apt-get install mosquitto)'
command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null ||
  give_up 'PostgreSQL is not installed (apt-get install postgresql)'
# The server refuses to be started by root.
[ "$(id -u)" != 0 ] || id postgres >/dev/null 2>&1 || give_up 'PostgreSQL does not run as root, and there is no user postgres'

is_new_enough='const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 12) ? 0 : 1)'
node -e "$is_new_enough" || [ -x "$room/node_modules/.bin/node" ] || {
  mkdir -p "$room" && npm install --prefix "$room" --no-audit --no-fund --silent "node@$node" >&2 ||
    give_up "Node $node could not be fetched from npm"
}
