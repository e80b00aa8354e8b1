#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares symbol tables with llvm-symbolizer, at random addresses: function, inline chain, file and line.
#
#   tests/symbol_check/run.sh [--count N] [--eu N] [--examples N] FILE...      builds symbol_answers first
#
# FILE may be followed by what belongs to it: FILE,executable=FILE,alt=FILE,split=FILE. --eu compares the first N
# addresses with eu-addr2line too, which takes milliseconds for each. 1 000 000 addresses (the default) of 630 MB of
# DWARF take some three minutes. Exits 1 when fewer than 99.9 % are equal or of a class that compare.py explains.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEARTH_BUILD:-$root/build}

if [ $# -eq 0 ]; then
	sed -n '4,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi

if [ ! -x "$build/bin/symbol_answers" ] || [ -z "${HEARTH_BUILD:-}" ]; then
	[ -e "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build" -G Ninja >/dev/null
	cmake --build "$build" --target symbol_answers >"$build/symbol-check-build.log" 2>&1 || {
		tail -n 30 "$build/symbol-check-build.log" >&2
		exit 1
	}
fi

exec nice -n 19 python3 "$root/tests/symbol_check/compare.py" --answers "$build/bin/symbol_answers" "$@"
