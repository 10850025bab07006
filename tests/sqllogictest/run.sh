#!/usr/bin/env bash
# Runs SQLite's sqllogictest scripts, unmodified, on a server it starts. Each script says what a query gives, as several other
# engines agree; what is marked as not for SQL Server is left out. The scripts are not part of this repository: put a copy of
# https://www.sqlite.org/sqllogictest somewhere and set SQLLOGICTEST_HOME to it.
#
#   SQLLOGICTEST_HOME=DIR tests/sqllogictest/run.sh [--every N] [--jobs N] [--address HOST:PORT] [PATTERN...]
#
# PATTERN is a glob below DIR/test, such as 'select*.test' or 'index/**/*.test'; without one all scripts are run, which takes
# about two hours on two cores. --every N takes each N-th of them. What failed is in sqllogictest-failures.txt.
#
# The client is pymssql, from PyPI.
set -euo pipefail
: "${SQLLOGICTEST_HOME:?set SQLLOGICTEST_HOME to a copy of sqllogictest}"
SQLLOGICTEST_HOME=$(realpath "$SQLLOGICTEST_HOME")
[ -d "$SQLLOGICTEST_HOME/test" ] || { echo "SQLLOGICTEST_HOME=$SQLLOGICTEST_HOME has no directory test" >&2; exit 1; }
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
"$work/venv/bin/pip" install --quiet --disable-pip-version-check pymssql

export MSSQL_SA_PASSWORD=${MSSQL_SA_PASSWORD:-Logic-2024}
if [ -z "$address" ]; then
  cargo build --release --locked --quiet -p keel
  address=127.0.0.1:$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
  mkfifo "$work/ready"
  target/release/keel serve --data "$work/data" --listen "$address" > "$work/ready" 2> "$work/server.log" &
  server=$!
  read -r _ < "$work/ready"
fi
"$work/venv/bin/python" tests/sqllogictest/run.py "$SQLLOGICTEST_HOME/test" "$address" "${options[@]}"
