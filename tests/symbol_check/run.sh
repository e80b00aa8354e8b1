#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares symbol tables with llvm-symbolizer and eu-addr2line at random addresses: functions, inline chain, files, lines.
#
#   tests/symbol_check/run.sh [OPTION]... FILE...      builds symbol_answers first; --help lists the options
#   tests/symbol_check/programs.sh FOLDER              gets the programs of the table in docs/symbols.md
#
# FILE may be followed by other files of the same program: FILE,executable=FILE,alt=FILE,split=FILE. --eu N also compares
# N addresses with eu-addr2line, which takes 1 to 60 ms for each. The default, 1 000 000 addresses, takes a minute, or
# three for 630 MB of DWARF. --llvm names the peer: llvm-symbolizer of LLVM 14 (Debian 12) appends folder 0 of DWARF 5 to
# itself, LLVM 19 does not. Exits 1 if less than 99.9 % of the answers are equal or explained by a class of classes.py.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEARTH_BUILD:-$root/build}

if [ $# -eq 0 ]; then
	sed -n '4,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
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
