#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The agent keeps unwind tables on disk. At its second start it loads them and has complete stacks at once. It compiles the
# table of a damaged file again. It logs a full disk once, and continues to sample.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq python3

# Each run ends as soon as it has its tables, without waiting until the other programs of the host are known.
agent_returns_with=report

# This loop runs in python3, libc, libcrypto and libsqlite3. The agent stores their tables on disk. It also runs in
# files with tables that are so small that the agent compiles them at each start.
readonly BUSY='
import hashlib, sqlite3
rows = sqlite3.connect(":memory:")
while True:
    hashlib.sha256(bytes(1 << 20)).digest()
    rows.execute("with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select sum(i) from n").fetchall()
'
readonly BUSY_NAME=hearth-busy KEPT_TABLES=4

tables() { awk -v outcome="$1" '$1 == "hearth_agent_unwind_tables_total{outcome=\"" outcome "\"}" { print $2 }' "$agent_metrics"; }

# Number of undamaged table files: this test truncates files to 1000 or 0 bytes.
undamaged_files() { find "$work/unwind" -name '*.table' -size +1000c | wc -l; }

are_on_disk() { [ "$(undamaged_files)" -ge $KEPT_TABLES ]; }
are_from_disk() { [ "$(tables cached)" -ge $KEPT_TABLES ]; }
are_compiled() { [ "$(tables compiled)" -ge $KEPT_TABLES ]; }

# run_agent NAME CONDITION [ARGUMENT...]: runs an agent until CONDITION holds. It takes stacks of the busy program only,
# so that it needs no tables of other programs that start on the host meanwhile.
run_agent() {
	local name=$1 condition=$2
	shift 2
	rm -f "$work/agent.metrics"
	start_agent --on_cpu.regex "^$BUSY_NAME\$" "$@"
	expect_within 30s "$condition"
	# Wait for one more report, with figures from after the condition was met.
	reported=$(stat -c %i "$agent_metrics")
	has_reported_again() { [ "$(stat -c %i "$agent_metrics")" != "$reported" ]; }
	expect_within 30s has_reported_again
	compiled=$(tables compiled) cached=$(tables cached) compile_us=$(($(agent_metric unwind_compile_ns_total) / 1000))
	cache_us=$(($(agent_metric unwind_cache_ns_total) / 1000))
	say "$name: $compiled compiled in $compile_us us, $cached from disk in $cache_us us"
	stop_agent
}

start_server
# The kernel names a process after the file that it executes.
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/$BUSY_NAME"
start_background busy "$work/$BUSY_NAME" -c "$BUSY"

run_agent "first start" are_on_disk
expect_equal "tables from disk at the first start" "$cached" 0
first_us=$compile_us
expect_equal "mode of the folder" "$(stat -c %a "$work/unwind")" 700

files_before=$(undamaged_files)
run_agent "second start" are_from_disk
expect_equal "table files after the second start" "$(undamaged_files)" "$files_before"
expect_at_most "microseconds spent compiling at the second start" "$compile_us" $((first_us / 4))
# Already the first samples are complete: the tables were loaded before the process was looked up.
expect_equal "frames without a table" "$(agent_metric frames_without_table_total)" 0

# Truncated and empty files, as a crash leaves them.
torn=0
for file in "$work/unwind"/*.table; do
	truncate -s $((torn++ % 2 * 1000)) "$file"
done
run_agent "start with damaged files" are_on_disk
expect_equal "tables from damaged files" "$cached" 0
run_agent "start after damaged files" are_from_disk

# The folder is on a file system of 32 KiB.
rm -rf "$work/unwind"
mkdir -m 700 "$work/unwind"
mount -t tmpfs -o size=32k,mode=0700 none "$work/unwind"
at_exit+=("umount '$work/unwind'")
run_agent "start on a full disk" are_compiled
expect_at_least "tables compiled on a full disk" "$compiled" $KEPT_TABLES
expect_equal "log lines about the full disk" "$(grep -c 'cannot write to unwind.cache_folder' "$work/agent.log")" 1
