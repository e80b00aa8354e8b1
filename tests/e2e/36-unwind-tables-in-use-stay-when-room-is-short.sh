#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that runs all the time keeps its unwind tables while others come and go whose tables together are many times
# what there is room for.
. "$(dirname "$0")/known_stacks.sh"
need_tools gdb clang node perl

# Each with libraries of its own, some 20 MB of rows in all; there is room for 4.
come_and_go() {
	while :; do
		gdb --batch -ex 'print 1'
		clang --version
		node -e 0
		perl -e 1
		python3 -c 'import hashlib, sqlite3, ssl'
	done
}
export -f come_and_go

start_background come-and-go bash -c come_and_go
agent_arguments=(--unwind.table_size 4MiB)
sample_programs unwound:deep unwound:qsort

end='main;libc;_start'
expect_stacks unwound:deep --leaf leaf_a --leaf leaf_b --share 70 --stacks \
	"leaf_[ab];both_leaves;(descend_by_pointer;descend\*2;){133}descend_by_pointer;descend;run_deep;$end"
expect_stacks unwound:qsort --leaf leaf_a --leaf leaf_b --share 70 --stacks "leaf_[ab];compare;libc;run_qsort;$end"
expect_at_least "tables that had to wait or leave" \
	"$(awk -F'\t' '$1 == "counter" && $2 ~ /^unwind_tables_total.*(evicted|failed)/ { sum += $3 } END { print sum + 0 }' "$work/dump")" 10
