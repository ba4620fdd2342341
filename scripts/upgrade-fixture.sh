#!/usr/bin/env bash
# Lets the program of a commit live for a moment beside the simulated provider and a broker, and keeps what it has left behind, its state
# directory and its retained topics, for test/story/upgrade.test.ts: scripts/upgrade-fixture.sh COMMIT test/fixtures/upgrade/NAME
set -euo pipefail
commit=$1
folder=$(realpath -m "$2")
cd "$(dirname "$0")/.."
# Tokens belong to the address of their issuer: the test serves it there again.
provider=20911
broker=20912
work=$(mktemp -d)
pids=()
close() {
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait
  git worktree remove --force "$work/old" 2>/dev/null || true
  rm -rf "$work"
}
trap close EXIT
until_there() { for _ in $(seq 300); do "$@" && return; sleep 0.2; done; echo "waited in vain: $*" >&2; return 1; }

git worktree add --quiet --detach "$work/old" "$commit"
(cd "$work/old" && npm ci --no-audit --no-fund --silent)
npm run --silent build

printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$broker" >"$work/mosquitto.conf"
mosquitto -c "$work/mosquitto.conf" 2>/dev/null & pids+=($!)
node dist/heat2mqtt.js simulate --port "$provider" >"$work/simulate.yaml" & pids+=($!)
until_there grep -q state_dir "$work/simulate.yaml"
sed "s#^  embedded: true#  url: mqtt://127.0.0.1:$broker#; s#^state_dir: .*#state_dir: $work/state#; s#base_topic: .*#base_topic: heat2mqtt#; /redirect_uri\|sign-in on the login/d" \
  "$work/simulate.yaml" >"$work/config.yaml"

node "$work/old/dist/heat2mqtt.js" run --config "$work/config.yaml" >"$work/log" & old=$!
published() { mosquitto_sub -p "$broker" -t "$1" -C 1 -W 1 >/dev/null 2>&1; }
until_there published 'heat2mqtt/meter/+/state'
until_there published 'heat2mqtt/account/+/invoices'
# Two lists of constituencies: the default one, and a part of it.
for question in '{}' '{"skip":1,"limit":2}'; do
  mosquitto_pub -p "$broker" -t heat2mqtt/bridge/request/constituencies -m "$question"
done
# Extras come after the poll, and are written a moment later.
sleep 5
# The first versions had no such command.
node "$work/old/dist/heat2mqtt.js" backup "$work/backup.gz" --config "$work/config.yaml" >/dev/null 2>&1 || true
kill "$old"
wait "$old"

rm -rf "$folder"
mkdir -p "$folder"
[ ! -e "$work/backup.gz" ] || cp "$work/backup.gz" "$folder"
(cd "$work/state" && find . -name '*.json' -exec cp --parents {} "$folder" \;)
# It ends with 27, because -W is the only end that it knows.
{ mosquitto_sub -p "$broker" -t 'heat2mqtt/#' -t 'homeassistant/#' --retained-only -W 2 -F '%j' 2>/dev/null || [ $? = 27 ]; } |
  node -e '
    const lines = require("node:fs").readFileSync(0, "utf8").trim().split("\n").map((line) => JSON.parse(line));
    const retained = Object.fromEntries(lines.map(({ topic, payload }) => [topic, payload]).sort());
    console.log(JSON.stringify({ commit: process.argv[1], keptAt: new Date(), retained }, null, 1));
  ' "$(git rev-parse --short "$commit")" >"$folder/retained.json"
du -sh "$folder"
