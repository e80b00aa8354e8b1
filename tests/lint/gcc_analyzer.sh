#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs gcc -fanalyzer on the folders that parse foreign bytes, or with --all on everything (some
# minutes).
#
#   tests/lint/gcc_analyzer.sh BUILD_FOLDER [JOBS] [--all]
set -uo pipefail

build=${1:?the build folder, for its compile_commands.json}
jobs=${2:-$(nproc)}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
files="^$root/(common/elf|agent/unwind/(cfi|go|x86_code)|agent/helper|symbolizer/(ingest|http)|symbolizer/symbols/(elf|dwarf))/[^/]*\\.c\$"
[ "${3:-}" != --all ] || files="^$root/(agent|symbolizer|common)/.*\\.c\$"

# These checks of gcc 12 are disabled, because none of their 48 reports on these sources was a
# fault: gcc does not follow an object that is copied into a container (leak), and does not relate
# an out-parameter or a length to the result that sets it.
readonly WITHOUT=(malloc-leak use-of-uninitialized-value possible-null-dereference null-argument)
options=(-fanalyzer -fdiagnostics-path-format=none -Werror)
for check in "${WITHOUT[@]}"; do
	options+=("-Wno-analyzer-$check")
done

jq -r --arg files "$files" '.[] | select(.file | test($files)) | .directory + "\t" + .command' \
	"$build/compile_commands.json" |
	sed -E 's/ -o [^ ]+ / -o \/dev\/null /' |
	xargs -d '\n' -P "$jobs" -n 1 bash -c '
		IFS=$'"'\t'"' read -r folder command <<<"$2"
		eval "cd \"$folder\" && $command $1" || exit 1' _ "${options[*]}"
