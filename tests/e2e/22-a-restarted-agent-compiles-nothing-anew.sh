#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Unwind tables are kept on disk: the second start of an agent takes them from there, and has whole stacks at once. A
# damaged file is made anew; a disk that is full is told once, and sampling goes on.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq python3

# What is there at once is what is looked at.
agent_returns_with=report

readonly BUSY='
import hashlib, sqlite3, zlib
while True:
    hashlib.sha256(bytes(1 << 20)).digest(); zlib.compress(bytes(1 << 20))
'

tables() { awk -v outcome="$1" '$1 == "hearth_agent_unwind_tables_total{outcome=\"" outcome "\"}" { print $2 }' "$agent_metrics"; }

# run_agent NAME [ARGUMENT...]: until stacks went through the program, its libraries and others.
run_agent() {
	local name=$1
	shift
	rm -f "$work/agent.metrics"
	start_agent "$@"
	has_tables() { [ $(($(tables compiled) + $(tables cached))) -ge 6 ]; }
	expect_within 30s has_tables
	compiled=$(tables compiled) cached=$(tables cached) compile_us=$(($(agent_metric unwind_compile_ns_total) / 1000))
	cache_us=$(($(agent_metric unwind_cache_ns_total) / 1000))
	say "$name: $compiled compiled in $compile_us us, $cached from disk in $cache_us us"
	stop_agent
}

start_server
start_background busy python3 -c "$BUSY"

run_agent "first start"
expect_equal "tables from disk at the first start" "$cached" 0
first_us=$compile_us
expect_equal "mode of the folder" "$(stat -c %a "$work/unwind")" 700

# Programs of others that began meanwhile are compiled too: a start in which there are none tells.
for attempt in {1..8}; do
	files_before=$(find "$work/unwind" -name '*.table' | wc -l)
	run_agent "second start ($attempt)"
	[ "$(find "$work/unwind" -name '*.table' | wc -l)" != "$files_before" ] || break
done
expect_at_least "tables from disk at the second start" "$cached" 4
expect_at_most "microseconds spent compiling at the second start" "$compile_us" $((first_us / 4))
# Among its first samples are stacks that end where they should: tables were there before the process was.
expect_equal "frames without a table" "$(agent_metric frames_without_table_total)" 0

# Torn files, as a crash leaves them, some of them empty.
torn=0
for file in "$work/unwind"/*.table; do
	truncate -s $((torn++ % 2 * 1000)) "$file"
done
run_agent "start with damaged files"
expect_equal "tables from damaged files" "$cached" 0
expect_at_least "files made anew" "$(find "$work/unwind" -name '*.table' -size +1 | wc -l)" 4
run_agent "start after that"
expect_at_least "tables from disk" "$cached" 4

# A folder on a disk of 32 KiB.
rm -rf "$work/unwind"
mkdir -m 700 "$work/unwind"
mount -t tmpfs -o size=32k,mode=0700 none "$work/unwind"
at_exit+=("umount '$work/unwind'")
run_agent "start on a full disk"
expect_at_least "tables compiled on a full disk" "$compiled" 5
expect_equal "lines about it" "$(grep -c 'cannot write to unwind.cache_folder' "$work/agent.log")" 1
