#!/usr/bin/env bash
# The dashboard in headless Chromium, on a group of three instances.
#   tests/dashboard/run.sh
# Packages are installed by name into target/dashboard and kept there, with screenshots. KEEL names another binary than the one
# built here, CHROMIUM another browser. Without a browser or npm it says so and is skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/dashboard"
mkdir -p "$cache"

skip() {
  echo "skipped: the dashboard in a browser ($1)" >&2
  exit 0
}

if [ -z "${CHROMIUM:-}" ]; then
  if ! command -v chromium >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update && apt-get install -y chromium) >"$cache/apt.log" 2>&1 || true
  fi
  CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "apt-get install chromium"
fi
command -v npm >/dev/null || skip "npm is missing"
cp "$here/package.json" "$here"/*.mjs "$cache/"
if [ ! -d "$cache/node_modules/axe-core" ]; then
  (cd "$cache" && npm install --silent --no-audit --no-fund) || skip "npm install failed"
fi

if [ -z "${KEEL:-}" ]; then
  (cd "$root" && cargo build --quiet --locked -p keel)
  KEEL="$root/target/debug/keel"
fi
export CHROMIUM KEEL
cd "$cache"
exec timeout 300 node test.mjs
