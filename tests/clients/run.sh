#!/usr/bin/env bash
# Stock clients against a server started for the occasion.
#   tests/clients/run.sh                  all
#   tests/clients/run.sh odbc go          only these
# Packages are installed by name into target/clients and kept there. KEEL names another binary than the one built here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache="$root/target/clients"
mkdir -p "$cache"
clients=("$@")
[ ${#clients[@]} -gt 0 ] || clients=(pymssql odbc mssql-python jdbc jtds tedious go dotnet tiberius mssql-tds django sqlalchemy knex typeorm prisma spring debezium s3 azure mail)

if [ -z "${KEEL:-}" ]; then
  (cd "$root" && cargo build --quiet --locked -p keel)
  KEEL="$root/target/debug/keel"
fi

work=$(mktemp -d)
stop() {
  if [ -n "${server:-}" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap stop EXIT

export KEEL KEEL_DATA="$work/data"
export KEEL_HOST=127.0.0.1 KEEL_PASSWORD='Keel-Test-1' KEEL_CERTIFICATE="$work/server.pem"
MSSQL_SA_PASSWORD=$KEEL_PASSWORD "$KEEL" serve --data "$work/data" --listen 127.0.0.1:0 --max-server-memory 1024 \
  >"$work/ready" 2>"$work/stderr" &
server=$!
for _ in $(seq 600); do
  [ -s "$work/ready" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/stderr"; exit 1; }
  sleep 0.1
done
cp "$work/data/tls/server.crt" "$KEEL_CERTIFICATE"
KEEL_PORT=$(sed -n 's/.*:\([0-9]*\)$/\1/p' "$work/ready")
export KEEL_PORT

# shellcheck source=tests/clients/python.sh
source "$here/python.sh"
# shellcheck source=tests/clients/dotnet.sh
source "$here/dotnet.sh"

run_client() {
  case $1 in
    pymssql) python_with pymssql && "$python" "$here/python/test_pymssql.py" ;;
    odbc) odbc_driver && "$python" "$here/python/test_odbc.py" ;;
    mssql-python) python_with mssql-python && "$python" "$here/python/test_mssql_python.py" ;;
    jdbc)
      [ -d "$cache/jdbc/lib" ] ||
        mvn -q -B -f "$here/jdbc/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/jdbc/lib"
      java -cp "$cache/jdbc/lib/*" "$here/jdbc/ClientTest.java"
      java -cp "$cache/jdbc/lib/*" "$here/jdbc/EncryptedTest.java"
      # What it says in the length of a session's state, 11 takes for a signed byte.
      [ -d "$cache/jdbc/lib-11" ] ||
        mvn -q -B -f "$here/jdbc/pom.xml" dependency:copy-dependencies -Ddriver=11.2.3.jre11 -DoutputDirectory="$cache/jdbc/lib-11"
      java -cp "$cache/jdbc/lib-11/*" "$here/jdbc/ClientTest.java"
      ;;
    jtds)
      [ -d "$cache/jtds/lib" ] ||
        mvn -q -B -f "$here/jtds/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/jtds/lib"
      java -cp "$cache/jtds/lib/*" "$here/jtds/ClientTest.java"
      ;;
    tedious)
      mkdir -p "$cache/tedious" && cp "$here/tedious/package.json" "$here/tedious/test.js" "$cache/tedious/"
      (cd "$cache/tedious" && { [ -d node_modules/tedious ] || npm install --silent --no-audit --no-fund; } && node test.js)
      ;;
    go)
      mkdir -p "$cache/go" && cp "$here/go/main.go" "$cache/go/"
      (
        cd "$cache/go"
        if [ ! -f go.sum ]; then
          cp "$here/go/go.mod" .
          go get github.com/microsoft/go-mssqldb@v1.11.2 2>/dev/null
        fi
        go run .
      )
      ;;
    s3)
      python_with pymssql boto3 moto &&
        { "$python" -c 'import flask' 2>/dev/null || "$cache/python/bin/pip" install -q --disable-pip-version-check 'moto[server,s3]'; } &&
        { [ -d "$cache/s3proxy/lib" ] ||
          mvn -q -B -Dstyle.color=never -f "$here/s3proxy/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/s3proxy/lib"; } &&
        S3PROXY="$cache/s3proxy/lib" "$python" "$here/python/test_s3.py"
      ;;
    mail) python_with pymssql cryptography aiosmtpd && "$python" "$here/python/test_mail.py" ;;
    azure)
      mkdir -p "$cache/azurite"
      python_with pymssql azure-storage-blob cryptography &&
        { [ -d "$cache/azurite/node_modules/azurite" ] || (cd "$cache/azurite" && npm install --silent --no-audit --no-fund azurite@3); } &&
        AZURITE="$cache/azurite/node_modules/.bin/azurite-blob" "$python" "$here/python/test_azure.py"
      ;;
    django) odbc_driver && python_with mssql-django && "$python" "$here/python/test_django.py" ;;
    sqlalchemy)
      odbc_driver && python_with pyodbc pymssql SQLAlchemy alembic &&
        "$python" "$here/python/test_sqlalchemy.py" &&
        KEEL_SQLALCHEMY_DRIVER=pymssql "$python" "$here/python/test_sqlalchemy.py"
      ;;
    knex | typeorm)
      mkdir -p "$cache/$1" && cp "$here/$1/package.json" "$here/$1/test.js" "$cache/$1/"
      (cd "$cache/$1" && { [ -d "node_modules/$1" ] || npm install --silent --no-audit --no-fund; } && node test.js)
      ;;
    prisma)
      mkdir -p "$cache/prisma" && cp "$here/prisma/"* "$cache/prisma/"
      # The client is made from the schema; the engine that only migrations need is not in any package.
      (
        cd "$cache/prisma"
        [ -d node_modules/prisma ] || npm install --silent --no-audit --no-fund --ignore-scripts
        PRISMA_SCHEMA_ENGINE_BINARY=$(type -P true) node_modules/.bin/prisma generate >generate.log 2>&1 || cat generate.log
        node test.js
      )
      ;;
    spring)
      [ -d "$cache/spring/lib" ] ||
        mvn -q -B -f "$here/spring/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/spring/lib"
      javac -proc:none -parameters -cp "$cache/spring/lib/*" -d "$cache/spring/classes" "$here/spring/App.java" &&
        java -cp "$cache/spring/classes:$cache/spring/lib/*" app.App
      ;;
    debezium)
      [ -d "$cache/debezium/lib" ] ||
        mvn -q -B -f "$here/debezium/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/debezium/lib"
      java -Dorg.slf4j.simpleLogger.defaultLogLevel=error -cp "$cache/debezium/lib/*" "$here/debezium/StreamTest.java"
      ;;
    dotnet)
      dotnet_with_libraries && dotnet_run "$here/dotnet/Checks.cs" System.Data.SqlClient Microsoft.SqlServer.Smo Microsoft.SqlServer.SmoExtended \
        Microsoft.SqlServer.ConnectionInfo Microsoft.SqlServer.Management.Sdk.Sfc Microsoft.SqlServer.SqlEnum Microsoft.SqlServer.Dac
      ;;
    tiberius | mssql-tds)
      (cd "$here/$1" && CARGO_TARGET_DIR="$cache/$1" CARGO_PROFILE_DEV_DEBUG=0 cargo run --quiet)
      ;;
    *) echo "unknown client $1" >&2; return 2 ;;
  esac
}

passed=0
failed=0
for client in "${clients[@]}"; do
  KEEL_DATABASE="client_${client//-/_}"
  export KEEL_DATABASE
  "$KEEL" sql -S "$KEEL_HOST,$KEEL_PORT" -U sa -P "$KEEL_PASSWORD" -C -b -Q "CREATE DATABASE $KEEL_DATABASE" >"$work/out" || {
    cat "$work/out"
  }
  timeout 900 bash -c "$(declare -f run_client python_with odbc_driver dotnet_with_libraries dotnet_run); here='$here'; cache='$cache'; run_client '$client'" \
    >"$work/out" 2>&1 || true
  cat "$work/out"
  ok=$(grep -c '^ok ' "$work/out" || true)
  bad=$(grep -c '^FAILED ' "$work/out" || true)
  # A client that could not even be installed or started has failed once.
  [ $((ok + bad)) -gt 0 ] || bad=1
  passed=$((passed + ok))
  failed=$((failed + bad))
done
if [ "$failed" -gt 0 ]; then
  echo "-- the server's log:"
  tail -40 "$work/data/log/errorlog" || true
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
