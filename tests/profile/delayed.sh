#!/usr/bin/env bash
# Single-row inserts, each a call of its own, with commits that are waited for and with delayed ones, by turns: docs/benchmarks.md.
#   tests/profile/delayed.sh KEEL [CALLS] [ROUNDS]
set -euo pipefail
keel=$(realpath "$1") calls=${2:-5000} rounds=${3:-5}
export MSSQL_SA_PASSWORD=Profile-2026 SQLCMDPASSWORD=Profile-2026
work=$(mktemp -d)
mkfifo "$work/ready"
"$keel" serve --data "$work/data" --listen 127.0.0.1:0 > "$work/ready" 2> "$work/log" &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
read -r line < "$work/ready" || { cat "$work/log" >&2; exit 1; }
sql() { "$keel" sql -S "127.0.0.1,${line##*:}" -C -b "$@"; }

sql -Q "CREATE DATABASE delayed"
sql -d delayed -Q "CREATE TABLE t (a int IDENTITY PRIMARY KEY, b varchar(100))"
printf "SET NOCOUNT ON\nGO\nINSERT t (b) VALUES ('a row of no importance')\nGO %s\n" "$calls" > "$work/calls.sql"

echo "connections setting calls/s"
for round in $(seq "$rounds"); do
  for connections in 1 8; do
    for setting in DISABLED FORCED; do
      sql -Q "ALTER DATABASE delayed SET DELAYED_DURABILITY = $setting"
      began=$(date +%s%N)
      clients=()
      for _ in $(seq "$connections"); do sql -d delayed -i "$work/calls.sql" > /dev/null & clients+=($!); done
      for client in "${clients[@]}"; do wait "$client"; done
      echo "$connections $setting $((connections * calls * 1000000000 / ($(date +%s%N) - began)))"
    done
  done
done
