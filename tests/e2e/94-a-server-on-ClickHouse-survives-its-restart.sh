#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A server keeps its samples in ClickHouse. ClickHouse is killed under load, and started again: the profile has the right
# shares, and every sample that the agent took exactly once. Meanwhile /readyz names the reason. A server that starts before
# ClickHouse stores batches once it answers.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq
. "$(dirname "$0")/clickhouse.sh"

# On one CPU, three standard deviations of a share of 70 % are 1.5 points after 9 s.
readonly SAMPLE_HZ=997 BUSY_S=9

clickhouse_port=$(free_port)
write_clickhouse_config clickhouse "$clickhouse_port"
printf 's3cret\n' >"$work/password"

start_clickhouse() {
	begin_clickhouse clickhouse
	clickhouse_pid=$background_pid
	expect_within 60s clickhouse_answers "$clickhouse_port"
}

# ---- the server starts without ClickHouse
server_port=$(free_port)
server_url=http://127.0.0.1:$server_port
server_data=$work/data
start_background server "$HEARTH_BUILD/bin/hearth-symbolizer" --listen "127.0.0.1:$server_port" --data "$server_data" \
	--store clickhouse --clickhouse.url "http://127.0.0.1:$clickhouse_port" --clickhouse.user hearth \
	--clickhouse.password_file "$work/password"
server_pid=$background_pid
reports_absence() { request GET /readyz && [ "$status" = 503 ] && grep -F 'ClickHouse does not answer' <<<"$body" >/dev/null; }
expect_within 30s reports_absence
start_clickhouse
expect_within 30s server_is_ready

# A batch takes a second or more, because ClickHouse gets a group of batches each second.
agent_batch_interval=5s
start_agent --on_cpu.frequency $SAMPLE_HZ
from=$(now_s)
start_workload shares 600
shares_pid=$workload_pid
has_run() { [ "$(cpu_time_us "$shares_pid")" -ge "$1" ]; }
expect_within 60s has_run $((BUSY_S * 500000))

# ---- ClickHouse is killed, and started again
end_process "$clickhouse_pid" KILL
expect_within 30s reports_absence
# The agent sends a batch in this time.
expect_within 30s grep -q 'cannot store batches in ClickHouse' "$work/server.log"
expect_within 60s has_run $((BUSY_S * 1000000))
start_clickhouse
expect_within 30s server_is_ready
back=$(now_s)
wait_for_coverage "$back"
wait_for_name work_a shares "$from" "$back"
end_process "$shares_pid"
stop_agent
to=$(($(now_s) + 1))
taken=$(agent_metric samples_total)
expect_equal "batches that the agent dropped" "$(agent_metric batches_dropped_total)" 0
expect_equal "lines about the absence of ClickHouse" \
	"$(grep -c 'cannot store batches in ClickHouse' "$work/server.log")" 1

samples_stored() {
	query_profile Total $((from - 120)) "$to" '{"debug": true}' >"$work/total.json"
	awk -v us="$(total_of "$work/total.json")" -v hz=$SAMPLE_HZ 'BEGIN { printf "%.0f\n", us * hz / 1000000 }'
}
all_are_there() { [ "$(samples_stored)" -ge "$taken" ]; }
wait_until 30s all_are_there || true
expect_near "samples stored" "$(samples_stored)" "$taken" 2

fetch_profile "$work/shares.json" shares "$from" "$to" "{\"tag_filter\": \"process_id = $shares_pid\"}"
expect_exact_sums "$work/shares.json"
expect_near "share of work_a" "$(share_of "$work/shares.json" work_a)" 70 2
expect_near "share of work_b" "$(share_of "$work/shares.json" work_b)" 20 2
expect_near "share of work_c" "$(share_of "$work/shares.json" work_c)" 10 2

expect_at_least "batches in ClickHouse" "$(ask_clickhouse "$clickhouse_port" 'SELECT count() FROM hearth.batches')" 1
curl -sS -m 10 "$server_url/v1/hosts" | jq -e '.hosts[] | select(.name == "e2e-host")' >/dev/null ||
	fail "the host is not listed"
[ ! -e "$server_data/inbox.db" ] || fail "the data folder has samples"
