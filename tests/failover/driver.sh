#!/usr/bin/env bash
# Writes through a group's listener with a stock driver, for `keel bench failover --driver`: builds what the driver needs on the
# first call, then becomes the writer. See crates/keel-bench/src/writers.rs for what it is told and what it prints.
#   tests/failover/driver.sh go|jdbc|odbc|pymssql
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/clients"
mkdir -p "$cache"
# shellcheck source=tests/clients/python.sh
source "$root/tests/clients/python.sh"

# Writers start side by side; one of them builds.
exec 9> "$cache/failover.lock"
flock 9
case "${1:-}" in
  go)
    place="$cache/failover-go"
    mkdir -p "$place"
    cp "$here/go/main.go" "$place/"
    cd "$place"
    if [ ! -e go.sum ]; then
      cp "$here/go/go.mod" .
      go get github.com/microsoft/go-mssqldb@v1.11.2 >&2
    fi
    go build -o writer . >&2
    command=("$place/writer")
    ;;
  jdbc)
    lib="$cache/jdbc/lib"
    [ -d "$lib" ] || mvn -q -B -f "$root/tests/clients/jdbc/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$lib" >&2
    command=(java -cp "$lib/*" "$here/jdbc/Writer.java")
    ;;
  pymssql)
    python_with pymssql >&2
    command=("$python" "$here/writer.py" pymssql)
    ;;
  odbc)
    odbc_driver >&2
    command=("$python" "$here/writer.py" odbc)
    ;;
  *)
    echo "usage: $0 go|jdbc|odbc|pymssql" >&2
    exit 2
    ;;
esac
flock -u 9
exec 9>&-
exec "${command[@]}"
