#!/usr/bin/env bash
# Has a build of `keel` do what servers do: TPROC-C, single rows, bulk loads, decision support and a group of two that are
# in lockstep. For `./build`, whose first build counts what runs here; every process ends by itself, because a killed one
# would leave no counts.
#   tests/profile/work.sh KEEL [--postgres]    three minutes; with the benchmarks' PostgreSQL side, which needs PostgreSQL 15
set -euo pipefail
keel=$(realpath "$1")
cd "$(dirname "$0")"
export MSSQL_SA_PASSWORD=Profile-2026 SQLCMDPASSWORD=Profile-2026
work=$(mktemp -d) servers=()

stop() { # all servers, in their own time
  local server status=0
  for server in "${servers[@]}"; do kill "$server" || status=1; done
  for server in "${servers[@]}"; do wait "$server" || status=1; done
  servers=()
  return $status
}
trap 'stop; rm -rf "$work"' EXIT

serve() { # name: an instance, whose address goes into $address and $name
  mkfifo "$work/$1.ready"
  "$keel" serve --data "$work/$1" --listen 127.0.0.1:0 --server-name "${1^^}" > "$work/$1.ready" 2> "$work/$1.log" &
  servers+=($!)
  read -r line < "$work/$1.ready" || { cat "$work/$1.log" >&2; exit 1; }
  address=127.0.0.1,${line##*:}
  printf -v "$1" %s "$address"
}
quiet() { "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }
bench() { quiet "$keel" bench "$1" --server "$one" -P "$SQLCMDPASSWORD" --report "$work" "${@:2}"; }

serve one
serve two
for workload in tpcc point; do
  bench $workload --clients 8 --seconds 10
  bench $workload --clients 2 --seconds 5 --encrypt
done
for _ in 1 2 3; do
  quiet "$keel" sql -S "$one" -C -d tpcc -b -i queries.sql
done

free() { # a port on which nobody listens
  local port
  while port=$((15000 + RANDOM % 16000)); (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do :; done
  echo "$port"
}
token=$("$keel" init -S "$one" -C --endpoint "127.0.0.1:$(free)" | grep -o 'keel://[^ ]*')
quiet "$keel" join "$token" -S "$two" -C --endpoint "127.0.0.1:$(free)"
quiet "$keel" sql -S "$one" -C -b -Q "alter database tpcc set recovery full"
quiet "$keel" group create ag -S "$one" -C --database tpcc --member "$two"
bench tpcc --no-build --clients 4 --seconds 5
bench tpcc --no-build --clients 16 --seconds 10
quiet "$keel" sql -S "$two" -C -d tpcc -b -Q "select count(*), sum(ol_amount) from order_line"
stop || { echo "a server did not end by itself: it has left no counts" >&2; exit 1; }
if [ "${2:-}" = --postgres ]; then
  for workload in tpcc point; do
    quiet "$keel" bench $workload --on postgres --clients 8 --seconds 10 --report "$work"
  done
fi
