#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the unwind tables of every ELF file with readelf, row by row, and prints the differences by reason. Before, it
# compares table files with the tables that they were written from.
#
#   tests/unwind_check/run.sh [-v] FILE-OR-DIR...       -v: every difference; builds unwind_check first
#
# Exits 1 if a file is refused, if a row is lost or differs in the table file, if a table has a rule where there is no FDE,
# or if fewer than 99.9 % of the rows agree. /usr/bin /usr/sbin /usr/lib take ten minutes, most of them in readelf.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${HEARTH_BUILD:-$root/build}

if [ "${1:-}" = -v ]; then
	verbose=-v
	shift
fi
if [ $# -eq 0 ]; then
	sed -n '4,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
fi

[ -e "$build/CMakeCache.txt" ] || cmake -S "$root" -B "$build" -G Ninja >/dev/null
cmake --build "$build" --target unwind_check paged_check >"$build/unwind-check-build.log" 2>&1 || {
	tail -n 30 "$build/unwind-check-build.log" >&2
	exit 1
}

# Each file once, even if several links lead to it; only ELF files, so that the counts are of executables.
elf_files() {
	find "$@" -type f -printf '%D:%i %p\n' | sort -u -k1,1 | cut -d' ' -f2- | while IFS= read -r file; do
		if [ "$(head -c 4 "$file" 2>/dev/null | tr -d '\0')" = $'\x7fELF' ]; then
			printf '%s\n' "$file"
		fi
	done
}

elf_files "$@" | nice -n 19 "$build/bin/paged_check" -
elf_files "$@" | nice -n 19 "$build/bin/unwind_check" ${verbose:-} -
