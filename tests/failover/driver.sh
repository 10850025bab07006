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

# A listener is a name with several addresses, which drivers try side by side (MultiSubnetFailover). Such names are made here, seen by
# the writer only; that takes root. There is one for each order of the addresses, as name servers give them in turns: drivers prefer the
# first that accepts, and the kernel of a machine whose server stands still accepts. Without root the writer goes from one address to the next.
if [ "$(id -u)" = 0 ] && [ "$1" != pymssql ] && unshare -m true 2>/dev/null; then
  IFS=, read -ra hosts <<<"$KEEL_HOSTS"
  names=$(mktemp)
  cat /etc/hosts >"$names"
  KEEL_HOSTS=
  for first in "${!hosts[@]}"; do
    for n in "${!hosts[@]}"; do
      echo "${hosts[(first + n) % ${#hosts[@]}]} keel-listener-$first" >>"$names"
    done
    KEEL_HOSTS+=${KEEL_HOSTS:+,}keel-listener-$first
  done
  export KEEL_HOSTS KEEL_MULTI_SUBNET=true
  # shellcheck disable=SC2016
  exec unshare -m sh -c 'mount --bind "$0" /etc/hosts && rm "$0" && exec "$@"' "$names" "${command[@]}"
fi
exec "${command[@]}"
