#!/usr/bin/env bash
# Compares what the parser takes for T-SQL with what Microsoft's open T-SQL parser (ScriptDom, of SQL Server 2019) takes: texts that one of
# them refuses and the other does not, and errors on different lines.
#
#   tests/grammar/run.sh [--only KIND] PLACE...                             batches of scripts (.sql), of documents' T-SQL blocks (.md) and of
#                                                                           strings in Python files (.py) in the places
#   tests/grammar/run.sh --mutate [--seed N] [--minutes N] PLACE...         those that both take, with a token left out, doubled or exchanged
#
# KIND is "too strict", "too lenient" or "another line"; of a batch the statements that differ are shown, of a changed one what makes it differ.
# ScriptDom comes with a tool of Microsoft's inside a Python package (tests/clients/dotnet.sh), kept in target/clients; PLACE... is what you
# have: our own scripts (tests crates docs, from the root), or a checkout of somebody's. What is new since SQL Server 2019 is always shown as
# too lenient.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=$PWD/target/clients
# shellcheck source=tests/clients/python.sh
source tests/clients/python.sh
# shellcheck source=tests/clients/dotnet.sh
source tests/clients/dotnet.sh
dotnet_with_libraries
cargo build --release --locked --quiet -p keel-parser --example check
export -f dotnet_run
export cache
exec python3 tests/grammar/run.py --ours "${CARGO_TARGET_DIR:-target}/release/examples/check" \
  --theirs 'dotnet_run tests/grammar/Grammar.cs Microsoft.SqlServer.TransactSql.ScriptDom' "$@"
