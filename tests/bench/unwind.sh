#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# unwind tables: speed of compiling, size and memory; cost of a stack of 30 frames
# (compared with libdw, and with the kernel's walk along frame pointers)
. "$(dirname "$0")/figures.sh"

# Small executables, large ones, and the largest one of this host.
candidates() {
	ls -L /lib/*/libc.so.6 /lib64/libc.so.6 /usr/bin/python3 /usr/bin/node /usr/bin/gdb 2>/dev/null || true
	find /usr/lib /usr/lib64 -type f -name '*.so*' -size +10M -printf '%s %p\n' 2>/dev/null | sort -rn | head -n 1 |
		cut -d' ' -f2-
}

mapfile -t files < <(candidates | xargs -r -n 1 readlink -f | sort -u)
"$HEARTH_BUILD/bin/unwind_bench" "${files[@]}"

# BPF programs need root; the other benchmark does not.
if [ "$(id -u)" -eq 0 ]; then
	"$HEARTH_BUILD/bin/unwind_cost"
else
	say "unwind.hot_us and unwind.cold_us need root"
fi
