#!/usr/bin/env bash
# Gets a real Home Assistant to test against, and prints the Python that runs it: `<that> -m homeassistant --skip-pip --config DIR`.
#
#   HEAT2MQTT_HA_VERSION   which release (default: the newest that PyPI has)
#   HEAT2MQTT_HA_DIR       where it is kept between runs (default: below $XDG_CACHE_HOME or ~/.cache)
#
# Needs no root: a Python new enough is the installed one, or else the packages of a newer Debian, unpacked into that
# directory and started with their own loader. Everything that fails ends in one sentence and exit code 69.
set -euo pipefail

cache=${HEAT2MQTT_HA_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/heat2mqtt-home-assistant}
version=${HEAT2MQTT_HA_VERSION:-newest}
log=$cache/$version.log

give_up() {
  echo "No Home Assistant to test against: $* (details: $log)" >&2
  exit 69
}
quietly() { "$@" >>"$log" 2>&1; }
# Two at a time would step on each other's feet.
wait_for_turn() { ! command -v flock >/dev/null || { exec 9>"$cache/lock" && flock 9; }; }
say() { echo "$*" | tee -a "$log" >&2; }

case $version in
  newest | 20[0-9][0-9].*) ;;
  *) log=none give_up "HEAT2MQTT_HA_VERSION is '$version'; allowed: newest, or a release such as 2026.11.0" ;;
esac
mkdir -p "$cache" || { log=none; give_up "$cache cannot be written"; }
: >"$log"

# Each with the lowest patch release that Home Assistant takes, and the Debian that has it.
case $version in
  2025.* | 2026.[12] | 2026.[12].*) python=python3.13 lowest=3.13.2 suite=trixie ;;
  *) python=python3.14 lowest=3.14.2 suite=forky ;;
esac

installed_python() {
  local check="import sys, ensurepip, venv, sqlite3; sys.exit(sys.version_info[:3] < (${lowest//./, }))"
  quietly "$python" -c "$check" && command -v "$python"
}

# Debian's own mirror as this machine knows it.
debian_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' 2>>"$log" | head -1
}

# The packages are downloaded by an apt that knows nothing of this machine but its mirror, proxies and keys.
unpacked_python() {
  local room=$cache/$python usr=$cache/$python/usr
  [ -e "$room/complete" ] || wait_for_turn
  [ -e "$room/complete" ] && { echo "$usr/bin/python"; return; }
  for program in apt-get dpkg-deb; do
    command -v "$program" >/dev/null || give_up "neither Python $lowest nor $program is installed"
  done
  local mirror
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || give_up "apt knows no mirror of Debian (try apt-get update)"
  say "unpacking $python of Debian $suite into $room"
  rm -rf "$room"
  mkdir -p "$room/apt/state/lists/partial" "$room/apt/cache/archives/partial"
  : >"$room/apt/status"
  echo "deb $mirror $suite main" >"$room/apt/sources.list"
  local apt=(apt-get -o Dir::State="$room/apt/state" -o Dir::State::status="$room/apt/status" -o Dir::Cache="$room/apt/cache"
    -o Dir::Etc::sourcelist="$room/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=-
    -o Acquire::Languages=none -o APT::Update::Error-Mode=any -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)")
  quietly "${apt[@]}" update || give_up "the package lists of Debian $suite cannot be fetched from $mirror"
  quietly "${apt[@]}" install -y --download-only --no-install-recommends "$python-venv" "lib$python-dev" ||
    give_up "the packages of $python cannot be fetched from $mirror"
  for package in "$room"/apt/cache/archives/*.deb; do
    quietly dpkg-deb -x "$package" "$room" || give_up "$package cannot be unpacked"
  done
  rm -rf "$room/apt"
  cat >"$usr/bin/python" <<SH
#!/bin/sh
# With the loader and the libraries of its own Debian, not with the machine's.
usr=\$(dirname "\$(dirname "\$(readlink -f "\$0")")")
exec "\$usr"/lib/*-linux-gnu*/ld-linux-*.so.* --argv0 "\$0" --library-path "\$(echo "\$usr"/lib/*-linux-gnu*)" "\$usr/bin/$python" "\$@"
SH
  chmod 755 "$usr/bin/python"
  quietly "$usr/bin/python" -c 'import ssl, sqlite3, ctypes' || give_up "the unpacked $python does not start"
  touch "$room/complete"
  echo "$usr/bin/python"
}

base=$(installed_python) || base=$(unpacked_python) || exit

# Debian keeps pip as a wheel, and would look for it in the machine's /usr. An older release has parts that only a compiler
# makes, if there is one: with the machine's own headers first, and behind them those of the unpacked Python.
pip() {
  local usr wheels
  usr=$(dirname "$(dirname "$base")")
  wheels=("$usr"/share/python-wheels/pip-*.whl)
  if [ -e "${wheels[0]}" ]; then CFLAGS="-idirafter $usr/include" "$1" "${wheels[0]}/pip" --disable-pip-version-check "${@:2}"
  else "$1" -m pip --disable-pip-version-check "${@:2}"; fi
}

if [ "$version" = newest ]; then
  version=$(pip "$base" index versions homeassistant 2>>"$log" | sed -n '1s/.*(\(.*\)).*/\1/p') || version=
  if [ -z "$version" ]; then
    version=$(cd "$cache" && ls -d 20*/complete 2>/dev/null | sort -V | tail -1 | cut -d/ -f1) || true
    [ -n "$version" ] || give_up 'PyPI cannot be asked for its newest release'
    say "PyPI cannot be asked; taking $version, the newest that is here"
  fi
fi

room=$cache/$version
[ -e "$room/complete" ] || wait_for_turn
if [ ! -e "$room/complete" ]; then
  say "installing Home Assistant $version into $room"
  rm -rf "$room"
  quietly "$base" -m venv --without-pip "$room" || give_up "$base cannot make a virtual environment"
  [ -e "$(dirname "$(dirname "$base")")/share/python-wheels" ] || quietly "$room/bin/python" -m ensurepip ||
    give_up "$base has no pip"
  # Without its own constraints, a release of last year meets libraries that have moved on since.
  case $python in python3.13) echo 'pycares<5' ;; esac >"$room/constraints.txt"
  quietly pip "$room/bin/python" install -c "$room/constraints.txt" "homeassistant==$version" || give_up "pip cannot install homeassistant==$version"
  # With --skip-pip Home Assistant does not fetch by itself what its parts name in their manifests. What the tests use has to be
  # there; of what it starts besides, whatever can be had without a compiler.
  quietly "$room/bin/python" - "$room" <<'PY' || give_up "the parts of Home Assistant $version cannot be listed"
import json, pathlib, sys
import homeassistant
from homeassistant import bootstrap

parts = pathlib.Path(homeassistant.__file__).parent / "components"

def needs(*names):
    todo, seen, wanted = set(names), set(), set()
    while todo:
        part = todo.pop()
        seen.add(part)
        manifest = json.loads((parts / part / "manifest.json").read_text())
        wanted.update(manifest.get("requirements", []))
        todo.update(set(manifest.get("dependencies", [])) - seen)
    return wanted

# The form of mqtt asks hassio whether there is a Supervisor.
used = needs(*bootstrap.CRITICAL_INTEGRATIONS, "mqtt", "hassio", "recorder", "energy", "history", "logbook")
besides = needs(*bootstrap.DEFAULT_INTEGRATIONS) - used
room = pathlib.Path(sys.argv[1])
(room / "constraints.txt").open("a").write((parts.parent / "package_constraints.txt").read_text())
(room / "used.txt").write_text("\n".join(sorted(used)))
(room / "besides.txt").write_text("\n".join(sorted(besides)) + "\n")
PY
  quietly pip "$room/bin/python" install -c "$room/constraints.txt" -r "$room/used.txt" ||
    give_up "pip cannot install what the parts of Home Assistant $version need"
  while read -r wanted; do
    quietly pip "$room/bin/python" install -c "$room/constraints.txt" --only-binary :all: "$wanted" || echo "left out: $wanted" >>"$log"
  done <"$room/besides.txt"
  touch "$room/complete"
fi
echo "$room/bin/python"
