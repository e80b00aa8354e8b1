#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The server stores samples as addresses: debuginfo that is uploaded later also names earlier samples.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq readelf

start_server
start_agent --on_cpu.frequency 397

start_workload stripped 60
next_second
from=$((second + 1))
to=$((from + 3))
wait_for_coverage $((to + 1))

fetch_profile "$work/before.json" stripped "$from" "$to"
expect_label "$work/before.json" "[$workloads/stripped]"
expect_no_label "$work/before.json" work_a

build_id=$(readelf -n "$workloads/stripped.debug" 2>/dev/null | sed -n 's/.*Build ID: //p')
request PUT "/v1/debuginfo/$build_id" -T "$workloads/stripped.debug"
expect_equal "status of the upload" "$status" 200

wait_for_name work_a stripped "$from" "$to"
fetch_profile "$work/after.json" stripped "$from" "$to"

expect_equal "total of the same time range" "$(total_of "$work/after.json")" "$(total_of "$work/before.json")"
expect_near "share of work_a" "$(share_of "$work/after.json" work_a)" 70 5
expect_near "share of work_round" "$(share_of "$work/after.json" work_round)" 99 2
expect_no_label "$work/after.json" "[$workloads/stripped]"

# The server lists the upload with its origin, and can remove it.
request GET /v1/debuginfo
jq -e --arg id "$build_id" '.debuginfo[] | select(.build_id == $id) | .origin == "pipeline" and .has == "dwarf"' \
	"$work/body" >/dev/null || fail "the list of debuginfo lacks $build_id with its origin"
request GET "/v1/debuginfo/$build_id"
expect_equal "status of a GET" "$status" 200

# debuginfod clients get the uploaded file unchanged.
curl -sS -m 20 -o "$work/fetched" "$server_url/buildid/$build_id/debuginfo"
cmp "$work/fetched" "$workloads/stripped.debug" || fail "the debuginfod answer is not the file that was uploaded"

request DELETE "/v1/debuginfo/$build_id"
expect_equal "status of the removal" "$status" 200
request GET "/v1/debuginfo/$build_id"
expect_equal "status after the removal" "$status" 404
query_profile stripped "$from" "$to" >"$work/removed.json"
expect_no_label "$work/removed.json" work_a

# The server refuses a file whose build-ID differs from the one in the path.
request PUT "/v1/debuginfo/0123456789abcdef0123456789abcdef01234567" -T "$workloads/stripped.debug"
expect_equal "status of a file with another build-ID" "$status" 400
