#!/usr/bin/env bash
# Gets one of the brokers to test against, and prints where it is: `mochi`, a program; `hivemq`, a folder with classes and jars.
#
#   HEAT2MQTT_BROKER_DIR   where they are kept between runs (default: below $XDG_CACHE_HOME or ~/.cache)
#
# Needs no root, but Go for the first, a JDK 17 and Maven for the second. Everything that fails ends in one sentence and exit code 69.
set -euo pipefail
cd "$(dirname "$0")/../test/e2e/brokers"

hivemq=2025.5
cache=${HEAT2MQTT_BROKER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-brokers}
log=$cache/${1-}.log

give_up() {
  echo "No such broker to test against: $*" >&2
  exit 69
}
quietly() { "$@" >>"$log" 2>&1; }
# Its sources tell whether what is kept is still the same.
digest() { cat "$1"/* | md5sum | cut -c1-12; }

mkdir -p "$cache" || give_up "$cache cannot be written"
: >"$log"
# Two at a time would step on each other's feet.
! command -v flock >/dev/null || { exec 9>"$cache/lock" && flock 9; }

case ${1-} in
  mochi)
    program=$cache/mochi-$(digest mochi)
    if [ ! -x "$program" ]; then
      command -v go >/dev/null || give_up 'Go is not installed'
      (cd mochi && quietly go build -o "$program" .) || give_up "Go cannot build Mochi (details: $log)"
    fi
    echo "$program"
    ;;
  hivemq)
    room=$cache/hivemq-$hivemq-$(digest hivemq)
    if [ ! -e "$room/complete" ]; then
      command -v javac >/dev/null && command -v mvn >/dev/null || give_up 'a JDK and Maven are wanted for HiveMQ'
      rm -rf "$room"
      mkdir -p "$room/download" "$room/classes"
      # With a repository of its own, which is removed: in ~/.m2 a second copy would stay.
      quietly mvn -B -ntp -f hivemq/pom.xml -Dhivemq="$hivemq" -Dmaven.repo.local="$room/download" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$room/jars" ||
        give_up "Maven cannot fetch HiveMQ $hivemq (details: $log)"
      quietly javac --release 17 -cp "$room/jars/*" -d "$room/classes" hivemq/Broker.java ||
        give_up "HiveMQ's broker cannot be compiled (details: $log)"
      rm -rf "$room/download"
      touch "$room/complete"
    fi
    echo "$room"
    ;;
  *) give_up "found '${1-}'; there are: mochi, hivemq" ;;
esac
