#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The requests of DeepFlow's Grafana plugin, in its order: the health check, the lists of the editor, and panels. A panel has
# the nodes and values of ProfileTracing for the same range, and conditions select the part that they describe. Then the
# requests of ProfileTracing that DeepFlow documents, with the answers of its older versions (nodes) and newer ones (columns).
#
# This test needs one CPU: tests/run.sh pins it to a CPU and runs other tests at the same time.
. "$(dirname "$0")/lib.sh"
need_root
need_tools curl jq

# statement DATABASE SQL: sends a statement as the plugin's editor does, with its encoding of blanks as %20. The answer is
# in $work/body.
statement() {
	request POST /v1/query/ ${1:+--data-urlencode "db=$1"} --data-urlencode "sql=$2"
	[ "$status" = 200 ] || fail "'$2' is answered with $status: $body"
	[ "$(jq -r '.OPT_STATUS + .DESCRIPTION' "$work/body")" = SUCCESS ] || fail "'$2': $body"
}

# rows: the rows of the last answer as objects, as the plugin's SDK makes them.
rows() { jq -c '.result as $r | [$r.values[] | [$r.columns, .] | transpose | map({(.[0]): .[1]}) | add]' "$work/body"; }

# offer SQL: the values that a list of the editor offers, in $offered.
offer() {
	statement profile "$1"
	offered=$(rows | jq -r 'map(select(.value == .display_name).value) | join(" ")')
}

# panel FILE CONDITIONS: sends the request of a panel. The plugin's backend sorts the fields and copies the event type.
panel() {
	local event
	event=$(sed -n "s/.*profile_event_type IN ('\([^']*\)').*/\1/p" <<<"$2")
	request POST '/v1/profile/ProfileGrafana?debug=false' ${event:+--data-urlencode "profile_event_type=$event"} \
		--data-urlencode "sql=$2"
	[ "$status" = 200 ] || fail "a panel with $2: $status: $body"
	cp "$work/body" "$1"
}

# panel_total FILE: total of the root; 0 without data.
panel_total() { jq '.result.values // [] | first[3]? // 0' "$1"; }

start_server
start_agent --host.labels rack=r7 --off_cpu.disabled=false
# Another test may run "shares" on this host at the same time, so this one needs a name of its own.
need_workload shares
cp "$workloads/shares" "$work/it's"
start_background "workload-it's" "$work/it's" 120
pid=$background_pid
next_second
from=$((second + 1))
to=$((from + 3))
wait_for_coverage $((to + 1))
range="time>=$from AND time<=$to"

# ---- "Save & test" of the datasource
request POST '/v1/query/?debug=false' --data-urlencode 'sql=show databases'
expect_equal "status of the health check" "$status" 200

# ---- the editor of a panel
statement flow_log 'show language'
expect_equal "language" "$(rows)" '[{"language":"en"}]'
statement '' 'show databases'
expect_equal "databases" "$(rows)" '[{"name":"profile"}]'
statement profile 'show tables'
expect_equal "tables" "$(rows)" '[{"name":"in_process","datasources":null}]'
statement flow_log 'show metrics functions from l4_flow_log'
expect_equal "functions" "$(rows)" '[]'
statement profile 'show metrics from in_process'
expect_equal "metrics" "$(rows)" '[]'
statement profile 'show tags from in_process'
expect_equal "tags of a panel" \
	"$(rows | jq -r '[.[] | select(.name == ("app_service", "profile_event_type", "profile_language_type", "rack")) | "\(.name):\(.type)"] | sort | join(" ")')" \
	"app_service:string_enum profile_event_type:string profile_language_type:string_enum rack:map_item"

offer 'SELECT profile_event_type AS `value`, profile_event_type AS `display_name` FROM in_process GROUP BY profile_event_type'
for type in on-cpu off-cpu run-queue; do
	[[ " $offered " == *" $type "* ]] || fail "the event type $type is missing: $offered"
done
offer "show tag app_service values FROM in_process WHERE Enum(app_service) LIKE '***' LIMIT 0,100"
[ -n "$offered" ] || fail "no services are offered"
expect_at_most "offered services" "$(rows | jq length)" 100
offer "show tag app_service values FROM in_process WHERE Enum(app_service) LIKE '*IT''S*' LIMIT 0,100"
expect_equal "services for a keyword" "$offered" "it's"
offer "show tag profile_language_type values FROM in_process WHERE Enum(profile_language_type) LIKE '***' LIMIT 0,100"
expect_equal "languages" "$offered" eBPF
offer "show tag host values FROM in_process WHERE host='e2e-host' OR host='none'"
expect_equal "hosts by value" "$offered" e2e-host
offer "show tag rack values FROM in_process WHERE rack LIKE '***' OR rack LIKE '***' LIMIT 0,100"
expect_equal "values of a label" "$offered" r7

# ---- a panel has the nodes of ProfileTracing, named and in its order
conditions() { printf "app_service IN ('it''s') AND profile_language_type IN ('eBPF') AND profile_event_type IN ('%s')" "$1"; }
as_levels='.result as $nodes
	| (reduce $nodes[] as $n ({}; .[$n.node_id] = (if $n.parent_node_id == "-1" then 0 else .[$n.parent_node_id] + 1 end))) as $level
	| [$nodes[] | [$level[.node_id], (if .node_id == "" then "root" else .profile_location_str end), .self_value, .total_value]]'
# Symbol tables may be made between the two answers.
is_same_profile() {
	query_profile "it's" "$from" "$to" "{\"profile_event_type\":\"$1\"}" >"$work/tracing.json"
	panel "$work/panel.answer" "$(conditions "$1") AND $range"
	[ "$(jq -c "$as_levels" "$work/tracing.json")" = "$(jq -c .result.values "$work/panel.answer")" ]
}
for type in on-cpu off-cpu; do
	expect_within 60s is_same_profile "$type"
	expect_at_least "nodes of $type" "$(jq '.result.values | length' "$work/panel.answer")" 5
	expect_equal "columns" "$(jq -c .result.columns "$work/panel.answer")" '["level","function","self_value","total_value"]'
done

# ---- conditions select the part of the profile that they describe
query_profile "it's" "$from" "$to" >"$work/cpu.json"
all=$(total_of "$work/cpu.json")
render=$(value_of "$work/cpu.json" '[t] render')
expect_at_least "total of the thread render" "$render" 1
# The value of a node in a tree is rounded up or down, so that the values add up to the total: tolerance 1 us.
while read -r expected tolerance more; do
	panel "$work/part.answer" "$(conditions on-cpu) AND $more AND $range"
	expect_near "total with $more" "$(panel_total "$work/part.answer")" "$expected" "$tolerance"
done <<END
$render 1 Enum(thread) LIKE('ren*')
$render 1 Enum(thread) = 'render' AND exist(host)
$all 0 host LIKE('E2E-*') AND process_id IN ($pid)
$all 0 \`rack\` REGEXP '^r[67]\$'
0 0 \`rack\` NOT REGEXP 'r'
0 0 process_id>$pid
END
panel "$work/empty.answer" "$(conditions mem-alloc) AND $range"
expect_equal "answer without data" "$(jq -c .result "$work/empty.answer")" '{"columns":["level","function","self_value","total_value"],"values":null}'

# ---- several event types are added, and a body may be JSON
for type in on-cpu off-cpu; do panel "$work/$type.answer" "$(conditions "$type") AND $range"; done
both=$(($(panel_total "$work/on-cpu.answer") + $(panel_total "$work/off-cpu.answer")))
service="app_service IN ('it''s')"
for types in "profile_event_type IN ('on-cpu','off-cpu')" "(profile_event_type = 'on-cpu' OR profile_event_type = 'off-cpu')"; do
	panel "$work/both.answer" "$service AND $types AND $range"
	expect_near "total of $types" "$(panel_total "$work/both.answer")" "$both" 1
	jq -nc --arg sql "$service AND $types AND $range" '{db: "profile", sql: $sql}' >"$work/request.json"
	request POST '/v1/profile/ProfileGrafana' -H 'Content-Type: application/json' --data-binary "@$work/request.json"
	[ "$(jq -c .result "$work/body")" = "$(jq -c .result "$work/both.answer")" ] || fail "the answer to JSON differs: $body"
done
jq -nc --arg sql "SELECT Enum(profile_event_type) AS \`type\`, host_id FROM in_process WHERE $service AND $range
	GROUP BY profile_event_type, host_id" '{db: "profile", sql: $sql}' >"$work/request.json"
request POST /v1/query/ -H 'Content-Type: application/json' --data-binary "@$work/request.json"
[ "$status" = 200 ] || fail "a statement in JSON: $status: $body"
expect_equal "selected tags" "$(rows | jq -c 'map(select(.type == "on-cpu"))')" '[{"type":"on-cpu","host_id":"e2e-host"}]'
panel "$work/id.answer" "$(conditions on-cpu) AND host_id = 'e2e-host' AND auto_service_id IS NULL AND $range"
expect_equal "total with IDs" "$(panel_total "$work/id.answer")" "$all"

# ---- the documented requests of ProfileTracing
tracing() {
	request POST /v1/profile/ProfileTracing -H 'Content-Type: application/json' -d "$1"
	[ "$status" = 200 ] && [ "$(jq -r .OPT_STATUS "$work/body")" = SUCCESS ] || fail "$1: $status: $body"
}
documented() {
	printf '{ "app_service": "it'"'"'s", "profile_language_type": "%s", "profile_event_type": "on-cpu", "tag_filter": "",
		"time_start": %d, "time_end": %d%s }' "${2:-eBPF}" "$from" "$to" "${1:-}"
}
tracing "$(documented)"
expect_equal "root of the older answer" "$(jq -c '.result[0]' "$work/body")" \
	'{"profile_location_str":"it'"'"'s","node_id":"","parent_node_id":"-1","self_value":0,"total_value":'"$all"'}'
expect_equal "keys of nodes" "$(jq -c '[.result[] | keys] | unique' "$work/body")" \
	'[["node_id","parent_node_id","profile_location_str","self_value","total_value"]]'
tracing "$(documented ', "group_by": "", "debug": true, "max_kernel_stack_depth": -1, "format": "columns"')"
expect_equal "root of the newer answer" "$(jq -c '.result | [.functions[0], .function_types[0], .node_values.values[0]]' "$work/body")" \
	'["it'"'"'s","P",[0,-1,0,'"$all"']]'
expect_equal "columns of nodes" "$(jq -c .result.node_values.columns "$work/body")" \
	'["function_id","parent_node_id","self_value","total_value"]'
# Another profiler's language has no samples: an empty answer, not an error.
tracing "$(documented '' Golang)"
expect_equal "nodes without data" "$(jq -c .result "$work/body")" null
tracing "$(documented ', "format": "columns"' Golang)"
expect_equal "columns without data" "$(jq -c .result "$work/body")" \
	'{"functions":null,"function_types":null,"function_values":{"columns":null,"values":null},"node_values":{"columns":null,"values":null}}'

# ---- other panels get an error that names what is answered
request POST /v1/query/ --data-urlencode db=profile --data-urlencode 'sql=SELECT Sum(profile_value) FROM in_process'
expect_equal "status of a statement that is not answered" "$status" 400
jq -e '.OPT_STATUS == "INVALID_POST_DATA" and (.DESCRIPTION | contains("show tag TAG values from TABLE"))' "$work/body" >/dev/null ||
	fail "the error does not name the statements: $body"
