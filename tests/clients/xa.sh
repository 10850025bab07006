#!/usr/bin/env bash
# mssql-jdbc's XA data source over two instances, which are killed between prepare and the decision, and Narayana over both.
# KEEL=binary tests/clients/xa.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/clients"
if [ -z "${KEEL:-}" ]; then
  (cd "$root" && cargo build --quiet --locked -p keel)
  KEEL="$root/target/debug/keel"
fi
[ -d "$cache/xa/lib" ] ||
  mvn -q -B -f "$here/xa/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/xa/lib"

work=$(mktemp -d)
servers=()
export KEEL_PASSWORD='Keel-Test-1'
start() {
  local port=${ports[$1]:-0}
  : >"$work/ready$1"
  MSSQL_SA_PASSWORD=$KEEL_PASSWORD "$KEEL" serve --data "$work/data$1" --listen "127.0.0.1:$port" --max-server-memory 512 \
    >"$work/ready$1" 2>"$work/stderr$1" &
  servers[$1]=$!
  for _ in $(seq 600); do
    [ -s "$work/ready$1" ] && break
    kill -0 "${servers[$1]}" 2>/dev/null || { cat "$work/stderr$1"; exit 1; }
    sleep 0.1
  done
  ports[$1]=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$work/ready$1")
}
stop() {
  for server in "${servers[@]}"; do kill -9 "$server" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
ports=()
both() {
  for n in 0 1; do start $n; done
  export KEEL_PORT=${ports[0]} KEEL_PORT_2=${ports[1]}
}
killed() {
  for n in 0 1; do kill -9 "${servers[$n]}"; done
  wait "${servers[@]}" 2>/dev/null || true
  both
}
xa() { (cd "$work" && java -cp "$cache/xa/lib/*" "$here/xa/XaTest.java" "$@"); }

both
xa verbs
for outcome in commit rollback; do
  xa prepare "doubt-$outcome"
  killed
  killed
  xa "$outcome" "doubt-$outcome"
done
xa manager
