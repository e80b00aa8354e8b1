#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the documentation and the default configuration in the repository equal the output of
# the programs.
#
#   tests/lint/check_generated.sh BIN [--write]     --write: updates the files
set -euo pipefail

bin=${1:?the folder of the programs}
write=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
result=0

# check FILE COMMAND...
check() {
	local file=$1
	shift
	"$@" >"$fresh"
	if [ "$write" = --write ]; then
		cp "$fresh" "$file"
	elif ! diff -u "$file" "$fresh"; then
		printf '%s is stale: %s --write\n' "$file" "$0 $bin"
		result=1
	fi
}

for program in agent symbolizer; do
	check docs/configuration-$program.md "$bin/hearth-$program" --print-config-markdown
	check deploy/config/$program.yaml "$bin/hearth-$program" --print-default-config
done
exit $result
