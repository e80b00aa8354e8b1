#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two servers fill the table profile.in_process of ClickHouse while an agent sends batches, and one of them is killed
# several times while it fills. For each service, event type and minute, the sum of profile_value is that of the table of
# samples, and SQL finds the right share of each function. Debuginfo that is uploaded later names the functions in rows that
# are there already.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq readelf
. "$(dirname "$0")/clickhouse.sh"

# On one CPU, three standard deviations of a share of 70 % are 1.5 points after 9 s.
readonly SAMPLE_HZ=997 BUSY_S=9

clickhouse_port=$(free_port)
write_clickhouse_config clickhouse "$clickhouse_port"
printf 's3cret\n' >"$work/password"
begin_clickhouse clickhouse
expect_within 60s clickhouse_answers "$clickhouse_port"
sql() { ask_clickhouse "$clickhouse_port" "$1"; }

options=(--store clickhouse --clickhouse.url "http://127.0.0.1:$clickhouse_port" --clickhouse.user hearth
	--clickhouse.password_file "$work/password" --clickhouse.in_process 1d --log_level debug)
server_data=$work/data-1
start_server "${options[@]}"
first_url=$server_url
agent_batch_interval=5s
start_agent --on_cpu.frequency $SAMPLE_HZ --off_cpu.disabled=false
from=$(now_s)
start_workload stripped 600
stripped_pid=$workload_pid
start_workload shares 600
shares_pid=$workload_pid
has_run() { [ "$(cpu_time_us "$shares_pid")" -ge "$1" ]; }
expect_within 60s has_run $((BUSY_S * 500000))
wait_for_name work_a shares "$from" "$(now_s)"

# ---- the second server has the debuginfo of the first, which the agent does not send to it
"$HEARTH_BUILD/bin/hearth-symbolizer" --data "$work/data-1" --store clickhouse --backup "$work/data-2" >"$work/backup.log" 2>&1 ||
	fail "no backup"
unset server_port
server_data=$work/data-2
start_server "${options[@]}"
second_url=$server_url

# ---- this server is killed while it fills: it begins when it starts
server_port=${second_url##*:}
for delay in 0.2 0.6 1.2; do
	pause $delay
	end_process "$server_pid" KILL
	start_server "${options[@]}"
done
server_url=$first_url
expect_within 60s has_run $((BUSY_S * 1000000))
wait_for_coverage "$(now_s)"
end_process "$shares_pid"
end_process "$stripped_pid"
stop_agent
taken=$(agent_metric samples_total)
expect_equal "batches that the agent dropped" "$(agent_metric batches_dropped_total)" 0

# ---- the sums of services and minutes
sums_of_samples() {
	sql "SELECT service, event, minute, intDiv(sum(amount * if(period_ns = 0, 1, period_ns)), 1000) AS total FROM (
		SELECT series, toUInt64(intDiv(hour * 360000 + slot, 6000) * 60) AS minute, amount FROM (
			SELECT series, hour, slots, amounts FROM hearth.samples WHERE lane != 0
			LIMIT 1 BY lane, hour, series, epoch, sequence) ARRAY JOIN slots AS slot, amounts AS amount)
		ANY INNER JOIN (SELECT id AS series, service, event, period_ns FROM hearth.series WHERE unit = 'ns' LIMIT 1 BY id)
		USING (series) GROUP BY service, event, minute HAVING total > 0 ORDER BY service, event, minute" >"$work/samples.tsv"
}
sums_of_rows() {
	sql "SELECT app_service, profile_event_type, toUInt64(toUInt32(time)) AS minute, sum(profile_value)
		FROM profile.in_process WHERE profile_value_unit = 'microseconds' GROUP BY app_service, profile_event_type, minute
		ORDER BY app_service, profile_event_type, minute" >"$work/rows.tsv"
}
sums_agree() {
	sums_of_samples
	sums_of_rows
	cmp -s "$work/samples.tsv" "$work/rows.tsv"
}
# A fill may take a minute while other tests run, and the next round begins a minute after it.
wait_until 400s sums_agree || fail "sums differ: $(diff "$work/samples.tsv" "$work/rows.tsv" | head -n 20)"
expect_at_least "sums of shares" "$(grep -c '^shares	on-cpu	' "$work/rows.tsv")" 1
expect_at_least "sums of waits" "$(grep -c '	off-cpu	' "$work/rows.tsv")" 1
on_cpu_us=$(sql "SELECT sum(profile_value) FROM profile.in_process WHERE profile_event_type = 'on-cpu'")
expect_at_most "samples in the table" "$((on_cpu_us * SAMPLE_HZ / 1000000))" "$taken"

# ---- the share of each function, in one query
sql "SELECT function, round(100 * value / total, 3) FROM (
		SELECT function, sum(profile_value) AS value, 1 AS one FROM (
			SELECT profile_value, arrayJoin(arrayDistinct(splitByChar(';', profile_location_str))) AS function
			FROM profile.in_process WHERE app_service = 'shares' AND profile_event_type = 'on-cpu'
				AND process_id = $shares_pid AND profile_language_type = 'eBPF') GROUP BY function)
	ANY INNER JOIN (SELECT 1 AS one, sum(profile_value) AS total FROM profile.in_process
		WHERE app_service = 'shares' AND profile_event_type = 'on-cpu' AND process_id = $shares_pid) USING (one)" \
	>"$work/functions.tsv"
share_in_sql() { awk -F'\t' -v f="$1" '$1 == f { print $2; found = 1 } END { if (!found) print 0 }' "$work/functions.tsv"; }
expect_near "share of work_a" "$(share_in_sql work_a)" 70 2
expect_near "share of work_b" "$(share_in_sql work_b)" 20 2
expect_near "share of work_c" "$(share_in_sql work_c)" 10 2
expect_equal "host, agent and unit of the rows" \
	"$(sql "SELECT DISTINCT host, length(agent), is_ipv4 + (ip6 != toFixedString('', 16)) > 0, profile_value_unit
		FROM profile.in_process WHERE app_service = 'shares' AND profile_event_type = 'on-cpu'")" \
	"$(printf 'e2e-host\t32\t1\tmicroseconds')"

# The service's rows are those of the API.
server_url=$second_url
fetch_profile "$work/shares.json" shares "$((from - 120))" "$(now_s)"
expect_near "microseconds of shares" \
	"$(sql "SELECT sum(profile_value) FROM profile.in_process WHERE app_service = 'shares' AND profile_event_type = 'on-cpu'")" \
	"$(total_of "$work/shares.json")" 3

# ---- debuginfo that is uploaded later: the server that has filled the unit corrects it
work_a_of_stripped() {
	sql "SELECT sum(profile_value) FROM profile.in_process WHERE app_service = 'stripped'
		AND profile_location_str LIKE '%;work_a%'"
}
expect_equal "microseconds of work_a without debuginfo" "$(work_a_of_stripped)" 0
build_id=$(readelf -n "$workloads/stripped.debug" 2>/dev/null | sed -n 's/.*Build ID: //p')
for server_url in "$first_url" "$second_url"; do
	request PUT "/v1/debuginfo/$build_id" -T "$workloads/stripped.debug"
	expect_equal "status of the upload" "$status" 200
done
has_work_a() { [ "$(work_a_of_stripped)" -gt 0 ]; }
# If the last correction took 20 s, there is none for the next 200 s.
expect_within 500s has_work_a
sums_of_rows
cmp "$work/samples.tsv" "$work/rows.tsv" || fail "other names have changed the sums"
