#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `hearth` ranks services by the total of all threads, whatever the order of names and self values is. It takes the service
# as an argument, and lists services if none was given.
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

# ask STATUS ARGUMENT...: runs hearth for the time range of the test, expects STATUS; output in $work/out and $work/err.
ask() {
	local expected=$1 status=0
	shift
	"$hearth" "$@" --server "$server_url" --since "$from" --until "$to" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" = "$expected" ] || fail "hearth $* ended with status $status, expected $expected: $(cat "$work/err")"
}

start_server
start_agent
start_workload rename_threads 60
start_workload shares 60
next_second
from=$((second + 1))
to=$((from + 3))
wait_for_coverage $((to + 1))
# The time range is in the past: all queries see the same samples.
fetch_profile "$work/total.json" Total "$from" "$to" '{"fold_threads": true}'
jq -r '.result[] | select(.profile_location_str | startswith("[p] ")) | "\(.total_value) \(.profile_location_str)"' \
	"$work/total.json" | sort -rn >"$work/ranking"
largest_us=$(sed -n '1s/ .*//p' "$work/ranking")

# expect_busiest WHAT NAME: compares CPU times, because two services may have the same.
expect_busiest() { expect_equal "CPU time of '$2', $1" "$(value_of "$work/total.json" "[p] $2")" "$largest_us"; }

# ---- services: the list may include services without CPU time in the range
ask 0 services --json
jq -r '.services[] | select(.event == "on-cpu" and .cpu_value > 0) | "\(.cpu_value) [p] \(.name | gsub(";"; ":"))"' "$work/out" >"$work/services"
expect_equal "services with another value than in Total" "$(grep -vxFf "$work/ranking" "$work/services" || true)" ""
expect_equal "order of the services" "$(cut -d' ' -f1 "$work/services")" "$(cut -d' ' -f1 "$work/services" | sort -rn)"
expect_equal "CPU time of rename_threads, two threads" \
	"$(jq 'first(.services[] | select(.name == "rename_threads")) | .cpu_value' "$work/out")" \
	"$(value_of "$work/total.json" "[p] rename_threads")"
expect_equal "CPU time of all" "$(jq .cpu_total "$work/out")" "$(total_of "$work/total.json")"
ask 0 services --all
expect_busiest "first of the services" "$(sed -n '2s/  .*//p' "$work/out")"

# ---- top of Total: processes by total, in text, JSON and the HTTP API
ask 0 top Total --rows 3 --json
expect_equal "the three largest, as JSON" "$(jq -r '.functions[].total_value' "$work/out")" "$(head -n 3 "$work/ranking" | cut -d' ' -f1)"
ask 0 top Total --rows 1
expect_busiest "first of the text" "$(sed -n '2s/.*\[p\] //p' "$work/out")"
expect_equal "lines of the text" "$(wc -l <"$work/out")" 2
request GET "/v1/top?service=Total&since=$from&until=$((to + 1))&limit=1"
expect_busiest "first over HTTP" "$(jq -r '.functions[0].function | ltrimstr("[p] ")' "$work/body")"

# ---- the service as an argument
# The second answer may have names that an agent uploaded after the first.
gives_the_same_profile() {
	ask 0 flame shares --folded
	cp "$work/out" "$work/by_argument"
	ask 0 flame --service shares --folded
	cmp -s "$work/out" "$work/by_argument"
}
expect_within 30s gives_the_same_profile
ask 2 flame shares --service rename_threads
ask 2 flame
busiest=$(sed -n "s/^Name one, as in 'hearth flame \(.*\)'; .*/\1/p" "$work/err" | tr -d '"')
expect_busiest "the example of 'hearth flame'" "${busiest#--service=}"
expect_equal "keys of the HTTP API in messages" "$(grep -c -e app_service -e tag_filter "$work/err")" 0
ask 3 top shares --filter "host = 'nobody'"
grep -q -- '--filter selects none' "$work/err" || fail "the message does not name the option: $(cat "$work/err")"

# ---- times
for wrong in '--last 5' '--since 5' '--since 3:12' '--until soon'; do
	status=0
	# shellcheck disable=SC2086
	"$hearth" services --server "$server_url" $wrong >"$work/out" 2>"$work/err" || status=$?
	expect_equal "status of $wrong" "$status" 2
	grep -qE "(no unit|no time); (write|try) " "$work/err" || fail "$wrong: no example: $(cat "$work/err")"
done
for right in '10 minutes ago' '10m ago' yesterday; do
	"$hearth" top shares --server "$server_url" --since "$right" --rows 1 >/dev/null || fail "--since '$right' is refused"
done
"$hearth" top shares --server "$server_url" --since "$(date -d "@$((from - 60))" +%H:%M:%S)" --rows 1 >/dev/null ||
	fail "a time of day is refused"
