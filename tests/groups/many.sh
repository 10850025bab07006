#!/usr/bin/env bash
# Many databases in a group of two instances: how long it takes to add them, to be synchronized, and to fail over.
#   tests/groups/many.sh [KEEL] [DATABASES]        default: target/release/keel 1000
set -euo pipefail
keel=$(realpath "${1:-target/release/keel}")
count=${2:-1000}
dir=$(mktemp -d)
ports=(24771 24772)
export SQLCMDPASSWORD=Many-2026 MSSQL_SA_PASSWORD=Many-2026
pids=()
trap 'exec 2> /dev/null; kill -9 "${pids[@]}"; wait; rm -rf "$dir"' EXIT
cd "$dir"

sql() { "$keel" sql -S "127.0.0.1,${ports[$1]}" -C -b -h -1 -Q "SET NOCOUNT ON; $2"; }
took() { awk -v what="$1" -v from="$2" -v to="$(date +%s.%N)" 'BEGIN { printf "%-42s %7.2f s\n", what, to - from }'; }
synchronized() {
    until [ "$(sql "$1" "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0 AND synchronization_state = 2" | tr -d ' \n')" = "$count" ]; do
        sleep 0.2
    done
}

for i in 0 1; do
    "$keel" serve --data "n$i" --listen "127.0.0.1:${ports[$i]}" --server-name "N$i" > "n$i.log" 2>&1 &
    pids+=($!)
    until grep -q 'ready for connections' "n$i.log"; do kill -0 "${pids[$i]}"; sleep 0.1; done
done
token=$("$keel" init -S "127.0.0.1,${ports[0]}" -C --endpoint 127.0.0.1:24781)
"$keel" join -S "127.0.0.1,${ports[1]}" -C --endpoint 127.0.0.1:24782 "$token"
"$keel" group create -S "127.0.0.1,${ports[0]}" -C --member "127.0.0.1,${ports[1]}" many

began=$(date +%s.%N)
sql 0 "DECLARE @n int = 1, @sql nvarchar(max);
WHILE @n <= $count BEGIN
    SET @sql = CONCAT(N'CREATE DATABASE d', @n); EXEC (@sql);
    SET @sql = CONCAT(N'CREATE TABLE d', @n, N'.dbo.t (n int PRIMARY KEY); INSERT d', @n, N'.dbo.t VALUES (1)'); EXEC (@sql);
    SET @n += 1;
END"
took "$count databases made" "$began"
began=$(date +%s.%N)
sql 0 "DECLARE @names nvarchar(max) = (SELECT STRING_AGG(CONVERT(nvarchar(max), name), N', ') FROM sys.databases WHERE name LIKE N'd[0-9]%');
EXEC (N'ALTER AVAILABILITY GROUP many ADD DATABASE ' + @names)"
took 'added to the group' "$began"
synchronized 0
took 'until all copies are synchronized' "$began"
began=$(date +%s.%N)
sql 1 'ALTER AVAILABILITY GROUP many FAILOVER'
took 'planned failover' "$began"
began=$(date +%s.%N)
sql 1 "INSERT d1.dbo.t VALUES (2); INSERT d$count.dbo.t VALUES (2)"
took 'first commits in two of them' "$began"
synchronized 1
took 'until all copies are synchronized again' "$began"
for i in 0 1; do
    echo "N$i: $(awk '/VmRSS/ {print int($2 / 1024)}' "/proc/${pids[$i]}/status") MB, $(awk '/Threads/ {print $2}' "/proc/${pids[$i]}/status") threads"
done
