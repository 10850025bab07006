#!/usr/bin/env bash
# Logins of a domain's accounts and groups: a domain controller of its own (Samba, as Active Directory is), a server that asks its
# directory, and stock clients; all in a network namespace, as a domain controller's ports are what they are.
#   tests/clients/domain.sh
# KEEL names another binary than the one built here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/clients"
mkdir -p "$cache"
export PATH="$PATH:/usr/sbin"
# shellcheck source=tests/clients/python.sh
source "$here/python.sh"

if [ -z "${KEEL_DOMAIN_INSIDE:-}" ]; then
  if ! unshare --net --mount true 2>/dev/null; then
    echo "skipped domain: a domain controller needs a network namespace (root)"
    exit 0
  fi
  if ! command -v samba >/dev/null || ! [ -d /usr/share/samba/setup/ad-schema ] || ! command -v kinit >/dev/null; then
    # They come without starting anything: the domain is made here.
    (apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      samba samba-ad-dc samba-ad-provision samba-dsdb-modules samba-vfs-modules krb5-user) >"$cache/apt.log" 2>&1 ||
      { echo "missing: apt-get install samba samba-ad-dc samba-ad-provision samba-dsdb-modules krb5-user" >&2; exit 1; }
  fi
  odbc_driver
  if [ -z "${KEEL:-}" ]; then
    (cd "$root" && cargo build --quiet --locked -p keel)
    KEEL="$root/target/debug/keel"
  fi
  export KEEL
  KEEL_DOMAIN_INSIDE=1 exec unshare --net --mount "$0" "$@"
fi

ip link set lo up
work=$(mktemp -d)
stop() {
  [ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
  [ -z "${controller:-}" ] || kill -- "-$controller" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
# Of each name it is the first of a line that clients take for the whole one.
printf '127.0.0.1 %s\n' db1.corp.example.com dc1.corp.example.com localhost >"$work/hosts"
mount --bind "$work/hosts" /etc/hosts

export KRB5_CONFIG="$work/krb5.conf"
cat >"$KRB5_CONFIG" <<CONF
[libdefaults]
  default_realm = CORP.EXAMPLE.COM
  dns_lookup_realm = false
  dns_lookup_kdc = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
[realms]
  CORP.EXAMPLE.COM = {
    kdc = 127.0.0.1
  }
CONF

# The domain's short name is not the realm's first part: the tickets say it.
password='Domain-Account-1'
mkdir "$work/dc"
make_domain() {
  samba-tool domain provision --realm=CORP.EXAMPLE.COM --domain=KEELAD --server-role=dc --dns-backend=NONE \
    --adminpass="$password" --targetdir="$work/dc" --host-ip=127.0.0.1 --host-name=dc1 \
    --option='interfaces=lo' --option='bind interfaces only=yes'
}
make_domain >"$work/domain.log" 2>&1 || { cat "$work/domain.log"; exit 1; }
conf="$work/dc/etc/smb.conf"
tool() { samba-tool "$@" -s "$conf"; }
accounts() {
  for user in ann bob cid dan eve; do tool user create "$user" "$password" --mail-address="$user@example.com"; done
  # ann is in dbas by way of another group; cid in two, of which one is kept out.
  tool group add dbas && tool group add night-shift && tool group addmembers dbas night-shift,cid
  tool group addmembers night-shift ann
  tool group add readers && tool group addmembers readers bob,cid
  tool group add interns && tool group addmembers interns eve
  tool group add mailing --group-type=Distribution
  tool user create keelsvc "$password" && tool spn add MSSQLSvc/db1.corp.example.com:1433 keelsvc
  python3 - "$conf" <<'PY'
import sys
from samba.auth import system_session
from samba.param import LoadParm
from samba.samdb import SamDB
lp = LoadParm()
lp.load(sys.argv[1])
db = SamDB(session_info=system_session(), lp=lp)
dn = db.search(expression="(sAMAccountName=keelsvc)")[0].dn
db.modify_ldif(f"dn: {dn}\nchangetype: modify\nreplace: msDS-SupportedEncryptionTypes\nmsDS-SupportedEncryptionTypes: 24\n")
PY
  tool user setpassword keelsvc --newpassword="$password"
  tool domain exportkeytab "$work/server.keytab" --principal=MSSQLSvc/db1.corp.example.com:1433
}
accounts >>"$work/domain.log" 2>&1 || { cat "$work/domain.log"; exit 1; }
# Samba's own certificate has its name where clients do not look any more.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout "$work/dc.key" -out "$work/dc.crt" -subj /CN=dc1.corp.example.com \
  -addext subjectAltName=DNS:dc1.corp.example.com -addext basicConstraints=critical,CA:FALSE 2>>"$work/domain.log"
chmod 600 "$work/dc.key"
setsid samba -s "$conf" -i --no-process-group --option='server services=ldap kdc' --option="log file=$work/dc/log.%m" \
  --option="pid directory=$work/dc" --option="tls keyfile=$work/dc.key" --option="tls certfile=$work/dc.crt" --option='tls cafile=' >"$work/samba.log" 2>&1 &
controller=$!
tickets="FILE:$work/tickets."
for user in ann bob cid dan eve; do
  # It may not listen yet.
  for _ in $(seq 300); do
    kinit -c "$tickets$user" "$user" <<<"$password" >"$work/out" 2>&1 && break
    sleep 0.1
  done
  klist -s -c "$tickets$user" || { cat "$work/out" "$work/samba.log"; exit 1; }
done
for _ in $(seq 300); do
  (exec 3<>/dev/tcp/127.0.0.1/636) 2>/dev/null && break
  sleep 0.1
done

mkdir -p "$work/data/ca-certificates"
cp "$work/dc.crt" "$work/data/ca-certificates/"
echo "$password" >"$work/ldap.password"
export KEEL_PASSWORD='Keel-Test-1'
serve() {
  : >"$work/ready"
  MSSQL_SA_PASSWORD=$KEEL_PASSWORD "$KEEL" serve --data "$work/data" --listen 127.0.0.1:1433 --max-server-memory 512 \
    --kerberos-keytab "$work/server.keytab" --ldap-server ldaps://nobody.corp.example.com --ldap-server "$1" \
    --ldap-user keelsvc@CORP.EXAMPLE.COM --ldap-password-file "$work/ldap.password" >"$work/ready" 2>"$work/stderr" &
  server=$!
  for _ in $(seq 600); do
    [ -s "$work/ready" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/stderr"; exit 1; }
    sleep 0.1
  done
}
sql() { "$KEEL" sql -S "db1.corp.example.com,1433" -C -b -W -h -1 "$@"; }
sa() { sql -U sa -P "$KEEL_PASSWORD" -Q "SET NOCOUNT ON; $1"; }
as() { KRB5CCNAME="$tickets$1" sql -E "${@:2}"; }
query() { as "$1" -Q "SET NOCOUNT ON; $2" "${@:3}"; }

failed=0
# check NAME EXPECTED COMMAND…: its output, whatever its exit status, holds what is expected.
check() {
  local name=$1 expected=$2 got
  shift 2
  got=$("$@" 2>&1) || true
  if grep -qF -- "$expected" <<<"$got"; then
    echo "ok     domain $name"
  else
    printf 'FAILED domain %s\nexpected %s\ngot      %s\n' "$name" "$expected" "$got"
    failed=1
  fi
}

# Over the port that is encrypted from the first byte, and over the other with STARTTLS.
serve ldaps://dc1.corp.example.com
check an_account_that_is_none "Windows NT user or group 'KEELAD\\nobody' not found" sa "CREATE LOGIN [KEELAD\\nobody] FROM WINDOWS"
check a_domain_that_is_none "Windows NT user or group 'LAB\\bob' not found" sa "CREATE LOGIN [LAB\\bob] FROM WINDOWS"
check a_group_that_is_for_mail "Windows NT user or group 'KEELAD\\mailing' not found" sa "CREATE LOGIN [KEELAD\\mailing] FROM WINDOWS"
check special_characters_find_nobody "'KEELAD\\*' not found" sa "CREATE LOGIN [KEELAD\\*] FROM WINDOWS"
kill "$server" && wait "$server" 2>/dev/null || true
serve ldap://dc1.corp.example.com
sql -U sa -P "$KEEL_PASSWORD" -i "$here/domain/logins.sql" >"$work/out" 2>&1 || { cat "$work/out"; tail -20 "$work/data/log/errorlog"; exit 1; }
check kinds_of_logins 'KEELAD\bob U' sa "SELECT name, type FROM sys.server_principals WHERE name = 'KEELAD\\bob'"
check kinds_of_logins_group 'KEELAD\dbas G' sa "SELECT name, type FROM sys.server_principals WHERE name = 'KEELAD\\dbas'"
check identifiers_are_the_domains "$(tool group show dbas --attributes=objectSid | sed -n 's/^objectSid: //p')" \
  sa "DECLARE @s varbinary(85) = SUSER_SID('KEELAD\\dbas'), @i int = 9, @t varchar(200) = 'S-1-5';
WHILE @i < DATALENGTH(@s) BEGIN SET @t += '-' + CAST(CAST(CAST(REVERSE(SUBSTRING(@s, @i, 4)) AS binary(4)) AS bigint) AS varchar(20)); SET @i += 4 END
SELECT @t"

who="SELECT SUSER_SNAME(), ORIGINAL_LOGIN(), USER_NAME(), IS_SRVROLEMEMBER('sysadmin')"
check by_a_group_in_a_group 'KEELAD\ann KEELAD\ann dbo 1' query ann "$who"
check the_groups_of_who_has_come 'KEELAD\dbas WINDOWS GROUP' query ann "SELECT name, type FROM sys.login_token"
check is_member_of_a_group '1 0 NULL' query ann "SELECT IS_MEMBER('KEELAD\\night-shift'), IS_MEMBER('KEELAD\\readers'), IS_MEMBER('KEELAD\\nobody')"
check without_login "Login failed for user 'KEELAD\\dan'." query dan "SELECT 1"
check denied_to_a_group "Login failed for user 'KEELAD\\eve'." query eve "SELECT 1"
check own_login_and_a_group 'KEELAD\bob KEELAD\bob KEELAD\bob 0' query bob "USE shop; $who"
check what_a_group_may '42' query bob "SELECT amount FROM shop.dbo.orders"
check what_a_group_may_not 'The INSERT permission was denied' query bob "INSERT shop.dbo.orders VALUES (1)"
check default_database_of_a_group 'shop' query cid "SELECT DB_NAME()"
check most_of_several_groups '1 1' query cid "SELECT IS_SRVROLEMEMBER('sysadmin'), HAS_PERMS_BY_NAME('shop.dbo.orders', 'OBJECT', 'INSERT')"
sa "ALTER LOGIN [KEELAD\\dbas] DISABLE" >/dev/null
check a_disabled_group_lets_nobody_in "Login failed for user 'KEELAD\\ann'." query ann "SELECT 1"
check and_takes_nothing_from_others 'KEELAD\cid KEELAD\cid KEELAD\cid 0' query cid "$who"
check a_denied_permission_of_one_group 'The SELECT permission was denied' query cid "SELECT amount FROM shop.dbo.secrets"
sa "ALTER LOGIN [KEELAD\\dbas] ENABLE" >/dev/null
check a_database_of_an_account '1' query cid "CREATE DATABASE cids; SELECT COUNT(*) FROM sys.databases WHERE name = 'cids' AND owner_sid = SUSER_SID()"
check impersonated_with_its_groups 'KEELAD\ann 1' sa "EXECUTE AS LOGIN = 'KEELAD\\ann'; SELECT SUSER_SNAME(), IS_SRVROLEMEMBER('sysadmin')"
sa "CREATE LOGIN [NT AUTHORITY\\Authenticated Users] FROM WINDOWS" >/dev/null
check everybody_authenticated 'KEELAD\dan' query dan "SELECT SUSER_SNAME()"
sa "DROP LOGIN [NT AUTHORITY\\Authenticated Users]" >/dev/null
check user_of_a_contained_database 'KEELAD\dan KEELAD\dan' query dan "SELECT SUSER_SNAME(), USER_NAME()" -d island
check who_is_in_a_group 'KEELAD\night-shift group' sa "EXEC xp_logininfo 'KEELAD\\dbas', 'members'"
check who_is_in_everybodys_group 'KEELAD\eve user' sa "EXEC xp_logininfo 'KEELAD\\Domain Users', 'members'"
check the_ways_in 'KEELAD\cid user admin KEELAD\cid KEELAD\dbas' sa "EXEC xp_logininfo 'KEELAD\\cid', 'all'"
check the_best_way_in 'KEELAD\cid user admin KEELAD\cid KEELAD\dbas' sa "EXEC xp_logininfo 'KEELAD\\cid'"
check no_way_in 'none' sa "DECLARE @p varchar(10); EXEC xp_logininfo 'KEELAD\\dan', 'all', @p OUTPUT; SELECT ISNULL(@p, 'none')"
check another_accounts_name 'does not match the old SID' sa "ALTER LOGIN [KEELAD\\bob] WITH NAME = [KEELAD\\dan]"
tool user rename bob --samaccountname=robert >/dev/null
check renamed_with_its_account 'KEELAD\robert' \
  sa "ALTER LOGIN [KEELAD\\bob] WITH NAME = [KEELAD\\robert]; SELECT name FROM sys.server_principals WHERE type = 'U'"
check an_old_ticket_is_the_same_account 'KEELAD\robert' query bob "SELECT SUSER_SNAME()"
KRB5CCNAME="${tickets}cid" ODBCSYSINI="$cache/odbc" "$cache/python/bin/python" "$here/domain/test_domain.py" || failed=1
kill -- "-$controller" && wait "$controller" 2>/dev/null || true
check nobody_answers "Could not obtain information about Windows NT group/user 'KEELAD\\dan'" sa "CREATE LOGIN [KEELAD\\dan] FROM WINDOWS"
check why_is_in_the_error_log 'The directory was asked about KEELAD\dan and did not answer: ldaps://nobody.corp.example.com' cat "$work/data/log/errorlog"
check who_has_a_ticket_comes_in 'KEELAD\ann' query ann "SELECT SUSER_SNAME()"
if [ "$failed" -ne 0 ]; then
  echo "-- the server's log:"
  tail -40 "$work/data/log/errorlog" || true
fi
exit "$failed"
