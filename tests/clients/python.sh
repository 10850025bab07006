# Python packages and Microsoft's ODBC driver by package name, for the scripts that source this. `cache` names where they are kept.
# shellcheck shell=bash disable=SC2154

# Sets `python` to an interpreter that has these packages.
python_with() {
  local venv="$cache/python"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  local missing=()
  for package in "$@"; do
    "$venv/bin/pip" show -q "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] || "$venv/bin/pip" install -q --disable-pip-version-check "${missing[@]}"
  python="$venv/bin/python"
}

# Microsoft's ODBC driver comes inside a Python package; it is registered in a file of our own.
odbc_driver() {
  # The driver links unixODBC's installer library and Kerberos, which are the system's.
  if ! /sbin/ldconfig -p | grep -q libodbcinst.so.2 || ! /sbin/ldconfig -p | grep -q libgssapi_krb5.so.2; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      (apt-get update && apt-get install -y unixodbc odbcinst libgssapi-krb5-2) >"$cache/apt.log" 2>&1
    else
      echo "missing: apt-get install unixodbc odbcinst libgssapi-krb5-2" >&2
      return 1
    fi
  fi
  python_with pyodbc mssql-python-odbc
  local library
  library=$(find "$cache/python" -path '*debian_ubuntu*' -name 'libmsodbcsql-18*.so*' | head -1)
  [ -n "$library" ] || library=$(find "$cache/python" -name 'libmsodbcsql-18*.so*' | head -1)
  mkdir -p "$cache/odbc"
  printf '[ODBC Driver 18 for SQL Server]\nDescription=Microsoft ODBC Driver 18 for SQL Server\nDriver=%s\n' "$library" \
    >"$cache/odbc/odbcinst.ini"
  export ODBCSYSINI="$cache/odbc"
}
