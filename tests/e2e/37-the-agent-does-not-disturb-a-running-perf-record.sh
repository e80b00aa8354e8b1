#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `perf record` of the whole host is running when the agent starts. The agent must not change perf's records: kernels up to
# 6.18 mark them as having build-IDs once another event requests build-IDs, and perf 6.1 crashes on that. The agent does
# not request build-IDs in events, and still identifies programs that have ended before it reads their files.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq perf

start_server
start_background record perf record -q -a -e cpu-clock -F 99 -o "$work/perf.data"
record_pid=$background_pid
record_begins() { [ -s "$work/perf.data" ]; }
expect_within 20s record_begins
pause 1

start_agent
cp /bin/true "$work/program_before_perf_ends"
for ((i = 0; i < 50; i++)); do
	"$work/program_before_perf_ends"
	/usr/bin/id >"$work/id"
done
start_workload shares 20
now=$(now_s)
wait_for_name work_a shares "$now" $((now + 60))

is_alive "$record_pid" || fail "perf ended: $(tail -n 3 "$work/record.log")"
end_process "$record_pid" INT
! grep -E 'smashing|assertion' "$work/record.log" || fail "perf crashed"
perf script -i "$work/perf.data" --show-mmap-events 2>/dev/null | grep PERF_RECORD_MMAP2 | grep -F program_before_perf_ends \
	>"$work/mmaps" || fail "perf's data has no mapping of the program"
say "$(wc -l <"$work/mmaps") mappings: $(head -n 1 "$work/mmaps")"
inode=$(stat -c %i "$work/program_before_perf_ends")
grep -qE "[0-9a-f]+:[0-9a-f]+ $inode " "$work/mmaps" || fail "perf's records do not have the program's inode $inode"
! grep -F '<' "$work/mmaps" || fail "perf's records have build-IDs that it did not request"
