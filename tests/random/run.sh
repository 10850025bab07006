#!/usr/bin/env bash
# Runs random queries and changes on a server it starts and on PostgreSQL 15 or later, and compares what they give: joins, APPLY, subqueries everywhere,
# groups, windows, set operations, common table expressions, over tables with indexes of all kinds, by literals and by parameters; INSERT, UPDATE, DELETE and MERGE
# with what every index has of them, and after they were rolled back.
# A query that fails is made small; the script that shows it is written to random-SEED-NUMBER.sql.
#
#   POSTGRES=postgresql://user@host/database tests/random/run.sh [--seed N] [--minutes N] [--address HOST:PORT]
#
# The database has to have the collation C, and what is in its schema public is dropped. The clients are pymssql and psycopg, from PyPI.
set -euo pipefail
: "${POSTGRES:?set POSTGRES to the URL of an empty database}"
cd "$(dirname "$0")/../.."

address= options=()
while [ $# -gt 0 ]; do
  case $1 in
    --address) address=$2; shift 2 ;;
    *) options+=("$1"); shift ;;
  esac
done

work=$(mktemp -d)
trap '[ -z "${server:-}" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true; rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pymssql 'psycopg[binary]'

export MSSQL_SA_PASSWORD=${MSSQL_SA_PASSWORD:-Random-2024}
if [ -z "$address" ]; then
  cargo build --release --locked --quiet -p keel
  address=127.0.0.1:$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
  mkfifo "$work/ready"
  target/release/keel serve --data "$work/data" --listen "$address" > "$work/ready" 2> "$work/server.log" &
  server=$!
  read -r _ < "$work/ready"
fi
PYTHONDONTWRITEBYTECODE=1 "$work/venv/bin/python" tests/random/run.py "$address" "$POSTGRES" ${options[@]+"${options[@]}"}
