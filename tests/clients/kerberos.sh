#!/usr/bin/env bash
# Logins by Kerberos: a realm of its own (MIT's key distribution centre, on loopback), a server with its keys, and stock clients.
#   tests/clients/kerberos.sh                 all
#   tests/clients/kerberos.sh keel python     only these
# KEEL names another binary than the one built here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/clients"
mkdir -p "$cache"
clients=("$@")
[ ${#clients[@]} -gt 0 ] || clients=(keel python jdbc go dotnet)

export PATH="$PATH:/usr/sbin"
if ! command -v krb5kdc >/dev/null || ! command -v kadmin.local >/dev/null || ! command -v kinit >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    (apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y krb5-kdc krb5-admin-server krb5-user) >"$cache/apt.log" 2>&1
  else
    echo "missing: apt-get install krb5-kdc krb5-admin-server krb5-user" >&2
    exit 1
  fi
fi
if [ -z "${KEEL:-}" ]; then
  (cd "$root" && cargo build --quiet --locked -p keel)
  KEEL="$root/target/debug/keel"
fi

work=$(mktemp -d)
stop() {
  for process in ${server:-} ${kdc:-}; do kill "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT

# Two free ports, as the tickets are for a name with the server's in it: none of those that connections take.
read -r kdc_port port < <(python3 -c '
import random, socket
def is_free(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) != 0
ports = random.sample(range(20000, 32000), 100)
print(*[port for port in ports if is_free(port)][:2])')

export KRB5_CONFIG="$work/krb5.conf" KRB5_KDC_PROFILE="$work/kdc.conf"
cat >"$KRB5_CONFIG" <<CONF
[libdefaults]
  default_realm = KEEL.TEST
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  KEEL.TEST = {
    kdc = 127.0.0.1:$kdc_port
  }
CONF
cat >"$KRB5_KDC_PROFILE" <<CONF
[kdcdefaults]
  kdc_listen = ""
  kdc_tcp_listen = 127.0.0.1:$kdc_port
[realms]
  KEEL.TEST = {
    database_name = $work/principal
    key_stash_file = $work/stash
    acl_file = $work/acl
  }
CONF
principal_password='Principal-1'
{
  kdb5_util create -s -P master-key -r KEEL.TEST
  for user in bob eve dan; do
    kadmin.local -q "addprinc -pw $principal_password $user"
  done
  for service in "MSSQLSvc/localhost:$port" MSSQLSvc/localhost HTTP/localhost; do
    kadmin.local -q "addprinc -randkey $service"
    kadmin.local -q "ktadd -k $work/server.keytab $service"
  done
} >"$work/kdc.log" 2>&1 || { cat "$work/kdc.log"; exit 1; }
krb5kdc -n >>"$work/kdc.log" 2>&1 &
kdc=$!
export KEEL_TICKET_FILES="$work/tickets." KEEL_TICKETS="FILE:$work/tickets."
for user in bob eve dan; do
  # It may not listen yet.
  for _ in $(seq 100); do
    kinit -c "$KEEL_TICKETS$user" "$user" <<<"$principal_password" >"$work/out" 2>&1 && break
    sleep 0.1
  done
  klist -s -c "$KEEL_TICKETS$user" || { cat "$work/out" "$work/kdc.log"; exit 1; }
done

export KEEL KEEL_PASSWORD='Keel-Test-1' KEEL_HOST=localhost KEEL_PORT=$port KEEL_DATABASE=master KEEL_CERTIFICATE="$work/data/tls/server.crt"
MSSQL_SA_PASSWORD=$KEEL_PASSWORD "$KEEL" serve --data "$work/data" --listen "127.0.0.1:$port" --max-server-memory 512 \
  --kerberos-keytab "$work/server.keytab" >"$work/ready" 2>"$work/stderr" &
server=$!
for _ in $(seq 600); do
  [ -s "$work/ready" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/stderr"; exit 1; }
  sleep 0.1
done
sql() { "$KEEL" sql -S "localhost,$port" -C -b -W -h -1 "$@"; }
sql -U sa -P "$KEEL_PASSWORD" -i "$here/kerberos/logins.sql" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }

failed=0
# check NAME EXPECTED COMMAND…: its output, whatever its exit status, holds what is expected.
check() {
  local name=$1 expected=$2 got
  shift 2
  got=$("$@" 2>&1) || true
  if grep -qF -- "$expected" <<<"$got"; then
    echo "ok     kerberos keel_$name"
  else
    printf 'FAILED kerberos keel_%s\nexpected %s\ngot      %s\n' "$name" "$expected" "$got"
    failed=1
  fi
}
as() { KRB5CCNAME="$KEEL_TICKETS$1" sql "${@:2}"; }

keel_checks() {
  local who="SET NOCOUNT ON; SELECT c.auth_scheme, s.nt_domain, s.nt_user_name, s.login_name, ORIGINAL_LOGIN(), USER_NAME(), IIF(s.security_id = SUSER_SID(), 'own sid', 'other') \
FROM sys.dm_exec_sessions s JOIN sys.dm_exec_connections c ON c.session_id = s.session_id WHERE s.session_id = @@SPID"
  check with_tickets 'KERBEROS KEEL bob KEEL\bob KEEL\bob KEEL\bob own sid' as bob -E -Q "$who"
  check in_its_default_database 'shop' as bob -E -Q "SET NOCOUNT ON; SELECT DB_NAME()"
  check without_login "Login failed for user 'KEEL\\eve'." as eve -E -Q "SELECT 1"
  check user_of_a_database 'KERBEROS KEEL\dan KEEL\dan' as dan -E -d island -Q \
    "SET NOCOUNT ON; SELECT CONNECTIONPROPERTY('auth_scheme'), SUSER_SNAME(), USER_NAME()"
  check user_of_a_database_elsewhere "Login failed for user 'KEEL\\dan'." as dan -E -Q "SELECT 1"
  check for_another_service 'The login is from an untrusted domain' as bob -E --server-spn HTTP/localhost -Q "SELECT 1"
  check unknown_service 'not found in Kerberos database' as bob -E --server-spn MSSQLSvc/nowhere -Q "SELECT 1"
  check without_tickets 'No credentials were supplied' as nobody -E -Q "SELECT 1"
  check with_a_password "Login failed for user 'KEEL\\bob'." sql -U 'KEEL\bob' -P '' -Q "SELECT 1"
  check told_in_the_log 'SSPI handshake failed with error code 0x' cat "$work/data/log/errorlog"
  check told_which_service 'The ticket is for HTTP/localhost@KEEL.TEST, not for MSSQLSvc.' cat "$work/data/log/errorlog"
  sql -U sa -P "$KEEL_PASSWORD" -Q "DENY CONNECT SQL TO [KEEL\\bob]" >/dev/null
  check denied "Login failed for user 'KEEL\\bob'." as bob -E -Q "SELECT 1"
  sql -U sa -P "$KEEL_PASSWORD" -Q "GRANT CONNECT SQL TO [KEEL\\bob]; ALTER LOGIN [KEEL\\bob] DISABLE" >/dev/null
  check disabled 'The account is disabled' as bob -E -Q "SELECT 1"
  sql -U sa -P "$KEEL_PASSWORD" -Q "ALTER LOGIN [KEEL\\bob] ENABLE" >/dev/null
  check keys_that_are_missing 'is nonexistent or empty' "$KEEL" serve --data "$work/none" --kerberos-keytab "$work/none.keytab"
  check a_domain_that_is_none 'a Kerberos domain is NAME=REALM' "$KEEL" serve --data "$work/none" --kerberos-keytab "$work/server.keytab" --kerberos-domain X
  check two_domains_of_one_name 'two Kerberos domains are called' "$KEEL" serve --data "$work/none" --kerberos-keytab "$work/server.keytab" \
    --kerberos-domain K=A.TEST --kerberos-domain k=B.TEST
}

# shellcheck source=tests/clients/python.sh
source "$here/python.sh"
# shellcheck source=tests/clients/dotnet.sh
source "$here/dotnet.sh"
export KRB5CCNAME="${KEEL_TICKETS}bob"

for client in "${clients[@]}"; do
  case $client in
    keel) keel_checks ;;
    python) odbc_driver && python_with mssql-python pymssql && "$python" "$here/kerberos/test_kerberos.py" || failed=1 ;;
    jdbc)
      [ -d "$cache/jdbc/lib" ] ||
        mvn -q -B -f "$here/jdbc/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/jdbc/lib"
      for user in bob eve; do
        KRB5CCNAME="$KEEL_TICKETS$user" java -Djava.security.krb5.conf="$KRB5_CONFIG" -cp "$cache/jdbc/lib/*" "$here/kerberos/KerberosTest.java" ||
          failed=1
      done
      ;;
    go)
      mkdir -p "$cache/kerberos-go" && cp "$here/kerberos/main.go" "$cache/kerberos-go/"
      (
        cd "$cache/kerberos-go"
        if [ ! -f go.sum ]; then
          cp "$here/go/go.mod" .
          go get github.com/microsoft/go-mssqldb@v1.11.2 github.com/microsoft/go-mssqldb/integratedauth/krb5@v1.11.2 2>/dev/null
          go mod tidy 2>/dev/null
        fi
        go run .
      ) || failed=1
      ;;
    dotnet) (dotnet_with_libraries && dotnet_run "$here/kerberos/KerberosChecks.cs" System.Data.SqlClient) || failed=1 ;;
    *) echo "unknown client $client" >&2; failed=1 ;;
  esac
done
if [ "$failed" -ne 0 ]; then
  echo "-- the server's log:"
  tail -40 "$work/data/log/errorlog" || true
fi
exit "$failed"
