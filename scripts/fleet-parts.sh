#!/usr/bin/env bash
# Looks for what a fleet is tested with: PostgreSQL and Mosquitto of this machine.
#
# Everything that fails ends in one sentence and exit code 69.
set -euo pipefail

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
