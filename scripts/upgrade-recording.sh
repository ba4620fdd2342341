#!/usr/bin/env bash
# Records what the program of an earlier commit leaves behind beside a simulated provider, a real broker and a real PostgreSQL: a household of
# two accounts with a shared meter, one that is refused, and a fleet. The commit and who lives there: test/support/recorded.ts.
# Where the recordings are: test/fixtures/upgrade. Names of parts record these alone: scripts/upgrade-recording.sh household
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(sed -n "s/^export const RECORDED = '\(.*\)';$/\1/p" test/support/recorded.ts)
HEAT2MQTT_PROGRAM=$(scripts/old-build.sh "$commit")
export HEAT2MQTT_PROGRAM
exec npx vitest run --config test/recording/vitest.config.ts "$@"
