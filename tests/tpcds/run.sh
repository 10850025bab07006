#!/usr/bin/env bash
# Loads TPC-DS into a server it starts and compares the 99 queries with DuckDB, rows and times; with --postgres beside
# PostgreSQL too. Rows and queries come from the PyPI packages duckdb and duckdb-extension-tpcds when it runs.
#
#   tests/tpcds/run.sh [--scale N] [--address HOST:PORT] [--postgres DSN] [--only N,N] [--seconds N] [--keep DIR]
#
# --address takes a server that runs already, on this machine; KEEL=FILE starts that binary instead of building one. --keep holds databases and logs in DIR, and a second run
# with the same DIR queries without loading. --postgres wants an empty database; its tables are made and analyzed.
set -euo pipefail
cd "$(dirname "$0")/../.."

scale=1 address= keep= postgres=() queries=()
while [ $# -gt 0 ]; do
  case $1 in
    --scale) scale=$2; shift 2 ;;
    --address) address=$2; shift 2 ;;
    --postgres) postgres=(--postgres "$2"); shift 2 ;;
    --only | --seconds) queries+=("$1" "$2"); shift 2 ;;
    --keep) keep=$2; shift 2 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
done

work=${keep:-$(mktemp -d)}
mkdir -p "$work"
trap '[ -n "${server:-}" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; [ -n "$keep" ] || rm -rf "$work"' EXIT

[ -d "$work/venv" ] || python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet duckdb==1.5.5 duckdb-extension-tpcds==1.5.5 sqlglot==30.30.0 pymssql
[ ${#postgres[@]} -eq 0 ] || "$work/venv/bin/pip" install --quiet psycopg2-binary

export MSSQL_SA_PASSWORD=${MSSQL_SA_PASSWORD:-Decision-2024}
if [ -z "$address" ]; then
  [ -n "${KEEL:-}" ] || cargo build --release --locked --quiet -p keel
  address=127.0.0.1:$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
  rm -f "$work/ready"
  mkfifo "$work/ready"
  "${KEEL:-target/release/keel}" serve --data "$work/data" --listen "$address" > "$work/ready" 2> "$work/server.log" &
  server=$!
  read -r line < "$work/ready"
  echo "$line"
fi

common=(--server "$address" --password "$MSSQL_SA_PASSWORD" --database "tpcds_${scale//./_}" --duck "$work/tpcds-$scale.duckdb"
  "${postgres[@]}")
if [ ! -e "$work/loaded-$scale" ]; then
  "$work/venv/bin/python" tests/tpcds/load.py "${common[@]}" --scale "$scale"
  touch "$work/loaded-$scale"
fi
"$work/venv/bin/python" tests/tpcds/compare.py "${common[@]}" "${queries[@]}"
echo "TPC-DS: all steps passed"
