#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the unwind tables of every ELF file with readelf, row by row, and prints the differences by reason. Before that
# it compares the files that tables are paged from with the tables.
#
#   tests/unwind_check/run.sh [-v] FILE-OR-DIR...       -v: every difference; builds unwind_check first
#
# Exits 1 when a file is refused, when a row is lost or differs in its file, when the table has a rule where there is no FDE, or below 99.9 % of agreement.
# /usr/bin /usr/sbin /usr/lib take some ten minutes, nearly all of it in readelf.
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

# Each file once, whatever links lead to it; and only ELF files, so that the counts mean something.
elf_files() {
	find "$@" -type f -printf '%D:%i %p\n' | sort -u -k1,1 | cut -d' ' -f2- | while IFS= read -r file; do
		if [ "$(head -c 4 "$file" 2>/dev/null | tr -d '\0')" = $'\x7fELF' ]; then
			printf '%s\n' "$file"
		fi
	done
}

elf_files "$@" | nice -n 19 "$build/bin/paged_check" -
elf_files "$@" | nice -n 19 "$build/bin/unwind_check" ${verbose:-} -
