#!/usr/bin/env bash
# Builds, checks, runs and deletes HammerDB's TPROC-C (and, with --tproch, TPROC-H) on a server it starts, with
# HammerDB's own unmodified scripts. HammerDB is not part of this repository: put its release 4.12 somewhere and set
# HAMMERDB_HOME to it.
#
#   HAMMERDB_HOME=DIR tests/hammerdb/run.sh [--warehouses N] [--users N] [--minutes N] [--address HOST:PORT]
#                                           [--tproch | --only-tproch | --tproch-in-bulk] [--scale N] [--keep DIR]
#
# TPROC-H (scale factor 1 is HammerDB's smallest: 8.7 million rows, row by row, so the build takes a while) ends with
# compare.py: the 22 queries, made by HammerDB's procedures, on the server and on DuckDB over the same rows.
# --tproch-in-bulk is the same comparison on HammerDB's tables and indexes without its builder: the rows are made by the
# PyPI package tpchgen-cli and loaded by BULK INSERT, in minutes. --keep holds the database, the logs and the copy in DIR.
#
# Needs Debian's tcl8.6 tcl-thread tcl8.6-tdbc-odbc libsqlite3-tcl unixodbc odbcinst, and Microsoft's ODBC driver,
# which is taken from the PyPI wheel mssql-python-odbc.
set -euo pipefail
: "${HAMMERDB_HOME:?set HAMMERDB_HOME to an unpacked HammerDB 4.12}"
# A path from where the caller is.
HAMMERDB_HOME=$(realpath "$HAMMERDB_HOME")
for part in hammerdbcli modules src config; do
  [ -e "$HAMMERDB_HOME/$part" ] || { echo "HAMMERDB_HOME=$HAMMERDB_HOME has no $part: it must be the directory that holds hammerdbcli" >&2; exit 1; }
done
cd "$(dirname "$0")/../.."

warehouses=2 users=4 minutes=1 tproch=0 tprocc=1 bulk=0 scale=1 keep= address=
while [ $# -gt 0 ]; do
  case $1 in
    --warehouses) warehouses=$2; shift 2 ;;
    --users) users=$2; shift 2 ;;
    --minutes) minutes=$2; shift 2 ;;
    --address) address=$2; shift 2 ;;
    --tproch) tproch=1; shift ;;
    --only-tproch) tproch=1 tprocc=0; shift ;;
    --tproch-in-bulk) bulk=1 tprocc=0; shift ;;
    --scale) scale=$2; shift 2 ;;
    --keep) keep=$2; shift 2 ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
done
for tool in tclsh8.6 odbcinst; do
  command -v $tool >/dev/null || { echo "missing: $tool (apt-get install tcl8.6 tcl-thread tcl8.6-tdbc-odbc libsqlite3-tcl unixodbc odbcinst)" >&2; exit 1; }
done

work=${keep:-$(mktemp -d)}
mkdir -p "$work"
trap '[ -n "${server:-}" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; [ -n "$keep" ] || rm -rf "$work"' EXIT

# Microsoft's driver, registered in a private odbcinst.ini.
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet mssql-python-odbc pyodbc duckdb
driver=$(find "$work/venv" -path '*debian_ubuntu/x86_64*' -name 'libmsodbcsql-18*.so*' | head -1)
printf '[ODBC Driver 18 for SQL Server]\nDriver=%s\n' "$driver" > "$work/odbcinst.ini"
: > "$work/odbc.ini"
export ODBCSYSINI=$work TMP=$work

export MSSQL_SA_PASSWORD=${MSSQL_SA_PASSWORD:-Hammer-2024}
if [ -z "$address" ]; then
  cargo build --release --locked --quiet -p keel
  address=127.0.0.1:$(python3 -c 'import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); print(s.getsockname()[1])')
  rm -f "$work/ready"
  mkfifo "$work/ready"
  target/release/keel serve --data "$work/data" --listen "$address" > "$work/ready" 2> "$work/server.log" &
  server=$!
  read -r line < "$work/ready"
  echo "$line"
fi
host=${address%:*} port=${address##*:}

# A fresh copy of the command line with the one-line stand-in for its charting package.
rm -rf "$work/hammerdb"
cp -r "$HAMMERDB_HOME" "$work/hammerdb"
echo 'package provide ticklecharts 3.2' > "$work/hammerdb/modules/ticklecharts-3.2.tm"

settings="diset connection mssqls_tcp true
diset connection mssqls_port $port
diset connection mssqls_linux_server $host
diset connection mssqls_uid sa
diset connection mssqls_pass $MSSQL_SA_PASSWORD
diset connection mssqls_encrypt_connection true
diset connection mssqls_trust_server_cert true
diset connection mssqls_linux_authent sql"

hammer() { # name, script on standard input
  cat > "$work/$1.tcl"
  echo "== $1"
  (cd "$work/hammerdb" && timeout 7200 tclsh8.6 hammerdbcli tcl auto "$work/$1.tcl" </dev/null 2>&1) | tee "$work/$1.log"
  if grep -qE 'FINISHED FAILED|Error in Virtual User|Error:' "$work/$1.log"; then
    echo "$1 failed"; tail -20 "$work/server.log" 2>/dev/null; exit 1
  fi
}

if [ $tprocc = 1 ]; then
  tproccs="dbset db mssqls
dbset bm TPC-C
$settings
diset tpcc mssqls_count_ware $warehouses
diset tpcc mssqls_num_vu $((warehouses < 2 ? warehouses : 2))
diset tpcc mssqls_use_bcp false"

  hammer build <<E2
$tproccs
buildschema
vudestroy
E2
  hammer check <<E2
$tproccs
checkschema
vudestroy
E2
  hammer run <<E2
$tproccs
diset tpcc mssqls_driver timed
diset tpcc mssqls_rampup 0
diset tpcc mssqls_duration $minutes
loadscript
vuset vu $users
vuset logtotemp 1
vucreate
vurun
vudestroy
E2
  hammer recheck <<E2
$tproccs
checkschema
vudestroy
E2
  hammer delete <<E2
$tproccs
deleteschema
vudestroy
E2
fi

compare() { # more arguments of compare.py
  queries=$PWD/tests/hammerdb/queries.tcl
  (cd "$work/hammerdb" && tclsh8.6 "$queries" "$scale") > "$work/queries.txt"
  "$work/venv/bin/python" tests/hammerdb/compare.py --server "$address" --password "$MSSQL_SA_PASSWORD" \
    --queries "$work/queries.txt" "$@"
}

if [ $tproch = 1 ]; then
  tprochs="dbset db mssqls
dbset bm TPC-H
$settings
diset tpch mssqls_scale_fact $scale
diset tpch mssqls_num_tpch_threads 2
diset tpch mssqls_tpch_use_bcp false
diset tpch mssqls_colstore false
diset tpch mssqls_raise_query_error true"
  hammer h-build <<E2
$tprochs
buildschema
vudestroy
E2
  hammer h-run <<E2
$tprochs
loadscript
vuset vu 1
vucreate
vurun
vudestroy
E2
  compare ${keep:+--duck "$work/copy.duckdb"}
fi

if [ $bulk = 1 ]; then
  "$work/venv/bin/pip" install --quiet tpchgen-cli
  schema=$PWD/tests/hammerdb/schema.tcl
  for part in tables indexes; do
    (cd "$work/hammerdb" && tclsh8.6 "$schema" $part) > "$work/$part.sql"
  done
  rm -f "$work/copy.duckdb"
  "$work/venv/bin/python" tests/hammerdb/load.py --server "$address" --password "$MSSQL_SA_PASSWORD" --scale "$scale" \
    --tables "$work/tables.sql" --indexes "$work/indexes.sql" --duck "$work/copy.duckdb"
  compare --duck "$work/copy.duckdb"
fi
echo "HammerDB: all steps passed"
