#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that runs all the time keeps its unwind rows in the BPF maps, while short-lived programs need more space for
# rows than there is.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/known_stacks.sh"
need_tools gdb clang node perl

# Each program has its own libraries. The maps have space for some 500 chunks of 4 KiB; the programs need more.
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
agent_arguments=(--unwind.table_size 2MiB)
sample_programs unwound:deep unwound:qsort

end='main;libc;_start'
expect_stacks unwound:deep --leaf leaf_a --leaf leaf_b --share 70 --stacks \
	"leaf_[ab];both_leaves;(descend_by_pointer;descend\*2;){133}descend_by_pointer;descend;run_deep;$end"
expect_stacks unwound:qsort --leaf leaf_a --leaf leaf_b --share 70 --stacks "leaf_[ab];compare;libc;run_qsort;$end"
evictions() {
	awk -F'\t' -v of="$1" '$1 == "counter" && $2 ~ "^unwind_chunk_evictions_total.*" of { sum += $3 } END { print sum + 0 }' \
		"$work/dump"
}
say "chunks evicted: $(evictions no) not in use, $(evictions yes) in use"
expect_at_least "chunks evicted" "$(evictions "")" 10
